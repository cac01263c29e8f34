"""Is this the expert? MMD² beside its floor, and a p-value that moves whole episodes."""

import numpy as np

from etairl.demos import limit_cycle
from etairl.evaluation.mmd import floor, mmd2, permutation_test


def main() -> None:
    """Four candidates: the expert once more, two with more noise, one that turns faster."""
    expert = limit_cycle(np.random.default_rng(0), episodes=40, period=25.0, noise=0.02)
    candidates = {
        "the expert again": limit_cycle(np.random.default_rng(1), period=25.0, noise=0.02),
        "twice the noise": limit_cycle(np.random.default_rng(2), period=25.0, noise=0.04),
        "five times the noise": limit_cycle(np.random.default_rng(3), period=25.0, noise=0.1),
        "20 steps a turn": limit_cycle(np.random.default_rng(4), period=20.0, noise=0.02),
    }
    standardise = expert.standardiser  # the expert's units, for everybody
    pairs, numbers = standardise(expert.trajectories.pairs()), expert.trajectories.episode_numbers
    rng = np.random.default_rng(0)
    # Halves of 40 episodes have 20 each, like the candidates: a floor belongs to its size.
    own = floor(rng, pairs, numbers)
    half = numbers < 20
    x = pairs[half]
    print(f"floor: mean {own.mean:.5f}, 95 % of the splits below {own.high:.5f}\n")
    print(f"{'candidate':<22}{'MMD²':>9}{'p-value':>9}  verdict")
    for name, demos in candidates.items():
        y = standardise(demos.trajectories.pairs())
        groups = (numbers[half], demos.trajectories.episode_numbers)
        p = permutation_test(rng, x, y, groups)
        verdict = "not the expert" if p < 0.05 else "cannot be told from the expert"
        print(f"{name:<22}{mmd2(x, y, groups):>9.5f}{p:>9.3f}  {verdict}")


if __name__ == "__main__":
    main()
