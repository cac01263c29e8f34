"""`etairl bench`: the speed tables."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tyro

from etairl.cli.console import out, parse, print_json, table, track, working


@dataclass(frozen=True)
class Config:
    """Measure speed, as ratios within one run. Exit code 1 if a ratio is beyond its limit."""

    what: Annotated[
        tyro.conf.Positional[Literal["all", "sampling", "solver", "tabular"]],
        tyro.conf.arg(metavar="WHAT"),
    ] = "all"
    """sampling: index draws beside a plain uniform draw, MMD² beside its matrix products;
    solver: gradient updates, and rollouts beside the bare simulator;
    tabular: exact measures of sparse MDPs, seconds and memory by non-zeros"""
    json: bool = False
    """print JSON"""


def run(arguments: list[str]) -> int:
    """The command."""
    config = parse(Config, arguments, "bench")
    found: dict[str, Any] = {}
    good = True
    for name, bench in (("sampling", _sampling), ("solver", _solver), ("tabular", _tabular)):
        if config.what in (name, "all"):
            result, ok = bench(quiet=config.json)
            found |= result
            good = good and ok
    if config.json:
        print_json(found)
    return 0 if good else 1


def _sampling(quiet: bool) -> tuple[dict[str, Any], bool]:
    from etairl.bench.sampling import CASES, DRAWS, bench_draws, bench_mmd

    draws = list(track(bench_draws(), f"timing {DRAWS:,} index draws", total=CASES))
    with working("timing an MMD²"):
        products = bench_mmd()
    if not quiet:
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


def _solver(quiet: bool) -> tuple[dict[str, Any], bool]:
    from etairl.bench.solver import bench_rollouts, bench_update

    names = ("Hopper-v5", "Ant-v5")
    rollouts = [bench_rollouts(name) for name in track(names, "timing rollouts")]
    sizes = ((64, 64, 64), (256, 256))
    updates = [bench_update(hidden) for hidden in track(sizes, "timing updates")]
    if not quiet:
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
            out().print(f"update, {size}, batch {update.batch}: {update.milliseconds:.2f} ms")
    return {"rollouts": rollouts, "updates": updates}, all(r.ok for r in rollouts)


def _tabular(quiet: bool) -> tuple[dict[str, Any], bool]:
    from etairl.bench.tabular import MEBIBYTES, SECONDS, SIZES, bench_mu

    found = list(track(bench_mu(), "timing exact measures", total=len(SIZES)))
    if not quiet:
        columns = ("states × 10 actions", "non-zeros", "seconds", "ns/non-zero", "MiB", "error")
        rows = [
            (
                f"{exact.states:,}" + ("" if exact.ok else " !"),
                f"{exact.nonzeros:,}",
                f"{exact.seconds:.4f}",
                f"{exact.nanoseconds_per_nonzero:.0f}",
                f"{exact.mebibytes:.1f}",
                f"{exact.error:.0e}",
            )
            for exact in found
        ]
        table(columns, rows)
        out().print(f"limit of the first row: {SECONDS:g} s and {MEBIBYTES:g} MiB")
    return {"exact": found}, all(exact.ok for exact in found)
