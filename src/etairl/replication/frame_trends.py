"""Does a metric go anywhere as more of the discriminator's frames are others than GAIL's?

One line through all runs of an environment and an arm, over the share of frames that their κ makes
others in whole episodes (`tv_from_gail`). A pair of settings has as many differences as there are
seeds; the line has a residual for every run.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from etairl.eta import Dirac, Geometric, Uniform
from etairl.evaluation.trends import fit_trend
from etairl.replication.rules import PAPER_METRICS, with_shortfall
from etairl.studies.jobs import Job
from etairl.studies.summary import ResultRow, baseline, cells, floor_of, tv_from_gail, values_of


def trends(rows: Sequence[ResultRow], jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Per environment, arm and metric: the line from κ = 0 to the farthest κ there is.

    Only weightings by κ are on one line, and only runs that differ in nothing else.
    """
    settings = {job.cell: job.config for job in jobs}
    by_cell, lines = cells(with_shortfall(rows)), []
    for base in by_cell:
        if settings[base].future.eta != Dirac(0):
            continue
        line = [base] + [
            cell
            for cell in by_cell
            if cell[1] == base[1]
            and isinstance(settings[cell].future.eta, Geometric | Uniform)
            and baseline(by_cell, cell, settings) == base
        ]
        share = {cell: tv_from_gail(settings[cell], settings[cell].horizon) for cell in line}
        for metric in PAPER_METRICS:
            values = {cell: x for cell in line if (x := values_of(by_cell[cell], metric))}
            points: dict[int, list[tuple[float, float]]] = {}
            for cell, seeds in values.items():
                for seed, value in seeds.items():
                    points.setdefault(seed, []).append((share[cell], value))
            fitted = fit_trend(points, floor=floor_of(by_cell[base], metric))
            if fitted is not None:
                farthest = max(values, key=lambda cell: share[cell])[2]
                entry = {"env": base[0], "arm": base[1], "metric": metric, "to": farthest}
                lines.append(entry | {"settings": len(values)} | asdict(fitted))
    return lines
