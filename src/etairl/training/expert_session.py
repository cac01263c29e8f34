"""A run that trains an expert: opened, played and resumed as a run of imitation is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from etairl.algorithms.expert import (
    ExpertConfig,
    ExpertCycle,
    ExpertProgress,
    Simulators,
    begin,
    make_expert_task,
    make_solver,
    train_expert,
)
from etairl.checkpoints import load_replay, save_replay
from etairl.decoding import encode
from etairl.locks import held
from etairl.runs import RunDirectory
from etairl.solvers.learned import save_policy
from etairl.solvers.sac import SAC
from etairl.storage import reading
from etairl.training.restored import check_resets
from etairl.training.stoppable import Report, StoppableRun
from etairl.types import InputError, RejoinableTask

_LATEST = 20
"""episodes whose mean return is reported"""


@contextmanager
def open_expert(
    config: ExpertConfig, path: Path, checkpoint_seconds: float = 60.0
) -> Iterator["ExpertSession"]:
    """A run, locked and ready to play: a new one, or that of the folder from its checkpoint.

    Args:
        config: how to train; the number of steps may differ from that of the folder.
        path: the run directory.
        checkpoint_seconds: time between checkpoints.
    """
    if config.steps <= config.warmup:
        raise InputError(
            f"all {config.steps} steps are warm-up, and nothing would be learned; give more "
            "--steps, or less --warmup"
        )
    task = make_expert_task(config)
    solver = make_solver(config, task)
    directory = RunDirectory(path)
    if not directory.finished:
        directory.check_versions()
    with held(path):
        resumed = directory.open(encode(config), may_change=("steps",))
        progress = begin(config, task, solver)
        run = ExpertSession(directory, config, task, solver, progress, resumed, checkpoint_seconds)
        if resumed and not run.finished:
            run.restore()
        yield run


@dataclass
class ExpertSession(StoppableRun):
    """A run that is open, and how far it is."""

    directory: RunDirectory
    config: ExpertConfig
    task: RejoinableTask
    solver: SAC
    progress: ExpertProgress
    resumed: bool = False
    checkpoint_seconds: float = 60.0
    returns: list[float] = field(default_factory=list)
    """of the latest episodes"""
    _unsaved: bool = False

    @property
    @override
    def transitions(self) -> int:
        return self.progress.steps

    @override
    def _begin(self, tell: Callable[[str], object]) -> None:
        tell("first episodes, compiling")
        if not self.resumed:
            self.directory.start_over()

    @override
    def _reports(self, tell: Callable[[str], object]) -> Iterator[Report]:
        for cycle in train_expert(self.config, self.task, self.solver, self.progress):
            self.progress, self._unsaved = cycle.progress, True
            self.returns = (self.returns + cycle.returns)[-_LATEST:]
            row = self._row(cycle)
            if cycle.returns or cycle.judged is not None:
                self.directory.log(row)
            yield Report(row, self.transitions)

    def restore(self) -> None:
        """Go to the latest checkpoint."""
        checkpoints, fresh = self.directory.checkpoints, self.progress
        with reading(self.directory.path / "checkpoints"):
            trees, values = checkpoints.load({"solver": fresh.solver, "best": fresh.best})
            world = Simulators(**values["world"])
            for resets in (world.resets, world.judge_resets):
                check_resets(resets, len(resets), values["steps"])
            load_replay(checkpoints, fresh.replay, world.added)
            counts = {"steps": values["steps"], "cycles": values["cycle"]}
            self.progress = fresh._replace(**trees, **counts, world=world)
            self.returns = values["returns"]

    @override
    def _checkpoint(self) -> None:
        """The replay may have gone on since, and is taken back."""
        if not self._unsaved:
            return
        progress, checkpoints = self.progress, self.directory.checkpoints
        progress.replay.rewind(progress.world.added)
        since = save_replay(checkpoints, progress.replay)
        trees = {"solver": progress.solver, "best": progress.best}
        world = progress.world._asdict()
        values = {"steps": progress.steps, "returns": self.returns, "world": world}
        checkpoints.save(progress.cycles, trees, values, since)
        self._unsaved = False

    def _row(self, cycle: ExpertCycle) -> dict[str, Any]:
        row = {"cycle": cycle.progress.cycles, "steps": cycle.progress.steps}
        judged = {} if cycle.judged is None else {"judged_return": cycle.judged}
        mean = {"return": float(np.mean(self.returns))} if self.returns else {}
        info = {} if cycle.info is None else {k: float(v) for k, v in cycle.info._asdict().items()}
        return row | judged | mean | info

    @override
    def _result(self, tell: Callable[[str], object]) -> dict[str, Any]:
        best, last = self.progress.best, self.progress.solver
        judged = bool(np.isfinite(best.score))  # not where a run ends within its warm-up
        kept = best if judged else last
        played = last._replace(actor=kept.actor, normaliser=kept.normaliser)
        save_policy(self.directory.path / "policy.safetensors", kept, self.solver.policy(played))
        return {
            "steps": self.progress.steps,
            "training_return": float(np.mean(self.returns)) if self.returns else None,
            "best_judged_return": float(best.score) if judged else None,
        }
