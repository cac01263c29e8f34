"""Hyper-parameters of soft actor-critic, and how it takes part in the game."""

from dataclasses import dataclass

import numpy as np

from etairl.hyper import traced
from etairl.networks import Activation, check_widths
from etairl.types import InputError


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
    normalise: bool = False
    """standardise observations with running statistics"""

    def __post_init__(self):
        if not 0.0 <= self.gamma_rl < 1.0:
            raise InputError(f"gamma_rl must lie in [0, 1), got {self.gamma_rl}")
        if not 0.0 < self.polyak <= 1.0:
            raise InputError(f"polyak must lie in (0, 1], got {self.polyak}")
        check_widths("hidden", self.hidden, self.activation)
        rates = ("actor_lr", "critic_lr", "temperature_lr")
        for name in (*rates, "temperature", "first_temperature", "max_gradient_norm"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < np.inf:
                raise InputError(f"{name} must be > 0 and finite, got {value}")
        if self.target_entropy is not None and not np.isfinite(self.target_entropy):
            raise InputError(f"target_entropy must be finite, got {self.target_entropy}")


@traced
@dataclass(frozen=True)
class OffPolicy:
    """How an off-policy solver takes part in the game."""

    solver_updates: int = 500
    """gradient updates of the solver in one cycle [SAC-Epoch]"""
    solver_batch: int = 256
    """transitions in one of them [SAC-Batch]"""
    critic_cycles: int = 0
    """first cycles in which only the critics learn, to protect a warm start"""
    warm_start: bool = False
    """start the actor from behaviour cloning"""
    cloning: float = 0.0
    """weight of behaviour cloning in the loss of the actor, beside what the critics say; 0 learns
    from the cost alone"""

    def __post_init__(self):
        for name in ("solver_updates", "solver_batch"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.critic_cycles < 0:
            raise InputError(f"critic_cycles must be >= 0, got {self.critic_cycles}")
        if not 0.0 <= self.cloning < np.inf:
            raise InputError(f"cloning must be >= 0 and finite, got {self.cloning}")
