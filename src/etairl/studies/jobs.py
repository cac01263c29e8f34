"""The runs of a study before they run: their names, no two the same, all able to start."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

from etairl.decoding import encode
from etairl.demos import Selection, load_demos
from etairl.eta import Dirac
from etairl.runs import RunDirectory
from etairl.tasks import make_task
from etairl.training.fitting import fitting_demos
from etairl.training.flat import flatten
from etairl.training.preset_changes import differing
from etairl.training.settings import TrainConfig
from etairl.types import InputError, Task

StudyScale = Literal["smoke", "quick", "paper"]
SCALES = get_args(StudyScale)
_LONGEST_NAME = 100
_MOST_RUNS = 10_000


@dataclass(frozen=True)
class Job:
    """One run of a study: where it stands in the comparison, and all its settings."""

    arm: str
    """what it differs in besides environment, weighting and seed"""
    config: TrainConfig
    lines: dict[str, str] = field(default_factory=dict, compare=False)
    """where a setting was asked for, for instance `grid.toml, line 7`"""

    @property
    def name(self) -> str:
        """The folder of the run; the same settings have the same name everywhere."""
        c = self.config
        words = "_".join((c.env, str(c.eta), self.arm, f"s{c.seed}"))
        plain = re.sub(r"[^\w.=+-]+", "-", words)
        return short_name(plain, words, f"_s{c.seed}")

    @property
    def cell(self) -> tuple[str, str, str]:
        """What its seeds are averaged over: environment, arm, weighting."""
        return self.config.env, self.arm, self.config.eta

    def where(self, *settings: str) -> str:
        """The first place that is known of these settings, to begin a sentence with."""
        place = next((self.lines[s] for s in (*settings, "") if s in self.lines), None)
        return "" if place is None else f"{place}: "


def short_name(plain: str, words: str, tail: str = "") -> str:
    """The name of a file; a long one is cut, and a hash of all its words keeps it distinct."""
    if len(plain) <= _LONGEST_NAME:
        return plain
    short = plain[: _LONGEST_NAME - 30].rstrip("-_")
    return f"{short}-{sha256(words.encode()).hexdigest()[:10]}{tail}"


def rescaled(config: TrainConfig, scale: StudyScale) -> TrainConfig:
    r"""The same run with fewer episodes per cycle, and as many cycles and updates.

    `paper` changes nothing. `quick` plays $N' = 10$ episodes per cycle instead of $N = 90$, never
    more than were asked for. A cycle of whole episodes of $H$ steps takes $N(H+1)$ rows of the
    replay, so with $\lfloor \text{capacity} \cdot N'/N \rfloor$ rows it holds as many cycles as
    before: the last $\lfloor 10^6/(90 \cdot 501) \rfloor = 22$ of 222 for the paper's MuJoCo tasks.
    `smoke` ends after four cycles of two episodes of at most 100 steps: it learns nothing and shows
    that all works.
    """
    girl = config.girl
    if scale == "paper":
        return config
    if scale == "quick":
        cycles = max(1, girl.transitions // (girl.episodes * config.horizon))
        episodes = min(10, girl.episodes)
        sized = replace(
            girl,
            episodes=episodes,
            transitions=cycles * episodes * config.horizon,
            capacity=max(1, girl.capacity * episodes // girl.episodes),
            expert_capacity=max(1, girl.expert_capacity * episodes // girl.episodes),
        )
        return replace(config, girl=sized)
    horizon = min(config.horizon, 100)
    sized = replace(girl, episodes=2, transitions=4 * 2 * horizon, remaining_cycles=3)
    return replace(config, girl=sized, horizon=horizon, measure_every=2)


def same_run(config: TrainConfig, moved: bool = False) -> str:
    """Equal for settings that make the same bytes, however they are spelled.

    With `moved` the file of demonstrations may lie in another folder, as on another machine.
    """
    plain = encode(config) | {"eta": str(config.future.eta)}
    if moved:
        plain["demos"] = Path(config.demos).name
    plain["algorithm"] = config.choices.general
    if config.future.eta == Dirac(0):
        plain["sampler"] = "exact"  # both samplers are one law here, and draw alike
    return json.dumps(plain, sort_keys=True)


def one_folder_each(jobs: Iterable[Job]) -> bool:
    """Whether no two files of demonstrations have the same name."""
    files = {job.config.demos for job in jobs}
    return len({Path(file).name for file in files}) == len(files)


def check_count(runs: int) -> None:
    """Refuse a study with too many runs."""
    if runs > _MOST_RUNS:
        raise InputError(f"{runs:,} runs are too many; the most is {_MOST_RUNS:,}")


def check_distinct(jobs: Iterable[Job]) -> None:
    """Refuse a run that is asked for twice, and two runs of one name."""
    by_settings: dict[str, Job] = {}
    by_name: dict[str, Job] = {}
    for job in jobs:
        twin = by_settings.setdefault(same_run(job.config), job)
        if twin is not job:
            also = twin.where("").removesuffix(": ")
            raise InputError(
                f"{job.where('')}the run {job.name} is asked for twice"
                f"{f' (also {also})' if also else ''}; leave one out"
            )
        if by_name.setdefault(job.name, job) is not job:
            raise InputError(f"{job.where('')}two different runs have the name {job.name}")


def check_ready(jobs: Sequence[Job]) -> None:
    """Refuse a study whose runs could not start: demonstrations and simulators are tried."""
    tried: set[tuple[Any, ...]] = set()
    for job in jobs:
        c = job.config
        sizes = (c.demonstrations, c.every, c.horizon, c.mode)
        kind = (c.env, c.demos, *sizes, c.frozen_cost, c.cost.needs_actions)
        if kind in tried:
            continue
        tried.add(kind)
        if c.frozen_cost is not None and not RunDirectory(Path(c.frozen_cost)).finished:
            raise InputError(f"{job.where('frozen_cost')}{c.frozen_cost} is not a finished run")
        select = Selection(c.demonstrations, c.horizon, c.every)
        try:
            load_demos(c.demos, select=select)
        except InputError as error:
            hint = "" if job.lines else "; leave the environment out with --envs"
            whole = Selection(None, c.horizon)
            readable = works(lambda c=c, whole=whole: load_demos(c.demos, select=whole))
            guilty = ("demonstrations", "every", "demos") if readable else ("demos",)
            raise InputError(
                f"{job.where(*guilty)}the demonstrations of {c.env}: {error}{hint}"
            ) from None
        try:
            task = _task(c, c.horizon)
        except InputError as error:
            if works(lambda c=c: _task(c, 1)):
                why = f"{c.env} takes no horizon of {c.horizon} steps"
                raise InputError(f"{job.where('horizon')}{why}") from None
            raise InputError(f"{job.where('env', 'mode')}{error}") from None
        try:
            fitting_demos(c, task, select)
        except InputError as error:
            raise InputError(f"{job.where('demos')}{error}") from None


def _task(config: TrainConfig, horizon: int) -> Task:
    c = config
    return make_task(c.env, 1, horizon=horizon, mode=c.mode, seed=c.seed, threads=1)


def works(
    build: Callable[[], object], failures: tuple[type[Exception], ...] = (InputError,)
) -> bool:
    """Whether something can be built, to tell which of several settings is wrong."""
    try:
        build()
    except failures:
        return False
    return True


def check_seeds(jobs: Iterable[Job]) -> None:
    """Refuse runs that would count as seeds of one setting but differ in more than the seed."""
    first: dict[tuple[str, str, str], Job] = {}
    for job in jobs:
        twin = first.setdefault(job.cell, job)
        replaced = replace(job.config, seed=twin.config.seed)
        if replaced != twin.config:
            other = ", ".join(differing([flatten(twin.config), flatten(replaced)]))
            raise InputError(
                f"{job.where('')}{twin.name} and {job.name} would count as two seeds of one "
                f"setting, but differ in {other}; keep them apart"
            )
