"""What a run of imitation is asked to do."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from etairl.algorithms.expert import ExpertConfig
from etairl.algorithms.girl import GirlConfig
from etairl.algorithms.registry import ALGORITHMS, Algorithm, AlgorithmName, SolverName
from etairl.costs.discriminator import DiscriminatorConfig
from etairl.costs.linear import LinearConfig
from etairl.eta import parse_eta
from etairl.idle import IdleConfig
from etairl.measures import Choice, FutureSampler, Method
from etairl.regularisers import parse_regulariser
from etairl.solvers.sac import SACConfig
from etairl.types import HorizonMode, InputError, check_seed

Config = TypeVar("Config")
_NEWER = (
    *("cloning", "omega", "solver", "frozen_cost", "linear", "radius"),
    *("idle", "idle_share", "idle_warmup", "idle_gate", "generator"),
)
"""settings that runs of version 0.1 do not have; they ran with what are the defaults today"""

_LATER = {"linear": LinearConfig, "generator": IdleConfig}


@dataclass(frozen=True)
class TrainConfig:
    """Everything that decides what a run learns. The same settings make the same bytes.

    What is left to the algorithm (eta, for some a temperature) is filled in here, and
    `dataclasses.replace` keeps it: name it anew when you replace the algorithm or omega.
    """

    env: str = "HalfCheetah-v5"
    """the environment"""
    demos: str = "HalfCheetah-v5-25x500"
    """demonstrations: a name from `etairl demos ls`, a .npz file, or minari:DATASET"""
    demonstrations: int | None = 10
    """use only the first N of them; None for all"""
    algorithm: AlgorithmName = "megan"
    """megan: a GAN cost on pairs drawn with eta; gail: megan with eta dirac:0; emma, wiem: costs
    linear in features; airl: a state-only cost with shaping. See `etairl algorithms`"""
    eta: str | None = None
    """weighting of the future, for instance geometric:0.99 (the default of megan, emma, wiem),
    poisson:25, uniform; airl begins with dirac:0, and gail has no other"""
    omega: str = "entropy"
    """regulariser of the policy: entropy, tsallis:Q, kl (to a clone of the expert, as --anchor),
    none"""
    solver: SolverName = "sac"
    """the policy player: sac discounts with gamma_rl, as in the paper; sac-eta takes the weighting
    of eta into account, with a second critic"""
    frozen_cost: str | None = None
    """a finished run whose cost is paid and never changed; `--cost RUN` also starts from its
    settings"""
    sampler: Method = "exact"
    """how time indices are drawn: two_stage as in the paper, exact for the weights of mu"""
    choice: Choice = "by_weight"
    """how episodes are drawn: by_weight or uniform"""
    gamma_irl: float = 1.0
    """discount of the starting time in the draw of indices"""
    horizon: int = 500
    """steps of an episode"""
    mode: HorizonMode = "terminating"
    """early ends: terminating (as the environment), fixed (switched off), absorbing (padded)"""
    seed: int = 0
    """of everything random"""
    warm_start: bool = False
    """start the actor from behaviour cloning"""
    anchor: bool = False
    """stay close to the cloned policy: the divergence from it takes the place of the entropy, and
    minus --target-entropy is how much of it is allowed (in nats)"""
    cloning: float = 0.0
    """weight of behaviour cloning in the loss of the actor, beside what the critics say; 0 learns
    from the cost alone"""
    idle: str | None = None
    """weighting of a generator of the expert's futures, for instance geometric:0.7: it is trained
    first, and invents a share of the expert's pairs; --eta follows it. None for recorded pairs"""
    idle_share: float = 0.5
    """share of the expert's pairs that it invents"""
    idle_warmup: int = 0
    """first cycles in which all pairs are recorded ones"""
    idle_gate: float = 4.0
    """refuse a generator whose futures of held-out states are so many times as far from true ones
    as two true draws from each other (in MMD²); 0 takes any"""
    measure_every: int = 5
    """cycles between two measurements of MMD²"""
    patience: int | None = None
    """stop when MMD² of mu has not improved for so many measurements; None to go on"""
    girl: GirlConfig = field(default_factory=GirlConfig)
    cost: DiscriminatorConfig = field(default_factory=DiscriminatorConfig)
    linear: LinearConfig = field(default_factory=LinearConfig)
    generator: IdleConfig = field(default_factory=IdleConfig)
    sac: SACConfig = field(
        default_factory=lambda: SACConfig(hidden=(64, 64, 64), first_temperature=0.1)
    )

    def __post_init__(self):
        for name, allowed in (
            ("algorithm", AlgorithmName),
            ("solver", SolverName),
            ("mode", HorizonMode),
        ):
            if getattr(self, name) not in get_args(allowed):
                known, found = ", ".join(get_args(allowed)), getattr(self, name)
                raise InputError(f"{name} must be one of {known}, got {found!r}")
        for name in ("horizon", "measure_every", "demonstrations", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, got {value}")
        if not 0.0 <= self.cloning < float("inf"):
            raise InputError(f"cloning must be >= 0 and finite, got {self.cloning}")
        check_seed(self.seed)
        if self.girl.episodes < 2:
            raise InputError("episodes must be at least 2, to compare them with demonstrations")
        if self.sac.normalise and (self.warm_start or self.anchor):
            raise InputError("a cloned actor takes plain observations: leave out --normalise")
        self._settle_idle()
        self._settle("eta", str(parse_eta(self.eta or self.choices.eta)))
        self._settle_omega()
        if self.frozen_cost is None:  # a cost that learns no more goes with every solver
            self._settle_choices()

    def _settle_choices(self) -> None:
        omega = "kl" if self.anchor else self.omega
        self.choices.check(str(self.future.eta), omega, self.sac.temperature, self.solver)
        if self.choices.temperature is not None:
            self._settle("sac", replace(self.sac, temperature=self.choices.temperature))

    def _settle_idle(self) -> None:
        for name, value, most in (
            ("idle_share", self.idle_share, 1.0),
            ("idle_gate", self.idle_gate, float("inf")),
        ):
            if not 0.0 <= value <= most:
                raise InputError(f"{name} must lie in [0, {most:g}], got {value}")
        if self.idle_warmup < 0:
            raise InputError(f"idle_warmup must be >= 0, got {self.idle_warmup}")
        if self.idle is None:
            return
        self._settle("idle", str(parse_eta(self.idle)))
        if self.eta is None:
            self._settle("eta", self.idle)
        if str(parse_eta(self.eta or "")) != self.idle:
            raise InputError(
                f"--idle {self.idle} beside --eta {self.eta}: the two sides of the cost would see "
                "different times; leave --eta out, or give both the same weighting"
            )
        if self.algorithm == "airl" or self.cost.inputs == "state_next_state":
            raise InputError("this cost looks at next states, which --idle does not invent")
        if self.mode == "absorbing":
            raise InputError("--idle does not know absorbing states; use another --mode")

    def _settle_omega(self) -> None:
        parse_regulariser(self.omega)
        if self.anchor and self.omega not in ("entropy", "kl"):
            raise InputError(f"--anchor is the regulariser kl; it does not go with {self.omega}")
        if self.omega == "kl":
            self._settle("anchor", True)
        elif self.omega != "entropy" and self.sac.temperature is None:
            # The target of an adaptive temperature is one of entropy or divergence.
            fixed = replace(self.sac, temperature=self.sac.first_temperature)
            self._settle("sac", fixed)

    def _settle(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def choices(self) -> Algorithm:
        """What the algorithm stands for."""
        return ALGORITHMS[self.algorithm]

    @property
    def future(self) -> FutureSampler:
        """The sampler of time indices."""
        assert self.eta is not None
        return FutureSampler(parse_eta(self.eta), self.gamma_irl, self.sampler, self.choice)


def read_config(path: Path) -> TrainConfig:
    """Settings as a run directory keeps them; unknown or missing names are refused.

    Names that came after version 0.1 may be missing.
    """
    try:
        found = json.loads((path / "config.json").read_text())
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path} is no run directory: its config.json: {why}") from None
    if "judge_every" in found and "girl" not in found:
        raise InputError(
            f"{path} is a run of `etairl expert`, which imitates nobody; to go on with it, or to "
            "record again, run the same `etairl expert` command again"
        )
    return config_from(found, path / "config.json")


def config_from(found: dict[str, Any], file: Path) -> TrainConfig:
    """Settings as a file keeps them."""
    try:
        parts = {"girl": GirlConfig, "cost": DiscriminatorConfig, "sac": SACConfig}
        parts |= {k: kind for k, kind in _LATER.items() if k in found}
        return build(TrainConfig, found | {k: build(kind, found[k]) for k, kind in parts.items()})
    except (TypeError, KeyError) as error:
        raise InputError(
            f"{file} is not of this version ({error}); resume it with the version that "
            "made it, see versions.json"
        ) from None


def expert_config(found: dict[str, Any]) -> ExpertConfig:
    """Settings of an expert as its run directory and its card keep them."""
    return build(ExpertConfig, found | {"sac": build(SACConfig, found["sac"])})


def build(kind: Callable[..., Config], found: dict[str, Any]) -> Config:
    """A configuration from what a file keeps; unknown or missing names are refused."""
    known = {f.name for f in fields(cast(Any, kind))}
    odd = (set(found) - known) | (known - set(found) - set(_NEWER))
    if odd:
        raise KeyError(f"unknown or missing: {', '.join(sorted(odd))}")
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in found.items()}
    return kind(**values)
