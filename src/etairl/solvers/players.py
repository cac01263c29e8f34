"""The solvers as policy players of a run: their settings, by name."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from typing_extensions import override

from etairl.eta import Eta
from etairl.experience import World
from etairl.solvers.clock import has_clock
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.solvers.sac_eta import SACEta, sac_eta
from etairl.solvers.solver import SolverConfig
from etairl.types import InputError

_MUCH_BEYOND = 0.05
"""share of a weighting beyond the horizon that is worth a warning"""


@dataclass(frozen=True)
class SACSettings(SolverConfig):
    """Soft actor-critic as the policy player: discounted with gamma_rl, as in the paper."""

    kind: ClassVar[str] = "sac"
    play: OffPolicy = field(default_factory=OffPolicy)
    sac: SACConfig = field(
        default_factory=lambda: SACConfig(hidden=(64, 64, 64), first_temperature=0.1)
    )

    @property
    @override
    def gamma_rl(self) -> float:
        return self.sac.gamma_rl

    @property
    @override
    def temperature(self) -> float | None:
        return self.sac.temperature

    def make(self, world: World) -> SAC:
        """The solver of a run."""
        return SAC(self.sac, world.spec, world.absorbing, world.omega, self.play)

    def check(self, omega: str) -> None:
        """Refuse settings that contradict each other."""
        if self.sac.normalise and (self.play.warm_start or omega == "kl"):
            raise InputError("a cloned actor takes plain observations: leave out --normalise")
        if omega not in ("entropy", "kl") and self.sac.temperature is None:
            raise InputError(
                f"an adaptive temperature aims at an entropy or a divergence; with the regulariser "
                f"{omega} fix it: --temperature {self.sac.first_temperature:g}"
            )


@dataclass(frozen=True)
class SACEtaSettings(SolverConfig):
    """Soft actor-critic that takes the weighting of eta into account, with a second critic."""

    kind: ClassVar[str] = "sac-eta"
    weighs_time: ClassVar[bool] = True
    plain: SACSettings = field(default_factory=SACSettings)

    @property
    @override
    def gamma_rl(self) -> float:
        return self.plain.gamma_rl

    @property
    @override
    def temperature(self) -> float | None:
        return self.plain.temperature

    def make(self, world: World) -> SAC | SACEta:
        """The solver of a run: one critic where that is exact, else two."""
        return sac_eta(self.plain.make(world), world.eta, world.horizon)

    def check(self, omega: str) -> None:
        """Refuse settings that contradict each other."""
        self.plain.check(omega)

    def warnings(self, eta: Eta, gamma_irl: float, horizon: int) -> list[str]:
        """Where it is plain SAC, what it cannot learn, and where the players disagree."""
        said, gamma_rl = [], self.gamma_rl
        beta, beyond = eta.discount(gamma_rl), eta.tail(horizon) or 0.0
        if beta is not None:
            said.append(f"with eta {eta}, sac-eta is sac with discount {beta:g}: one critic")
        elif has_clock(eta) and beyond > _MUCH_BEYOND:
            said.append(
                f"{beyond:.0%} of eta {eta} lie beyond the horizon of {horizon} steps: for sac-eta "
                "they lie at its end"
            )
        if gamma_irl != gamma_rl:
            said.append(
                f"the cost weighs time with gamma_irl {gamma_irl:g}, sac-eta with gamma_rl "
                f"{gamma_rl:g}: the players have different criteria unless these are equal"
            )
        return said


SOLVERS: dict[str, Callable[[], SolverConfig]] = {
    settings.kind: settings for settings in (SACSettings, SACEtaSettings)
}
"""the settings of each solver by its name; `SOLVERS[name] = MySettings` adds one"""
