"""A learner beside its expert: all play, drawn and greedy; like is compared with like."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from etairl.demos import Playing, Selection
from etairl.demos.action_kind import BY_A_GUESS, playing_of
from etairl.evaluation.explanation import FeatureGap
from etairl.evaluation.timeline import Expert, timeline
from etairl.rollouts import UniformPolicy
from etairl.training.behaviour import Behaviour, judge
from etairl.training.experts import expert_of
from etairl.training.fitting import fitting_demos, held_out_demos
from etairl.training.multitask import EXPERT, LONGER, Role, generalise, success_rate
from etairl.training.playing import play_again, playing_seed
from etairl.training.preparation import Prepared
from etairl.types import Policy, Trajectories

RANDOM = "random"
LEARNER = "learner"
CLONING = "behaviour cloning"
HELD_OUT = "expert, held out"
DEMONSTRATIONS = "demonstrations"
MOST_OF_OTHERS = 25
"""episodes of the expert, of a random policy, and of what does not act like the demonstrations"""


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
        """How the demonstrations were played, which the headline compares; then the other one.

        Where nobody can tell, drawn: as the learner plays while it learns.
        """
        own, _ = self.demonstrated
        return ("greedy", "drawn") if own == "greedy" else ("drawn", "greedy")

    @cached_property
    def demonstrated(self) -> tuple[Playing | None, bool]:
        """How the demonstrations were played, and whether that is a guess; None if not known."""
        return playing_of(self.prepared.demos)

    @cached_property
    def expert(self) -> Policy | None:
        """The policy behind the demonstrations, where it is known."""
        return expert_of(self.prepared.config)

    @cached_property
    def played(self) -> dict[tuple[str, Playing], Trajectories]:
        """Fresh episodes of everyone, of both kinds; a random policy has one."""
        cast: dict[tuple[str, Playing], Role] = {}
        for name, policy in self.everyone.items():
            cast |= {(name, kind): Role(policy, kind == "drawn") for kind in self.kinds}
        return self.play(cast)

    @cached_property
    def held_out(self) -> Trajectories | None:
        """Demonstrations that the learner did not see, if there are enough to compare."""
        prepared = self.prepared
        used = len(prepared.demos.trajectories)
        return held_out_demos(prepared.config, prepared.task, used)

    @property
    def everyone(self) -> dict[str, Policy]:
        """Whoever is judged, with the expert where it is known."""
        return self.policies | ({} if self.expert is None else {EXPERT: self.expert})

    @cached_property
    def experts(self) -> dict[Playing, Expert]:
        """For each kind whom to compare with: the demonstrations, or its policy where it is known.

        The other kind of an expert whose policy is not known is compared with the demonstrations:
        there is nothing better.
        """
        demos, horizon, other_kind = (
            self.prepared.demos,
            self.prepared.config.horizon,
            self.kinds[1],
        )
        kind, guessed = self.demonstrated
        shown = Expert(
            f"{DEMONSTRATIONS}, {kind} {BY_A_GUESS}" if guessed else DEMONSTRATIONS,
            demos.trajectories,
            demos.standardiser,
            self.played[RANDOM, "drawn"],
            horizon,
            self.own(self.kinds[0]),
        )
        other = shown
        if self.expert is not None:
            name, played = f"the expert, {other_kind}", self.expert_again(other_kind)
            own = self.own(other_kind)
            other = replace(shown, name=name, trajectories=played, spare=own)
        return {self.kinds[0]: shown, other_kind: other}

    def expert_again(self, kind: Playing, longer: int = 1) -> Trajectories:
        """Episodes of the policy behind the demonstrations that are not those it is judged in."""
        assert self.expert is not None
        again = replace(self, seed=self.seed + 500)
        cast: dict[tuple[str, Playing], Role] = {(EXPERT, kind): Role(self.expert, kind == "drawn")}
        (played,) = again.play(cast, longer, chance=False).values()
        return played

    def own(self, kind: Playing, judged: bool = True) -> tuple[Trajectories, ...]:
        """More episodes of the expert: held-out demonstrations, and what it plays itself."""
        held_out = self.held_out if kind == self.kinds[0] else None
        played = self.played[EXPERT, kind] if judged and self.expert is not None else None
        return tuple(t for t in (held_out, played) if t is not None)

    def beside(self, name: str, kind: Playing) -> Expert:
        """Whom to compare with; no floor of the expert is from the episodes that are judged."""
        expert = self.experts[kind]
        return replace(expert, spare=self.own(kind, judged=False)) if name == EXPERT else expert

    @property
    def rows(self) -> Iterator[tuple[str, Playing | None, Trajectories, Expert]]:
        """Everyone, of both kinds, beside whom they are compared with; a random policy last."""
        for name in self.everyone:
            for kind in self.kinds:
                yield name, kind, self.played[name, kind], self.beside(name, kind)
        yield RANDOM, None, self.played[RANDOM, "drawn"], self.experts[self.kinds[0]]

    def play(
        self, cast: dict[tuple[str, Playing], Role], longer: int = 1, chance: bool = True
    ) -> dict[tuple[str, Playing], Trajectories]:
        """Fresh episodes of some, and of a random policy: of each as many as `many` says."""
        if chance:
            cast = {**cast, (RANDOM, "drawn"): Role(UniformPolicy(self.prepared.task))}
        said = ", ".join(dict.fromkeys(name for name, _ in cast))
        self.say(f"playing {self.episodes} episodes of each: {said}")
        played = {}
        for episodes in dict.fromkeys(self.many(*key) for key in cast):
            part = {key: role for key, role in cast.items() if self.many(*key) == episodes}
            roles = list(part.values())
            together = play_again(self.prepared, roles, episodes, self.seed, longer)
            played |= dict(zip(part, together, strict=True))
        return {key: played[key] for key in cast}

    def many(self, name: str, kind: Playing) -> int:
        """Episodes: of the headline as many as were asked for, of all others at most 25.

        The headline is whoever is judged, acting like the demonstrations.
        """
        headline = kind == self.kinds[0] and name not in (EXPERT, RANDOM)
        return self.episodes if headline else min(self.episodes, MOST_OF_OTHERS)


def judge_at_the_end(stage: Stage) -> list[Behaviour]:
    """Learner, clone and expert of both kinds, and a random policy: what a run says of itself."""
    rng, task = np.random.default_rng([stage.seed, 5]), stage.prepared.task
    return [
        replace(judge(rng, *row, in_time=False), success=success_rate(task, row[2]))
        for row in stage.rows
    ]


def judge_all(
    stage: Stage,
    longer: bool = False,
    gaps: Callable[[Trajectories, Trajectories], list[FeatureGap] | None] | None = None,
) -> list[Behaviour]:
    """Everyone on the stage, the expert and a random policy; the headline kind comes first.

    Args:
        stage: who plays.
        longer: also play twice the horizon, quarter by quarter.
        gaps: how far a behaviour is from another one in the features of a cost.
    """
    prepared, headline = stage.prepared, stage.kinds[0]
    outcomes = {}
    if prepared.task.multi is not None:
        stage.say("playing on all tasks")
        new = playing_seed(prepared.config, stage.seed + 1_000)
        drawn = headline == "drawn"
        outcomes = generalise(prepared, stage.policies, stage.episodes, new, drawn)
    rng = np.random.default_rng([stage.seed, 5])
    behaviours = []

    def add(name: str, kind: Playing | None, played: Trajectories, beside: Expert) -> None:
        stage.say(f"comparing with the expert: {name}")
        features = None if gaps is None else gaps(played, beside.trajectories)
        behaviour = judge(rng, name, kind, played, beside, features)
        wide = outcomes.get(name) if kind in (headline, None) else None
        success = success_rate(prepared.task, played)
        behaviours.append(replace(behaviour, success=success, generalisation=wide))

    for row in stage.rows:
        add(*row)
    held_out = stage.held_out
    if held_out is not None:
        others = () if stage.expert is None else (stage.played[EXPERT, headline],)
        add(HELD_OUT, None, held_out, replace(stage.experts[headline], spare=others))
    return _longer(stage, behaviours) if longer else behaviours


def _longer(stage: Stage, behaviours: list[Behaviour]) -> list[Behaviour]:
    """With the timeline of twice the horizon, of everyone who acts like the demonstrations."""
    prepared, kind = stage.prepared, stage.kinds[0]
    horizon = LONGER * prepared.config.horizon
    cast: dict[tuple[str, Playing], Role] = {
        (name, kind): Role(policy, kind == "drawn") for name, policy in stage.everyone.items()
    }
    played = {name: t for (name, _), t in stage.play(cast, LONGER).items()}
    select = Selection(None, horizon, prepared.config.every)
    shown = fitting_demos(prepared.config, prepared.task, select).trajectories
    if shown.durations.max() < horizon and stage.expert is not None:
        shown = stage.expert_again(kind, LONGER)
    expert = replace(
        stage.experts[kind],
        trajectories=shown,
        random=played[RANDOM],
        horizon=horizon,
        spare=(),
    )
    rng = np.random.default_rng([stage.seed, 7])
    rows = []
    for behaviour in behaviours:
        if behaviour.playing in (kind, None) and behaviour.name in played:
            stage.say(f"comparing twice the horizon: {behaviour.name}")
            behaviour = replace(behaviour, longer=timeline(rng, played[behaviour.name], expert))
        rows.append(behaviour)
    return rows
