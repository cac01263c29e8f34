"""`etairl bench`: the speed tables."""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from etairl.bench.sampling import CASES, DRAWS, Draw, Products, bench_draws, bench_mmd
from etairl.cli.console import out, parse, print_json, table, track, working


@dataclass(frozen=True)
class Config:
    """Measure speed, as ratios within one run. Exit code 1 if a ratio is above its limit."""

    what: Annotated[
        tyro.conf.Positional[Literal["all", "sampling"]], tyro.conf.arg(metavar="WHAT")
    ] = "all"
    """sampling: index draws beside a plain uniform draw, MMD² beside its matrix products"""
    json: bool = False
    """print JSON"""


def run(arguments: list[str]) -> int:
    """The command."""
    config = parse(Config, arguments, "bench")
    draws = list(track(bench_draws(), f"timing {DRAWS:,} index draws", total=CASES))
    with working("timing an MMD²"):
        products = bench_mmd()
    if config.json:
        print_json({"draws": draws, "mmd": products})
    else:
        _print(draws, products)
    return 0 if products.ok and all(draw.ok for draw in draws) else 1


def _print(draws: list[Draw], products: Products) -> None:
    columns = ("weighting", "sampler", "episodes", "ms", "plain ms", "ratio", "limit", "flat ratio")
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
    table(columns, rows)
    out().print(
        f"\nMMD² of {products.points:,} against {products.points:,} points in {products.dims} "
        f"dimensions: {products.seconds:.2f} s, {products.ratio:.2f} times its three matrix "
        f"products ({products.products_seconds:.2f} s), limit {products.limit:g}"
    )
