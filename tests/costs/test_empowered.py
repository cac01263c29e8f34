"""EAIRL's cost: its logit and what its models learn, on a world that is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.empowered import EmpoweredConfig, EmpoweredCost
from etairl.costs.family import Players, Points, View
from etairl.regularisers import Unregularised
from etairl.types import InputError, Spec

KEY = jax.random.key(0)
DOORS = Spec(2, 1, None, None, 2)


def make(spec=DOORS, **settings) -> EmpoweredCost:
    network = DiscriminatorConfig(hidden_d=(32,), lr_d=1e-2, gradient_penalty=0.0)
    return EmpoweredCost(EmpoweredConfig(network=network, **settings), View(spec), 0.9)


def doors(rows: int):
    """In state 0 either action stays where it is, in state 1 the action decides."""
    rng = np.random.default_rng(0)
    here, act = rng.integers(2, size=rows), rng.integers(2, size=rows)
    there = np.where(here == 0, 0, act)
    obs, after = (jnp.eye(2)[x] for x in (here, there))
    return Points(obs, jnp.asarray(act[:, None], jnp.float32), after)


def test_the_models_learn_where_actions_can_be_told():
    """Uniform actions: 0 nats of influence in state 0, log 2 in state 1."""
    cost, seen = make(), doors(2000)
    state = cost.init(KEY, seen)
    many = Points(*(x.reshape(20, 100, -1) for x in seen))
    said = jnp.full((20, 100), np.log(0.5))
    for _ in range(25):
        state, info = cost.updates(KEY, state, many, many, lambda obs, act: said)
    eye = jnp.eye(2)
    x = cost._units(state, Points(eye, jnp.zeros((2, 1)), eye))
    phi = np.asarray(cost._phi(state.models.potential, x))
    assert phi == pytest.approx([0.0, np.log(2.0)], abs=0.06)
    assert float(info.inverse_loss) == pytest.approx(0.5 * np.log(2.0), abs=0.05)
    assert float(info.transition_loss) < 0.01
    assert float(info.empowerment) == pytest.approx(0.5 * np.log(2.0), abs=0.05)
    slow = np.asarray(cost._phi(state.slow, x))
    assert slow == pytest.approx(phi, abs=0.1), "the slow copy follows"


def test_the_logit_by_hand():
    cost, seen = make(empowerment=0.5, told=2.0), doors(50)
    state = cost.init(KEY, seen)
    x = cost._units(state, seen)
    models, here = state.models, x[:, :2]
    there = here + models.transition(x)
    phi, ahead = models.potential(here)[:, 0], state.slow(there)[:, 0]
    alone = np.asarray(cost.portable()(state, *seen))
    shaped = alone + np.asarray(phi - 0.9 * ahead)
    pairs = jnp.concatenate([here, there], axis=1)
    told = 2.0 * np.asarray(models.inverse.log_prob(pairs, seen.act))
    paid = np.asarray(cost(state, *seen))
    assert paid == pytest.approx(shaped + 0.5 * (np.asarray(phi) - told), abs=1e-4)
    column = jnp.full((50, 1), -1.5)
    logit = state.classifier.network(jnp.concatenate([x, column], axis=1))[:, 0]
    assert np.asarray(logit) == pytest.approx(alone - 1.5, abs=1e-5)


def test_without_a_bonus_the_solver_pays_the_shaped_cost():
    free, seen = make(empowerment=0.0), doors(50)
    state = free.init(KEY, seen)
    x = free._units(state, seen)
    shaped = free.portable()(state, *seen) + free._shaping(state, x)
    assert np.asarray(free(state, *seen)) == pytest.approx(np.asarray(shaped), abs=1e-5)


def test_refusals():
    with pytest.raises(InputError, match="empowerment must be >= 0"):
        EmpoweredConfig(empowerment=-1.0)
    with pytest.raises(InputError, match="eairl needs the regulariser entropy, got none"):
        EmpoweredConfig().check(Players(Unregularised(), 1.0, False, "eairl"))
