"""`etairl eta --where`: how much signal each weighting carries, before any training."""

import time
from pathlib import Path

from etairl.cli.console import Meter, facts, out, print_json, table
from etairl.demos import load_demos
from etairl.eta import Eta
from etairl.evaluation.contrasts import Contrast
from etairl.evaluation.where import EtaMap, MapCell, eta_map

_QUIET = 2.0  # seconds without a bar


def run(source: str, extra: list[Eta], json: bool, output: Path | None) -> int:
    """Compute the map, print it, and draw it where that was asked for."""
    if output is not None:
        from etairl.figures.save import check_name

        check_name(output)
    demos = load_demos(source)
    with Meter(f"comparing weightings of {demos.name}", 100) as meter:
        begun = time.monotonic()

        def progress(share: float) -> None:
            if time.monotonic() - begun > _QUIET:
                meter.update(int(100 * share))

        signals = eta_map(demos, extra, progress=progress)
    if output is not None:
        from etairl.figures.eta_map import eta_map_figure
        from etairl.figures.save import save_figure

        save_figure(eta_map_figure(signals), output)
    if json:
        print_json(signals.as_json())
    else:
        _print(signals)
        if output is not None:
            out().print(f"\ndrawn into {output}")
    return 0


def _print(found: EtaMap) -> None:
    title = found.demos if found.environment is None else f"{found.demos} ({found.environment})"
    what = "states and actions" if found.compared == "pairs" else "states alone: no actions"
    n, m = found.sizes
    halves = f"halves of {n} and {m} {found.by}, one weighting; 95 % are below"
    facts(
        title,
        [
            ("compared", f"{what}, {found.episodes} episodes, {found.steps} steps"),
            ("first, last quarter", f"MMD² {found.early_late.mmd2:.2g} between them"),
            ("floor", halves + (": a hint, neighbours are alike" if found.hint else "")),
            ("p", f"the two weightings exchanged in some {found.by}, drawn at random"),
        ],
    )
    console = out()
    for gamma in dict.fromkeys(cell.gamma_irl for cell in found.cells):
        console.print(f"\nMMD² beside GAIL, both with gamma_irl {gamma:g}", style="dim")
        cells = [cell for cell in found.cells if cell.gamma_irl == gamma]
        columns = ["η, sampler", "MMD²", "floor", "p", "verdict"]
        rows = [_row(cell, cell.gail) for cell in cells if cell.gail is not None]
        if gamma < 1.0:
            columns.append("beside uniform")
            for row, cell in zip(rows, [c for c in cells if c.gail is not None], strict=True):
                row.append("" if cell.uniform is None else f"{cell.uniform.mmd2:.2g}")
        table(columns, rows)
        gail = next((cell for cell in cells if cell.gail is None), None)
        if gail is not None and gail.uniform is not None:
            verdict = "carries signal" if gail.uniform.signal else "no signal"
            console.print(
                f"GAIL itself with gamma_irl {gamma:g} beside every frame alike: "
                f"{gail.uniform.mmd2:.2g} (floor {gail.uniform.floor:.2g}), {verdict}"
            )
    console.print(f"\n{found.advice}")


def _row(cell: MapCell, beside: Contrast) -> list[str]:
    return [
        f"{cell.eta} {cell.sampler}",
        f"{beside.mmd2:.2g}",
        f"{beside.floor:.2g}",
        f"{beside.p:.3f}",
        cell.verdict,
    ]
