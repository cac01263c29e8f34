"""The results of a study as a page of Markdown, to be kept beside its tables and figures."""

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from etairl.evaluation.matching import METRIC_NAMES
from etairl.markup import markdown_code, markdown_table, markdown_text, plain_text
from etairl.studies.study_folder import Study
from etairl.studies.wording import mean_and_half

_COLUMNS = ("mmd2_rho", "mmd2_mu", "score")


def file_command(study: Study, name: str) -> str:
    """What makes a study of one's own."""
    scale = f" --scale {shlex.quote(study.scale)}" if study.scale else ""
    return f"etairl study {shlex.quote(f'{name}.toml')}{scale}"


def notes(
    study: Study,
    data: Mapping[str, Any],
    figures: Sequence[Path],
    command: Callable[[Study, str], str] = file_command,
    sections: Sequence[str] = (),
    past: Sequence[str] = (),
) -> str:
    """How the results were made, what is missing, what they are; `data` are those of `report_data`.

    `command` is what makes the runs of a study of a name, `sections` are more to say. Studies of
    the names in `past` have other runs now.
    """
    scale = f", scale {study.scale}" if study.scale else ""
    parts = [
        f"# {markdown_text(study.name + scale)}",
        _versions(data["versions"]),
        *([data["yardstick"]] if data["yardstick"] else ()),
        f"Made {_by(data['versions'], past)}\n\n```\n"
        + "\n".join(map(plain_text, _commands(study, command)))
        + "\n```",
        f"{len(data['rows'])} of {len(study.jobs)} runs are finished."
        f"{_missing(study, data['missing'])}",
        _again(past),
        *sections,
        *_evaluation(data["evaluation"]),
        "## Settings",
        "Means over seeds of the last cycles of training, with intervals as in `statistics.json`. "
        "MMD² in units of the demonstrations; score: 0 is a random policy, 1 the expert.",
        _settings(data),
        *(f"![{path.stem}](figures/{path.name})" for path in figures if path.suffix == ".png"),
    ]
    return "\n\n".join(parts) + "\n"


def _by(versions: Mapping[str, str], past: Sequence[str]) -> str:
    if not past:
        return "by"
    version = markdown_text(versions.get("etairl", "unknown"))
    return f"by version {version}, with what was its command then:"


def _again(past: Sequence[str]) -> str:
    if past:
        names = " and ".join(map(markdown_code, past))
        return (
            f"The runs of {names} are others now: the same command does not make these again, and "
            "they say nothing about claims any more. `etairl report HERE` makes this page again."
        )
    return (
        "`etairl study …` as above, with `--reuse HERE`, makes only what is missing, also without "
        "the runs themselves; `etairl report HERE` makes this page again."
    )


def _commands(study: Study, command: Callable[[Study, str], str]) -> list[str]:
    """What makes the runs and this page; every study has a folder of its own."""
    names = study.name.split("+")
    alone = sum(name != "runs" for name in names) == 1
    lines, folders = [], []
    for place, name in enumerate(names, start=1):
        folder = "RUN" if name == "runs" else "FOLDER" if alone else f"FOLDER{place}"
        made = "etairl train …" if name == "runs" else command(study, name)
        lines.append(f"{made} -o {folder}")
        folders.append("RUN …" if name == "runs" else folder)
    return [*lines, f"etairl report {' '.join(folders)} -o HERE"]


def _versions(versions: Mapping[str, str]) -> str:
    different = any(" or " in version for version in versions.values())
    begin = "Made with different versions" if different else "Made with"
    return (
        f"{begin}: "
        + ", ".join(f"{markdown_text(k)} {markdown_text(v)}" for k, v in versions.items())
        + "."
    )


def _missing(study: Study, names: Sequence[str]) -> str:
    jobs = map(study.job, names)
    counts = Counter(f"{job.config.env}, {job.arm}" for job in jobs)
    words = "; ".join(f"{markdown_text(key)}: {count}" for key, count in counts.items())
    return f" Missing: {words}." if words else ""


def _evaluation(table: Sequence[Mapping[str, Any]]) -> list[str]:
    """Policies in fresh episodes."""
    if not table:
        return []
    shown = {"return": 0, "score": 3, "mmd2_rho": 4, "mmd2_mu": 4, "success": 2}
    shown |= {"score_all_tasks": 3, "success_all_tasks": 2}
    shown = {name: digits for name, digits in shown.items() if any(e[name] for e in table)}
    names = [METRIC_NAMES.get(name, name.replace("_", " ")) for name in shown]
    rows = [
        [e["env"], e["arm"], e["eta"], e["policy"], len(e["seeds"])]
        + [mean_and_half(e[name], digits) for name, digits in shown.items()]
        for e in table
    ]
    guessed = ", ".join(dict.fromkeys(markdown_text(e["env"]) for e in table if e["guessed"]))
    said = f" Drawn or greedy is a guess from the demonstrations of {guessed}." if guessed else ""
    if watched := ", ".join(
        dict.fromkeys(markdown_text(e["env"]) for e in table if e["states_alone"])
    ):
        said += f" MMD² of {watched} is of states alone: those demonstrations have no actions."
    return [
        "## Evaluation",
        "Fresh episodes of each policy: means over seeds, ± half of the 95 % t-interval. Beside "
        f"policies that were not learned stands the name of the demonstrations.{said}",
        markdown_table(["task", "arm", "η", "policy", "seeds", *names], rows),
    ]


def _settings(data: Mapping[str, Any]) -> str:
    cycles: dict[tuple[str, str, str], list[int]] = {}
    for row in data["rows"]:
        cycles.setdefault((row["env"], row["arm"], row["eta"]), []).append(row["cycles"])
    rows = []
    for entry in data["settings"]:
        cell = entry["env"], entry["arm"], entry["eta"]
        mean = sum(cycles[cell]) / len(cycles[cell])
        values = [_value(entry.get(name)) for name in _COLUMNS]
        rows.append([*cell, len(entry["seeds"]), *values, f"{mean:.0f}"])
    names = [METRIC_NAMES[name] for name in _COLUMNS]
    return markdown_table(["task", "arm", "η", "seeds", *names, "cycles"], rows)


def _value(summary: Mapping[str, Any] | None) -> str:
    if summary is None:
        return ""
    mean = summary["mean"]
    if mean["low"] is None:
        return f"{mean['value']:.4f}"
    return f"{mean['value']:.4f} [{mean['low']:.4f}, {mean['high']:.4f}]"
