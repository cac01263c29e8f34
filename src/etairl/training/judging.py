"""A learner beside its expert: all play, drawn and greedy; like is compared with like."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from etairl.demos import Playing, Selection
from etairl.demos.action_kind import playing_of
from etairl.evaluation.explanation import FeatureGap
from etairl.evaluation.timeline import Expert, timeline
from etairl.rollouts import UniformPolicy
from etairl.tasks.product import ProductTask
from etairl.training.behaviour import Behaviour, judge
from etairl.training.experts import expert_of
from etairl.training.fitting import fitting_demos
from etairl.training.multitask import EXPERT, LONGER, generalise, success_rate
from etairl.training.playing import held_out_demos, play_again, playing_seed
from etairl.training.preparation import Prepared
from etairl.types import Policy, Trajectories

RANDOM = "random"
LEARNER = "learner"
CLONING = "behaviour cloning"
HELD_OUT = "expert, held out"
DEMONSTRATIONS = "demonstrations"
Gaps = Callable[[Trajectories, Trajectories], list[FeatureGap] | None]


@dataclass(frozen=True)
class Stage:
    """Who plays, how often, and with which random seed."""

    prepared: Prepared
    policies: dict[str, Policy]
    """whoever is judged"""
    episodes: int
    """of each policy, for either kind"""
    seed: int = 0
    say: Callable[[str], None] = lambda _: None
    """told what is being done"""

    @cached_property
    def kinds(self) -> tuple[Playing, Playing]:
        """How the demonstrations were played, which the headline compares; then the other one."""
        own, _ = playing_of(self.prepared.demos)
        return ("drawn", "greedy") if own == "drawn" else ("greedy", "drawn")

    @cached_property
    def expert(self) -> Policy | None:
        """The policy behind the demonstrations, where it is known."""
        return expert_of(self.prepared.config)

    @cached_property
    def random(self) -> Trajectories:
        """Episodes of a random policy."""
        return self.play(RANDOM, UniformPolicy(self.prepared.task), "drawn")

    @cached_property
    def experts(self) -> dict[Playing, Expert]:
        """For each kind whom to compare with: the demonstrations, or its policy where it is known.

        The other kind of an expert whose policy is not known is compared with the demonstrations:
        there is nothing better.
        """
        demos, horizon = self.prepared.demos, self.prepared.config.horizon
        shown = Expert(DEMONSTRATIONS, demos.trajectories, demos.standardiser, self.random, horizon)
        shown = replace(shown, spare=held_out_demos(self.prepared))
        other = shown
        if self.expert is not None:
            kind = self.kinds[1]
            played = self.play("the expert", self.expert, kind)
            other = replace(shown, name=f"the expert, {kind}", trajectories=played, spare=None)
        return {self.kinds[0]: shown, self.kinds[1]: other}

    def play(self, name: str, policy: Policy, kind: Playing, longer: int = 1) -> Trajectories:
        """Fresh episodes of a policy; those of an expert that is judged are its own."""
        self.say(f"playing {self.episodes} episodes: {name}, {kind}")
        seed = self.seed + 500 * (name == EXPERT)
        return play_again(self.prepared, policy, self.episodes, seed, kind == "drawn", longer)


def judge_all(
    stage: Stage, longer: bool = False, gaps: Gaps | None = None, all_tasks: bool = True
) -> list[Behaviour]:
    """Everyone on the stage, the expert and a random policy; the headline kind comes first.

    Args:
        stage: who plays.
        longer: also play twice the horizon, quarter by quarter.
        gaps: how far a behaviour is from another one in the features of a cost.
        all_tasks: where there are many tasks, also play those that were not demonstrated.
    """
    prepared, headline = stage.prepared, stage.kinds[0]
    outcomes = {}
    if all_tasks and isinstance(prepared.task, ProductTask):
        stage.say(f"playing {stage.episodes} episodes of each on all tasks")
        new = playing_seed(prepared.config, stage.seed + 1_000)
        drawn = headline == "drawn"
        outcomes = generalise(prepared, stage.policies, stage.episodes, new, drawn)
    rng = np.random.default_rng([stage.seed, 5])
    behaviours = []

    def add(name: str, kind: Playing | None, played: Trajectories, beside: Expert) -> None:
        stage.say(f"comparing with the expert: {name}")
        found = None if gaps is None else gaps(played, beside.trajectories)
        behaviour = judge(rng, name, kind, played, beside, found)
        wide = outcomes.get(name) if kind in (headline, None) else None
        success = success_rate(prepared, played)
        behaviours.append(replace(behaviour, success=success, generalisation=wide))

    expert = {} if stage.expert is None else {EXPERT: stage.expert}
    for name, policy in (stage.policies | expert).items():
        for kind in stage.kinds:
            add(name, kind, stage.play(name, policy, kind), stage.experts[kind])
    shown = stage.experts[headline]
    add(RANDOM, None, stage.random, shown)
    if shown.spare is not None:
        # A floor from the episodes that are judged would be one of two identical sides.
        add(HELD_OUT, None, shown.spare, replace(shown, spare=None))
    return _longer(stage, behaviours) if longer else behaviours


def _longer(stage: Stage, behaviours: list[Behaviour]) -> list[Behaviour]:
    """With the timeline of twice the horizon, of everyone who acts like the demonstrations."""
    prepared, kind = stage.prepared, stage.kinds[0]
    horizon = LONGER * prepared.config.horizon
    policies = stage.policies | ({} if stage.expert is None else {EXPERT: stage.expert})
    played = {name: stage.play(name, policy, kind, LONGER) for name, policy in policies.items()}
    played[RANDOM] = stage.play(RANDOM, UniformPolicy(prepared.task), "drawn", LONGER)
    shown = fitting_demos(prepared.config, prepared.task, Selection(None, horizon)).trajectories
    if shown.lengths.max() < horizon and stage.expert is not None:
        shown = stage.play("the expert", stage.expert, kind, LONGER)
    expert = replace(
        stage.experts[kind],
        trajectories=shown,
        random=played[RANDOM],
        horizon=horizon,
        spare=None,
    )
    rng = np.random.default_rng([stage.seed, 7])
    found = []
    for behaviour in behaviours:
        if behaviour.playing in (kind, None) and behaviour.name in played:
            stage.say(f"comparing twice the horizon: {behaviour.name}")
            behaviour = replace(behaviour, longer=timeline(rng, played[behaviour.name], expert))
        found.append(behaviour)
    return found
