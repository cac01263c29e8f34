"""What is mutated, and the tests that are asked: fast ones, that give the same answer each time."""

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Target(NamedTuple):
    """A module and its tests."""

    module: str
    tests: tuple[str, ...]
    light: bool = True
    """whether the tests need no fixture of runs"""
    root: Path = ROOT

    @property
    def path(self) -> Path:
        """Its source."""
        return self.root / "src" / (self.module.replace(".", "/") + ".py")

    @property
    def files(self) -> list[Path]:
        """Of the tests."""
        return [self.root / "tests" / name for name in self.tests]


_ETA = ("test_eta.py",)
_MEASURES = (
    *("test_draw_plans.py", "test_draw_tables.py", "theory/test_index_laws.py"),
    "test_measures.py",
)
_MMD = (
    *("evaluation/test_mmd.py", "evaluation/test_kernel.py", "theory/test_mmd_fixtures.py"),
    *("evaluation/test_fourier.py", "evaluation/test_resampling.py"),
)
_MATCHING = ("evaluation/test_steps.py", "evaluation/test_matching.py")
_STATISTICS = ("evaluation/test_statistics.py", "evaluation/test_trends.py")
_WEIGHTS = ("test_penalties.py",)

TARGETS = {
    "eta": [Target(f"etairl.eta.{name}", _ETA) for name in ("law", "laws", "parsing")],
    "simplex": [Target("etairl.simplex", _WEIGHTS)],
    "penalties": [Target("etairl.penalties", _WEIGHTS)],
    "measures": [
        Target(f"etairl.measures.{name}", _MEASURES)
        for name in ("draw_tables", "index_laws", "plan", "sampler")
    ],
    "kernel": [Target("etairl.evaluation.kernel", _MMD)],
    "mmd": [Target("etairl.evaluation.mmd", _MMD)],
    "fourier": [Target("etairl.evaluation.fourier", _MMD)],
    "resampling": [Target("etairl.evaluation.resampling", ("evaluation/test_resampling.py",))],
    "matching": [
        Target(f"etairl.evaluation.{name}", _MATCHING) for name in ("steps", "floors", "matching")
    ],
    "statistics": [
        Target(f"etairl.evaluation.{name}", _STATISTICS)
        for name in ("statistics", "significance", "ratios", "trends")
    ],
    "moments": [Target("etairl.evaluation.moments", ("evaluation/test_moments.py",))],
    "losses": [
        *(
            Target(f"etairl.solvers.{name}_losses", ("solvers/test_loss_values.py",))
            for name in ("iq", "ppo", "sac", "sac_eta")
        ),
        Target("etairl.costs.losses", ("costs/test_losses.py",)),
    ],
}
