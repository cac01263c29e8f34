"""`etairl plot`: learning curves of runs side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from etairl.cli.console import counted, out, parse, working
from etairl.runs import no_run, read_metrics, read_result
from etairl.storage import read_json, reading
from etairl.training.preset_changes import differing
from etairl.types import InputError

_LONGEST = 60
_NOT_SETTINGS = ("seed", "kind")


@dataclass(frozen=True)
class Config:
    """Draw how runs learned: return and MMD² over transitions, beside the expert.

    Runs that differ in their random seed alone are one curve: their mean, and a band from the
    lowest to the highest. Runs need not be finished.
    """

    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN")]
    """run directories, of one environment"""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FILE")]
    """the figure: .png, .svg or .pdf"""

    def __post_init__(self):
        if not self.runs:
            raise InputError("name at least one run to plot")


def run(arguments: list[str]) -> int:
    """Read the metrics, draw, and say what is where."""
    config = parse(Config, arguments, "plot")
    with working("loading"):
        from etairl.figures.panels import COLOURS
        from etairl.figures.run_curves import Curves, runs_figure
        from etairl.figures.save import check_name, save_figure

    check_name(config.output)
    paths = list(dict.fromkeys(config.runs))
    settings = {path: _settings(path) for path in paths}
    rows = {path: _rows(path) for path in paths}
    environments = list(dict.fromkeys(str(s["env"]) for s in settings.values()))
    if len(environments) > 1:
        raise InputError(
            f"these runs are of several environments ({', '.join(environments)}), whose returns "
            "cannot be compared; plot one at a time"
        )
    groups = _grouped(settings)
    if len(groups) > len(COLOURS):
        raise InputError(
            f"these runs have {len(groups)} different settings, and a figure takes {len(COLOURS)}; "
            "name fewer, or see etairl report"
        )
    results = {p: read_result(p) for p in paths if (p / "result.json").is_file()}
    experts = {label: _expert(own, results) for label, own in groups.items()}
    one = _alike([value for value in experts.values() if value is not None])
    curves = [
        Curves(label, [rows[path] for path in own], None if one else experts[label])
        for label, own in groups.items()
    ]
    expert = next((v for v in experts.values() if v is not None), None) if one else None
    # Of several experts, each has a floor of its own; the first one's would mislead.
    floor = next((r["remaining"]["mmd2_mu"] for r in results.values()), None) if one else None
    with working("drawing"):
        save_figure(runs_figure(curves, environments[0], expert, floor), config.output)
    out().print(f"{config.output}: {counted(len(paths), 'run')} on {environments[0]}", markup=False)
    return 0


def _expert(own: list[Path], results: Mapping[Path, Mapping[str, Any]]) -> float | None:
    returns = (results[path]["expert_return"] for path in own if path in results)
    return next((value for value in returns if value is not None), None)


def _alike(experts: list[float]) -> bool:
    """Whether returns are of one expert in episodes of one length."""
    return not experts or max(experts) - min(experts) <= 0.01 * max(map(abs, experts))


def _settings(run: Path) -> dict[str, Any]:
    """All settings of a run by their names; nothing is built from them."""
    if (run / "study.json").is_file():
        raise InputError(f"{run} is a study; draw it with etairl report, or name runs in it")
    if not (run / "config.json").is_file():
        raise InputError(no_run(run))
    flat = _flat(read_json(run / "config.json"))
    if not {"env", "algorithm", "seed"} <= set(flat):
        raise InputError(f"{run} is not a run of etairl train; only those have such curves")
    return flat


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= _flat(value) if isinstance(value, dict) else {name: value}
    return flat


def _rows(run: Path) -> list[dict[str, Any]]:
    rows = read_metrics(run)
    if not rows:
        raise InputError(f"{run} has no metrics yet: leave it out until its first cycle is over")
    with reading(run / "metrics.jsonl"):
        for row in rows:
            float(row["transitions"]), float(row["return"])
    return rows


def _grouped(settings: dict[Path, dict[str, Any]]) -> dict[str, list[Path]]:
    """Runs with the same settings but for the seed, by what tells them apart from the others."""
    groups: dict[str, list[Path]] = {}
    for path, own in settings.items():
        key = repr(sorted((k, repr(v)) for k, v in own.items() if k not in _NOT_SETTINGS))
        groups.setdefault(key, []).append(path)
    firsts = [settings[paths[0]] for paths in groups.values()]
    differ = differing(firsts, _NOT_SETTINGS)
    labels: dict[str, list[Path]] = {}
    for first, paths in zip(firsts, groups.values(), strict=True):
        label = ", ".join(f"{name} {_value(first[name])}" for name in differ if name in first)
        if not differ:
            label = str(first["algorithm"])
        elif len(label) > _LONGEST:  # too much differs to say
            label = paths[0].name
        labels.setdefault(label if label not in labels else str(paths[0]), []).extend(paths)
    return labels


def _value(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
