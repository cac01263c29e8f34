"""What `imitation` is timed at, in an environment of its own (see `timed_works.py`).

Nothing of etairl is imported. What has no underscore is used by the race as well.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from imitation.algorithms.adversarial.gail import GAIL  # pyright: ignore[reportMissingImports]
from imitation.data import rollout  # pyright: ignore[reportMissingImports]
from imitation.data.buffer import ReplayBuffer  # pyright: ignore[reportMissingImports]
from imitation.data.types import TrajectoryWithRew  # pyright: ignore[reportMissingImports]
from imitation.policies.base import (  # pyright: ignore[reportMissingImports]
    NormalizeFeaturesExtractor,
)
from imitation.rewards.reward_nets import (  # pyright: ignore[reportMissingImports]
    BasicRewardNet,
    NormalizedRewardNet,
)
from imitation.util import logger  # pyright: ignore[reportMissingImports]
from imitation.util.networks import RunningNorm  # pyright: ignore[reportMissingImports]
from imitation.util.util import make_vec_env  # pyright: ignore[reportMissingImports]
from stable_baselines3 import PPO, SAC  # pyright: ignore[reportMissingImports]

_Work = Callable[[int], object]
_Settings = dict[str, Any]


def read_demonstrations(file: str, many: int) -> list[Any]:
    """The first demonstrations of a file of etairl."""
    data = np.load(file)
    ends = np.cumsum(data["episode_lengths"])[:-1]
    obs, acts, rews = (np.split(data[k], ends) for k in ("observations", "actions", "rewards"))
    last = data["final_observations"]
    parts = zip(obs, acts, rews, last, data["terminals"][np.append(ends, 0) - 1], strict=True)
    return [
        TrajectoryWithRew(
            obs=np.concatenate([o, end[None]]), acts=a, rews=r, infos=None, terminal=bool(stops)
        )
        for o, a, r, end, stops in parts
    ][:many]


def ppo_learner(
    world: Any, batch: int, settings: _Settings, policy: _Settings, seed: int = 0
) -> Any:
    """Proximal policy optimisation, observations standardised as imitation's experiments do."""
    normalise = {
        "features_extractor_class": NormalizeFeaturesExtractor,
        "features_extractor_kwargs": {"normalize_class": RunningNorm},
    }
    return PPO(
        "MlpPolicy",
        world,
        n_steps=batch // world.num_envs,
        policy_kwargs=policy | normalise,
        seed=seed,
        device="cpu",
        **settings,
    )


def sac_learner(world: Any, settings: _Settings, seed: int = 0) -> Any:
    """Soft actor-critic of Stable-Baselines3: an update after each transition."""
    return SAC("MlpPolicy", world, seed=seed, device="cpu", **settings)


def gail_trainer(world: Any, learner: Any, trajectories: list[Any], settings: _Settings) -> Any:
    """GAIL with the reward network of imitation's experiments."""
    spaces = world.observation_space, world.action_space
    net = BasicRewardNet(*spaces, normalize_input_layer=RunningNorm)
    return GAIL(
        demonstrations=trajectories,
        venv=world,
        gen_algo=learner,
        reward_net=NormalizedRewardNet(net, normalize_output_layer=RunningNorm),
        allow_variable_horizon=True,
        custom_logger=logger.configure("/tmp", []),
        **settings,
    )


def _world(settings: _Settings, copies: int) -> Any:
    rng = np.random.default_rng(0)
    horizon = settings.get("horizon", 500)
    return make_vec_env(settings["environment"], rng=rng, n_envs=copies, max_episode_steps=horizon)


def _simulator(settings: _Settings) -> _Work:
    """Steps of copies of an environment with actions that stay the same."""
    copies = settings["copies"]
    world = _world(settings, copies)
    shape = (copies, *world.action_space.shape)
    actions = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    world.reset()
    return lambda steps: [world.step(actions) for _ in range(steps // copies)]


def _rollouts(settings: _Settings) -> _Work:
    """Whole episodes of a policy."""
    copies = settings["copies"]
    world = _world(settings, copies)
    layers = {"net_arch": settings["hidden"]}
    learner, rng = ppo_learner(world, 8 * copies, {}, layers), np.random.default_rng(0)
    return lambda steps: rollout.generate_trajectories(
        learner, world, rollout.make_min_timesteps(steps), rng
    )


def _on_policy(settings: _Settings) -> Any:
    copies, batch = settings["copies"], settings["batch"]
    world = _world(settings, copies)
    layers = {"net_arch": settings["hidden"]}
    learner = ppo_learner(world, batch, settings["ppo"], layers)
    shown = read_demonstrations(settings["demos"], 10)
    return gail_trainer(world, learner, shown, settings["trainer"])


def _cost_updates(settings: _Settings) -> _Work:
    """Updates of the discriminator, with their draws."""
    trainer = _on_policy(settings)
    trainer.train_gen()  # fills its replay
    return lambda many: [trainer.train_disc() for _ in range(many)]


def _draws(settings: _Settings) -> _Work:
    """Transitions drawn and copied, batch by batch; uniformly."""
    batch, many = settings["batch"], settings["stored"]
    shown = rollout.flatten_trajectories(read_demonstrations(settings["demos"], 10))
    replay = ReplayBuffer.from_data(shown, capacity=many)
    while replay.size() < many:
        replay.store(shown)
    return lambda many: [replay.sample(batch) for _ in range(many // batch)]


def _cycle(settings: _Settings) -> _Work:
    """Rounds of GAIL with proximal policy optimisation."""
    return _on_policy(settings).train


def _cycle_off_policy(settings: _Settings) -> _Work:
    """Rounds of GAIL with soft actor-critic."""
    world = _world(settings, 1)
    learner = sac_learner(world, settings["sac"])
    return gail_trainer(
        world, learner, read_demonstrations(settings["demos"], 10), settings["trainer"]
    ).train


WORKS = {
    "simulator": _simulator,
    "rollouts": _rollouts,
    "cost_updates": _cost_updates,
    "draws": _draws,
    "cycle": _cycle,
    "cycle_off_policy": _cycle_off_policy,
}
