"""Solvers and costs that are not of the package join by an entry in a dictionary.

An on-policy solver, a family of costs, and a game without a cost player are written here as a user
would, and go through everything that the package's own do.
"""

import inspect
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tiny import TINY

import etairl
from etairl.algorithms.grl import GrlConfig, grl
from etairl.algorithms.registry import ALGORITHMS, Algorithm
from etairl.costs.family import Cost, CostConfig, standard_units
from etairl.costs.implied import ImpliedConfig
from etairl.experience import Experience, World
from etairl.hyper import traced
from etairl.networks import MLP, Normaliser, start_optimiser
from etairl.regularisers import Unregularised
from etairl.solvers.draws import expert_pairs
from etairl.solvers.heads import make_head
from etairl.solvers.players import SOLVERS
from etairl.solvers.policy import HeadPolicy
from etairl.solvers.solver import Batch, ExpertPairs, Solver, SolverConfig
from etairl.tasks import make_task
from etairl.training.config_files import read_config
from etairl.training.flat import configure
from etairl.training.session import open_run
from etairl.types import InputError, Spec

MOST_LINES = 80


class ReinforceState(NamedTuple):
    actor: MLP
    normaliser: Normaliser
    optimiser: Any


class ReinforceInfo(NamedTuple):
    loss: jax.Array


@traced
@dataclass(frozen=True)
class Reinforce(Solver[ReinforceState]):
    """One step of the policy gradient, on the episodes that the policy has just played."""

    spec: Spec
    gamma_rl: float
    rate: float

    @property
    def head(self):
        return make_head(self.spec)

    def init(self, key):
        seen, adam = self.spec.obs_dim, optax.adam(1.0)
        actor = MLP.init(key, (seen, 16, self.head.shape.actor_outputs), "tanh")
        return ReinforceState(actor, Normaliser.identity(seen), start_optimiser(adam, actor))

    def policy(self, state):
        return HeadPolicy(state.actor, self.head, self.spec)

    def log_prob(self, state, obs, act):
        rows = (x.reshape(-1, x.shape[-1]) for x in (obs, act))
        return self.head.log_prob(state.actor, *rows).reshape(obs.shape[:-1])

    def draw(self, rng: np.random.Generator, data: Experience) -> Batch:
        newest = data.buffer.newest(cycles=1)
        steps = np.arange(newest.steps)
        happened = data.buffer.transitions(newest.rows(steps), steps.shape)
        return Batch.of(happened, newest.times(steps))

    @jax.jit
    def updates(self, key, state, drawn, cost=None, cost_state=None):
        paid = drawn.cost if cost is None else cost(cost_state, *drawn[:2], drawn.next_obs)

        def back(later, step):
            total = step[0] + self.gamma_rl * step[1] * later
            return total, total

        goes_on = jnp.append(drawn.time[1:] > 0, False)
        _, to_go = jax.lax.scan(back, jnp.float32(0.0), (paid, goes_on), reverse=True)

        def loss(actor):
            return (self.head.log_prob(actor, *drawn[:2]) * (to_go - to_go.mean())).mean()

        value, grads = jax.value_and_grad(loss)(state.actor)
        change, optimiser = optax.adam(self.rate).update(grads, state.optimiser)
        actor = optax.apply_updates(state.actor, change)
        return ReinforceState(actor, state.normaliser, optimiser), ReinforceInfo(value)


@dataclass(frozen=True)
class ReinforceSettings:
    kind: ClassVar[str] = "reinforce"
    weighs_time: ClassVar[bool] = False
    temperature: ClassVar[float | None] = None
    gamma_rl: float = 0.99
    reinforce_rate: float = 1e-2

    def make(self, world: World) -> Reinforce:
        return Reinforce(world.spec, self.gamma_rl, self.reinforce_rate)

    def check(self, omega):
        if omega != Unregularised():
            raise InputError(f"reinforce has no regulariser, got {omega.name}")

    def warnings(self, eta, gamma_irl, horizon):
        return []

    def code(self):
        return []


class MeanState(NamedTuple):
    mean: jax.Array
    scale: jax.Array


class MeanInfo(NamedTuple):
    gap: jax.Array


@traced
@dataclass(frozen=True)
class MeanSettings(CostConfig):
    kind: ClassVar[str] = "mean"
    steepness: float = 1.0

    def make(self, world: World) -> "DistanceToMean":
        return DistanceToMean(self)


@traced
@dataclass(frozen=True)
class DistanceToMean(Cost):
    """The squared distance to the expert's mean state, in closed form."""

    config: MeanSettings = field(default_factory=MeanSettings)

    def init(self, key, expert):
        return MeanState(*standard_units(np.asarray(expert.obs)))

    def __call__(self, state, obs, act, next_obs):
        away = (obs - state.mean) / state.scale
        return self.config.steepness * (away**2).mean(axis=-1)

    def updates(self, key, state, own, expert, log_prob):
        means = [side.obs.mean(axis=(0, 1)) for side in (own, expert)]
        gap = jnp.linalg.norm((means[0] - means[1]) / state.scale)
        return state._replace(mean=means[1]), MeanInfo(gap)


NEAR = Algorithm(
    "near",
    "stay near the expert's mean",
    psi="a single cost",
    costs="a squared distance",
    eta="dirac:0",
    cost=MeanSettings(),
)


@traced
@dataclass(frozen=True)
class Surprise(Cost):
    r"""$-\log\pi(a \mid s)$ of the solver itself: nobody plays it."""

    spec: Spec
    learns: ClassVar[bool] = False

    def init(self, key, expert):
        return Likelihood(self.spec, 1.0).init(key).actor

    def learned(self, state, solver):
        return solver.actor

    def __call__(self, state, obs, act, next_obs):
        return -make_head(self.spec).log_prob(state, obs, act)

    def updates(self, key, state, own, expert, log_prob):
        return state, None


@traced
@dataclass(frozen=True)
class Likelihood(Solver[ReinforceState]):
    """Makes the expert's actions likely, and says that likely actions cost little."""

    spec: Spec
    rate: float

    @property
    def head(self):
        return make_head(self.spec)

    def implied_cost(self):
        return Surprise(self.spec)

    def init(self, key):
        seen, adam = self.spec.obs_dim, optax.adam(1.0)
        actor = MLP.init(key, (seen, 16, self.head.shape.actor_outputs), "tanh")
        return ReinforceState(actor, Normaliser.identity(seen), start_optimiser(adam, actor))

    def policy(self, state):
        return HeadPolicy(state.actor, self.head, self.spec)

    def log_prob(self, state, obs, act):
        return self.head.log_prob(state.actor, obs, act)

    def draw(self, rng: np.random.Generator, data: Experience) -> ExpertPairs:
        return expert_pairs(rng, data, (30, 32))

    @jax.jit
    def updates(self, key, state, drawn, cost=None, cost_state=None):
        def step(carry, pairs):
            actor, optimiser = carry
            loss, grads = jax.value_and_grad(lambda a: -self.head.log_prob(a, *pairs).mean())(actor)
            change, optimiser = optax.adam(self.rate).update(grads, optimiser)
            return (optax.apply_updates(actor, change), optimiser), loss

        (actor, optimiser), losses = jax.lax.scan(step, (state.actor, state.optimiser), drawn)
        return ReinforceState(actor, state.normaliser, optimiser), ReinforceInfo(losses.mean())


@dataclass(frozen=True)
class LikelihoodSettings(SolverConfig):
    kind: ClassVar[str] = "likelihood"
    temperature: ClassVar[float | None] = None
    gamma_rl: float = 0.99
    likelihood_rate: float = 1e-2

    def make(self, world: World) -> Likelihood:
        return Likelihood(world.spec, self.likelihood_rate)


ALONE = Algorithm(
    "alone",
    "actions of the expert are likely, and likely ones are cheap",
    psi="none",
    costs="-log pi",
    eta="dirac:0",
    cost=ImpliedConfig(),
    solver="likelihood",
)


@pytest.fixture(autouse=True)
def joined(monkeypatch):
    """All that it takes: no file of the package knows them."""
    monkeypatch.setitem(SOLVERS, "reinforce", ReinforceSettings)
    monkeypatch.setitem(ALGORITHMS, "near", NEAR)
    monkeypatch.setitem(SOLVERS, "likelihood", LikelihoodSettings)
    monkeypatch.setitem(ALGORITHMS, "alone", ALONE)


@pytest.mark.parametrize(
    "parts",
    [
        (ReinforceState, ReinforceInfo, Reinforce, ReinforceSettings),
        (MeanState, MeanInfo, MeanSettings, DistanceToMean),
        (ReinforceState, ReinforceInfo, Likelihood, LikelihoodSettings, Surprise),
    ],
    ids=["solver", "cost", "no cost player"],
)
def test_it_takes_few_lines(parts):
    lines = sum(len(inspect.getsource(part).splitlines()) for part in parts)
    assert lines < MOST_LINES


def test_they_are_what_the_game_asks_for():
    spec = Spec(3, 1, (-2.0,), (2.0,))
    assert isinstance(Reinforce(spec, 0.9, 0.1), Solver)
    assert isinstance(ReinforceSettings(), SolverConfig)
    assert isinstance(DistanceToMean(), Cost)
    assert isinstance(MeanSettings(), CostConfig)
    assert isinstance(Likelihood(spec, 0.1), Solver)
    assert isinstance(Surprise(spec), Cost)


CHOICES = {
    "solver": {"solver": "reinforce", "omega": "none", "reinforce_rate": 0.02},
    "cost": {"algorithm": "near", "steepness": 2.0},
    "both": {"algorithm": "near", "solver": "reinforce", "omega": "none"},
    "no cost player": {"algorithm": "alone", "likelihood_rate": 0.02},
}


@pytest.mark.parametrize("change", CHOICES.values(), ids=CHOICES)
def test_it_is_trained_judged_resumed_and_kept(change, tmp_path):
    config = configure(TINY, **change)
    rows = []
    result = etairl.train(config, tmp_path / "whole", watch=rows.append)
    assert len(rows) == 6
    assert ("cost/gap" in rows[0]) == (change.get("algorithm") == "near")
    assert ("solver/loss" in rows[0]) == (config.solver.kind != "sac")
    assert all(np.isfinite(value) for row in rows for value in row.values())
    assert read_config(tmp_path / "whole") == result.config == config
    judged = {found.name: found for found in result.evaluate(4, cloning=False)}
    assert judged["learner"].episodes == 4
    seen = result.demonstrations
    paid = result.cost(seen.observations, seen.actions)
    assert np.isfinite(paid).all()
    if config.choices.solver is not None:  # its loss is the cost of what the expert does
        assert rows[-1]["solver/loss"] < rows[0]["solver/loss"] - 1.0
        assert paid.mean() < rows[0]["solver/loss"] - 1.0

    broken = tmp_path / "broken"
    with open_run(config, broken) as run, closing(run.play()) as reports:
        for _ in range(2):
            next(reports)
    with open_run(config, broken, resume=True) as run:
        assert run.resumed
        assert len(list(run.play())) == 4
    for name in ("policy", "best-policy", "cost"):
        one, two = (tmp_path / f / f"{name}.safetensors" for f in ("whole", "broken"))
        assert one.read_bytes() == two.read_bytes(), name
    for name in ("metrics.jsonl", "result.json", "config.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (broken / name).read_bytes(), name


def test_the_solver_learns():
    """To go costs 1 once, to stay 0.4 in each of 8 steps: a short-sighted learner stays.

    It starts with even odds, a return of about -1.3 at most; both ends are certain policies.
    """
    task = make_task("etairl.tasks.pay_early:GoStay-v0", 20, horizon=8, seed=0)
    for gamma, expected in ((0.9, -1.0), (0.3, -3.2)):
        rounds = grl(GrlConfig(cycles=60), task, Reinforce(task.spec, gamma, 0.05))
        *_, last = (found.rolled_out.returns.mean() for found in rounds)
        assert last == pytest.approx(expected, abs=0.1)


def test_only_its_own_choices_are_taken(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="reinforce has no regulariser, got entropy"):
        configure(TINY, solver="reinforce")
    with pytest.raises(InputError, match="steepness is not a setting of megan with the solver"):
        configure(TINY, steepness=2.0)
    with pytest.raises(InputError, match="solver_batch is not a setting of megan with the solver"):
        configure(TINY, solver="reinforce", omega="none", solver_batch=8)


@pytest.mark.parametrize(
    ("change", "registry", "name", "what"),
    [
        (CHOICES["solver"], SOLVERS, "reinforce", "solver"),
        (CHOICES["cost"], ALGORITHMS, "near", "cost"),
    ],
)
def test_where_it_has_not_joined_its_runs_are_refused(
    change, registry, name, what, tmp_path, monkeypatch
):
    with open_run(configure(TINY, **change), tmp_path / "run"):
        pass
    monkeypatch.delitem(registry, name)
    with pytest.raises(InputError, match=f"has no settings of a {what} that this version knows"):
        read_config(tmp_path / "run")
