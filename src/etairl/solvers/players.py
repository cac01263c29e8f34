"""The solvers as policy players of a run: their settings, by name."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from typing_extensions import override

from etairl.eta import Eta
from etairl.experience import World
from etairl.regularisers import Regulariser
from etairl.solvers.iq import IQ
from etairl.solvers.iq_config import IQConfig
from etairl.solvers.ppo import PPO
from etairl.solvers.ppo_config import PPOConfig
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.solvers.sac_eta import SACEta, sac_eta
from etairl.solvers.solver import SolverConfig, time_warnings
from etairl.types import InputError


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

    def check(self, omega: Regulariser) -> None:
        """Refuse settings that contradict each other."""
        if self.sac.normalise != "none" and (self.play.warm_start or omega.relative):
            raise InputError("a cloned actor takes plain observations: leave out --normalise")
        if not omega.adaptive and self.sac.temperature is None:
            raise InputError(
                f"an adaptive temperature aims at an entropy or a divergence; with the regulariser "
                f"{omega.name} fix it: --temperature {self.sac.first_temperature:g}"
            )


def _check_turns(kind: str, plain: SACSettings) -> None:
    if plain.play.at_once:
        raise InputError(
            f"{kind} updates its critics and its actor in turn: leave out --at-once, or take "
            "--solver sac"
        )


class _OnTop(SolverConfig):
    """Settings of a solver on top of another: what they share."""

    plain: Any

    @property
    @override
    def gamma_rl(self) -> float:
        return self.plain.gamma_rl

    @property
    @override
    def temperature(self) -> float | None:
        return self.plain.temperature

    @override
    def check(self, omega: Regulariser) -> None:
        self.plain.check(omega)

    @override
    def warnings(self, eta: Eta, gamma_irl: float, horizon: int) -> list[str]:
        if not self.weighs_time:
            return []
        plain = self.plain.kind
        return time_warnings(self.kind, plain, eta, self.gamma_rl, gamma_irl, horizon)


@dataclass(frozen=True)
class SACEtaSettings(_OnTop):
    """Soft actor-critic that takes the weighting of eta into account, with a second critic."""

    kind: ClassVar[str] = "sac-eta"
    weighs_time: ClassVar[bool] = True
    plain: SACSettings = field(default_factory=SACSettings)

    @override
    def check(self, omega: Regulariser) -> None:
        self.plain.check(omega)
        _check_turns(self.kind, self.plain)

    def make(self, world: World) -> SAC | SACEta:
        """The solver of a run: one critic where that is exact, else two."""
        return sac_eta(self.plain.make(world), world.eta, world.horizon)


@dataclass(frozen=True)
class PPOSettings(SolverConfig):
    """Proximal policy optimisation as the policy player: discounted with gamma_rl."""

    kind: ClassVar[str] = "ppo"
    ppo: PPOConfig = field(default_factory=PPOConfig)

    @property
    @override
    def gamma_rl(self) -> float:
        return self.ppo.gamma_rl

    @property
    @override
    def temperature(self) -> float | None:
        return self.ppo.temperature

    @override
    def make(self, world: World) -> PPO:
        return PPO(self.ppo, world.spec, world.absorbing, world.omega)

    @override
    def check(self, omega: Regulariser) -> None:
        if omega.relative:
            raise InputError(
                f"{self.kind} does not know the regulariser {omega.name}; use --solver sac"
            )


@dataclass(frozen=True)
class PPOEtaSettings(_OnTop):
    """Proximal policy optimisation that takes the weighting of eta into account."""

    kind: ClassVar[str] = "ppo-eta"
    weighs_time: ClassVar[bool] = True
    plain: PPOSettings = field(default_factory=PPOSettings)

    @override
    def make(self, world: World) -> PPO:
        """With a second critic; where the weights are geometric, with another discount."""
        plain = self.plain.make(world)
        beta = world.eta.discount(plain.config.gamma_rl)
        if beta is not None:
            return replace(plain, config=replace(plain.config, gamma_rl=beta))
        return replace(plain, eta=world.eta, horizon=world.horizon)


@dataclass(frozen=True)
class IQSettings(_OnTop):
    """Inverse soft Q-learning: critics that imply a cost; the algorithm iq."""

    kind: ClassVar[str] = "iq"
    iq: IQConfig = field(default_factory=IQConfig)
    plain: SACSettings = field(
        default_factory=lambda: SACSettings(
            OffPolicy(updates_per_step=1.0),
            SACConfig(
                hidden=(128, 128),
                temperature=0.005,
                actor_lr=1e-4,
                normalise="demonstrations",
                layer_norm=True,
            ),
        )
    )

    @override
    def make(self, world: World) -> IQ:
        return IQ(self.plain.make(world), self.iq, world.sampler)

    @override
    def check(self, omega: Regulariser) -> None:
        self.plain.check(omega)
        _check_turns(self.kind, self.plain)
        if self.plain.play.expert_share:
            raise InputError(
                f"{self.kind} always learns from the expert's transitions; leave --expert-share out"
            )


def family_of(settings: SolverConfig) -> str:
    """Solvers of one family take each other's settings over where these have one name."""
    if isinstance(settings, _OnTop) and settings.weighs_time:
        return settings.plain.kind
    return settings.kind


SOLVERS: dict[str, Callable[[], SolverConfig]] = {
    settings.kind: settings
    for settings in (SACSettings, SACEtaSettings, PPOSettings, PPOEtaSettings, IQSettings)
}
"""the settings of each solver by its name; `SOLVERS[name] = MySettings` adds one"""
