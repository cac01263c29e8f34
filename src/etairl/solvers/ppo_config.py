"""Hyper-parameters of proximal policy optimisation."""

from dataclasses import dataclass
from typing import Any, get_args

from etairl.hyper import traced
from etairl.networks import Activation, Normalise, check_widths
from etairl.types import check_choice, check_range


@traced
@dataclass(frozen=True)
class PPOConfig:
    """Hyper-parameters of proximal policy optimisation."""

    hidden: tuple[int, ...] = (64, 64)
    """width of each hidden layer, of actor and critic"""
    activation: Activation = "tanh"
    """between the layers"""
    gamma_rl: float = 0.99
    """discount of the returns"""
    gae_lambda: float = 0.95
    """decay of the generalised advantage estimate: 0 trusts the critic, 1 the returns"""
    clip: float = 0.2
    """how far the probability of an action may move from that of the policy that acted, as a
    share of it"""
    epochs: int = 10
    """passes over the transitions of a cycle"""
    minibatch: int = 500
    """transitions of one gradient update"""
    learning_rate: float = 3e-4
    """of actor and critic, at the start"""
    last_learning_rate: float = 1.0
    """what is left of it at the end of the run, as a share; it falls with every cycle"""
    critic_weight: float = 0.5
    """weight of the critic's loss beside that of the actor"""
    max_gradient_norm: float | None = 0.5
    """clip gradients to this norm"""
    temperature: float = 0.0
    """weight of the regulariser in the return, at the start"""
    last_temperature: float = 1.0
    """what is left of it at the end of the run, as a share; it falls with every cycle"""
    first_std: float | None = 1.0
    """spread of the untrained policy, before squashing; none takes mean and spread of the
    demonstrated actions; of continuous actions"""
    normalise: Normalise = "running"
    """standardise observations: with running statistics, or with those of the demonstrations"""

    @staticmethod
    def upgraded(data: dict[str, Any]) -> dict[str, Any]:
        """Settings of a file, also of version 0.4."""
        return {"last_temperature": 1.0} | data

    def __post_init__(self):
        check_widths("hidden", self.hidden, self.activation)
        check_range(self, "[0, 1)", "gamma_rl")
        check_range(self, "[0, 1]", "gae_lambda", "last_learning_rate", "last_temperature")
        check_range(self, "[1, inf)", "epochs", "minibatch")
        check_range(self, "(0, inf)", "clip", "learning_rate", "max_gradient_norm")
        check_range(self, "[0, inf)", "critic_weight", "temperature")
        check_range(self, "[0.01, 7]", "first_std")
        check_choice("normalise", self.normalise, get_args(Normalise))
