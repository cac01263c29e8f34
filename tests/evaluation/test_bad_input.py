"""Odd demonstrations and odd learners: a sentence or a stated fallback, never NaN."""

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from etairl.demos.dataset import Selection, Standardiser
from etairl.evaluation.matching import Reference, Steps
from etairl.evaluation.timeline import Expert
from etairl.training.behaviour import judge
from etairl.types import InputError, Trajectories, offsets_of

HORIZON = 24


def played(seed: int, lengths: list[int], rewards: bool = True) -> Trajectories:
    rng, steps = np.random.default_rng(seed), sum(lengths)
    offsets = offsets_of(np.array(lengths))
    last = np.zeros(steps, bool)
    last[offsets[1:] - 1] = True
    short = np.repeat(np.array(lengths) < HORIZON, lengths)
    return Trajectories(
        rng.normal(size=(steps, 3)),
        rng.uniform(-1, 1, size=(steps, 1)),
        last & short,
        last & ~short,
        offsets,
        rng.normal(size=steps) if rewards else None,
    )


def constant(t: Trajectories, columns: slice) -> Trajectories:
    observations = t.observations.copy()
    observations[:, columns] = 7.0
    return Trajectories(
        observations, t.actions * 0, t.terminated, t.truncated, t.offsets, t.rewards
    )


WHOLE = [HORIZON] * 10
ODD = {
    "usual": played(1, WHOLE),
    "a constant column": constant(played(2, WHOLE), slice(1, 2)),
    "nothing but constant columns": constant(played(3, WHOLE), slice(None)),
    "no rewards": played(4, WHOLE, rewards=False),
    "unequal lengths": played(5, [24, 1, 2, 24, 7, 24, 3, 13, 1, 24]),
    "all short": played(6, [2, 1, 3, 2, 2, 1, 1, 2, 5]),
    "one demonstration": played(7, [HORIZON]),
    "one short demonstration": played(8, [9]),
    "two of them": played(9, [HORIZON, 11]),
    "copies": played(10, [HORIZON]).take(np.zeros(9, int)),
}


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, float):
        yield value


def distances(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and "floor_by" in value:
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from distances(part)


@pytest.mark.parametrize("learner", ODD)
@pytest.mark.parametrize("expert", ODD)
def test_every_number_is_finite_and_intervals_hold_their_estimates(expert, learner):
    shown, own = ODD[expert], ODD[learner]
    beside = Expert("it", shown, Standardiser.of(shown.pairs()), played(11, WHOLE), HORIZON)
    found = asdict(judge(np.random.default_rng(0), "learner", "drawn", own, beside))
    assert all(map(math.isfinite, numbers(found)))
    every = list(distances(found))
    assert len(every) >= 4
    for d in every:
        assert d["low"] <= d["value"] <= d["high"]
        assert (d["floor"] is None) == (d["floor_by"] is None)
        assert d["floor"] is None or d["floor"] >= 0.0
        assert 0.0 < d["p"] <= 1.0
    if shown.rewards is None or own.rewards is None:
        assert found["score"] is None
    if len(shown) < 8 and found["mmd2_mu"]["floor_by"] is not None:
        assert found["mmd2_mu"]["floor_by"].startswith("blocks of time")


def test_no_episode_is_a_sentence():
    steps = Steps.of(ODD["usual"])
    nothing = steps.window(HORIZON, 2 * HORIZON)
    with pytest.raises(InputError, match="2 episodes of either side, or 2 steps"):
        Reference.of(ODD["usual"]).distances(np.random.default_rng(0), nothing)
    with pytest.raises(InputError, match="needs a demonstration; there is none"):
        Reference(nothing)
    with pytest.raises(InputError, match="choose at least one episode"):
        ODD["usual"].take(np.array([], int))
    with pytest.raises(InputError, match="there are no steps"):
        Trajectories(*np.zeros((2, 0, 3)), *np.zeros((2, 0), bool), np.array([0, 0]))
    with pytest.raises(InputError, match="asked for 11 episodes, but there are only 10"):
        Selection(episodes=11)(ODD["usual"])
