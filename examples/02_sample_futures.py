"""Draw from ρ, P^η and μ of demonstrations, and check the draws against their laws."""

import numpy as np
from scipy.stats import chisquare

from etairl.demos import limit_cycle
from etairl.eta import Geometric, Poisson
from etairl.measures import FutureSampler, future, mu, rho

DRAWS = 200_000
SAMPLERS = {
    "rho, gamma 1 (GAIL)": rho(),
    "rho, gamma 0.99": rho(0.99),
    "future, poisson:25": future(Poisson(25.0)),
    "mu, geometric:0.99, two_stage": mu(Geometric(0.99)),
    "mu, geometric:0.99, exact": mu(Geometric(0.99), method="exact"),
}


def p_value(sampler: FutureSampler, frames: np.ndarray, horizon: int) -> float:
    """Chance of draws as far from the law as these, if they do follow it."""
    expected = sampler.law(horizon) * len(frames)
    counts = np.bincount(frames, minlength=horizon)
    common = expected >= 10
    rare = [counts[~common].sum(), expected[~common].sum()]
    observed, model = np.append(counts[common], rare[0]), np.append(expected[common], rare[1])
    keep = model > 0
    return float(chisquare(observed[keep], model[keep]).pvalue)


def main() -> None:
    """One line per measure; then pairs of a state and its own future."""
    rng = np.random.default_rng(0)
    demos = limit_cycle(rng, episodes=20, length=200, period=25.0)
    t = demos.trajectories
    print(f"{'measure':<32}{'mean frame':>11}{'by the law':>12}{'chi-square p':>14}")
    for name, sampler in SAMPLERS.items():
        batch = sampler(rng, t, DRAWS)
        episode = np.searchsorted(t.offsets, batch.rows, side="right") - 1
        frames = batch.rows - t.offsets[episode]
        mean = np.arange(200) @ sampler.law(200)
        p = p_value(sampler, frames, 200)
        print(f"{name:<32}{frames.mean():>11.2f}{mean:>12.2f}{p:>14.3f}")
        assert p > 1e-4, "the draws do not follow the law"

    starts, futures = mu(Poisson(25.0), method="exact").pairs(rng, t.offsets, DRAWS)
    lag = futures - starts
    print(f"\na state and its future: {lag.mean():.1f} steps apart on average, {lag.max()} at most")


if __name__ == "__main__":
    main()
