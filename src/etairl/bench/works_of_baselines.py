"""What Stable-Baselines3 and SBX are timed at, in their own environment (see `timed_works.py`).

Nothing of etairl is imported. Their settings are their defaults, but for those that are named.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import SAC  # pyright: ignore[reportMissingImports]
from stable_baselines3.common.env_util import (  # pyright: ignore[reportMissingImports]
    make_vec_env,
)
from stable_baselines3.common.type_aliases import (  # pyright: ignore[reportMissingImports]
    TrainFreq,
    TrainFrequencyUnit,
)

_Work = Callable[[int], object]
_Settings = dict[str, Any]


def _simulator(settings: _Settings) -> _Work:
    """Steps of copies of an environment with actions that stay the same."""
    copies = settings["copies"]
    world = make_vec_env(settings["environment"], copies)
    shape = (copies, *world.action_space.shape)
    actions = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    world.reset()
    return lambda steps: [world.step(actions) for _ in range(steps // copies)]


def _learner(settings: _Settings) -> Any:
    """Soft actor-critic, not trained yet."""
    algorithm: Any = SAC
    if settings["library"] == "sbx":
        import sbx  # pyright: ignore[reportMissingImports]

        algorithm = sbx.SAC
    return algorithm(
        "MlpPolicy",
        make_vec_env(settings["environment"], settings.get("copies", 1)),
        batch_size=256,
        buffer_size=settings.get("stored", 1_000_000),
        learning_starts=settings.get("warmup", 100),
        policy_kwargs={"net_arch": settings["hidden"]},
        seed=0,
        device="cpu",
    )


def _with_full_replay(settings: _Settings) -> Any:
    """The same with a replay that is full of random numbers."""
    model = _learner(settings | {"warmup": 100_000})
    model.learn(8)  # makes its log
    rng, replay = np.random.default_rng(0), model.replay_buffer
    for array in (replay.observations, replay.next_observations, replay.rewards):
        array[:] = rng.normal(size=array.shape)
    replay.actions[:] = rng.uniform(-1, 1, replay.actions.shape)
    replay.full = True
    return model


def _wait(model: Any) -> None:
    """Wait for what JAX is still at."""
    if hasattr(model.policy, "qf_state"):
        import jax

        jax.block_until_ready((model.policy.qf_state, model.policy.actor_state))


def _rollouts(settings: _Settings) -> _Work:
    """Steps with the policy, into the replay."""
    model, copies = _learner(settings), settings["copies"]
    _, callback = model._setup_learn(1_000_000, None)

    def work(steps: int) -> None:
        frequency = TrainFreq(steps // copies, TrainFrequencyUnit.STEP)
        model.collect_rollouts(model.env, callback, frequency, model.replay_buffer)

    return work


def _updates(settings: _Settings) -> _Work:
    """Gradient updates from the replay, so many in a call."""
    model, calls = _with_full_replay(settings), settings["calls"]

    def work(many: int) -> None:
        for _ in range(many // calls):
            model.train(calls, 256)
        _wait(model)

    return work


def _draws(settings: _Settings) -> _Work:
    """Transitions drawn and copied, batch by batch; uniformly."""
    replay, batch = _with_full_replay(settings).replay_buffer, settings["batch"]
    return lambda many: [replay.sample(batch) for _ in range(many // batch)]


def _checkpoint(settings: _Settings) -> _Work:
    """The learner and its replay, to files."""
    model = _with_full_replay(settings)
    folder = tempfile.TemporaryDirectory()

    def work(times: int) -> None:
        for _ in range(times):
            model.save(Path(folder.name) / "model")
            model.save_replay_buffer(Path(folder.name) / "replay")

    return work


def _cycle(settings: _Settings) -> _Work:
    """Learning on the true rewards: an update after each transition."""
    model = _learner(settings)

    def work(transitions: int) -> None:
        model.learn(transitions, reset_num_timesteps=False)
        _wait(model)

    return work


WORKS = {
    "simulator": _simulator,
    "rollouts": _rollouts,
    "updates": _updates,
    "draws": _draws,
    "checkpoint": _checkpoint,
    "cycle": _cycle,
}
