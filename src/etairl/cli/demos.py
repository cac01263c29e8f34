"""`etairl demos`: look at demonstrations, and bring them in and out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import tyro

from etairl.cli.console import facts, out, parse, print_json, table, track, working
from etairl.demos import (
    Demos,
    Importing,
    Noise,
    Selection,
    find_demos,
    load_demos,
    save_demos,
)
from etairl.evaluation.inspection import Inspection, Range, inspect, maybe_indices
from etairl.evaluation.mmd import Floor
from etairl.types import InputError, counted, did_you_mean

_GIB = 2**30
MaxGib = Annotated[float, tyro.conf.arg(help="refuse files whose arrays declare more than this")]


@dataclass(frozen=True)
class ListConfig:
    """List the bundled demonstrations, the .npz files of a folder, and local Minari datasets."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")] = Path(".")
    """where to look for .npz files"""
    max_gib: MaxGib = 2.0
    json: bool = False
    """print JSON"""


@dataclass(frozen=True)
class Reading:
    """Which demonstrations to read, and how."""

    source: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SOURCE")]
    """a bundled name, an .npz file, minari:NAME for a local Minari dataset, or a file or folder of
    another library: D4RL, imitation, Stable-Baselines, robomimic, LeRobot, CSV"""
    select: tyro.conf.OmitArgPrefixes[Selection] = Selection()
    bounds: Annotated[tuple[float, float] | None, tyro.conf.arg(metavar="LOW HIGH")] = None
    """smallest and largest action; actions outside are clipped, and counted"""
    max_gib: MaxGib = 2.0
    importing: tyro.conf.OmitArgPrefixes[Importing] = Importing()
    noise: tyro.conf.OmitArgPrefixes[Noise] = Noise()

    def load(self) -> Demos:
        """Read and check the demonstrations."""
        return load_demos(
            self.source,
            select=self.select,
            bounds=self.bounds,
            max_bytes=_bytes(self.max_gib),
            importing=self.importing,
            noise=self.noise,
        )


@dataclass(frozen=True)
class InfoConfig:
    """Check demonstrations, find their movement cycle, and suggest a weighting."""

    reading: tyro.conf.OmitArgPrefixes[Reading]
    seed: int = 0
    """random seed of the splits behind the MMD floor and of the surrogates behind the cycle"""
    json: bool = False
    """print JSON"""


@dataclass(frozen=True)
class CopyConfig:
    """Read demonstrations, check them, and write them where and how you want them."""

    reading: tyro.conf.OmitArgPrefixes[Reading]
    output: Annotated[str, tyro.conf.arg(aliases=["-o"], metavar="TARGET")]
    """an .npz file, or minari:NAME-v0 for a new local Minari dataset"""
    overwrite: bool = False
    """replace the .npz file if it exists"""


def run(arguments: list[str]) -> int:
    """Run one of the actions of `etairl demos`."""
    actions: dict[str, tuple[Callable[[list[str]], int], str]] = {
        "ls": (_ls, "list what is there"),
        "info": (_info, "check one, find its cycle, suggest a weighting"),
        "import": (partial(_copy, "import"), "bring demonstrations into an .npz file"),
        "export": (
            partial(_copy, "export"),
            "write demonstrations as a Minari dataset or an .npz file",
        ),
    }
    if not arguments or arguments[0] in ("-h", "--help"):
        rows = "\n".join(f"  {name:<7} {text}" for name, (_, text) in actions.items())
        print(f"usage: etairl demos ACTION [options]\n\nactions:\n{rows}")
        return 0 if arguments else 2
    if arguments[0] not in actions:
        hint = did_you_mean(arguments[0], actions, f"choose from {', '.join(actions)}")
        raise InputError(f"unknown action '{arguments[0]}'; {hint}")
    return actions[arguments[0]][0](arguments[1:])


def _ls(arguments: list[str]) -> int:
    config = parse(ListConfig, arguments, "demos ls")
    sources = find_demos(config.folder)
    rows = [_row(source, _bytes(config.max_gib)) for source in track(sources, "reading")]
    if config.json:
        print_json(rows)
        return 0
    if not rows:
        out().print(
            f"no .npz files in {config.folder}, no bundled demonstrations, no Minari datasets",
        )
        return 0
    good = [row for row in rows if "problem" not in row]
    if good:
        columns = list(good[0])
        table(columns, [[_text(row[name]) for name in columns] for row in good])
    for row in rows:
        if "problem" in row:
            out().print(f"unusable: {row['problem']}")
    return 0


def _row(source: str, max_bytes: int) -> dict[str, object]:
    try:
        t = load_demos(source, max_bytes=max_bytes).trajectories
    except InputError as error:
        return {"source": source, "problem": str(error)}
    returns = t.returns
    return {
        "source": source,
        "episodes": len(t),
        "steps": t.steps,
        "obs": t.obs_dim,
        "act": t.act_dim,
        "return": None if returns is None else float(returns.mean()),
    }


def _text(value: object) -> str:
    if value is None:
        return "unknown"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _info(arguments: list[str]) -> int:
    config = parse(InfoConfig, arguments, "demos info")
    with working(f"looking through {config.reading.source}"):
        demos = config.reading.load()
        inspection = inspect(demos, config.seed)
    if config.json:
        print_json(inspection)
        return 0
    print_inspection(inspection)
    _print_notes(demos)
    return 0


def print_inspection(i: Inspection) -> None:
    """Print an inspection for people."""
    finals = "known" if i.final_observations else "unknown"
    facts(
        i.name if i.environment is None else f"{i.name} ({i.environment})",
        [
            ("episodes", f"{i.episodes} with {_steps(i.steps, i.thinned_from)}"),
            ("length", _range(i.length)),
            (
                "return",
                "unknown: the file has no rewards" if i.returns is None else _range(i.returns),
            ),
            ("observations", _columns(i.obs_dim, i.constant_observations)),
            *_actions(i),
            *([] if i.task_dim is None else [("task vector", _columns(i.task_dim))]),
            ("NaN or infinite", "none"),
            (
                "endings",
                f"{i.terminated} terminated, {i.episodes - i.terminated} truncated, "
                f"{i.ended_early} shorter than the longest; final observations {finals}",
            ),
            ("MMD² floor", _floor(i.floor_raw, i.act_dim)),
            ("  standardised", _floor(i.floor_standardised, i.act_dim)),
            ("movement cycle", _cycle(i)),
            ("suggested η", f"{i.advice.eta}: {i.advice.reason}"),
            ("does it matter", i.where or "unknown: there are too few steps to say"),
        ],
    )
    for warning in i.warnings:
        out().print(f"warning: {warning}", style="yellow")


def _steps(rows: int, thinned_from: int | None) -> str:
    return counted(rows, "step") if thinned_from is None else f"{rows} of {thinned_from} steps"


def _range(r: Range) -> str:
    if r.low == r.high:
        return f"{r.low:.6g} each"
    return f"{r.mean:.6g} ± {r.std:.3g} ({r.low:.6g} to {r.high:.6g})"


def _columns(count: int, constant: Sequence[int] = ()) -> str:
    still = f", constant: {', '.join(map(str, constant))}" if constant else ""
    return counted(count, "column") + still


def _actions(i: Inspection) -> list[tuple[str, str]]:
    played = f"{i.playing or 'unknown'}{', a guess from the data' if i.playing_guessed else ''}"
    if i.action is None:
        return [("actions", "none: observations alone"), ("played", played)]
    if i.discrete_actions is not None:
        chosen = f"{i.action.low:.0f} to {i.action.high:.0f}"
        kinds = f"one of {i.discrete_actions} discrete ones; here are {chosen}"
        return [("actions", kinds), ("played", played)]
    clipped = f" after clipping {i.actions_clipped} of {i.steps}" if i.actions_clipped else ""
    return [
        ("actions", _columns(i.act_dim, i.constant_actions)),
        ("action range", f"{i.action.low:.4g} to {i.action.high:.4g}{clipped}"),
        ("played", played),
    ]


def _floor(floor: Floor | None, act_dim: int) -> str:
    if floor is None:
        return "unknown: it takes 4 episodes to split them"
    points = f"{2 * floor.size} {'state-action pairs' if act_dim else 'states'}"
    return f"95 % below {floor.high:.2e} (halves of {points}, {floor.splits} splits by episode)"


def _cycle(i: Inspection) -> str:
    if i.thinned_from is not None:
        return "unknown: steps were dropped, and a short cycle would look like a longer one"
    if i.mixing_time is None:
        return "none found: the episodes are too short to tell"
    if i.cycle is None:
        return "none found"
    c = i.cycle
    return (
        f"{c.length} steps, {c.confidence} confidence: correlation {c.correlation:.2f} one cycle "
        f"later, seen in {c.episodes_agreeing} of {c.episodes_tried} episodes, p = {c.p_value:.3g} "
        "against noise as smooth"
    )


def _copy(action: str, arguments: list[str]) -> int:
    config = parse(CopyConfig, arguments, f"demos {action}")
    with working(f"reading {config.reading.source}"):
        demos = config.reading.load()
    with working(f"writing {config.output}"):
        save_demos(demos, config.output, overwrite=config.overwrite)
    t = demos.trajectories
    console = out()
    steps = _steps(t.steps, None if t.spans is None else int(t.durations.sum()))
    console.print(f"{counted(len(t), 'episode')}, {steps} → {config.output}")
    if demos.clipped:
        console.print(
            f"{demos.clipped} of {t.steps} actions lay outside the bounds and were clipped"
        )
    _print_notes(demos)
    if (indices := maybe_indices(demos)) is not None:
        console.print(f"note: {indices}")
    return 0


def _print_notes(demos: Demos) -> None:
    for note in demos.notes:
        out().print(f"note: {note}")


def _bytes(gib: float) -> int:
    if not 0 < gib < 1e6:
        raise InputError(f"--max-gib must be > 0 and below a million, got {gib}")
    return int(gib * _GIB)
