"""`etairl evaluate`: how well does a run match its demonstrations?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from etairl.cli.console import out, parse, print_json, table
from etairl.evaluation.explanation import FeatureGap
from etairl.evaluation.matching import Distance
from etairl.training.heat_maps import check_mapped, cost_maps
from etairl.training.result import Result, Verdict
from etairl.training.settings import read_config
from etairl.types import InputError, check_seed


@dataclass(frozen=True)
class Config:
    """Return, normalised cost and MMD² of the learner, of behaviour cloning, chance and expert."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the run directory"""
    policy: Literal["final", "best"] = "final"
    """the policy at the end, or at the smallest MMD² of mu"""
    episodes: int = 50
    """episodes of each policy"""
    seed: int = 0
    """of the episodes"""
    no_cloning: bool = False
    """leave behaviour cloning out"""
    json: bool = False
    """print JSON"""
    map: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """of a run of etairl/Navigation-v0: draw its learned cost as heat maps, one for each of five
    targets, into this file (.png, .svg or .pdf)"""

    def __post_init__(self):
        check_seed(self.seed)
        if self.episodes < 2:
            raise InputError(f"episodes must be at least 2, got {self.episodes}")


def run(arguments: list[str]) -> int:
    """The command."""
    config = parse(Config, arguments, "evaluate")
    if config.map is not None:
        check_map(config.run, config.map)
    result = Result(config.run, config.policy)
    if config.map is not None:
        draw_map(result, config.map)
    with Console(stderr=True).status("loading") as status:
        verdicts = result.evaluate(
            config.episodes, config.seed, not config.no_cloning, status.update
        )
    if config.json:
        print_json(verdicts)
        return 0
    print_verdicts(verdicts, result)
    print_tasks(verdicts)
    print_features(verdicts)
    if config.map is not None:
        out().print(f"\nlearned cost of five targets → {config.map}", markup=False)
    return 0


def check_map(run: Path, file: Path) -> None:
    """Before anything slow: is the run one of navigation, and the file a figure?"""
    from etairl.figures.save import check_name

    check_mapped(read_config(run))
    check_name(file)


def draw_map(result: Result, file: Path) -> None:
    """The learned cost from above."""
    from etairl.figures.cost_maps import cost_maps_figure
    from etairl.figures.save import save_figure

    maps = cost_maps(result)
    save_figure(cost_maps_figure(maps.targets, maps.costs, maps.title), file)


def print_verdicts(verdicts: list[Verdict], result: Result) -> None:
    """The table, and what its columns mean."""
    expert = result.metrics["expert_return"]
    rows = [
        (
            v.name,
            f"{v.return_mean:.1f} ± {v.return_std:.1f}",
            f"{v.length:.0f}",
            "" if v.normalised_cost is None else f"{v.normalised_cost:.3f}",
            _distance(v.mmd2_rho),
            _distance(v.mmd2_mu),
        )
        for v in verdicts
    ]
    raw = [(v.name, _distance(v.mmd2_rho_raw), _distance(v.mmd2_mu_raw)) for v in verdicts]
    first = verdicts[0]
    if first.mmd2_mu.floor is not None:
        rows.append(("floor", "", "", "", _floor(first.mmd2_rho), _floor(first.mmd2_mu)))
        raw.append(("floor", _floor(first.mmd2_rho_raw), _floor(first.mmd2_mu_raw)))
    table(("", "return", "steps", "cost", "MMD² rho", "MMD² mu"), rows)
    out().print("\nMMD² of plain observations and actions, whatever their units", markup=False)
    table(("", "MMD² rho", "MMD² mu"), raw)
    out().print(
        f"\ncost: 0 is the expert ({expert if expert is None else round(expert, 1)}), 1 is random. "
        "MMD² against the demonstrations, above in units of their spread, with 95 % intervals; "
        "floor: 95 % of random halves of the demonstrations are closer to each other than this.",
        markup=False,
        soft_wrap=True,
    )


def print_tasks(verdicts: list[Verdict]) -> None:
    """Tasks solved: those of the demonstrations, and all of them."""
    shown = [(v, v.success) for v in verdicts if v.success is not None]
    if not shown:
        return
    rows = []
    for v, success in shown:
        wide = v.generalisation
        rows.append(
            (
                v.name,
                f"{100 * success:.0f} %",
                "" if v.normalised_cost is None else f"{v.normalised_cost:.3f}",
                "" if wide is None else f"{100 * wide.success:.0f} %",
                ""
                if wide is None or wide.normalised_cost is None
                else f"{wide.normalised_cost:.3f}",
                "" if wide is None else f"{wide.return_mean:.1f} ± {wide.return_std:.1f}",
            )
        )
    out().print("\ntasks solved at the end of an episode", markup=False)
    table(("", "learned", "cost", "all tasks", "cost", "return"), rows)
    wide = verdicts[0].generalisation
    longer = "" if wide is None else f" of {wide.horizon} steps"
    out().print(
        "\nlearned: the tasks of the demonstrations, for as long as they were trained. all tasks: "
        f"drawn from everything there is, in episodes{longer}; 0 is the planned expert there.",
        markup=False,
        soft_wrap=True,
    )


def print_features(verdicts: list[Verdict], most: int = 10) -> None:
    """The heaviest features of a linear cost, and where each behaviour stands in them."""
    shown = {v.name: {g.name: g for g in v.features or ()} for v in verdicts}
    found = verdicts[0].features or []
    least = abs(found[-1].weight) if found else 0.0
    # What two or more share is what is left of the weight that all had at the start.
    shared = sum(abs(f.weight) == least for f in found) > 1
    heaviest = [f for f in found if abs(f.weight) > least or not shared][:most]
    if not heaviest:
        return
    rows = [
        (
            first.name,
            f"{first.weight:+.3f}",
            *(f"{g.gap:+.3f} ± {g.standard_error:.3f}" for g in _row(shown, first.name)),
        )
        for first in heaviest
    ]
    out().print("\nfeatures that explain the expert, by weight", markup=False)
    table(("feature", "weight", *shown), rows)
    out().print(
        f"\n{len(heaviest)} of {len(found)} features. Gaps from the demonstrations in units of "
        "their spread, with standard errors over episodes. A weight above 0 makes more of the "
        "feature cost more: the expert has less of it than the learner had.",
        markup=False,
        soft_wrap=True,
    )


def _row(shown: dict[str, dict[str, FeatureGap]], name: str) -> list[FeatureGap]:
    return [gaps[name] for gaps in shown.values()]


def _floor(d: Distance) -> str:
    return "" if d.floor is None else f"{d.floor:.4f}"


def _distance(d: Distance) -> str:
    return f"{d.value:.4f} [{d.low:.4f}, {d.high:.4f}]"
