"""Soft actor-critic on two cores: critics and actor learn at once, a few updates at a time.

A step of the critics needs the actor, and a step of the actor the critics. Within a block of
updates each sees the other as it was when the block began; then they meet. What either computes
follows from that alone, so the numbers do not depend on which of them is faster, nor on the cores.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray

from etairl.solvers.sac_state import SACInfo, SACState
from etairl.solvers.solver import Batch, CostFunction, with_current_cost
from etairl.solvers.two_cores import at_once

if TYPE_CHECKING:
    from etairl.solvers.sac import SAC

_OF_CRITICS = ("critics", "targets", "critic_optimiser")
_OF_ACTOR = (
    *("actor", "average", "actor_optimiser"),
    *("log_temperature", "temperature_optimiser"),
)


def scan_at_once(
    solver: "SAC",
    state: SACState,
    batches: Batch,
    key: PRNGKeyArray,
    cost: CostFunction | None,
    cost_state: Any,
) -> tuple[SACState, SACInfo]:
    """All updates on these batches, in blocks; the last state and the mean info."""
    many, block, infos = batches.cost.shape[0], solver.play.at_once, []
    keys = jax.vmap(jax.random.split)(jax.random.split(key, many))
    for start in range(0, many, block):
        both = state, batches, keys, np.int32(start), min(block, many - start)
        (judged, (loss_q, q)), (acted, (loss_pi, temperature, entropy)) = at_once(
            partial(_judges, solver, *both, cost, cost_state), partial(_acts, solver, *both)
        )
        state = state._replace(
            **dict(zip(_OF_CRITICS, judged, strict=True)),
            **dict(zip(_OF_ACTOR, acted, strict=True)),
        )
        infos.append(SACInfo(loss_q, loss_pi, temperature, entropy, q))
    return state, jax.tree.map(lambda *parts: np.mean(np.concatenate(parts)), *infos)


@partial(jax.jit, static_argnums=5)
def _judges(
    solver: "SAC",
    state: SACState,
    batches: Batch,
    keys: Key[Array, "updates 2"],
    start: Array,
    many: int,
    cost: CostFunction | None,
    cost_state: Any,
) -> tuple[Any, Any]:
    """A block of the critics, beside an actor that stays."""

    def step(now: SACState, batch: Batch, key: PRNGKeyArray) -> tuple[SACState, Any]:
        return solver.critics_step(now, with_current_cost(batch, cost, cost_state), key)

    return _block(step, _OF_CRITICS, state, batches, keys[:, 0], start, many)


@partial(jax.jit, static_argnums=5)
def _acts(
    solver: "SAC",
    state: SACState,
    batches: Batch,
    keys: Key[Array, "updates 2"],
    start: Array,
    many: int,
) -> tuple[Any, Any]:
    """A block of the actor, beside critics that stay."""

    def step(now: SACState, batch: Batch, key: PRNGKeyArray) -> tuple[SACState, Any]:
        temperature = jnp.exp(now.log_temperature)
        now, (loss, entropy) = solver.actor_step(now, batch, key)
        return now, (loss, temperature, entropy)

    return _block(step, _OF_ACTOR, state, batches, keys[:, 1], start, many)


def _block(
    step: Any,
    names: tuple[str, ...],
    state: SACState,
    batches: Batch,
    keys: Key[Array, " updates"],
    start: Array,
    many: int,
) -> tuple[Any, Any]:
    """So many steps, of which these fields of the state are handed on; and their info."""

    def body(learns: tuple[Any, ...], drawn: tuple[Batch, PRNGKeyArray]) -> tuple[Any, Any]:
        now, info = step(state._replace(**dict(zip(names, learns, strict=True))), *drawn)
        return tuple(getattr(now, name) for name in names), info

    part = jax.tree.map(lambda x: jax.lax.dynamic_slice_in_dim(x, start, many), (batches, keys))
    return jax.lax.scan(body, tuple(getattr(state, name) for name in names), part)
