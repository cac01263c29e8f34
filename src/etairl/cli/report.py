"""`etairl report`: one page about a study or some runs, and its figures."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from etairl.cli.console import out, parse, print_json, working
from etairl.figures.page import study_page
from etairl.figures.report_curves import learning_figures
from etairl.figures.results import FEW_SEEDS, Results
from etairl.figures.save import save_figure
from etairl.figures.study_figures import (
    arms_figure,
    discount_figure,
    families_figure,
    weighting_figure,
)
from etairl.figures.task_curves import evaluation_figures
from etairl.replication.paper_report import (
    forget_claims,
    is_of_the_paper,
    paper_data,
    paper_notes,
)
from etairl.storage import write_atomic
from etairl.studies.jobs import short_name
from etairl.studies.report_data import as_study, report_data
from etairl.types import InputError


@dataclass(frozen=True)
class ReportConfig:
    """One self-contained HTML page, and PNG and SVG figures, of whatever is finished.

    Several studies and runs are put together: figure2 beside figure1, for instance.
    """

    studies: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="STUDY|RUN")]
    """folders of studies, or finished runs"""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """where to write: page, figures, tables, notes, and a digest of every finished run, enough to
    resume the study from there; the study itself if there is only one, else `report`"""
    trust: bool = False
    """import code that the runs name: environments and feature maps of somebody's own"""
    json: bool = False
    """print settings and evaluation as JSON, and of a study of the paper verdicts, predictions and
    trends"""

    def __post_init__(self):
        if not self.studies:
            raise InputError("name a study, or some finished runs, to report on")


def run(arguments: list[str]) -> int:
    """Write the page, the figures and the notes about what is finished."""
    config = parse(ReportConfig, arguments, "report")
    with working("reading the runs"):
        study = as_study(config.studies, config.output, config.trust)
        data = report_data(study)
        if is_of_the_paper(study):
            data |= paper_data(study, data)
        else:
            forget_claims(study)
    page = study.path / "report.html"
    with working("drawing the page and its figures"):
        write_atomic(page, study_page(data).encode())
        figures = _draw(data, study.path / "figures")
    write_atomic(study.path / "README.md", paper_notes(study, data, figures).encode())
    if config.json:
        shown = ("settings", "evaluation", "findings", "predictions", "trends")
        print_json({name: data[name] for name in shown if name in data})
        return 0
    for finding in data.get("findings", ()):
        line = f"{finding['verdict']}: {finding['env']}, {finding['arm']}: {finding['claim']}"
        out().print(line, soft_wrap=True)
    out().print(f"\npage:    {page}")
    if figures:
        out().print(f"figures: {', '.join(map(str, figures))}")
    return 0


def _draw(data: dict[str, Any], folder: Path) -> list[Path]:
    results = Results(data["settings"], data["rows"])
    name = f"{data['name']}, scale {data['scale']}" if data["scale"] else data["name"]
    name += ", yardstick before 0.3" if data.get("yardstick") else ""
    how = "mean over seeds, 95\u00a0% t-intervals"
    if any(len(entry["seeds"]) < FEW_SEEDS for entry in results.settings):
        how += ", dots are runs"
    drawn: list[tuple[str, Any]] = [
        *learning_figures(results, data["curves"], data["evaluation"]),
        ("discounts", discount_figure(results, f"{name}: {how}")),
    ]
    for arm in results.arms():
        title = f"{name}, arm {arm}: {how}"
        drawn.append((f"weightings-{arm}", weighting_figure(results, arm, title)))
        drawn.append((f"families-{arm}", families_figure(results, arm, title)))
    if len(results.arms()) > 1:
        drawn.append(("arms", arms_figure(results, "mmd2_mu", f"{name}: {how}")))
    drawn += evaluation_figures(data["evaluation"], data["curves"], results.rows)
    written = []
    for stem, figure in drawn:
        if figure is None:
            continue
        safe = "".join(c if c.isalnum() or c in "-_.=" else "-" for c in stem)
        plain = short_name(safe, stem)
        for suffix in (".png", ".svg"):
            save_figure(figure, folder / f"{plain}{suffix}", dpi=300, colours=256)
            written.append(folder / f"{plain}{suffix}")
    return written
