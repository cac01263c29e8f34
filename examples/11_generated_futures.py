"""Idle: generate what an expert does next, and see how true it is, in a few seconds."""

import numpy as np

import etairl
from etairl.idle import IdleConfig, nearest_possible, train_generator
from etairl.measures import FutureSampler

DEMOS = "etairl-Navigation-v0-300x50"


def main() -> None:
    """A generator, trained more briefly than by default; then some futures of one state."""
    demos = etairl.load_demos(DEMOS)
    sampler, mend = FutureSampler(etairl.parse_eta("geometric:0.7")), nearest_possible(demos.spec)
    t = demos.trajectories
    config = IdleConfig(idle_steps=1500, idle_average=0.99)
    generator, quality = train_generator(config, sampler, t, mend=mend)
    print(f"MMD² {quality.mmd2:.5f}, {quality.ratio:.1f} times what two true draws differ by")
    states = np.repeat(t.observations[:1], 5, axis=0)
    ahead, actions = generator.futures(np.random.default_rng(0), states)
    print(
        f"\nat {states[0, :2].round(1)}, on the way to {states[0, -2:].round(1)}; a little later:"
    )
    for place, step in zip(ahead[:, :2], actions, strict=True):
        print(f"  at {place.round(1)}, walking {step.round(2)}")


if __name__ == "__main__":
    main()
