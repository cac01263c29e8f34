"""`etairl bench`: the speed tables."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from etairl.cli.console import out, parse, print_json, table, track, working

What = Literal["all", "sampling", "solver", "run", "study", "tabular"]


@dataclass(frozen=True)
class BenchConfig:
    """Measure speed, as ratios within one run. Exit code 1 if a ratio is beyond its limit."""

    what: Annotated[tyro.conf.Positional[What], tyro.conf.arg(metavar="WHAT")] = "all"
    """sampling: index draws beside a plain uniform draw, MMD² beside its matrix products;
    solver: gradient updates, and rollouts beside the bare simulator; run: a cycle of MEGAN beside
    one of GAIL and beside the bare simulator; study: runs side by side beside runs one by one;
    tabular: exact measures of sparse MDPs"""
    peers: Annotated[Path | None, tyro.conf.arg(metavar="PYTHON")] = None
    """solver: the Python of an environment with Stable-Baselines3 and SBX, to time them as well
    (see benchmarks/)"""
    json: bool = False
    """print JSON"""


def run(arguments: list[str]) -> int:
    """Measure what was asked for and print the tables."""
    config = parse(BenchConfig, arguments, "bench")
    found: dict[str, Any] = {}
    good = True
    benches = {
        "sampling": _sampling,
        "solver": _solver,
        "run": _run,
        "study": _study,
        "tabular": _tabular,
    }
    for name, bench in benches.items():
        if config.what in (name, "all"):
            result, ok = bench(config)
            found |= result
            good = good and ok
    if config.json:
        print_json(found)
    return 0 if good else 1


def _sampling(config: BenchConfig) -> tuple[dict[str, Any], bool]:
    from etairl.bench.draw_speed import CASES, DRAWS, bench_draws, bench_mmd

    draws = list(track(bench_draws(), f"timing {DRAWS:,} index draws", total=CASES))
    with working("timing an MMD²"):
        products = bench_mmd()
    if not config.json:
        columns = ("weighting", "sampler", "episodes", "ms", "plain ms", "ratio", "limit")
        rows = [
            (
                draw.eta,
                draw.sampler,
                draw.episodes,
                f"{draw.milliseconds:.1f}",
                f"{draw.plain_milliseconds:.1f}",
                f"{draw.ratio:.2f}" + ("" if draw.ok else " !"),
                f"{draw.limit:g}",
                f"{draw.flat_ratio:.1f}",
            )
            for draw in draws
        ]
        table((*columns, "flat ratio"), rows)
        out().print(
            f"\nMMD² of {products.points:,} against {products.points:,} points in "
            f"{products.dims} dimensions: {products.seconds:.2f} s, {products.ratio:.2f} times its "
            f"three matrix products ({products.products_seconds:.2f} s), limit {products.limit:g}"
        )
    ok = products.ok and all(draw.ok for draw in draws)
    return {"draws": draws, "mmd": products}, ok


def _solver(config: BenchConfig) -> tuple[dict[str, Any], bool]:
    from etairl.bench.solver_speed import SIZES, bench_peer, bench_rollouts, bench_update

    names = list(SIZES)
    rollouts = [bench_rollouts(name) for name in track(names, "timing rollouts")]
    widths = ((64, 64, 64), (256, 256))
    cases = list(product(names, widths))
    updates = [bench_update(*case) for case in track(cases, "timing updates")]
    limits = {"sb3": 5.0, "sbx": 1.3}
    pairs = list(product(limits, names)) if config.peers else []
    peers = [
        peer
        for library, name in track(pairs, "timing peers")
        for peer in bench_peer(config.peers or Path(), library, name, widths[0], limits[library])
    ]
    if not config.json:
        columns = ("environment", "envs", "steps/s", "bare steps/s", "ratio", "limit")
        rows = [
            (
                r.environment,
                str(r.envs),
                f"{r.with_policy:,.0f}",
                f"{r.fixed_actions:,.0f}",
                f"{r.ratio:.2f}" + ("" if r.ok else " !"),
                f"{r.limit:g}",
            )
            for r in rollouts
        ]
        table(columns, rows)
        for update in updates:
            size = "×".join(map(str, update.hidden))
            out().print(
                f"update, {update.environment}, {size}, batch {update.batch}: "
                f"{update.milliseconds:.2f} ms"
            )
        for peer in peers:
            calls = "one update a call" if peer.updates_per_call == 1 else "200 updates a call"
            out().print(
                f"{peer.library} {peer.version}, {peer.environment}, {calls}: "
                f"{peer.milliseconds:.2f} ms, {peer.ratio:.2f} times ours "
                f"({peer.ours_milliseconds:.2f} ms)"
                + ("" if peer.limit is None else f", limit {peer.limit:g}")
                + ("" if peer.ok else " !")
            )
    found = {"rollouts": rollouts, "updates": updates, "peers": peers}
    return found, all(r.ok for r in (*rollouts, *peers))


def _run(config: BenchConfig) -> tuple[dict[str, Any], bool]:
    from etairl.bench.cycle_speed import bench_run

    cases = (("Hopper-v5", "paper/hopper"), ("Ant-v5", "paper/ant"))
    runs = [bench_run(*case) for case in track(cases, "timing cycles")]
    if not config.json:
        columns = ("environment", "transitions", "MEGAN s", "GAIL s", "simulator s")
        rows = [
            (
                r.environment,
                f"{r.transitions:,}",
                f"{r.megan:.2f}",
                f"{r.gail:.2f}",
                f"{r.simulator:.2f}",
                f"{r.ratio_to_simulator:.2f} (limit {r.limit_to_simulator:g})",
                f"{r.ratio_to_gail:.3f} (limit {r.limit_to_gail:g})",
            )
            for r in runs
        ]
        table((*columns, "to simulator", "to GAIL"), rows)
    return {"runs": runs}, all(r.ok for r in runs)


def _study(config: BenchConfig) -> tuple[dict[str, Any], bool]:
    from etairl.bench.study_speed import bench_study

    with working("timing two runs one by one, then side by side; some minutes"):
        found = bench_study()
    if not config.json:
        out().print(
            f"{found.runs} runs of {found.transitions:,} transitions: {found.one_by_one:.0f} s one "
            f"by one, {found.side_by_side:.0f} s side by side: {found.ratio:.2f} times the runs "
            f"per hour, limit {found.limit:g}" + ("" if found.ok else " !")
        )
    return {"study": found}, found.ok


def _tabular(config: BenchConfig) -> tuple[dict[str, Any], bool]:
    from etairl.bench.exact_speed import GROWTH, MEBIBYTES, SECONDS, SIZES, bench_mu

    found = list(track(bench_mu(), "timing exact measures", total=len(SIZES)))
    if not config.json:
        columns = ("world", "states", "actions", "non-zeros", "seconds", "ns/non-zero", "growth")
        rows = [
            (
                exact.world + ("" if exact.ok else " !"),
                f"{exact.states:,}",
                str(exact.actions),
                f"{exact.nonzeros:,}",
                f"{exact.seconds:.4f}",
                f"{exact.nanoseconds_per_nonzero:.0f}",
                f"{exact.growth:.2f}",
                f"{exact.mebibytes:.1f}",
                f"{exact.error:.0e}",
            )
            for exact in found
        ]
        table((*columns, "MiB", "error"), rows)
        out().print(
            f"limits: {SECONDS:g} s and {MEBIBYTES:g} MiB in the first row; {GROWTH:g} times the "
            "ns/non-zero of the first row of the same world"
        )
    return {"exact": found}, all(exact.ok for exact in found)
