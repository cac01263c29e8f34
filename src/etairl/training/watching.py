"""What a run is measured against while it trains, to decide when it is good."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from etairl.demos import Demos
from etairl.evaluation.matching import Reference
from etairl.training.fitting import held_out_demos
from etairl.training.settings import TrainConfig
from etairl.types import Task, Trajectories

IN_USE = "the demonstrations in use"


@dataclass(frozen=True)
class Watched:
    """Demonstrations of the expert, and how far its own episodes are from them."""

    name: str
    """which they are"""
    reference: Reference
    length: float
    """mean steps of its episodes"""
    episodes: int
    """of the learner in a cycle"""
    horizon: int

    @staticmethod
    def of(config: TrainConfig, task: Task, demos: Demos) -> "Watched":
        """Those that the learner does not see; where none are left over, those that it does.

        With many tasks always the latter: those of others are not the ones that it plays.
        """
        shown, held_out = demos.trajectories, None
        if task.multi is None:
            held_out = held_out_demos(config, task, len(shown))
        if held_out is None:
            name, reference = IN_USE, Reference.of(shown, demos.standardiser, exact=False)
        else:
            name = f"{len(held_out)} demonstrations held out"
            reference = Reference.of(held_out, demos.standardiser, shown, exact=False)
        length = float((shown if held_out is None else held_out).lengths.mean())
        return Watched(name, reference, length, config.girl.episodes, config.horizon)

    def columns(self, played: Trajectories) -> dict[str, float]:
        """What a row of metrics says of the episodes of a cycle."""
        row = {
            "watched/mmd2_mu": self.reference.mmd2(played)["mu"],
            "watched/length_gap": abs(float(played.lengths.mean()) / self.length - 1.0),
        }
        return row if self.floor is None else row | {"watched/floor": self.floor}

    @cached_property
    def floor(self) -> float | None:
        """MMD² of mu that as many whole episodes of the expert itself stay below, 95 % of them."""
        lengths = np.full(self.episodes, self.horizon)
        return self.reference.floor("mu", lengths, self.reference.steps.episodes).value
