r"""The algorithms by name: each is a choice of $(\psi, \Omega, \eta)$ and costs for `girl`.

To add one, add what is missing below (`costs`, `penalties`, `solvers`), then an entry here. The
contract test, `etairl algorithms` and the command line pick it up.
"""

from collections.abc import Callable
from dataclasses import dataclass

from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.coded import CodedConfig
from etairl.costs.discriminator import GanConfig
from etairl.costs.empowered import EmpoweredConfig
from etairl.costs.family import CostConfig
from etairl.costs.implied import ImpliedConfig
from etairl.costs.linear import LinearConfig
from etairl.costs.regularised import RegularisedConfig
from etairl.costs.shaped import ShapedConfig
from etairl.types import InputError


@dataclass(frozen=True)
class Algorithm:
    """A named choice; the words are for people, `cost` is for `girl`."""

    name: str
    title: str
    psi: str
    costs: str
    eta: str
    """the weighting, if nothing else is asked for"""
    cost: CostConfig
    """the settings of its costs, if nothing else is asked for"""
    assumes: str = ""
    """what must hold of the expert or its world"""
    case_of: str | None = None
    """the algorithm that it is, with its one weighting; None where any weighting will do"""
    fixed: tuple[str, ...] = ()
    """settings of its costs that make it this algorithm"""
    own: tuple[str, ...] = ()
    """settings of its costs that neither come from nor go to another algorithm"""
    solver: str | None = None
    """its own solver, which implies its cost; None where there is a cost player"""

    @property
    def any_eta(self) -> bool:
        """Whether it takes every weighting."""
        return self.case_of is None

    @property
    def general(self) -> str:
        """The algorithm that makes the same bytes with the same weighting."""
        return self.case_of or self.name

    def fits(self, cost: CostConfig) -> bool:
        """Whether these costs are those of the algorithm."""
        return type(cost) is type(self.cost) and all(
            getattr(cost, name) == getattr(self.cost, name) for name in self.fixed
        )

    def goes_with(self, solver: str) -> bool:
        """Whether a solver asks for the costs that there are: those of a player, or none."""
        own = {entry.solver for entry in ALGORITHMS.values()} - {None}
        return solver == self.solver if self.solver else solver not in own

    def check_solver(self, solver: str, frozen: bool) -> None:
        """Refuse a solver that has no use for the costs, or needs them."""
        if frozen and self.solver:
            raise InputError(
                f"the cost of {self.name} is read from its critics: it cannot be frozen for others"
            )
        if not self.goes_with(solver):
            name = self.solver or next(e.name for e in ALGORITHMS.values() if e.solver == solver)
            which = f"--solver {name}" if self.solver else f"--algorithm {name}"
            got = f"{self.name} with the solver {solver}"
            raise InputError(f"{got}: a cost that a solver implies needs both; take {which}")

    def check(self, cost: CostConfig, eta: str) -> None:
        """Refuse choices that would make it another algorithm."""
        if not self.fits(cost):
            given = (f"{name} {getattr(cost, name)}" for name in self.fixed if hasattr(cost, name))
            got = ", ".join([cost.kind, *given])
            raise InputError(f"{self.name} has costs of the kind {self.costs}; got {got}")
        if not self.any_eta and eta != self.eta:
            general = self.case_of
            raise InputError(
                f"{self.name} is {general} with eta {self.eta}; for {eta} take {general}"
            )


# A cost that is read against log pi must become as steep as that of a precise expert: no penalty.
_FREE = DiscriminatorConfig(lr_d=1e-3, gradient_penalty=0.0)
_OWN = ("lr_d", "gradient_penalty")

ALGORITHMS: dict[str, Algorithm] = {
    entry.name: entry
    for entry in (
        Algorithm(
            "megan",
            "maximum entropy, generative adversarial network",
            psi="GAN",
            costs="log D, a discriminator",
            eta="geometric:0.99",
            cost=GanConfig(),
            assumes="pairs of the expert, states and actions or states alone",
        ),
        Algorithm(
            "gail",
            "megan with all weight on the present",
            psi="GAN",
            costs="log D, a discriminator",
            eta="dirac:0",
            cost=GanConfig(),
            assumes="as megan",
            case_of="megan",
        ),
        Algorithm(
            "emma",
            "expectation matching, maximum entropy",
            psi="indicator of the ball",
            costs="w·f, |w| at most r",
            eta="geometric:0.99",
            cost=LinearConfig(weights="ball"),
            assumes="features in which the expert's means say what it wants",
            fixed=("weights",),
        ),
        Algorithm(
            "wiem",
            "worst individual cost, entropy maximiser",
            psi="indicator of the simplex",
            costs="w·f, w a convex combination",
            eta="geometric:0.99",
            cost=LinearConfig(weights="simplex"),
            assumes="features each of which is a cost, or no cost with both signs",
            fixed=("weights",),
        ),
        Algorithm(
            "airl",
            "adversarial IRL: a state-only cost, shaping, and log pi in the logit",
            psi="GAN",
            costs="c(s) + γΦ(s') - Φ(s)",
            eta="dirac:0",
            cost=ShapedConfig(network=_FREE),
            own=_OWN,
            assumes="an expert that is soft-optimal for costs of states; next states",
        ),
        Algorithm(
            "rairl",
            "AIRL for any regulariser: the cost of which a density is the optimal policy",
            psi="GAN",
            costs="slope of Ω at a density",
            eta="dirac:0",
            cost=RegularisedConfig(),
            assumes="an expert that is optimal with the regulariser; its actions",
        ),
        Algorithm(
            "eairl",
            "AIRL with empowerment as potential, and as a bonus",
            psi="GAN",
            costs="c(s,a) + Φ(s) - γΦ(s')",
            eta="dirac:0",
            cost=EmpoweredConfig(network=_FREE),
            own=_OWN,
            assumes="an expert that is soft-optimal; its actions",
        ),
        Algorithm(
            "sgail",
            "gail for many tasks: given, or found as codes",
            psi="GAN",
            costs="log D - λ log q(code)",
            eta="dirac:0",
            cost=CodedConfig(),
            assumes="tasks in the observation, or as many codes as the demonstrations show tasks",
        ),
        Algorithm(
            "iq",
            "inverse soft Q-learning: a critic, and no cost player",
            psi="chi²",
            costs="γV(s') - Q(s,a), of the critics",
            eta="dirac:0",
            cost=ImpliedConfig(),
            assumes="an expert that is soft-optimal; next states",
            solver="iq",
        ),
    )
}
"""by name; `ALGORITHMS[name] = Algorithm(…)` adds one"""


def cost_kinds() -> dict[str, Callable[..., CostConfig]]:
    """The settings of the cost families, by the name that files have for them."""
    return {entry.cost.kind: type(entry.cost) for entry in ALGORITHMS.values()}
