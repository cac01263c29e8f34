"""Demonstrations written as a new local Minari dataset."""

import shutil
import warnings
from dataclasses import asdict
from typing import Any

import gymnasium
import minari
import numpy as np
from minari.data_collector import EpisodeBuffer

from etairl.demos.dataset import Demos
from etairl.demos.minari import EXTRAS_KEY, Extras, check_dataset_name, minari_root
from etairl.types import InputError, Trajectories


def write_minari(demos: Demos, dataset_id: str) -> None:
    """Store demonstrations as a new local Minari dataset. An existing one is not touched."""
    check_dataset_name(dataset_id)
    folder = minari_root() / dataset_id
    if folder.exists():
        raise InputError(f"minari:{dataset_id} exists already; choose another name or version")
    t, spec = demos.trajectories, demos.spec
    if t.spans is not None:
        raise InputError(
            f"minari:{dataset_id}: Minari has no field for thinned demonstrations; write them to a "
            "name that ends in .npz"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about missing authors and environments
            dataset = minari.create_dataset_from_buffers(
                dataset_id,
                [_buffer(demos, i) for i in range(len(t))],
                observation_space=_box(t.observations, None, None),
                action_space=gymnasium.spaces.Discrete(spec.discrete_actions)
                if spec.discrete_actions
                else _box(_actions(t), spec.action_low, spec.action_high),
                description=f"exported by etairl from {demos.name}",
                data_format="hdf5",
                jpeg_encoding=False,
            )
        extras = asdict(_extras(demos))
        for name in ("observation_names", "action_names"):  # earlier versions do not know them
            if extras[name] is None:
                del extras[name]
        dataset.storage.update_metadata({EXTRAS_KEY: extras})
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _extras(demos: Demos) -> Extras:
    t, spec = demos.trajectories, demos.spec
    return Extras(
        rewards=t.rewards is not None,
        final_observations=t.final_observations is not None,
        actions=t.act_dim > 0,
        tasks=None if t.tasks is None else t.tasks.tolist(),
        task_dtype=None if t.tasks is None else str(t.tasks.dtype),
        environment=spec.environment,
        action_low=None if spec.action_low is None else list(spec.action_low),
        action_high=None if spec.action_high is None else list(spec.action_high),
        playing=demos.playing,
        observation_names=None if (seen := spec.observation_names) is None else list(seen),
        action_names=None if (acted := spec.action_names) is None else list(acted),
        ours=True,
    )


def _buffer(demos: Demos, episode: int) -> EpisodeBuffer:
    t = demos.trajectories
    rows = slice(int(t.offsets[episode]), int(t.offsets[episode + 1]))
    # Minari wants the observation after the last action; where unknown, the last one fills in,
    # and the metadata says so.
    final = (
        t.observations[rows][-1] if t.final_observations is None else t.final_observations[episode]
    )
    actions = _actions(t)[rows]
    rewards = np.zeros(len(actions), np.float32) if t.rewards is None else t.rewards[rows]
    return EpisodeBuffer(
        id=episode,
        observations=np.concatenate([t.observations[rows], final[None]]),  # pyright: ignore[reportArgumentType]
        actions=actions[:, 0] if demos.spec.discrete_actions else actions,  # pyright: ignore[reportArgumentType]
        rewards=rewards,  # pyright: ignore[reportArgumentType]
        terminations=t.terminated[rows],  # pyright: ignore[reportArgumentType]
        truncations=t.truncated[rows],  # pyright: ignore[reportArgumentType]
    )


def _actions(t: Trajectories) -> np.ndarray:
    """Zeros where they are unknown; the metadata says so."""
    return t.actions if t.act_dim else np.zeros((t.steps, 1), np.float32)


def _box(rows: np.ndarray, low: tuple | None, high: tuple | None) -> gymnasium.spaces.Box:
    kind: Any = rows.dtype.type
    if rows.dtype.kind != "f":
        limits = np.iinfo(kind)
        return gymnasium.spaces.Box(limits.min, limits.max, rows.shape[1:], kind)
    return gymnasium.spaces.Box(
        np.full(rows.shape[1], -np.inf, kind) if low is None else np.array(low, kind),
        np.full(rows.shape[1], np.inf, kind) if high is None else np.array(high, kind),
        dtype=kind,
    )
