"""Where a weighting would matter, for every bundled demonstration and those of a folder.

python benchmarks/eta_map.py results/eta-map [FOLDER]   writes map.csv, README.md and map.png
"""

import csv
import sys
from pathlib import Path

from etairl import __version__
from etairl.demos import load_demos
from etairl.demos.sources import bundled_demos
from etairl.evaluation.where import EtaMap, eta_map
from etairl.figures.eta_map import eta_map_figure
from etairl.figures.save import save_figure

SHOWN = "Hopper-v5-25x500"


def main(output: Path, folder: Path | None) -> None:
    """Compute all maps."""
    files = [] if folder is None else sorted(folder.glob("*.npz"))
    found = [eta_map(load_demos(source)) for source in (*bundled_demos(), *files)]
    output.mkdir(parents=True, exist_ok=True)
    _write_csv(found, output / "map.csv")
    (output / "README.md").write_text(_page(found))
    shown = next(m for m in found if m.demos == SHOWN)
    save_figure(eta_map_figure(shown), output / "map.png", colours=256)


def _write_csv(found: list[EtaMap], path: Path) -> None:
    names = "demos episodes by halves eta sampler gamma_irl other_frames mmd2 error floor p"
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([*names.split(), "mmd2_uniform", "floor_uniform", "verdict"])
        for m in found:
            for c in m.cells:
                g, u = c.gail, c.uniform
                beside = ["", "", "", ""] if g is None else [g.mmd2, g.error, g.floor, g.p]
                flat = ["", ""] if u is None else [u.mmd2, u.floor]
                head = [m.demos, m.episodes, m.by, f"{m.sizes[0]}+{m.sizes[1]}"]
                numbers = [c.gamma_irl, c.other_frames, *beside, *flat]
                texts = [x if isinstance(x, str) else f"{x:.4g}" for x in numbers]
                rows.writerow([*head, c.eta, c.sampler, *texts, c.verdict])


def _page(found: list[EtaMap]) -> str:
    lines = [
        "# Where a weighting would matter",
        "",
        f"Made with version {__version__} by",
        "`python benchmarks/eta_map.py results/eta-map FOLDER`,",
        "FOLDER with the third parties' demonstrations; one of them alone:",
        "`etairl eta --where Hopper-v5-25x500 -o map.png`.",
        "MMD² beside GAIL with the same discount, sampler exact; the floor in brackets is what 95",
        "% of halves of the demonstrations differ by; bold: carries signal. *hint*: fewer than 8",
        "episodes, floors from blocks of time. All cells, both samplers: `map.csv`.",
        "",
        "| demonstrations | first, last quarter | κ .9, γ 1 | κ .99, γ 1 | κ 1, γ 1 "
        "| κ .99, γ .99 | κ 1, γ .99 |",
        "|---|---|---|---|---|---|---|",
    ]
    wanted = [(0.9, 1.0), (0.99, 1.0), (1.0, 1.0), (0.99, 0.99), (1.0, 0.99)]
    for m in found:
        cells = {(c.eta, c.gamma_irl): c for c in m.cells if c.sampler == "exact"}
        row = [m.demos + (" *hint*" if m.hint else ""), f"{m.early_late.mmd2:.2g}"]
        for kappa, gamma in wanted:
            cell = cells[f"geometric:{kappa:g}", gamma]
            assert cell.gail is not None
            text = f"{cell.gail.mmd2:.2g} ({cell.gail.floor:.2g})"
            row.append(f"**{text}**" if cell.signal else text)
        lines.append(f"| {' | '.join(row)} |")
    lines += ["", "## Advice", "", *(f"- {m.demos}: {m.advice}" for m in found), ""]
    lines += ["![map of Hopper](map.png)", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
