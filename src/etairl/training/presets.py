"""Named settings: the paper's table, and what works."""

from dataclasses import replace

from etairl.algorithms.girl import GirlConfig
from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.discriminator import GanConfig
from etairl.costs.family import Inputs
from etairl.regularisers import KullbackLeibler
from etairl.solvers.players import PPOSettings, SACSettings
from etairl.solvers.ppo_config import PPOConfig
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.training.settings import TrainConfig
from etairl.types import InputError, did_you_mean


def _paper(env: str, demos: str, **sizes: int) -> TrainConfig:
    """A column of the hyper-parameter table of the paper's appendix.

    What the table leaves open is filled in the plainest way: Adam with rate 3e-4 everywhere, ReLU,
    adaptive temperature with the usual target, Polyak 0.005, gamma_rl 0.99, no regulariser on the
    discriminator, negatives from the whole replay (errata (n9)).
    """
    return TrainConfig(
        env=env,
        demos=demos,
        demonstrations=None,
        eta="geometric:1",
        sampler="two_stage",
        choice="uniform",
        horizon=sizes["length"],
        girl=GirlConfig(
            transitions=sizes["transitions"],
            episodes=90,
            cost_updates=sizes["d_epoch"],
            cost_batch=sizes["d_batch"],
            cost_every=sizes["d_rate"],
            capacity=1_000_000,
            expert_capacity=1_000_000,
            fresh_share=0.0,
            remaining_cycles=100,
        ),
        cost=GanConfig(
            network=DiscriminatorConfig(
                hidden_d=(sizes["d_hidden"],) * sizes["d_layers"],
                activation_d="relu",
                gradient_penalty=0.0,
            )
        ),
        solver=SACSettings(
            OffPolicy(solver_updates=sizes["sac_epoch"], solver_batch=sizes["sac_batch"]),
            SACConfig(hidden=(64,) * sizes["p_layers"]),
        ),
    )


_MUJOCO = {
    "length": 500,
    "sac_epoch": 500,
    "sac_batch": 256,
    "d_rate": 1,
    "d_epoch": 50,
    "d_batch": 512,
    "p_layers": 3,
    "d_layers": 1,
    "transitions": 10_000_000,
}
_SMALL = {"p_layers": 4, "d_layers": 3, "d_hidden": 16}
_FETCH = {"length": 100, "sac_epoch": 300, "sac_batch": 1024, "d_rate": 5, "d_epoch": 500}
_MAZE = {"length": 50, "sac_epoch": 150, "sac_batch": 128, "d_rate": 1, "d_epoch": 300}

_NEAR_CLONE = TrainConfig(
    omega=KullbackLeibler.name,
    girl=GirlConfig(transitions=500_000),
    solver=SACSettings(
        OffPolicy(warm_start=True, critic_cycles=5),
        SACConfig(hidden=(128, 128), temperature=0.3),
    ),
)
"""A learner that begins as a clone of the expert, and pays 0.3 per nat for leaving it."""

_DEFAULT = TrainConfig(
    girl=GirlConfig(
        transitions=2_000_000,
        episodes=8,
        rollout="steps",
        cost_updates=60,
        capacity=1_000_000,
        fresh_share=1.0,
        fresh_cycles=5,
    ),
    cost=GanConfig(mean_logit=0.0, network=DiscriminatorConfig(gradient_penalty=0.3)),
    solver=PPOSettings(
        PPOConfig(
            hidden=(128, 128),
            learning_rate=5e-4,
            last_learning_rate=0.1,
            temperature=0.03,
            last_temperature=0.0,
            first_std=None,
            normalise="demonstrations",
        )
    ),
)
"""Proximal policy optimisation against a discriminator whose logits are standardised."""

_IMITATION = TrainConfig(
    env="Hopper-v5",
    demos="Hopper-v5-25x500",
    algorithm="gail",
    eta="dirac:0",
    girl=GirlConfig(
        transitions=10_000_000,
        episodes=8,
        rollout="steps",
        cost_updates=8,
        cost_batch=128,
        capacity=1_000_000,
        fresh_share=1.0,
    ),
    cost=GanConfig(
        mean_logit=0.0,
        network=DiscriminatorConfig(
            hidden_d=(32, 32), activation_d="relu", lr_d=1e-3, gradient_penalty=0.0
        ),
    ),
    solver=PPOSettings(
        PPOConfig(
            activation="relu",
            gamma_rl=0.995,
            gae_lambda=0.98,
            clip=0.1,
            epochs=20,
            learning_rate=4.4e-5,
            critic_weight=0.2,
            max_gradient_norm=0.9,
        )
    ),
)
"""What the project imitation published for GAIL on Hopper, without its small entropy bonus."""

_OFF_POLICY = TrainConfig(
    girl=GirlConfig(
        transitions=250_000,
        episodes=4,
        rollout="steps",
        cost_updates_per_step=0.025,
        cost_batch=256,
        fresh_cycles=5,
    ),
    cost=GanConfig(mean_logit=2.0, network=DiscriminatorConfig(hidden_d=(128, 128))),
    solver=SACSettings(
        OffPolicy(updates_per_step=0.5),
        SACConfig(
            hidden=(128, 128),
            first_temperature=0.1,
            normalise="demonstrations",
            layer_norm=True,
            actor_average=0.001,
        ),
    ),
)
"""Soft actor-critic with many updates for each transition; where physics are expensive."""

PRESETS: dict[str, TrainConfig] = {
    "default": _DEFAULT,
    "off-policy": _OFF_POLICY,
    "near-clone": _NEAR_CLONE,
    "imitation/hopper": _IMITATION,
    "paper/hopper": _paper("Hopper-v5", "Hopper-v5-25x500", **_MUJOCO, d_hidden=16),
    "paper/halfcheetah": _paper("HalfCheetah-v5", "HalfCheetah-v5-25x500", **_MUJOCO, d_hidden=32),
    "paper/ant": _paper("Ant-v5", "Ant-v5-25x500", **_MUJOCO, d_hidden=32),
    "paper/fetchreach": _paper(
        "FetchReach-v4",
        "FetchReach-v4-200x100",
        **_FETCH,
        **_SMALL,
        d_batch=512,
        transitions=1_000_000,
    ),
    "paper/navigation": _paper(
        "etairl/Navigation-v0",
        "etairl-Navigation-v0-300x50",
        **_MAZE,
        **_SMALL,
        d_batch=128,
        transitions=500_000,
    ),
}


def _many_tasks(column: str, inputs: Inputs, **girl: int) -> TrainConfig:
    """What solves most tasks: larger networks, short discounts, and a little cloning."""
    start = PRESETS[column]
    return replace(
        start,
        eta="geometric:0.7",
        sampler="exact",
        choice="by_weight",
        girl=replace(
            start.girl,
            cost_updates=100,
            cost_batch=256,
            cost_every=1,
            fresh_share=0.5,
            **girl,
        ),
        cost=GanConfig(
            inputs, network=DiscriminatorConfig(hidden_d=(128, 128), gradient_penalty=0.1)
        ),
        solver=SACSettings(
            OffPolicy(cloning=1.0),
            SACConfig(
                hidden=(128, 128),
                normalise="running",
                gamma_rl=0.95,
                actor_lr=1e-3,
                critic_lr=1e-3,
                first_temperature=0.1,
            ),
        ),
    )


PRESETS |= {
    # A cost of states alone: no draw of the learner's actions looks like the planner's.
    "navigation": _many_tasks("paper/navigation", "state"),
    "fetchreach": _many_tasks("paper/fetchreach", "state_action", episodes=20, transitions=200_000),
}


def preset(name: str) -> TrainConfig:
    """Settings by name."""
    if name not in PRESETS:
        hint = did_you_mean(name, PRESETS, f"choose from {', '.join(PRESETS)}")
        raise InputError(f"unknown preset {name!r}; {hint}")
    return PRESETS[name]
