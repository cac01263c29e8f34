"""The one way to start a run: prepare → lock → open → play → finish.

`train`, `resume`, `demo`, the workers of a study and `etairl.train` all go through `open_run`, and
`expert` through `open_expert`, which is alike; whoever wants the game without a folder asks
`Prepared.cycles`. The loop is the algorithm's own generator; here it meets the run directory.
Everything that is written per cycle follows from the settings alone: a run that was killed and
resumed writes the same bytes as an unbroken one. Times, which cannot, are kept apart in
`timing.jsonl`.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from typing_extensions import override

from etairl.algorithms.girl import Cycle, State
from etairl.buffers import EpisodeBuffer
from etairl.decoding import encode
from etairl.evaluation.progress import Progress
from etairl.idle import Watch
from etairl.locks import held
from etairl.runs import RunDirectory
from etairl.solvers.policy import ActionScaling
from etairl.storage import reading
from etairl.training.config_files import read_config, trust_option
from etairl.training.deciding import copy_player, gone_back, recovers, slowed
from etairl.training.events import EventLog
from etairl.training.measuring import check_finite, final_result, measure
from etairl.training.multitask import ReturnScale
from etairl.training.preparation import Prepared, keep_generator, prepare, with_generator
from etairl.training.restored import check_resets, episodes_of
from etairl.training.settings import TrainConfig
from etairl.training.stoppable import Report, StoppableRun
from etairl.types import DivergedError, InputError, Trajectories


class Reached(NamedTuple):
    """How far a run is; what a checkpoint holds."""

    state: State
    best: Any
    """the policy that played the best cycle; where a run recovers, with all of its solver"""
    resets: list[int]
    """of each copy of the task, after the latest whole cycle"""


@contextmanager
def open_run(
    config: TrainConfig,
    path: Path,
    *,
    resume: bool = False,
    threads: int | None = None,
    checkpoint_seconds: float = 60.0,
    watch: Watch | None = None,
) -> Iterator["Session"]:
    """A run, locked and ready to play; nothing is written before everything is checked.

    Args:
        config: what to learn.
        path: the run directory.
        resume: continue the run that is there; otherwise a folder that holds one is refused.
        threads: of the simulator; all cores if left out. Results do not depend on it.
        checkpoint_seconds: time between checkpoints.
        watch: told of the progress of a generator of futures, which is trained first.
    """
    if not checkpoint_seconds >= 0.0:
        raise InputError(f"checkpoint_seconds must be >= 0, got {checkpoint_seconds}")
    directory = RunDirectory(path)
    if not resume:
        refuse_begun(directory)
    if directory.finished:
        with held(path):
            # As they are read, also those of version 0.1.
            stored = encode(read_config(path, trust=True))
            directory.refuse_others(stored, encode(config))
            directory.clear()
        yield Session(directory)
        return
    directory.check_versions()
    prepared = prepare(config, threads)
    directory.check_demonstrations(prepared.digest)
    prepared = with_generator(prepared, path, watch)
    with held(path):
        if not resume:
            refuse_begun(directory)  # by another command, just now
        if directory.finished:
            raise InputError(
                f"{path} was finished by another command just now; see etairl evaluate"
            )
        resumed = directory.open(encode(config), demonstrations=prepared.digest)
        keep_generator(prepared, path)
        yield Session(directory, prepared, resumed, checkpoint_seconds)


def resume_command(run: Path, config: TrainConfig | None = None) -> str:
    """How a run is resumed on the command line, with the user's word where it names code."""
    return f"etairl resume {run}{trust_option(config) if config is not None else ''}"


def refuse_begun(directory: RunDirectory) -> None:
    """A folder that holds a run takes no other."""
    if not directory.begun:
        return
    how = "finished" if directory.finished else f"resume it: {resume_command(directory.path)}"
    raise InputError(f"{directory.path} already holds a run ({how}); choose another folder")


@dataclass
class Session(StoppableRun):
    """A run that is open. Its metrics so far are `rows`."""

    directory: RunDirectory
    _prepared: Prepared | None = None
    resumed: bool = False
    checkpoint_seconds: float = 60.0
    rows: list[dict[str, Any]] = field(default_factory=list)
    _reached: Reached = field(init=False)
    _buffer: EpisodeBuffer = field(init=False)
    _scale: ReturnScale | None = field(init=False)
    _unsaved: list[Trajectories] = field(default_factory=list)

    def __post_init__(self):
        if self.resumed:
            self.rows = self.directory.checkpoints.metrics()

    @property
    @override
    def transitions(self) -> int:
        return self.rows[-1]["transitions"] if self.rows else 0

    @property
    def prepared(self) -> Prepared:
        """Everything that does not change."""
        assert self._prepared is not None, "a finished run is not prepared again"
        return self._prepared

    @override
    def _begin(self, tell: Callable[[str], object]) -> None:
        prepared = self.prepared
        if not self.resumed and prepared.game.solver.needs_clone:
            tell("cloning the demonstrations")
        state, self._buffer = prepared.begin(cloned=not self.resumed), prepared.make_buffer()
        best = copy_player(prepared, state)
        if self.resumed:
            state, best = self._restore(state, best, self._buffer)
        else:
            self.directory.start_over()
        self._reached = Reached(state, best, prepared.task.resets.tolist())
        self._scale = ReturnScale.of(prepared)

    @override
    def _reports(self, tell: Callable[[str], object]) -> Iterator[Report]:
        prepared, begun = self.prepared, self._reached.state.transitions
        events = EventLog(self.directory.path / "tensorboard", begun + 1 if self.rows else 0)
        started = time.monotonic()
        try:
            cycles = self._cycles()
            tell("first episodes, compiling")
            while not self._stops():  # also before the first: a stop may come just then
                playing = copy_player(prepared, self._reached.state)
                cycle = next(cycles, None)
                if cycle is None:
                    break
                check_finite(prepared, cycle)
                # The updates gave up the memory of the state before: from here on this one counts.
                resets = prepared.task.resets.tolist()
                self._reached = self._reached._replace(state=cycle.state, resets=resets)
                self._unsaved.append(cycle.rolled_out)
                row = measure(prepared, cycle, self._scale)
                self.rows.append(row)
                self._decide(playing)
                if "recovered" in row:
                    cycles = self._cycles()
                started = self._log(row, events, started)
                yield Report(row, cycle.state.transitions)
        except DivergedError as error:
            raise DivergedError(f"{error} (in cycle {self._reached.state.cycles + 1})") from None
        finally:
            events.close()

    @override
    def _result(self, tell: Callable[[str], object]) -> dict[str, Any]:
        state, best, _ = self._reached
        players = self.prepared, self.directory, state, best, self._buffer
        try:
            return final_result(*players, self.rows, self._scale, tell)
        except KeyboardInterrupt:
            self._checkpoint()  # so that nothing but the comparison is lost
            raise

    def _cycles(self) -> Iterator[Cycle]:
        """The game from there on, slower after each recovery."""
        game = slowed(self.prepared.game, Progress.of(self.rows).recoveries)
        return self.prepared._replace(game=game).cycles(self._reached.state, self._buffer)

    def _log(self, row: dict[str, Any], events: EventLog, since: float) -> float:
        """A line of metrics, and one of the time that it took; returns when that was."""
        self.directory.log(row)
        events.add(row)
        now = time.monotonic()
        self.directory.log_time({"cycle": row["cycle"], "seconds": now - since})
        return now

    def _stops(self) -> bool:
        patience = self.prepared.config.patience
        if patience is None or not self.rows or "mmd2_mu" not in self.rows[-1]:
            return False  # only a measurement is a reason
        return Progress.of(self.rows).stop(patience) is not None

    def _decide(self, playing: Any) -> None:
        """What follows from the newest row: who played is the best so far, or the best plays on."""
        row = self.rows[-1]
        if "mmd2_mu" not in row:
            return
        progress = Progress.of(self.rows)
        if progress.best is progress.measured[-1]:
            self._reached = self._reached._replace(best=playing)
        if recovers(self.prepared, progress):
            row["recovered"] = 1
            back = gone_back(self._reached.state, self._reached.best)
            self._reached = self._reached._replace(state=back)

    @override
    def _checkpoint(self) -> None:
        """Episodes since the last one, then the players: in this order a kill loses nothing."""
        if not self._unsaved:
            return
        state, best, resets = self._reached
        scaling = ActionScaling(self.prepared.task.spec)
        episodes = self._unsaved
        arrays = {
            "observations": np.concatenate([t.observations for t in episodes]),
            "actions": np.concatenate([scaling.to_solver(t.actions) for t in episodes]),
            "rewards": np.concatenate([t.rewards for t in episodes if t.rewards is not None]),
            "terminated": np.concatenate([t.terminated for t in episodes]),
            "final": np.concatenate(
                [t.final_observations for t in episodes if t.final_observations is not None]
            ),
            "lengths": np.concatenate([t.lengths for t in episodes]),
            "episodes": np.array([len(t) for t in episodes]),
        }
        checkpoints = self.directory.checkpoints
        checkpoints.save_segment(state.cycles - len(episodes), state.cycles, arrays)
        trees = {"cost": state.cost, "solver": state.solver, "best": best}
        values = {"transitions": state.transitions, "resets": resets}
        checkpoints.save(state.cycles, trees, values, since=state.cycles - len(self._buffer))
        episodes.clear()

    def _restore(self, state: State, best: Any, buffer: EpisodeBuffer) -> tuple[State, Any]:
        prepared, checkpoints = self.prepared, self.directory.checkpoints
        with reading(self.directory.path / "checkpoints"):
            trees, values = checkpoints.load(
                {"cost": state.cost, "solver": state.solver, "best": best}
            )
            prepared.game.cost.check(trees["cost"], prepared.cost)
            for _, _, arrays in checkpoints.load_segments(values["cycle"]):
                whole, ends = episodes_of(arrays), np.cumsum(arrays["episodes"])
                for first, end in pairwise([0, *ends]):
                    part = whole.take(np.arange(first, end))
                    buffer.extend(part, part.actions)
            check_resets(values["resets"], prepared.task.envs, prepared.config.girl.transitions)
            prepared.task.replay(np.asarray(values["resets"]))
            again = State(
                trees["cost"], trees["solver"], values["cycle"], int(values["transitions"])
            )
        return again, trees["best"]
