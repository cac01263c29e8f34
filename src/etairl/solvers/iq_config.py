"""Hyper-parameters of inverse soft Q-learning."""

from dataclasses import dataclass
from typing import Literal, get_args

from etairl.hyper import traced
from etairl.types import check_choice, check_range

PolicyTerm = Literal["replay", "value", "start"]
ExpertTarget = Literal["bootstrap", "fixed"]


@traced
@dataclass(frozen=True)
class IQConfig:
    """What makes a critic a cost: where its rewards lie, and what stands for the learner's."""

    reward_bound: float = 1.0
    """the implied reward is this where only the expert is, and minus this where only the learner
    is"""
    policy_term: PolicyTerm = "replay"
    """what stands for the learner's reward: its own steps (replay), what its policy would do in
    their states and the expert's (value), or the value of the expert's states at k drawn from eta
    (start)"""
    expert_target: ExpertTarget = "bootstrap"
    """the critics at the expert's steps: the largest reward and what follows (bootstrap), or the
    largest reward for ever (fixed)"""

    def __post_init__(self):
        check_range(self, "(0, inf)", "reward_bound")
        check_choice("policy_term", self.policy_term, get_args(PolicyTerm))
        check_choice("expert_target", self.expert_target, get_args(ExpertTarget))
