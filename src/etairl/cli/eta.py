"""`etairl eta`: what a weighting does to the frames a discriminator sees."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from etairl.cli.console import facts, out, parse, print_json
from etairl.eta import Eta, parse_eta
from etairl.measures import FutureSampler, Method, episode_shares, summarise_law
from etairl.types import InputError

_LONGEST = 20_000  # the law takes time quadratic in the horizon


@dataclass(frozen=True)
class EtaConfig:
    """Show what a weighting really does, or where one would matter.

    With --where DEMOS: how far each of a small grid of weightings moves what the demonstrator is
    seen to do, beside GAIL and beside what two halves of the demonstrations differ by. Else it
    prints the law of the frame n = t + k that a discriminator is shown, next to the uniform law
    (GAIL): how far apart they are, and where in the episode the weight goes.

    Weightings: dirac:0, geometric:0.99, uniform, poisson:25, table:0.2,0.3,0.5,
    zero-modified:0.995,0.99, mixture:0.5*dirac:0+0.5*poisson:25
    """

    spec: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="SPEC")] = None
    """the weighting: in one of the forms above; with --where, one more than those of its grid"""
    where: Annotated[str | None, tyro.conf.arg(metavar="DEMOS")] = None
    """where would a weighting matter? For these demonstrations (a bundled name, an .npz file, or
    minari:NAME), before any training"""
    horizon: int = 500
    """length of an episode in steps"""
    gamma_irl: float = 1.0
    """discount of the starting time t, in (0, 1]; 1 is uniform"""
    sampler: Method = "exact"
    """exact has the true weights of the measure, two_stage is the paper's"""
    json: bool = False
    """print JSON, with the whole law"""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE")] = None
    """draw the law into this file (.png, .svg or .pdf)"""


def run(arguments: list[str]) -> int:
    """Show what a weighting does to an episode."""
    config = parse(EtaConfig, arguments, "eta")
    if config.where is not None:
        from etairl.cli import eta_map

        extra = [] if config.spec is None else [parse_eta(config.spec)]
        return eta_map.run(config.where, extra, config.json, config.output)
    if config.spec is None:
        raise InputError(
            "name a weighting, such as geometric:0.99, or demonstrations with --where DEMOS"
        )
    eta = parse_eta(config.spec)
    if not 1 <= config.horizon <= _LONGEST:
        raise InputError(f"--horizon must lie in [1, {_LONGEST}], got {config.horizon}")
    if not 0.0 < config.gamma_irl <= 1.0:
        raise InputError(f"--gamma-irl must lie in (0, 1], got {config.gamma_irl}")
    sampler = FutureSampler(eta, config.gamma_irl, config.sampler)
    law = sampler.law(config.horizon)
    summary = summarise_law(law)
    if config.output is not None:
        from etairl.figures.index_law import index_law_figure
        from etairl.figures.save import save_figure

        figure = index_law_figure(law, f"{eta}, {config.sampler}, γ_IRL = {config.gamma_irl:g}")
        save_figure(figure, config.output)
    if config.json:
        head = {"eta": str(eta), "horizon": config.horizon, "gamma_irl": config.gamma_irl}
        print_json(head | {"sampler": config.sampler, "law": law.tolist()} | summary)
    else:
        _print(config, eta, law, summary)
    return 0


def _print(config: EtaConfig, eta: Eta, law: np.ndarray, summary: dict[str, float]) -> None:
    horizon = config.horizon
    tail = eta.tail(horizon)
    rows = [
        ("looks ahead", f"{eta.mean(horizon):.4g} steps on average within the horizon"),
        (
            "beyond the horizon",
            "not a law without a horizon" if tail is None else f"{100 * tail:.3g} %",
        ),
        ("distance from GAIL", f"{100 * summary['tv_from_uniform']:.2f} % of the frames differ"),
        ("mean frame", f"{summary['mean_index']:.1f} of 0 to {horizon - 1}"),
        ("last quarter", f"{100 * summary['last_quarter']:.1f} % of the weight (uniform: 25 %)"),
        ("last frame", f"{summary['last_frame_factor']:.3g} times its uniform weight"),
    ]
    title = f"{eta}, {horizon} steps, {config.sampler} sampler, gamma_irl {config.gamma_irl:g}"
    facts(title, rows)
    console = out()
    console.print("\nweight of each tenth of the episode (┊ uniform)", style="dim")
    width = max(10, min(50, console.width - 20))
    for start, share in zip(range(0, 100, 10), episode_shares(law, 10), strict=True):
        console.print(f"{start:3d}–{start + 10:3d} % {_bar(share, width)} {100 * share:5.1f} %")
    if config.output is not None:
        console.print(f"\ndrawn into {config.output}")


def _bar(share: float, width: int) -> str:
    """Full where half of the weight is; the mark is where an even law ends."""
    cells = list(("━" * min(width, round(width * share / 0.5))).ljust(width))
    mark = round(width * 0.1 / 0.5)
    if cells[mark] == " ":
        cells[mark] = "┊"
    return "".join(cells)
