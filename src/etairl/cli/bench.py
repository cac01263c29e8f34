"""`etairl bench`: the speed tables."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.status import Status

from etairl.cli.console import out, parse, print_json, table, track, working
from etairl.types import InputError, check_range, check_seed

BenchName = Literal[
    "all", "sampling", "solver", "run", "measuring", "study", "growth", "tabular", "race"
]
_RACES = ("Hopper-v5", "HalfCheetah-v5", "Ant-v5")
Speeds = dict[str, Any]
"""measurements by name: one, or a list of the same kind"""


@dataclass(frozen=True)
class BenchConfig:
    """Measure speed, as ratios within one run. Exit code 1 if a ratio is beyond its limit."""

    what: Annotated[tyro.conf.Positional[BenchName], tyro.conf.arg(metavar="WHAT")] = "all"
    """sampling: index draws beside a plain uniform draw, MMD² beside its matrix products;
    solver: gradient updates, and rollouts beside the bare simulator; run: a cycle of MEGAN beside
    one of GAIL and beside the bare simulator, a cycle on both cores beside the same on one;
    measuring: MMD² while training, as a share of a run;
    study: runs side by side beside runs one by one;
    growth: a cycle of a run with 10⁵ to 10⁷ transitions behind it, memory of a full replay, a
    study of 1,000 runs;
    tabular: exact measures of sparse MDPs; race (not part of all: minutes to an hour): how long a
    learner takes until its greedy policy has 90 % of the expert's score, and whether it stays"""
    peers: bool = False
    """one table beside Stable-Baselines3, SBX and GAIL of imitation instead: makes environments for
    them (3 GB, some minutes), measures in turn, and removes them"""
    keep: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """peers: make the environments here and leave them for the next time"""
    rows: str = ""
    """peers: only rows whose name has this, such as update"""
    cores: int = 1
    """peers: cores and threads of either side"""
    rounds: int = 7
    """peers: repetitions"""
    env: str | None = None
    """race: the environment; Hopper, HalfCheetah and Ant of the bundled demonstrations if left
    out"""
    demos: str | None = None
    """race: the demonstrations, with --env"""
    preset: str = "default"
    """race: the settings"""
    seeds: int = 1
    """race: learners on each task, with random seeds that follow each other"""
    seed: int = 0
    """race: the first of them"""
    json: bool = False
    """print JSON"""

    def __post_init__(self):
        check_range(self, "[1, inf)", "seeds", "cores", "rounds")
        if self.peers and self.what != "all":
            raise InputError(f"--peers is a table of its own; leave {self.what} out")
        own = (self.keep, self.rows, self.cores, self.rounds)
        if not self.peers and own != (None, "", 1, 7):
            raise InputError("--keep, --rows, --cores and --rounds go with --peers")
        check_seed(self.seed)
        if (self.env is None) != (self.demos is None):
            raise InputError("a race on your own task needs both --env and --demos")


def run(arguments: list[str]) -> int:
    """Measure what was asked for and print the tables."""
    config = parse(BenchConfig, arguments, "bench")
    if config.peers:
        from etairl.cli import bench_peers

        return bench_peers.run(config.keep, config.rows, config.cores, config.rounds, config.json)
    measured: Speeds = {}
    for name, bench in _BENCHES.items():
        if config.what == name or (config.what == "all" and name != "race"):
            speeds = bench(config)
            measured |= speeds
            if not config.json:
                for rows in speeds.values():
                    _print(rows if isinstance(rows, list) else [rows])
    if config.json:
        print_json(measured)
    every = [r for rows in measured.values() for r in (rows if isinstance(rows, list) else [rows])]
    return 0 if all(getattr(row, "ok", True) for row in every) else 1


def _print(rows: list[Any]) -> None:
    """A column per field; what is beyond its limit has a mark."""
    if rows:
        names = [f.name for f in fields(rows[0]) if f.name != "ok"]
        words = [[_cell(getattr(row, name)) for name in names] for row in rows]
        for row, line in zip(rows, words, strict=True):
            line[0] += "" if getattr(row, "ok", True) else " !"
        table([name.replace("_", " ") for name in names], words)
        out().print()


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return "×".join(map(str, value))
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)


def _sampling(_: BenchConfig) -> Speeds:
    from etairl.bench.draw_speed import CASES, DRAWS, bench_draws, bench_mmd

    draws = list(track(bench_draws(), f"timing {DRAWS:,} index draws", total=CASES))
    with working("timing an MMD²"):
        return {"draws": draws, "mmd": bench_mmd()}


def _solver(_: BenchConfig) -> Speeds:
    from etairl.bench.solver_speed import SIZES, bench_rollouts, bench_update

    names, widths = list(SIZES), ((64, 64, 64), (256, 256))
    cases = list(product(names, widths))
    return {
        "rollouts": [bench_rollouts(name) for name in track(names, "timing rollouts")],
        "updates": [bench_update(*case) for case in track(cases, "timing updates")],
    }


def _run(_: BenchConfig) -> Speeds:
    from etairl.bench.core_speed import CORE_CASES, bench_cores, can_compare
    from etairl.bench.cycle_speed import bench_run
    from etairl.training.flat import configure

    cases = [configure(name, mode="fixed") for name in ("paper/hopper", "paper/ant")]
    sides = CORE_CASES if can_compare() else ()
    return {
        "runs": [bench_run(case) for case in track(cases, "timing cycles")],
        "cores": [bench_cores(case) for case in track(sides, "timing cycles on one core and all")],
    }


def _measuring(_: BenchConfig) -> Speeds:
    from etairl.bench.measuring_speed import bench_measuring, usual

    names = ("HalfCheetah-v5", "Hopper-v5", "Ant-v5")
    cases = [usual(name, f"{name}-25x500") for name in names]
    return {"measuring": [bench_measuring(case) for case in track(cases, "timing MMD²")]}


def _study(_: BenchConfig) -> Speeds:
    from etairl.bench.study_speed import bench_study

    with working("timing two runs one by one, then side by side; some minutes"):
        return {"study": bench_study()}


def _tabular(_: BenchConfig) -> Speeds:
    from etairl.bench.exact_speed import KERNELS, bench_mu

    return {"exact": list(track(bench_mu(), "timing exact measures", total=len(KERNELS)))}


def _race(config: BenchConfig) -> Speeds:
    from etairl.bench.race import Look, race
    from etairl.training.flat import configure

    tasks = [(name, f"{name}-25x500") for name in _RACES]
    if config.env is not None and config.demos is not None:
        tasks = [(config.env, config.demos)]
    races, console = [], Console(stderr=True)
    seeds = range(config.seed, config.seed + config.seeds)
    for (env, demos), seed in product(tasks, seeds):
        settings = configure(config.preset, env=env, demos=demos, seed=seed)
        title = f"{env}, seed {seed}"
        with console.status(title) as status:

            def tell(look: Look, title: str = title, status: Status = status) -> None:
                text = f"{title}: score {look.score:.2f} after {look.seconds:,.0f} s"
                status.update(text)
                if not console.is_terminal:
                    console.print(text, markup=False)

            races.append(race(settings, tell))
    return {"race": races}


def _growth(_: BenchConfig) -> Speeds:
    from etairl.bench.growth_speed import bench_full_replay, bench_large_study, bench_stored

    with working("10⁷ transitions"):
        stored, full = bench_stored(), bench_full_replay()
    return {"stored": stored, "full_replay": full, "large_study": bench_large_study()}


_BENCHES: dict[str, Callable[[BenchConfig], Speeds]] = {
    "sampling": _sampling,
    "solver": _solver,
    "run": _run,
    "measuring": _measuring,
    "study": _study,
    "growth": _growth,
    "tabular": _tabular,
    "race": _race,
}
