"""Inverse RL without noise: five algorithms on one small world, each with its proven gap.

Run it as `python examples/06_exact_inverse_rl.py`.
"""

import numpy as np

from etairl.eta import Geometric
from etairl.penalties import Simplex
from etairl.regularisers import Entropy
from etairl.tabular import (
    Game,
    LinearCosts,
    emma,
    empirical_mu,
    imitate,
    lpal,
    max_entropy,
    megan,
    mu,
    mwal,
    policy_from_occupancy,
    random_mdp,
    random_policy,
    sample_episodes,
    wiem,
)


def main() -> None:
    """A random world, a random expert, η = Geom(0.5); the learner knows the time."""
    rng, eta = np.random.default_rng(0), Geometric(0.5)
    mdp = random_mdp(rng, states=4, actions=2, gamma=0.8)
    policy = random_policy(rng, mdp)
    expert = mu(mdp, policy, eta).values
    features = rng.random((4, 2, 3))
    costs = LinearCosts(features, Simplex())
    print("algorithm            value       gap   distance from the expert's μ")
    for name, found in (
        ("EMMA", emma(mdp, eta, expert, features, "time")),
        ("WIEM", wiem(mdp, eta, expert, features, "time")),
        ("MWAL, 200 steps", mwal(Game(mdp, eta, expert, costs, "time"), 200)),
        ("LPAL, phase aware", lpal(mdp, eta, expert, features)),
        ("MEGAN", megan(mdp, eta, expert, "time")),
        ("maximum entropy", max_entropy(mdp, eta, expert, features, Entropy(0.1))),
    ):
        distance = np.abs(found.occupancy - expert).sum()
        print(f"{name:<18} {found.primal:>8.4f}  {abs(found.gap):>8.1e}   {distance:.4f}")
    learned = imitate(mdp, eta, expert)
    print(f"\nMEGAN as it is run: policy off by {np.abs(learned - policy).max():.1e}")
    episodes = sample_episodes(rng, mdp, policy, episodes=2000, horizon=60)
    seen = empirical_mu(episodes, mdp, eta)
    learned = policy_from_occupancy(megan(mdp, eta, seen.values, "time").occupancy)
    print(f"from 2000 episodes: policy off by {np.abs(learned - policy).max():.2f}")


if __name__ == "__main__":
    main()
