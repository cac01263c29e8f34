"""`etairl report`: one page about a study or some runs, and its figures."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from etairl.cli.console import out, parse, print_json, working
from etairl.experiments.notes import notes
from etairl.experiments.reporting import as_study, report_data
from etairl.figures.page import study_page
from etairl.figures.save import save_figure
from etairl.figures.studies import arms_figure, weighting_figure
from etairl.runs import write_atomic


@dataclass(frozen=True)
class Config:
    """One self-contained HTML page, and PNG and SVG figures, of whatever is finished.

    Several studies and runs are put together: figure2 beside figure1, for instance.
    """

    studies: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="STUDY|RUN")]
    """folders of studies, or finished runs"""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """where to write: page, figures, tables, notes, and a digest of every finished run, enough for
    the study to go on from there; the study itself if there is only one, else `report`"""
    json: bool = False
    """print the verdicts as JSON"""


def run(arguments: list[str]) -> int:
    """The command."""
    config = parse(Config, arguments, "report")
    with working("reading the runs"):
        study = as_study(config.studies, config.output)
        data = report_data(study)
    page = study.path / "report.html"
    write_atomic(page, study_page(data).encode())
    figures = _draw(data, study.path / "figures")
    write_atomic(study.path / "README.md", notes(study, data, figures).encode())
    if config.json:
        print_json({"findings": data["findings"], "predictions": data["predictions"]})
        return 0
    for found in data["findings"]:
        line = f"{found['verdict']}: {found['env']}, {found['arm']}: {found['claim']}"
        out().print(line, markup=False, soft_wrap=True)
    out().print(f"\npage:    {page}\nfigures: {', '.join(map(str, figures))}", markup=False)
    return 0


def _draw(data: dict[str, Any], folder: Path) -> list[Path]:
    scale = f", scale {data['scale']}" if data["scale"] else ""
    title = f"{data['name']}{scale}: mean over seeds, 95 % intervals"
    drawn = []
    for arm in dict.fromkeys(entry["arm"] for entry in data["settings"]):
        figure = weighting_figure(data["settings"], arm, f"{title}, {arm}")
        if figure is not None:
            drawn.append((f"weightings-{arm}", figure))
    if len({entry["arm"] for entry in data["settings"]}) > 1:
        drawn.append(("arms", arms_figure(data["settings"], "mmd2_mu", title)))
    written = []
    for name, figure in drawn:
        for suffix in (".png", ".svg"):
            plain = "".join(c if c.isalnum() or c in "-_.=" else "-" for c in name)
            save_figure(figure, folder / f"{plain}{suffix}")
            written.append(folder / f"{plain}{suffix}")
    return written
