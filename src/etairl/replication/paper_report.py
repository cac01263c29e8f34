"""What a report of one of the paper's studies has beside that of any other study."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from etairl.markup import markdown_table, markdown_text
from etairl.replication.findings import findings
from etairl.replication.frame_trends import trends
from etairl.replication.paper_studies import STUDIES, whole_parts
from etairl.replication.predictions import predictions
from etairl.replication.rules import SYMBOLS, telling_rows
from etairl.storage import write_json
from etairl.studies.notes import file_command, notes
from etairl.studies.study_folder import Study
from etairl.studies.wording import number, percent


def is_of_the_paper(study: Study) -> bool:
    """Whether the paper has something to say about these runs."""
    return any(_has_runs_of(study, name) for name in study.name.split("+"))


def _has_runs_of(study: Study, name: str) -> bool:
    return name in STUDIES and bool(whole_parts(study, name, partly=True)[1])


def _past(study: Study) -> list[str]:
    """Its studies of the paper that have other runs now: an older version asked for these."""
    if study.scale is None and study.name in STUDIES:  # a file of that name: those need no scale
        return []
    named = [name for name in study.name.split("+") if name in STUDIES]
    return [name for name in named if not _has_runs_of(study, name)]


def forget_claims(study: Study) -> None:
    """Remove what an older version said about claims that these runs no longer speak to."""
    (study.path / "claims.json").unlink(missing_ok=True)


def paper_data(study: Study, data: Mapping[str, Any]) -> dict[str, Any]:
    """Verdicts on claims, the prediction for small κ, and lines through all κ; into claims.json.

    Runs of few cycles have learned nothing, and say nothing about anybody's claims.
    """
    digests = study.digests()
    jobs = [job for job in study.jobs if job.name in digests]
    rows = telling_rows(data["rows"])
    lengths = {name: digest.length for name, digest in digests.items()}
    paper = {
        "findings": [asdict(finding) for finding in findings(rows, jobs)],
        "predictions": predictions(data["settings"], data["rows"], jobs, lengths),
        "trends": trends(rows, jobs),
    }
    write_json(study.path / "claims.json", paper)
    return paper


def paper_notes(study: Study, data: Mapping[str, Any], figures: Sequence[Path]) -> str:
    """The page of Markdown, of a study of the paper with its claims."""
    sections = []
    if "findings" in data:
        sections = [
            "## Claims of the paper",
            *_claims(data["findings"]),
            *_small_kappa(data["predictions"]),
            *_trends(data["trends"]),
        ]
    return notes(study, data, figures, paper_command, sections, _past(study))


def paper_command(study: Study, name: str) -> str:
    """What makes a study of the paper, or a file beside it."""
    if not _has_runs_of(study, name) and name not in _past(study):
        return file_command(study, name)
    scale, jobs = whole_parts(study, name)
    jobs = jobs or study.jobs
    sized = f" --scale {scale}" if scale else ""
    seeds = 1 + max(job.config.seed for job in jobs)
    envs = dict.fromkeys(job.config.env for job in jobs)
    some = "" if set(envs) == set(STUDIES[name].envs) else f" --envs {shlex.join(envs)}"
    return f"etairl study {name}{sized} --seeds {seeds}{some}"


def _claims(findings: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line per claim, and the numbers behind each below the table."""
    if not findings:
        return ["These runs speak to none of them yet."]
    rows = [
        [i, f["verdict"], f["env"], f["arm"], f["claim"]] for i, f in enumerate(findings, start=1)
    ]
    return [
        "The cost of the paper is 1 − score.",
        markdown_table(["", "verdict", "task", "arm", "claim"], rows),
        "Measured:",
        "\n".join(f"{i}. {markdown_text(f['sentence'])}" for i, f in enumerate(findings, start=1)),
    ]


def _small_kappa(predictions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Up to κ = 0.75 hardly a frame changes, so hardly a result should: what was measured."""
    small = [p for p in predictions if p["small"]]
    if not small:
        return []
    rows = [[i, p["verdict"], p["env"], p["arm"], p["eta"]] for i, p in enumerate(small, start=1)]
    said = "Predicted: no difference from κ = 0 beyond the share of frames that are others."
    return [
        "## Small κ",
        said,
        markdown_table(["", "verdict", "task", "arm", "η"], rows),
        "Measured:",
        "\n".join(
            f"{i}. {markdown_text(p['eta'])}: {markdown_text(p['note'])}"
            for i, p in enumerate(small, start=1)
        ),
    ]


def _trends(trends: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines through all κ: what they change from one end to the other."""
    if not trends:
        return []
    columns = ["task", "arm", "metric", "runs", "line at κ = 0", "at the farthest", "change"]
    rows = [
        [
            *(t["env"], t["arm"], SYMBOLS[t["metric"]], t["runs"], number(t["start"])),
            *(f"{number(t['end'])} ({t['to']})", _change(t), f"{t['p']:.2g}"),
            "" if t["power"] is None else f"{100 * t['power']:.0f} %",
        ]
        for t in trends
    ]
    said = (
        "A line through all runs of a task and an arm, over the share of frames that κ makes "
        "others in whole episodes, with a level for each seed: its two ends, the change with its "
        "95 % interval, and how probably so many runs show a change of 25 %. It assumes that a "
        "metric is straight in that share; noise may differ from κ to κ."
    )
    return ["## All κ together", said, markdown_table([*columns, "p", "power"], rows)]


def _change(trend: Mapping[str, Any]) -> str:
    share, plain = trend["relative"], trend["change"]
    if share["low"] is not None:
        return f"{percent(share['value'])} [{percent(share['low'])}, {percent(share['high'])}]"
    low, high = (number(plain[key]) for key in ("low", "high"))
    why = "it begins at the expert's floor" if share["value"] is None else "no bounds as a share"
    return f"{number(plain['value'])} [{low}, {high}] ({why})"
