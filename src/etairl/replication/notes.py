"""The results of a study as a page of Markdown, to be kept beside its tables and figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from etairl.replication.paper_studies import STUDIES, named_jobs
from etairl.replication.rules import SYMBOLS, number, percent
from etairl.studies.jobs import SCALES, Job
from etairl.studies.study_folder import Study
from etairl.types import InputError

_COLUMNS = {"mmd2_rho": "MMD² of ρ", "mmd2_mu": "MMD² of μ", "cost": "cost"}


def notes(study: Study, data: Mapping[str, Any], figures: Sequence[Path]) -> str:
    """How the results were made, what is missing, what they say."""
    scale = f", scale {study.scale}" if study.scale else ""
    finished, every = len(data["rows"]), len(study.jobs)
    parts = [
        f"# {study.name}{scale}",
        "Made by\n\n```\n" + "\n".join(_commands(study)) + "\n```",
        f"{finished} of {every} runs are finished.{_missing(study, data['missing'])}",
        "What is here is enough to go on without the runs themselves: `etairl study …` as above, "
        "with `--reuse HERE`, makes only what is missing; `etairl report HERE` makes this page "
        "again.",
        "## Claims of the paper",
        _claims(data["findings"]),
        *_small_kappa(data["predictions"]),
        *_trends(data["trends"]),
        "## Settings",
        "Means over seeds of the last cycles of training, with intervals as in `statistics.json`. "
        "MMD² in units of the demonstrations; cost: 0 is the expert, 1 a random policy.",
        _settings(data),
        *(f"![{path.stem}](figures/{path.name})" for path in figures if path.suffix == ".png"),
        _versions(data["versions"]),
    ]
    return "\n\n".join(parts) + "\n"


def _commands(study: Study) -> list[str]:
    """What makes the runs and this page; every study has a folder of its own."""
    names = study.name.split("+")
    alone = sum(name != "runs" for name in names) == 1
    found, folders = [], []
    for place, name in enumerate(names, start=1):
        folder = "RUN" if name == "runs" else "FOLDER" if alone else f"FOLDER{place}"
        found.append(f"{_command(study, name)} -o {folder}")
        folders.append("RUN …" if name == "runs" else folder)
    return [*found, f"etairl report {' '.join(folders)} -o HERE"]


def _command(study: Study, name: str) -> str:
    if name == "runs":
        return "etairl train …"
    scale, jobs = _part(study, name)
    sized = f" --scale {scale}" if scale else ""
    if name not in STUDIES:
        return f"etairl study {name}.toml{sized}"
    seeds = 1 + max(job.config.seed for job in jobs)
    envs = dict.fromkeys(job.config.env for job in jobs)
    some = "" if set(envs) == set(STUDIES[name].envs) else f" --envs {' '.join(envs)}"
    return f"etairl study {name}{sized} --seeds {seeds}{some}"


def _part(study: Study, name: str) -> tuple[str | None, Sequence[Job]]:
    """StudyScale and runs of one of the studies: of the environments and seeds that it is whole in.

    Other studies may share some of its runs. All runs, where it is whole in none.
    """
    every = set(study.jobs)
    kinds = dict.fromkeys((job.config.env, job.config.seed) for job in study.jobs)
    for scale in (s for s in SCALES if study.scale in (None, s)):
        found: list[Job] = []
        for env, seed in kinds:
            try:
                asked = named_jobs(name, scale, [seed], [env])
            except InputError:  # it has no such environment
                continue
            found += asked if every.issuperset(asked) else []
        if found:
            return scale, found
    return study.scale, study.jobs


def _versions(found: Mapping[str, str]) -> str:
    different = any(" or " in version for version in found.values())
    begin = "Made with different versions" if different else "Versions"
    return f"{begin}: " + ", ".join(f"{k} {v}" for k, v in found.items()) + "."


def _missing(study: Study, names: Sequence[str]) -> str:
    if not names:
        return ""
    counts: dict[str, int] = {}
    for name in names:
        job: Job = study.job(name)
        key = f"{job.config.env}, {job.arm}"
        counts[key] = counts.get(key, 0) + 1
    return " Missing: " + "; ".join(f"{key}: {count}" for key, count in counts.items()) + "."


def _claims(findings: Sequence[Mapping[str, Any]]) -> str:
    if not findings:
        return "These runs speak to none of them yet."
    lines = ["| verdict | task | arm | claim | measured |", "|---|---|---|---|---|"]
    lines += [
        f"| {f['verdict']} | {f['env']} | {f['arm']} | {f['claim']} | {f['sentence']} |"
        for f in findings
    ]
    return "\n".join(lines)


def _small_kappa(predictions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Up to κ = 0.75 hardly a frame changes, so hardly a result should: what was measured."""
    small = [p for p in predictions if p["small"]]
    if not small:
        return []
    lines = ["| verdict | task | arm | η | measured |", "|---|---|---|---|---|"]
    lines += [
        f"| {p['verdict']} | {p['env']} | {p['arm']} | {p['eta']} | {p['note']} |" for p in small
    ]
    said = "Predicted: no difference from κ = 0 beyond the share of frames that are others."
    return ["## Small κ", said, "\n".join(lines)]


def _trends(trends: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines through all κ: what they change from one end to the other."""
    if not trends:
        return []
    lines = [
        "| task | arm | metric | runs | line at κ = 0 | at the farthest | change | p | power |",
        "|---" * 9 + "|",
    ]
    for t in trends:
        power = "" if t["power"] is None else f"{100 * t['power']:.0f} %"
        lines.append(
            f"| {t['env']} | {t['arm']} | {SYMBOLS[t['metric']]} | {t['runs']} | "
            f"{number(t['start'])} | {number(t['end'])} ({t['to']}) | "
            f"{_change(t)} | {t['p']:.2g} | {power} |"
        )
    said = (
        "A line through all runs of a task and an arm, over the share of frames that κ makes "
        "others in whole episodes, with a level for each seed: its two ends, the change with its "
        "95 % interval, and how probably so many runs show a change of 25 %. It assumes that a "
        "metric is straight in that share; noise may differ from κ to κ."
    )
    return ["## All κ together", said, "\n".join(lines)]


def _change(trend: Mapping[str, Any]) -> str:
    share, plain = trend["relative"], trend["change"]
    if share["low"] is not None:
        return f"{percent(share['value'])} [{percent(share['low'])}, {percent(share['high'])}]"
    low, high = (number(plain[key]) for key in ("low", "high"))
    why = "it begins at the expert's floor" if share["value"] is None else "no bounds as a share"
    return f"{number(plain['value'])} [{low}, {high}] ({why})"


def _settings(data: Mapping[str, Any]) -> str:
    cycles: dict[tuple[str, str, str], list[int]] = {}
    for row in data["rows"]:
        cycles.setdefault((row["env"], row["arm"], row["eta"]), []).append(row["cycles"])
    lines = [f"| task | arm | η | seeds | {' | '.join(_COLUMNS.values())} | cycles |"]
    lines.append("|---" * (5 + len(_COLUMNS)) + "|")
    for entry in data["settings"]:
        made = cycles[entry["env"], entry["arm"], entry["eta"]]
        values = " | ".join(_value(entry.get(name)) for name in _COLUMNS)
        mean = sum(made) / len(made)
        lines.append(
            f"| {entry['env']} | {entry['arm']} | {entry['eta']} | {len(entry['seeds'])} | "
            f"{values} | {mean:.0f} |"
        )
    return "\n".join(lines)


def _value(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return ""
    mean = found["mean"]
    if mean["low"] is None:
        return f"{mean['value']:.4f}"
    return f"{mean['value']:.4f} [{mean['low']:.4f}, {mean['high']:.4f}]"
