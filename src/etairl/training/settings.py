"""What a run of imitation is asked to do."""

from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args, get_origin

from etairl.algorithms.girl import GirlConfig
from etairl.algorithms.registry import ALGORITHMS, Algorithm
from etairl.costs.discriminator import GanConfig
from etairl.costs.family import CostConfig, Players
from etairl.decoding import checked
from etairl.eta import parse_eta
from etairl.idle import IdleConfig
from etairl.measures import EpisodeChoice, FutureSampler, Method
from etairl.regularisers import Entropy, Regulariser, parse_regulariser
from etairl.solvers.players import SACSettings
from etairl.solvers.solver import SolverConfig
from etairl.types import HorizonMode, InputError, check_choice, check_range, check_seed

Keep = Literal["last", "best"]


@dataclass(frozen=True)
class TrainConfig:
    """Everything that decides what a run learns. The same settings make the same bytes.

    Nothing is left open here: `configure` fills in what follows from the algorithm and the
    regulariser, and this class refuses what does not fit together.
    """

    env: str = "HalfCheetah-v5"
    """the environment"""
    demos: str = "HalfCheetah-v5-25x500"
    """demonstrations: a name from `etairl demos ls`, a .npz file, or minari:DATASET"""
    demonstrations: int | None = 10
    """use only the first N of them; none for all"""
    every: int = 1
    """learn from every so many-th of their steps alone; each stands for those until the next, so
    that the weighting of time stays what it is"""
    algorithm: str = "megan"
    """megan: a GAN cost on pairs drawn with eta; gail: megan with eta dirac:0; emma, wiem: costs
    linear in features; airl: a state-only cost with shaping; rairl: a density read through omega;
    eairl: airl with empowerment; sgail: many tasks, given or not; iq: critics that imply their
    cost. See `etairl algorithms`"""
    eta: str = "geometric:0.99"
    """weighting of the future, for instance geometric:0.99 (the default of megan, emma, wiem),
    poisson:25, uniform; airl and iq begin with dirac:0, and gail has no other"""
    omega: str = Entropy.name
    """regulariser of the policy: entropy, tsallis:Q, kl (the divergence from a clone of the expert;
    minus --target-entropy is how much of it is allowed, in nats), none"""
    solver: SolverConfig = field(default_factory=SACSettings)
    """the policy player: ppo learns from the newest cycle, sac from all of them, as in the paper;
    ppo-eta and sac-eta take the weighting of eta into account, with a second critic; iq goes with
    the algorithm iq"""
    frozen_cost: str | None = None
    """a finished run whose cost is paid and never changed; `--cost RUN` also starts from its
    settings"""
    sampler: Method = "exact"
    """how time indices are drawn: two_stage as in the paper, exact for the weights of mu"""
    choice: EpisodeChoice = "uniform"
    """how episodes are drawn: uniform (as the paper) or by_weight (long ones more often)"""
    gamma_irl: float = 1.0
    """discount of the starting time in the draw of indices"""
    horizon: int = 500
    """steps of an episode; with another env or other demos where those were cut, if all at the same
    step, else the time limit of the environment"""
    mode: HorizonMode = "terminating"
    """early ends: terminating (as the environment), fixed (switched off), absorbing (a state
    of their own, whose cost is learned)"""
    seed: int = 0
    """random seed"""
    idle: str | None = None
    """weighting of a generator of the expert's futures, for instance geometric:0.7: it is trained
    first, and generates a share of the expert's pairs; --eta follows it. none for recorded pairs"""
    idle_share: float = 0.5
    """share of the expert's pairs that it generates"""
    idle_warmup: int = 0
    """first cycles in which all pairs are recorded ones"""
    idle_gate: float = 4.0
    """refuse a generator whose futures of held-out states are so many times as far from true ones
    as two true draws from each other (in MMD²); 0 takes any"""
    measure_every: int = 5
    """cycles between two measurements of MMD²"""
    patience: int | None = None
    """stop when MMD² of mu, smoothed and against demonstrations that were held out where there are
    any, has for so many measurements not improved, or been as small as that of the expert against
    itself; none to continue"""
    keep: Keep = "last"
    """the policy to keep: last, or best, the one that played when that MMD² was smallest"""
    recover: bool = False
    """after a collapse go back to the best policy, with half the learning rates; at most 3 times"""
    girl: GirlConfig = field(default_factory=GirlConfig)
    cost: CostConfig = field(default_factory=GanConfig)
    """the settings of the cost family; which one, the algorithm says"""
    generator: IdleConfig = field(default_factory=IdleConfig)

    def __post_init__(self):
        for f in fields(self):
            if get_origin(f.type) is not None or f.type in (str, int, float, bool):
                checked(f.name, getattr(self, f.name), f.type)
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_choice("mode", self.mode, get_args(HorizonMode))
        check_range(self, "[1, inf)", "horizon", "every", "demonstrations", "patience")
        check_range(self, "[1, inf)", "measure_every")
        check_seed(self.seed)
        if self.girl.episodes < 2:
            raise InputError("episodes must be at least 2, to compare them with demonstrations")
        for name in ("eta", "idle"):
            text = getattr(self, name)
            if text is not None and str(parse_eta(text)) != text:
                raise InputError(f"write {name} as {parse_eta(text)}, not as {text}")
        _ = self.future  # refuses what no sampler can do
        self.solver.check(self.regulariser)
        self._check_idle()
        self.choices.check_solver(self.solver.kind, self.frozen_cost is not None)
        if self.frozen_cost is None:  # a cost that learns no more goes with every solver
            price, weighs_time = self.solver.temperature, self.solver.weighs_time
            self.cost.check(Players(self.regulariser, price, weighs_time, self.algorithm))
            self.choices.check(self.cost, self.eta)

    @staticmethod
    def upgraded(data: dict[str, Any]) -> dict[str, Any]:
        """Settings of a file, also of versions up to 0.3."""
        return {"every": 1, "keep": "last", "recover": False} | data

    @property
    def watches(self) -> bool:
        """Whether it decides something by what it has reached so far."""
        return self.patience is not None or self.keep == "best" or self.recover

    def _check_idle(self) -> None:
        check_range(self, "[0, 1]", "idle_share")
        check_range(self, "[0, inf]", "idle_gate")
        check_range(self, "[0, inf)", "idle_warmup")
        if self.idle is None:
            return
        if self.eta != self.idle:
            raise InputError(
                f"--idle {self.idle} beside --eta {self.eta}: the two sides of the cost would see "
                "different times; leave --eta out, or give both the same weighting"
            )
        if self.cost.needs_next:
            raise InputError(
                "this cost looks at next states, which --idle does not generate; leave --idle out"
            )
        if self.mode == "absorbing":
            raise InputError("--idle does not know absorbing states; use another --mode")

    @property
    def choices(self) -> Algorithm:
        """What the algorithm stands for."""
        return ALGORITHMS[self.algorithm]

    @property
    def regulariser(self) -> Regulariser:
        """That of the policy, with weight 1."""
        return parse_regulariser(self.omega)

    @property
    def future(self) -> FutureSampler:
        """The sampler of time indices."""
        return FutureSampler(
            parse_eta(self.eta).simplified(), self.gamma_irl, self.sampler, self.choice
        )
