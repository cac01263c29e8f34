"""A run seen from the terminal: progress, warnings, Ctrl-C, and how it ended."""

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from etairl.cli.console import Meter, out, patient_interrupt, print_json
from etairl.cli.device import Device
from etairl.cli.early import Waiting
from etairl.cli.ending import print_result
from etairl.evaluation.diagnostics import Warnings
from etairl.idle import IdleProgress, Watch
from etairl.runs import RunDirectory, read_result
from etairl.training.session import Session, open_run, resume_command
from etairl.training.settings import TrainConfig
from etairl.training.stoppable import Report, StoppableRun
from etairl.training.tracking import Service, check_service, tracker
from etairl.types import DivergedError, InputError


@dataclass(frozen=True)
class RunOptions:
    """How a run is played and shown; what it learns does not depend on that."""

    checkpoint_seconds: float = 60.0
    """time between checkpoints"""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """threads of the simulator; all cores if left out"""
    device: Device | None = None
    """where to compute; the fastest there is if left out"""
    track: Service | None = None
    """show the metrics on a dashboard, too: Weights & Biases or MLflow, whose packages come with
    etairl[wandb] and etairl[mlflow]"""
    quiet: bool = False
    """say nothing but warnings and errors"""
    json: bool = False
    """print the result as one JSON object; progress goes to standard error"""


def follow(
    config: TrainConfig,
    path: Path,
    options: RunOptions = RunOptions(),
    *,
    resume: bool = False,
) -> None:
    """Train to the end, or to Ctrl-C, with progress on the terminal."""
    quiet = options.quiet or options.json
    say = str if quiet else out().print
    check_service(options.track)
    with ExitStack() as stack:
        waiting = stack.enter_context(
            Waiting("loading demonstrations and simulator", not options.quiet)
        )
        meter = _GeneratorMeter(config.generator.idle_steps, waiting, options.quiet)
        watch = stack.enter_context(meter)
        run = stack.enter_context(
            open_run(
                config,
                path,
                resume=resume,
                threads=options.threads,
                checkpoint_seconds=options.checkpoint_seconds,
                watch=watch,
            )
        )
        watch.close()
        waiting.close()
        already = run.finished
        if already:
            say(f"{path} is finished; see etairl evaluate {shlex.quote(str(path))}")
        else:
            _play(run, options, say)
    if options.json:
        print_json({"run": str(path), **read_result(path)})
    elif not (options.quiet or already):
        print_result(path)


def _play(run: Session, options: RunOptions, say: Callable[[str], object]) -> None:
    config, path = run.prepared.config, run.directory.path
    if (futures := run.prepared.futures) is not None:
        say(
            f"futures are generated: MMD² {futures.mmd2:.5f} from true ones of held-out states, "
            f"{futures.ratio:.1f} times the floor of {futures.floor:.5f}"
        )
    if run.resumed:
        say(f"resuming {path}")
    frozen = "" if config.frozen_cost is None else "a fresh policy on the frozen cost of "
    with _tracked(run, options) as seen:
        play_through(
            run,
            f"{frozen}{config.algorithm} on {config.env}",
            config.girl.transitions,
            lambda _, speed: _note(run.rows, speed),
            f"resume it with: {resume_command(path, config)}",
            run.prepared.warnings(),
            _new_warnings(run, seen),
            options.quiet,
        )


class _GeneratorMeter:
    """Progress of a generator of futures, if one is trained: the bar appears with the first."""

    def __init__(self, steps: int, waiting: Waiting, quiet: bool):
        self._steps, self._waiting, self._quiet = steps, waiting, quiet
        self._stack, self._watch = ExitStack(), None

    def __enter__(self) -> "_GeneratorMeter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, progress: IdleProgress) -> None:
        if self._watch is None:
            self._waiting.close()
            meter = Meter("learning futures", self._steps, quiet=self._quiet)
            meter = self._stack.enter_context(meter)
            self._watch = watching(meter, self._stack.enter_context(patient_interrupt()))
        self._watch(progress)

    def close(self) -> None:
        self._stack.close()


def watching(meter: Meter, stop: Callable[[], bool]) -> Watch:
    """Progress of a generator of futures; Ctrl-C ends it between two rounds."""

    def watch(progress: IdleProgress) -> None:
        meter.update(progress.steps, f"loss of its discriminator {progress.info.gan_loss:.3f}")
        if stop():
            raise KeyboardInterrupt("nothing was written")

    return watch


def play_through(
    run: StoppableRun,
    title: str,
    total: int,
    note: Callable[[Report, float], str],
    again: str,
    before: Sequence[str] = (),
    after: Callable[[], list[str]] = list,
    quiet: bool = False,
) -> None:
    """Play a run to its end, or to Ctrl-C, with progress on the terminal.

    Args:
        run: what to play.
        title: what the bar says.
        total: transitions of the whole run.
        note: what to say of a cycle, with the transitions per second so far.
        again: how a run that was stopped is resumed.
        before: sentences to say before the first cycle.
        after: sentences to say after each.
        quiet: say the sentences alone.
    """
    first, directory = run.transitions, run.directory
    with ExitStack() as stack:
        meter = stack.enter_context(Meter(title, total, first, quiet))
        stop = stack.enter_context(patient_interrupt())

        def kept() -> str:
            return f"{directory.path} is kept at {run.transitions:,} transitions; {again}"

        def stage(what: str) -> None:
            if stop() and run.transitions:
                raise KeyboardInterrupt(kept())
            meter.stage(what)

        reports = stack.enter_context(closing(run.play(stage)))
        for sentence in (*directory.notes, *before):
            meter.say(sentence)
        since = time.monotonic()
        try:
            for report in reports:
                speed = (report.transitions - first) / max(time.monotonic() - since, 1e-9)
                meter.update(report.transitions, note(report, speed))
                for sentence in after():
                    meter.say(sentence)
                if stop():
                    reports.close()  # writes a checkpoint
                    raise KeyboardInterrupt(kept())
        except DivergedError as error:
            raise InputError(f"{error}; {_kept(directory)}") from None
        except FloatingPointError as error:
            raise InputError(
                f"{error}; {_kept(directory)}. Lower the learning rates or hold the discriminator "
                "back, in a new run"
            ) from None


@contextmanager
def _tracked(run: Session, options: RunOptions) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Shows rows on a dashboard, where one was asked for."""
    if options.track is None:
        yield lambda _: None
        return
    service = tracker(options.track, run.prepared.config, run.directory.path)
    try:
        yield service.add
    finally:
        service.close(run.finished)


def _kept(directory: RunDirectory) -> str:
    if directory.checkpoints.cycle is None:
        return f"there was no checkpoint yet in {directory.path}"
    return f"the last checkpoint, of cycle {directory.checkpoints.cycle}, is in {directory.path}"


def _new_warnings(run: Session, seen: Callable[[dict[str, Any]], None]) -> Callable[[], list[str]]:
    """What goes wrong in a run, each said once; what was wrong when it was opened is known."""
    watch = Warnings(run.rows)

    def new() -> list[str]:
        row = run.rows[-1]
        seen(row)
        return [f"cycle {warning.cycle}: {warning.message}" for warning in watch.add(row)]

    return new


def _note(rows: list[dict[str, Any]], speed: float) -> str:
    row = rows[-1]
    measured = next((r["mmd2_mu"] for r in reversed(rows) if "mmd2_mu" in r), None)
    judged = next((r for r in reversed(rows) if "cost/accuracy_learner" in r), None)
    parts = [f"cycle {row['cycle']}", f"return {row['return']:.0f}"]
    if "success" in row:
        parts.append(f"solved {100 * row['success']:.0f} %")
    if measured is not None:
        parts.append(f"MMD² {measured:.4f}")
    if judged is not None:
        right = (judged["cost/accuracy_learner"] + judged["cost/accuracy_expert"]) / 2
        parts.append(f"D accuracy {right:.2f}")
    gap = next((r["cost/gap"] for r in reversed(rows) if "cost/gap" in r), None)
    if gap is not None:
        parts.append(f"gap {gap:.2f}")
    return ", ".join([*parts, f"{speed:,.0f} transitions/s"] if speed else parts)
