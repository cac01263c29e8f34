r"""Which features tell a behaviour from the expert's: gaps of means, with standard errors.

The mean of a feature under $\mu^\eta$ is a ratio of sums over whole episodes,

$$\bar f = \frac{\sum_e\sum_n w_nf(s_n, a_n)}{\sum_e\sum_nw_n},$$

with the weights $w_n$ of the law from which the sampler draws. Steps of an episode depend on each
other. So the standard error comes from the spread over
episodes, $\widehat{\mathrm{se}}^2 = \frac{m}{m-1}\sum_e r_e^2\,/\,(\sum_e\sum_nw_n)^2$, with the
residuals $r_e = \sum_n w_n(f-\bar f)$ of $m$ episodes.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from etairl.measures import FutureSampler

StepFeatures = Float[np.ndarray, "steps features"]


@dataclass(frozen=True)
class FeatureGap:
    """A feature of a linear cost, and how far a behaviour is from the demonstrations in it."""

    name: str
    weight: float
    """in the learned cost: above 0, the expert keeps the feature lower than learners did"""
    gap: float
    """mean of the behaviour less that of the demonstrations, in units of their spread"""
    standard_error: float
    """over whole episodes of both sides"""


def feature_gaps(
    names: tuple[str, ...],
    weights: Float[np.ndarray, " features"],
    own: tuple[Float[np.ndarray, " features"], Float[np.ndarray, " features"]],
    expert: tuple[Float[np.ndarray, " features"], Float[np.ndarray, " features"]],
) -> list[FeatureGap]:
    """From means and standard errors of both sides; the heaviest weights come first."""
    gaps = own[0] - expert[0]
    errors = np.hypot(own[1], expert[1])
    order = np.argsort(-np.abs(weights), kind="stable")
    return [
        FeatureGap(names[i], float(weights[i]), float(gaps[i]), float(errors[i])) for i in order
    ]


def weighted_means(
    values: StepFeatures, offsets: Int[np.ndarray, " episodes_and_one"], sampler: FutureSampler
) -> tuple[Float[np.ndarray, " features"], Float[np.ndarray, " features"]]:
    """Means of features under the law from which the sampler draws, and their standard errors."""
    return clustered_means(values, sampler.step_weights(np.diff(offsets)), offsets[:-1])


def clustered_means(
    values: StepFeatures,
    weights: Float[np.ndarray, " steps"],
    starts: Int[np.ndarray, " episodes"],
) -> tuple[Float[np.ndarray, " features"], Float[np.ndarray, " features"]]:
    """Weighted means, and standard errors from the residuals of whole episodes; of one, NaN."""
    total, many = weights.sum(), len(starts)
    mean = weights @ values / total
    residuals = np.add.reduceat(weights[:, None] * (values - mean), starts, axis=0)
    spread = (residuals**2).sum(axis=0) * (many / (many - 1) if many > 1 else np.nan)
    return mean, np.sqrt(spread) / total
