"""A learned policy as one file, and as an object that needs no simulator."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike
from safetensors.numpy import save

from etairl.decoding import decode, encode
from etairl.networks import MLP, Activation, Normaliser, check_widths
from etairl.solvers.heads import make_head
from etairl.solvers.policy import HeadPolicy, observation_rows
from etairl.storage import UnreadableError, read_bytes, write_atomic
from etairl.tasks.horizon import marked
from etairl.trees import Tree, arrays_from, tree_of
from etairl.types import InputError, Policy, Spec

_KEY = "etairl"  # one key: several have no fixed order in a file
_NEW = re.compile(r"actor\.(\d+)\.(weight|bias)")
_OLD = re.compile(r"\[0\]\.(weights|biases)\[(\d+)\]")
_FIELDS = {"weight": "weights", "bias": "biases"}


@dataclass(frozen=True)
class About:
    """What a file of weights says beside its numbers."""

    spec: Spec
    """of the environment"""
    activation: Activation
    normalises: bool
    """whether observations are standardised first"""
    marked: bool
    """whether the network has one input more, which is 0 in the world (absorbing states)"""


class LearnedPolicy:
    """A policy of a finished run. It needs no simulator, and can be pickled.

    Attributes:
        spec: sizes of observations and actions, and bounds of the actions.
    """

    def __init__(self, weights: Mapping[str, np.ndarray], about: About, seed: int | None = None):
        self.spec = about.spec
        self._weights, self._about = dict(weights), about
        self._rng = np.random.default_rng(seed)
        self.network = _network(self._weights, about)

    @property
    def marked(self) -> bool:
        """Whether its network has one input more, which is 0 in the world."""
        return self._about.marked

    def predict(
        self,
        observation: ArrayLike | dict[str, Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, None]:
        """Actions in the units of the environment, and None, as Stable-Baselines3 has it.

        Args:
            observation: one observation or rows of them, arrays or lists. One of several parts is a
                dict, laid out in the order of its names.
            state: not used; there is no memory.
            episode_start: not used.
            deterministic: the most likely actions; otherwise they are drawn.

        Returns:
            One action for one observation, rows for rows; discrete actions are whole numbers.
        """
        of = self.spec.environment or "this policy"
        rows, alone = observation_rows(observation, self.spec.obs_dim, of)
        if self.marked:
            rows = marked(rows)
        actions = self.network(None if deterministic else self._rng, rows)
        if self.spec.discrete_actions is not None:
            actions = actions[:, 0]
        return (actions[0] if alone else actions), None

    def __getstate__(self) -> dict[str, Any]:
        return {"weights": self._weights, "about": self._about, "rng": self._rng}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["weights"], state["about"])
        self._rng = state["rng"]

    def __repr__(self) -> str:
        spec = self.spec
        actions = f"{spec.discrete_actions or spec.act_dim}"
        kind = "discrete actions" if spec.discrete_actions else "action values"
        return f"LearnedPolicy({spec.environment}: {spec.obs_dim} numbers → {actions} {kind})"


def _network(weights: Mapping[str, np.ndarray], about: About) -> HeadPolicy:
    """The policy of weights by their new names; refused where they do not fit together."""
    layers = len([name for name in weights if name.endswith(".weight")])
    actor = MLP(
        tuple(jnp.asarray(weights[f"actor.{i}.weight"]) for i in range(layers)),
        tuple(jnp.asarray(weights[f"actor.{i}.bias"]) for i in range(layers)),
        about.activation,
    )
    seen = replace(about.spec, obs_dim=about.spec.obs_dim + about.marked)
    head = make_head(seen)
    widths = [seen.obs_dim, *(w.shape[-1] for w in actor.weights)]
    check_widths("the actor", widths, about.activation)
    shapes = [*pairwise(widths)]
    fit = [w.shape for w in actor.weights] == shapes and widths[-1] == head.shape.actor_outputs
    if not fit or [b.shape for b in actor.biases] != [(width,) for width in widths[1:]]:
        raise InputError("the layers of the policy do not fit together, or its environment")
    normaliser = None
    if about.normalises:
        parts = (weights[f"normaliser.{name}"] for name in Normaliser._fields)
        normaliser = Normaliser(*parts)
        if np.shape(normaliser.mean) != (widths[0],) or np.shape(normaliser.variance) != (
            widths[0],
        ):
            raise InputError("the statistics of the policy do not fit its observations")
    if not all(np.isfinite(array).all() for array in weights.values()):
        raise InputError("the policy has NaN or infinity among its weights")
    return HeadPolicy(actor, head, seen, normaliser)


def named_weights(actor: MLP, normaliser: Normaliser) -> dict[str, np.ndarray]:
    """Arrays of a policy by the names that files have: `actor.0.weight`, `normaliser.mean`."""
    arrays: dict[str, Any] = {}
    for i, (weight, bias) in enumerate(zip(actor.weights, actor.biases, strict=True)):
        arrays |= {f"actor.{i}.weight": weight, f"actor.{i}.bias": bias}
    arrays |= {f"normaliser.{k}": v for k, v in zip(Normaliser._fields, normaliser, strict=True)}
    return {name: np.asarray(array, order="C") for name, array in arrays.items()}


def about_policy(policy: HeadPolicy, marked: bool) -> About:
    """What its file says; `policy` knows the observations with their mark, if there is one."""
    spec = replace(policy.spec, obs_dim=policy.spec.obs_dim - marked)
    return About(spec, policy.actor.activation, policy.normaliser is not None, marked)


def learned_from(policy: HeadPolicy, marked: bool) -> LearnedPolicy:
    """The same policy without whatever trained it."""
    about = about_policy(policy, marked)
    normaliser = policy.normaliser or Normaliser.identity(policy.spec.obs_dim)
    return LearnedPolicy(named_weights(policy.actor, normaliser), about)


def save_policy(path: Path, solver: Any, policy: Policy, marked: bool = False) -> None:
    """Write the actor of a solver's state, and what it expects of its inputs.

    Args:
        path: the file.
        solver: a state with an actor and a normaliser.
        policy: how they play.
        marked: observations have one column more, 0 in the world.
    """
    weights = named_weights(solver.actor, solver.normaliser)
    metadata = None
    if isinstance(policy, HeadPolicy):
        metadata = {_KEY: json.dumps(encode(about_policy(policy, marked)))}
    write_atomic(path, save(weights, metadata))


def load_player(path: Path, like: Tree) -> Tree:
    """Actor and normaliser with the shapes of `like`, a pair; also from files before 0.4."""
    arrays = {_old_name(name): array for name, array in _arrays(path)[0].items()}
    return tree_of(path, arrays, like)


def load_learned(path: Path, seed: int | None = None) -> LearnedPolicy | None:
    """The policy in a file; None where the file is from before 0.4 and has the weights alone."""
    arrays, header = _arrays(path)
    try:
        about = _about(header)
        return None if about is None else LearnedPolicy(arrays, about, seed)
    except (ValueError, LookupError, RecursionError) as error:
        raise UnreadableError(f"{path}: it is damaged, or of another version ({error})") from None


def about_file(path: Path) -> About | None:
    """What a file of weights says beside its numbers; None of one from before 0.4."""
    try:
        return _about(_arrays(path)[1])
    except (ValueError, LookupError, RecursionError) as error:
        raise UnreadableError(f"{path}: it is damaged, or of another version ({error})") from None


def _about(header: Mapping[str, Any]) -> About | None:
    text = (header.get("__metadata__") or {}).get(_KEY)
    return None if text is None else decode(About, json.loads(text), "the policy")


def _arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays by their new names, and the header of the file."""
    data = read_bytes(path)
    arrays = arrays_from(path, data)  # which has checked the header
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return {_new_name(name): array for name, array in arrays.items()}, header


def _new_name(name: str) -> str:
    old = _OLD.fullmatch(name)
    if old is not None:
        return f"actor.{old[2]}.{'weight' if old[1] == 'weights' else 'bias'}"
    return re.sub(r"^\[1\]\.", "normaliser.", name)


def _old_name(name: str) -> str:
    new = _NEW.fullmatch(name)
    if new is not None:
        return f"[0].{_FIELDS[new[2]]}[{new[1]}]"
    return re.sub(r"^normaliser\.", "[1].", name)
