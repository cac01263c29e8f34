r"""The algorithms by name: each is a choice of $(\psi, \Omega, \eta)$, costs and solver for `girl`.

To add one, add what is missing below (`costs`, `penalties`, `solvers`), then an entry here. The
contract test, `etairl algorithms` and the command line pick it up.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from etairl.costs.discriminator import Discriminator, DiscriminatorConfig
from etairl.costs.family import Cost, View
from etairl.costs.linear import LinearConfig, LinearCost
from etairl.costs.shaped import ShapedCost
from etairl.eta import Eta
from etairl.penalties import Ball, Simplex
from etairl.regularisers import Regulariser
from etairl.solvers.sac import SAC, SACConfig
from etairl.solvers.sac_eta import sac_eta
from etairl.solvers.solver import Solver
from etairl.types import InputError, Spec

AlgorithmName = Literal["megan", "gail", "emma", "wiem", "airl"]
SolverName = Literal["sac", "sac-eta"]


@dataclass(frozen=True)
class CostSettings:
    """Everything a cost family may want to know."""

    discriminator: DiscriminatorConfig
    linear: LinearConfig
    spec: Spec
    absorbing: bool
    gamma_rl: float

    @property
    def view(self) -> View:
        """What a cost may look at."""
        return View(self.spec, self.discriminator.inputs, self.absorbing)


@dataclass(frozen=True)
class SolverSettings:
    """Everything a solver may want to know."""

    sac: SACConfig
    spec: Spec
    absorbing: bool
    omega: Regulariser
    eta: Eta
    horizon: int
    cloning: float

    @property
    def plain(self) -> SAC:
        """Soft actor-critic, which knows no weighting."""
        return SAC(self.sac, self.spec, self.absorbing, self.omega, self.cloning)


@dataclass(frozen=True)
class Algorithm:
    """A named choice; the words are for people, `make_cost` is for `girl`."""

    name: AlgorithmName
    title: str
    psi: str
    cost: str
    eta: str
    """the weighting, if nothing else is asked for"""
    make_cost: Callable[[CostSettings], Cost]
    any_eta: bool = True
    temperature: float | None = None
    """the only one with which costs and entropy fit together; None where any will do"""
    omegas: tuple[str, ...] = ("entropy", "tsallis", "kl", "none")
    """regularisers it goes with, the default first"""
    solvers: tuple[SolverName, ...] = ("sac", "sac-eta")
    """solvers it goes with, the default first"""
    unused: tuple[str, ...] = ()
    """settings of other families of costs, which it does not look at"""

    def check(self, eta: str, omega: str, temperature: float | None, solver: SolverName) -> None:
        """Refuse choices that would make it another algorithm."""
        if solver not in self.solvers:
            raise InputError(
                f"{self.name} goes with --solver {' or '.join(self.solvers)}: its cost is shaped, "
                f"and under another weighting than dirac:0 shaping changes what {solver} aims at"
            )
        if not self.any_eta and eta != self.eta:
            raise InputError(f"{self.name} is megan with eta {self.eta}; for {eta} take megan")
        if omega.partition(":")[0] not in self.omegas:
            raise InputError(
                f"{self.name} needs the regulariser {' or '.join(self.omegas)}, got {omega}"
            )
        if self.temperature is not None and temperature not in (None, self.temperature):
            raise InputError(
                f"the cost of {self.name} is read against log pi, so its temperature is "
                f"{self.temperature:g}, got {temperature:g}; leave --temperature out"
            )


def _discriminator(settings: CostSettings) -> Cost:
    return Discriminator(settings.discriminator, settings.spec, settings.absorbing)


def _on_ball(settings: CostSettings) -> Cost:
    return LinearCost(settings.linear, settings.view, Ball(settings.linear.radius))


def _on_simplex(settings: CostSettings) -> Cost:
    return LinearCost(settings.linear, settings.view, Simplex())


def _shaped(settings: CostSettings) -> Cost:
    return ShapedCost(settings.discriminator, settings.gamma_rl)


_OF_FEATURES = tuple(field.name for field in fields(LinearConfig))
_OF_NETWORKS = tuple(field.name for field in fields(DiscriminatorConfig) if field.name != "inputs")
_ALL = (
    Algorithm(
        "megan",
        "maximum entropy, generative adversarial network",
        psi="GAN",
        cost="log D, a discriminator",
        eta="geometric:0.99",
        make_cost=_discriminator,
        unused=_OF_FEATURES,
    ),
    Algorithm(
        "gail",
        "megan with all weight on the present",
        psi="GAN",
        cost="log D, a discriminator",
        eta="dirac:0",
        make_cost=_discriminator,
        any_eta=False,
        unused=_OF_FEATURES,
    ),
    Algorithm(
        "emma",
        "expectation matching, maximum entropy",
        psi="indicator of the ball",
        cost="w·f, |w| at most r",
        eta="geometric:0.99",
        make_cost=_on_ball,
        unused=(*_OF_NETWORKS, "both_signs"),
    ),
    Algorithm(
        "wiem",
        "worst individual cost, entropy maximiser",
        psi="indicator of the simplex",
        cost="w·f, w a convex combination",
        eta="geometric:0.99",
        make_cost=_on_simplex,
        unused=(*_OF_NETWORKS, "radius"),
    ),
    Algorithm(
        "airl",
        "adversarial IRL: a state-only cost, shaping, and log pi in the logit",
        psi="GAN",
        cost="c(s) + γΦ(s') - Φ(s)",
        eta="dirac:0",
        make_cost=_shaped,
        temperature=1.0,
        omegas=("entropy",),
        solvers=("sac",),
        unused=(*_OF_FEATURES, "inputs", "form"),
    ),
)
ALGORITHMS: Mapping[AlgorithmName, Algorithm] = {entry.name: entry for entry in _ALL}
SOLVERS: Mapping[SolverName, Callable[[SolverSettings], Solver[Any]]] = {
    "sac": lambda settings: settings.plain,
    "sac-eta": lambda settings: sac_eta(settings.plain, settings.eta, settings.horizon),
}
