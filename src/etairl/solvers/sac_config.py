"""Hyper-parameters of soft actor-critic, and how it takes part in the game."""

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from etairl.hyper import traced
from etairl.networks import Activation, Normalise, check_widths
from etairl.types import InputError, check_choice, check_range


@traced
@dataclass(frozen=True)
class SACConfig:
    """Hyper-parameters of soft actor-critic."""

    hidden: tuple[int, ...] = (256, 256)
    """width of each hidden layer, of actor and critics"""
    activation: Activation = "relu"
    """between the layers"""
    gamma_rl: float = 0.99
    """discount of the Bellman updates"""
    actor_lr: float = 3e-4
    """learning rate of the actor"""
    critic_lr: float = 3e-4
    """learning rate of the critics"""
    temperature_lr: float = 3e-4
    """learning rate of the temperature"""
    last_learning_rate: float = 1.0
    """what is left of these rates at the end of the run, as a share; they fall with every cycle"""
    layer_norm: bool = False
    """standardise the hidden layers of the critics, row by row: steadier, a little slower"""
    actor_average: float = 0.0
    """how far an averaged actor moves towards the actor in one update: the policy that is kept; 0
    keeps the latest"""
    polyak: float = 0.005
    """how far the target critics move towards the critics in one update"""
    temperature: float | None = None
    """weight of the regulariser; None adapts it to the target entropy"""
    first_temperature: float = 1.0
    """where an adaptive temperature starts"""
    target_entropy: float | None = None
    """None is minus the number of action columns, or a third of the largest for discrete actions"""
    max_gradient_norm: float | None = None
    """clip gradients to this norm"""
    normalise: Normalise = "none"
    """standardise observations: with running statistics, or with those of the demonstrations"""

    def __post_init__(self):
        check_range(self, "[0, 1)", "gamma_rl")
        check_range(self, "(0, 1]", "polyak")
        check_range(self, "[0, 1]", "last_learning_rate", "actor_average")
        check_widths("hidden", self.hidden, self.activation)
        rates = ("actor_lr", "critic_lr", "temperature_lr", "max_gradient_norm")
        check_range(self, "(0, inf)", *rates, "temperature", "first_temperature")
        check_choice("normalise", self.normalise, get_args(Normalise))
        if self.target_entropy is not None and not np.isfinite(self.target_entropy):
            raise InputError(f"target_entropy must be finite, got {self.target_entropy}")

    def slowed(self, share: float) -> "SACConfig":
        """With a share of all learning rates."""
        rates = ("actor_lr", "critic_lr", "temperature_lr")
        return replace(self, **{name: share * getattr(self, name) for name in rates})

    @staticmethod
    def upgraded(data: dict[str, Any]) -> dict[str, Any]:
        """Settings of a file, also of versions up to 0.3."""
        data = {"last_learning_rate": 1.0, "layer_norm": False, "actor_average": 0.0} | data
        old = data.get("normalise")
        return data | {"normalise": "running" if old else "none"} if type(old) is bool else data


@traced
@dataclass(frozen=True)
class OffPolicy:
    """How an off-policy solver takes part in the game."""

    solver_updates: int = 500
    """gradient updates of the solver in one cycle [SAC-Epoch]"""
    solver_batch: int = 256
    """transitions in one of them [SAC-Batch]"""
    updates_per_step: float | None = None
    """updates by transitions of the learner; then solver_updates does not count"""
    critic_cycles: int = 0
    """first cycles in which only the critics learn, to protect a warm start"""
    warm_start: bool = False
    """start the actor from behaviour cloning"""
    cloning: float = 0.0
    """weight of behaviour cloning in the loss of the actor, beside what the critics say; 0 learns
    from the cost alone"""
    expert_share: float = 0.0
    """share of the transitions in an update that are the expert's, with the learned cost like all
    others: critics know early what lies on the expert's way"""
    at_once: int = 0
    """two cores: so many updates of the critics and as many of the actor at once, each beside the
    other as it was before them; 0 for one after the other, update by update"""

    def __post_init__(self):
        check_range(self, "[1, inf)", "solver_updates", "solver_batch")
        check_range(self, "[0, inf)", "critic_cycles", "cloning", "at_once")
        check_range(self, "(0, inf)", "updates_per_step")
        check_range(self, "[0, 1)", "expert_share")

    @staticmethod
    def upgraded(data: dict[str, Any]) -> dict[str, Any]:
        """Settings of a file, also of versions up to 0.3."""
        return {"updates_per_step": None, "expert_share": 0.0, "at_once": 0} | data
