"""The clone that a learner stands beside: made once, at the end of a run, and kept with it."""

from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from etairl.networks import MLP
from etairl.solvers.cloning import CloningConfig, clone
from etairl.solvers.heads import make_head
from etairl.solvers.policy import HeadPolicy
from etairl.training.preparation import Prepared
from etairl.trees import load_tree, save_tree
from etairl.types import Policy, Spec

FILE = "clone.safetensors"
_FEWEST, _MOST = 200, 4_000


class Cloned(NamedTuple):
    """A behaviour-cloned actor."""

    actor: MLP
    noise: Float[Array, " act"]
    """standard deviation of its errors on the demonstrations: what it draws with"""


def cloning_settings(steps: int) -> CloningConfig:
    """As many updates as there are demonstrated steps, from 200 to 4,000."""
    return CloningConfig(updates=min(max(steps, _FEWEST), _MOST))


def make_clone(prepared: Prepared) -> Cloned:
    """Cloned from the demonstrations in use, with the seed of the run."""
    t, spec = prepared.demos.trajectories, prepared.demos.spec
    actor = clone(t, spec, cloning_settings(t.steps), prepared.config.seed).actor
    noise = np.zeros(spec.act_dim, np.float32)
    if spec.discrete_actions is None:
        greedy = HeadPolicy(actor, make_head(spec), spec)(None, t.observations)
        noise = (t.actions - greedy).std(axis=0).astype(np.float32)
    return Cloned(actor, jnp.asarray(noise))


def keep_clone(cloned: Cloned, run: Path) -> None:
    """Save it beside the players of a run."""
    save_tree(run / FILE, cloned)


def kept_clone(prepared: Prepared, run: Path) -> Cloned:
    """That of a finished run; made anew where the run is of a version that kept none."""
    if not (run / FILE).is_file():
        return make_clone(prepared)
    spec = prepared.demos.spec
    settings, outputs = cloning_settings(1), make_head(spec).shape.actor_outputs
    sizes = (spec.obs_dim, *settings.hidden, outputs)
    like = MLP.init(jax.random.key(0), sizes, settings.activation)
    return load_tree(run / FILE, Cloned(like, jnp.zeros(spec.act_dim)))


def clone_policy(cloned: Cloned, spec: Spec) -> Policy:
    """Acts like the demonstrations, drawn with as much noise as its errors on them."""
    policy, noise = HeadPolicy(cloned.actor, make_head(spec), spec), np.asarray(cloned.noise)

    def act(rng: np.random.Generator | None, observations: np.ndarray) -> np.ndarray:
        seen = observations[:, : spec.obs_dim]  # without the mark of the absorbing state
        if rng is None or spec.discrete_actions is not None:
            return policy(rng, seen)
        actions = policy(None, seen)
        drawn = actions + noise * rng.standard_normal(actions.shape)
        return np.clip(drawn, spec.action_low, spec.action_high).astype(actions.dtype)

    return act
