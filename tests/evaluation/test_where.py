"""The map of weightings: against brute force, where it must be silent, where it must speak."""

from dataclasses import replace

import numpy as np
import pytest

from etairl.demos import Demos, Selection, load_demos
from etairl.evaluation.contrasts import WeightedGroups
from etairl.evaluation.where import eta_map
from etairl.types import InputError, Spec, Trajectories, offsets_of


def made(observations: list[np.ndarray], discrete: bool = False) -> Demos:
    """Demonstrations from observations, one array per episode; actions are noise."""
    rng, lengths = np.random.default_rng(5), np.array([len(x) for x in observations])
    steps = int(lengths.sum())
    last = np.zeros(steps, bool)
    last[np.cumsum(lengths) - 1] = True
    actions = rng.integers(0, 2, (steps, 1)) if discrete else rng.uniform(-1, 1, (steps, 1))
    dims = observations[0].shape[1]
    t = Trajectories(
        observations=np.concatenate(observations),
        actions=actions,
        terminated=np.zeros(steps, bool),
        truncated=last,
        offsets=offsets_of(lengths),
    )
    spec = Spec(dims, 1, discrete_actions=2) if discrete else Spec(dims, 1)
    return Demos.of(t, spec, "made")


def walk(rng: np.random.Generator, length: int, drift: float) -> np.ndarray:
    """Noise around a line: early and late differ if it drifts."""
    line = drift * np.linspace(-1.0, 1.0, length)[:, None]
    return line + rng.standard_normal((length, 2))


def test_mmd2_is_the_mean_over_pairs_of_different_groups():
    rng = np.random.default_rng(0)
    points, groups = rng.standard_normal((24, 3)), np.repeat(np.arange(6), 4)
    weights = rng.random((2, 24))
    weights /= weights.sum(axis=1, keepdims=True)
    found = WeightedGroups.of(points, groups, weights, 20_000)
    kernel = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2) / 3.0)
    others = groups[:, None] != groups[None]

    def mean(a: np.ndarray, b: np.ndarray) -> float:
        pairs = np.outer(a, b) * others
        return float((pairs * kernel).sum() / pairs.sum())

    a, b = weights
    exact = mean(a, a) + mean(b, b) - 2.0 * mean(a, b)
    value, error = found.mmd2(0, 1)
    assert error < 0.05
    assert abs(value - exact) < 5.0 * error
    assert found.mmd2(0, 0)[0] == pytest.approx(0.0, abs=1e-6)


def test_without_drift_nothing_carries_signal():
    rng = np.random.default_rng(1)
    found = eta_map(made([walk(rng, 60, 0.0) for _ in range(20)]), frequencies=256)
    assert sum(cell.signal for cell in found.cells) <= 2  # of some twenty, at 5 % each
    assert "will not matter" in found.advice or "only with a discount" in found.advice


def test_drift_carries_signal_and_the_more_the_larger_kappa():
    rng = np.random.default_rng(2)
    found = eta_map(made([walk(rng, 200, 2.0) for _ in range(20)]), frequencies=256)
    flat = {c.eta: c for c in found.cells if c.gamma_irl == 1.0 and c.sampler == "exact"}
    values = [flat[f"geometric:{kappa}"].gail.mmd2 for kappa in ("0.75", "0.9", "0.99", "1")]
    assert values == sorted(values)
    assert flat["geometric:1"].signal
    assert not flat["geometric:0.75"].signal
    assert found.early_late.mmd2 > flat["geometric:1"].gail.mmd2
    assert found.advice.startswith("η can matter here")


@pytest.mark.parametrize("lengths", [[400], [40, 60, 80, 35, 90, 50, 45, 70, 66]])
@pytest.mark.parametrize("discrete", [False, True])
def test_one_demonstration_unequal_lengths_discrete_actions(lengths, discrete):
    rng = np.random.default_rng(3)
    found = eta_map(made([walk(rng, n, 1.0) for n in lengths], discrete), frequencies=128)
    assert found.hint == (len(lengths) == 1)
    assert found.by == ("blocks of time" if found.hint else "episodes")
    assert ("a hint" in found.advice) == found.hint
    assert all(np.isfinite(c.gail.mmd2) for c in found.cells if c.gail is not None)


def test_without_actions_states_are_compared():
    demos = made([walk(np.random.default_rng(4), 50, 1.0) for _ in range(9)])
    bare = Demos(demos.trajectories.without_actions(), Spec(2, 0), "bare")
    assert eta_map(bare, frequencies=128).compared == "states"


def test_gamma_and_kappa_may_change_places():
    """The exact law of kappa 1 with gamma .99 is that of kappa .99 with gamma 1."""
    demos = load_demos("Pendulum-v1-25x200", select=Selection(episodes=10))
    cells = {
        (c.eta, c.gamma_irl): c.uniform
        for c in eta_map(demos, frequencies=128).cells
        if c.sampler == "exact"
    }
    one, other = cells["geometric:1", 0.99], cells["geometric:0.99", 1.0]
    assert one.mmd2 == pytest.approx(other.mmd2, rel=1e-3)


def test_too_few_steps_are_refused_in_words():
    demos = made([np.zeros((5, 2))])
    with pytest.raises(InputError, match="too few for a map"):
        eta_map(replace(demos, name="tiny"))
