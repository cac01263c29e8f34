import numpy as np
import pytest

from etairl.demos import limit_cycle, load_demos
from etairl.evaluation.cycle import rhythm
from etairl.types import Trajectories


def recorded(observations: np.ndarray) -> Trajectories:
    """Episodes [episode, step, column] as trajectories."""
    episodes, length, columns = observations.shape
    last = np.tile(np.arange(length) == length - 1, episodes)
    return Trajectories(
        observations=observations.reshape(-1, columns),
        actions=np.zeros((episodes * length, 1)),
        terminated=np.zeros_like(last),
        truncated=last,
        offsets=np.arange(episodes + 1) * length,
    )


@pytest.mark.parametrize("period", [8.0, 25.0, 40.0])
def test_a_known_cycle_is_found(period):
    demos = limit_cycle(np.random.default_rng(0), episodes=10, length=300, period=period)
    found = rhythm(np.random.default_rng(1), demos.trajectories).cycle
    assert found.length == pytest.approx(period, abs=1)
    assert found.confidence == "high"
    assert found.episodes_agreeing == 10


def test_a_cycle_under_noise_is_found(rng):
    phase = 2 * np.pi * np.arange(400) / 31 + rng.uniform(0, 6, (6, 1))
    waves = np.stack([np.sin(phase), np.cos(phase), np.zeros_like(phase)], axis=-1)
    found = rhythm(rng, recorded(waves + rng.normal(0, 0.5, waves.shape))).cycle
    assert found.length == pytest.approx(31, abs=1)


def autoregression(rng, phi, episodes=6, length=300, columns=3):
    x = np.zeros((episodes, length, columns))
    for t in range(1, length):
        x[:, t] = phi * x[:, t - 1] + rng.normal(size=(episodes, columns))
    return x


def test_smooth_noise_has_no_cycle():
    """40 noise records at a 5 % test: 2 false alarms expected, 6 allowed."""
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        phi = (0.0, 0.7, 0.95, 0.99)[seed % 4]
        alarms += rhythm(rng, recorded(autoregression(rng, phi))).cycle is not None
    assert alarms <= 6


def test_mixing_time_of_an_autoregression(rng):
    """Integrated autocorrelation time (1 + phi)/(1 - phi) = 9 at phi = 0.8."""
    record = recorded(autoregression(rng, 0.8, episodes=10, length=1000))
    assert rhythm(rng, record).mixing_time == pytest.approx(9.0, rel=0.15)


def test_nothing_moves_or_too_short(rng):
    assert rhythm(rng, recorded(np.ones((4, 100, 2)))).cycle is None
    short = rhythm(rng, recorded(rng.normal(size=(4, 20, 2))))
    assert short.cycle is None
    assert short.mixing_time is None


def test_third_party_gaits(third_party, rng):
    """Ant's stride is about 10 frames, as the paper says; Swimmer's stroke is very regular."""
    ant = rhythm(rng, load_demos(third_party / "Ant-v4-berkeley-policy.npz").trajectories).cycle
    assert ant.length in range(9, 14)
    swimmer = rhythm(rng, load_demos(third_party / "Swimmer-v4-dlr-trpo-policy.npz").trajectories)
    assert swimmer.cycle.correlation > 0.95
    pendulum = load_demos(third_party / "Pendulum-v1-humancompatibleai.npz").trajectories
    assert rhythm(rng, pendulum).cycle is None
