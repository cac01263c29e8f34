r"""The demonstrator's movement cycle, from the autocorrelation of what it observes.

Walking, running, swimming repeat themselves. The paper finds $\eta = \text{Poisson}(\lambda)$ best
when $\lambda$ is about the length of one cycle; here the data are asked for that length, and for
how sure they are.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from etairl.demos import Standardiser
from etairl.eta import discounted_sum
from etairl.types import Trajectories

_COMPONENTS = 8  # principal components of the observations that are followed
_EPISODES = 10
_STEPS = 1000
_SURROGATES = 199
_SHORTEST = 30  # steps an episode needs to show anything


@dataclass(frozen=True)
class MovementCycle:
    """A repeating movement."""

    length: int
    """steps in one cycle"""
    correlation: float
    """autocorrelation one cycle later: 1 repeats exactly"""
    episodes_agreeing: int
    """episodes whose own cycle is within 10 % of `length`"""
    episodes_tried: int
    p_value: float
    """chance that noise without a cycle, but as smooth as the data, correlates as much"""
    confidence: Literal["high", "low"]
    """high: correlation at least 0.5, in at least 80 % of the episodes, p at most 0.01"""


@dataclass(frozen=True)
class Rhythm:
    """What the autocorrelation says: a cycle, if there is one, and how long memory lasts."""

    cycle: MovementCycle | None
    mixing_time: float | None
    """integrated autocorrelation time in steps; None when episodes are too short to tell"""


def rhythm(rng: np.random.Generator, trajectories: Trajectories) -> Rhythm:
    r"""Find the movement cycle and the mixing time of the observations.

    The autocorrelation $r(l)$ is averaged over the leading principal components and over episodes
    (the first tenth of each is skipped: it is the start, not the gait). A cycle is a peak of $r$
    that stands out from the dip before it more than the peaks of surrogate noise do: first-order
    autoregressions fitted to the same components, driven by the residuals of the data.

    Thinned episodes say nothing: a cycle of fewer steps than were dropped would look like a longer
    one.
    """
    if trajectories.spans is not None:
        return Rhythm(None, None)
    signals = _signals(trajectories)
    if not signals:
        return Rhythm(None, None)
    each = [_autocorrelation(signal) for signal in signals]
    lags = min(len(r) for r in each)
    mean = np.mean([r[:lags] for r in each], axis=0)
    return Rhythm(_find_cycle(rng, signals, each, mean), _mixing_time(mean))


def _signals(trajectories: Trajectories) -> list[Float[np.ndarray, "steps components"]]:
    starts, lengths = trajectories.offsets[:-1], trajectories.lengths
    chosen = np.flatnonzero(lengths >= max(_SHORTEST, 0.5 * np.median(lengths)))[:_EPISODES]
    if len(chosen) == 0:
        return []
    observations = trajectories.observations.astype(np.float64)
    standard = Standardiser.of(observations)(observations)
    variances, axes = np.linalg.eigh(np.atleast_2d(np.cov(standard.T)))
    axes = axes[:, variances > 1e-9 * max(variances[-1], 1e-300)][:, -_COMPONENTS:]
    signals = []
    for episode in chosen:
        start, length = int(starts[episode]), int(min(lengths[episode], _STEPS))
        signal = standard[start + length // 10 : start + length] @ axes
        signal = signal - signal.mean(axis=0)
        if (signal**2).sum() > 1e-9:
            signals.append(signal)
    return signals


def _autocorrelation(signal: Float[np.ndarray, "steps components"]) -> Float[np.ndarray, " lags"]:
    """Unbiased autocorrelation, up to a third of the steps: at least three cycles must fit."""
    steps = len(signal)
    spectrum = np.abs(np.fft.rfft(signal, n=2 * steps, axis=0)) ** 2
    covariance = np.fft.irfft(spectrum.sum(axis=1))[: steps // 3 + 1]
    covariance /= steps - np.arange(len(covariance))
    return covariance / covariance[0]


def _peak(r: Float[np.ndarray, " lags"]) -> tuple[int, float]:
    """Lag of the first peak about as high as the highest, and its rise above the dip before it."""
    inner = np.flatnonzero((r[1:-1] > r[:-2]) & (r[1:-1] >= r[2:])) + 1
    dips = np.minimum.accumulate(r)
    inner = inner[r[inner] - dips[inner] > 0.05]
    if len(inner) == 0:
        return 0, 0.0
    top = r[inner].max()
    first = inner[np.argmax(r[inner] >= top - 0.1 * abs(top))]
    return int(first), float(r[first] - dips[first])


def _find_cycle(
    rng: np.random.Generator,
    signals: list[np.ndarray],
    each: list[np.ndarray],
    mean: Float[np.ndarray, " lags"],
) -> MovementCycle | None:
    length, rise = _peak(mean)
    if length < 2 or mean[length] < 0.2:
        return None
    lags = len(mean)
    higher = 0
    for _ in range(_SURROGATES):
        noise = [_autocorrelation(_surrogate(rng, signal))[:lags] for signal in signals]
        higher += _peak(np.mean(noise, axis=0))[1] >= rise
    p_value = (1 + higher) / (1 + _SURROGATES)
    agreeing = sum(abs(_peak(r)[0] - length) <= max(1.0, 0.1 * length) for r in each)
    if p_value > 0.05 or agreeing < len(each) / 2:
        return None
    height = float(mean[length])
    sure = height >= 0.5 and agreeing >= 0.8 * len(each) and p_value <= 0.01
    return MovementCycle(length, height, agreeing, len(each), p_value, "high" if sure else "low")


def _surrogate(rng: np.random.Generator, signal: np.ndarray) -> np.ndarray:
    """Noise as smooth as `signal`: an AR(1) per component, its residuals drawn jointly by row."""
    before, after = signal[:-1], signal[1:]
    phi = (before * after).sum(axis=0) / np.maximum((before**2).sum(axis=0), 1e-12)
    phi = np.clip(phi, -0.999, 0.999)
    residuals = after - phi * before
    drive = residuals[rng.integers(len(residuals), size=len(signal))]
    # Scale the first row so that the noise starts in its stationary law, not at 0.
    drive[0] /= np.sqrt(1.0 - phi**2)
    return discounted_sum(drive, phi)


def _mixing_time(r: Float[np.ndarray, " lags"]) -> float:
    r"""$1 + 2\sum_l r(l)$ up to the first $r(l) \le 0$."""
    below = np.flatnonzero(r <= 0.0)
    until = int(below[0]) if len(below) else len(r)
    return float(1.0 + 2.0 * r[1:until].sum())
