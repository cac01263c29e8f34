"""`etairl idle`: train a generator of futures, and say how true they are."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from etairl.cli.console import Meter, facts, out, parse, patient_interrupt, print_json
from etairl.cli.running import watching
from etairl.demos import Demos, Selection, load_demos
from etairl.eta import parse_eta
from etairl.idle import (
    Generator,
    IdleConfig,
    Paths,
    Trained,
    check_quality,
    follow_paths,
    hold_out,
    save_generator,
    train_generator,
)
from etairl.measures import FutureSampler
from etairl.storage import holds_anything
from etairl.tasks import task_space
from etairl.tasks.navigation_world import MAPS
from etairl.tasks.product import Goals, check_tasks
from etairl.types import InputError, Trajectories, check_range, check_seed

FIGURE = "futures.png"
_PANELS, _SAMPLES = 3, 10  # episodes drawn, futures for each of their steps


@dataclass(frozen=True)
class Config:
    """Learn to generate the futures of demonstrated states (Idle, Algorithm 5), and judge them.

    A fifth of the demonstrations is held out: MMD² compares generated futures of their states with
    true ones, beside what two true draws differ by. A generator that is not good enough ends with
    exit code 1.
    """

    demos: Annotated[str, tyro.conf.arg(metavar="SOURCE")]
    """demonstrations: a name from `etairl demos ls`, a .npz file, or minari:DATASET"""
    eta: str = "geometric:0.7"
    """how far ahead a future lies"""
    gamma_irl: float = 1.0
    """discount of the time of the state; with 0 it is the first one, and with --eta uniform the
    futures are then those of rho, the whole episode"""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """keep the generator, how good it is, and a figure of futures along episodes"""
    select: tyro.conf.OmitArgPrefixes[Selection] = Selection()
    idle_gate: float = 4.0
    """how many times as far from true futures as two true draws from each other may the generated
    ones be; 0 takes any"""
    seed: int = 0
    """random seed of weights, draws, and of who is held out"""
    json: bool = False
    """print JSON"""
    idle: tyro.conf.OmitArgPrefixes[IdleConfig] = field(default_factory=IdleConfig)

    def __post_init__(self):
        check_seed(self.seed)
        check_range(self, "[0, inf)", "idle_gate")


def run(arguments: list[str]) -> int:
    """Train the generator, judge it, and print how good it is."""
    config = parse(Config, arguments, "idle")
    if config.output is not None and holds_anything(config.output):
        raise InputError(f"{config.output} exists already; choose another folder")
    sampler = FutureSampler(parse_eta(config.eta), config.gamma_irl)
    demos = load_demos(config.demos, select=config.select)
    if demos.spec.discrete_actions is not None:
        raise InputError(
            f"{config.demos}: futures need continuous actions, and these are discrete; give others"
        )
    space = _places(config, demos)
    _, held_out = hold_out(demos.trajectories, config.seed)
    mend = None if space is None else space.mend
    with Meter("learning futures", config.idle.idle_steps) as meter, patient_interrupt() as stop:
        watch = watching(meter, stop)
        trained = train_generator(
            config.idle, sampler, demos.trajectories, config.seed, watch, mend
        )
    paths = None
    if space is not None:
        paths = follow_paths(trained.generator, held_out, space, config.seed)
    if config.output is not None:
        save_generator(config.output, trained, config.idle)
        if space is not None:
            _draw(config, demos, trained.generator, held_out, space)
    why = None
    try:
        check_quality(trained.quality, config.idle_gate)
    except InputError as error:
        why = str(error)
    _print(config, trained, paths, why)
    return 0 if why is None else 1


def _places(config: Config, demos: Demos) -> Goals | None:
    """What a place is, where demonstrations go to one."""
    environment, tasks = demos.spec.environment, demos.trajectories.tasks
    if environment is None or tasks is None:
        return None
    space = task_space(environment)
    if not isinstance(space, Goals):
        return None
    try:
        check_tasks(space, tasks, environment)
    except InputError as error:
        raise InputError(f"{config.demos}: {error}") from None
    return space


def _draw(
    config: Config, demos: Demos, generator: Generator, held_out: Trajectories, space: Goals
) -> None:
    """The longest of the held-out episodes, with generated futures along them."""
    from etairl.figures.sampled_futures import Walk, futures_figure
    from etairl.figures.save import save_figure

    assert config.output is not None
    assert held_out.tasks is not None
    rng, place, walks = np.random.default_rng([config.seed, 9]), list(space.place), []
    places = held_out.observations[:, place].astype(np.float64)
    steps = np.linalg.norm(np.diff(places, axis=0, append=places[-1:]), axis=1)
    steps[held_out.last_rows] = 0.0
    lengths = np.add.reduceat(steps, held_out.offsets[:-1])
    for number, i in enumerate(np.argsort(-lengths)[:_PANELS]):
        episode = held_out.take(np.array([i]))
        starts = generator.starts(rng, episode.offsets, _SAMPLES * episode.steps)
        made, _ = generator.futures(rng, episode.observations[starts])
        path = episode.observations[:, place]
        walks.append(Walk(path, held_out.tasks[i], made[:, place], f"task {number + 1}"))
    world = MAPS.get(demos.spec.environment or "")
    save_figure(futures_figure(walks, world), config.output / FIGURE)


def _print(config: Config, trained: Trained, paths: Paths | None, why: str | None) -> None:
    quality = trained.quality
    if config.json:
        along = None if paths is None else {k: asdict(v) for k, v in paths._asdict().items()}
        about = {"eta": config.eta, "gamma_irl": config.gamma_irl} | asdict(quality)
        judged = {"ratio": quality.ratio, "paths": along, "accepted": why is None, "why": why}
        print_json(about | judged)
        return
    rows = [
        ("MMD²", f"{quality.mmd2:.5f} from true futures of the same held-out states"),
        ("floor", f"{quality.floor:.5f}: 95 % of two true draws are closer"),
        ("ratio", f"{quality.ratio:.2f}"),
        ("spread", f"{quality.spread:.2f} of that of true futures of a state"),
    ]
    if paths is not None:
        made, true = paths
        rows += [
            ("at the target", _beside(made.near_target, true.near_target)),
            ("path covered", _beside(made.coverage, true.coverage)),
        ]
    if config.output is not None:
        rows.append(("kept in", str(config.output)))
    facts(f"futures of {config.demos}, {config.eta}", rows)
    if why is not None:
        out().print(f"\n{why}", soft_wrap=True)


def _beside(made: float, true: float) -> str:
    return f"{100 * made:.0f} % generated, {100 * true:.0f} % true"
