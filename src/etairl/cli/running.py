"""A run seen from the terminal: progress, warnings, Ctrl-C, and how it ended."""

import json
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from etairl.cli.console import Meter, facts, out, patient_interrupt
from etairl.evaluation.diagnostics import diagnose
from etairl.evaluation.futures import Futures
from etairl.idle import Progress
from etairl.locks import held
from etairl.runs import RunDirectory, read_metrics
from etairl.training.augmentation import Watch, augmented
from etairl.training.loop import run
from etairl.training.preparation import Setting, prepare, remarks
from etairl.training.settings import TrainConfig
from etairl.types import DivergedError, InputError


def follow(
    config: TrainConfig, directory: RunDirectory, checkpoint_seconds: float, threads: int | None
) -> int:
    """Train to the end, or to Ctrl-C. Nothing is written before everything is checked."""
    if not checkpoint_seconds >= 0.0:
        raise InputError(f"checkpoint_seconds must be >= 0, got {checkpoint_seconds}")
    directory.check_versions()
    setting = prepare(config, threads)
    directory.check_shown(setting.digest)
    setting = _with_generator(setting, directory)
    with held(directory.path):
        if directory.finished:
            raise InputError(f"{directory.path} was finished by another command just now")
        if directory.open(config, digest=setting.digest):
            out().print(f"going on in {directory.path}", markup=False)
        _follow(setting, directory, checkpoint_seconds)
    summarise(directory)
    return 0


def _with_generator(setting: Setting, directory: RunDirectory) -> Setting:
    if setting.config.idle is None:
        return setting
    steps = setting.config.generator.idle_steps
    with Meter("learning futures", steps) as meter, patient_interrupt() as stop:
        found = augmented(setting, directory.path, watching(meter, stop))
        assert found.futures is not None
        meter.say(f"futures are invented: {worth(found.futures)}")
        return found


def watching(meter: Meter, stop: Callable[[], bool]) -> Watch:
    """Progress of a generator of futures; Ctrl-C ends it between two rounds."""

    def watch(progress: Progress) -> None:
        meter.update(progress.steps, f"loss of its discriminator {progress.info.gan_loss:.3f}")
        if stop():
            raise KeyboardInterrupt("nothing was written")

    return watch


def worth(quality: Futures) -> str:
    """Of a generator, in a few words."""
    return (
        f"MMD² {quality.mmd2:.5f} from true ones of held-out states, {quality.ratio:.1f} times the "
        f"floor of {quality.floor:.5f}"
    )


def _follow(setting: Setting, directory: RunDirectory, checkpoint_seconds: float) -> None:
    config = setting.config
    rows = _so_far(directory)
    said = {trouble.name for trouble in diagnose(rows)}
    first = rows[-1]["transitions"] if rows else 0
    frozen = "" if config.frozen_cost is None else "a fresh policy on the frozen cost of "
    what = f"{frozen}{config.algorithm} on {config.env}"
    with (
        Meter(what, config.girl.transitions, first) as meter,
        patient_interrupt() as stop,
        closing(run(setting, directory, checkpoint_seconds)) as reports,
    ):
        for sentence in remarks(setting):
            meter.say(sentence)
        since = time.monotonic()
        try:
            for report in reports:
                rows.append(report.row)
                speed = (report.transitions - first) / max(time.monotonic() - since, 1e-9)
                meter.update(report.transitions, _note(rows, speed))
                for trouble in diagnose(rows):
                    if trouble.name not in said:
                        said.add(trouble.name)
                        meter.say(f"cycle {trouble.cycle}: {trouble.message}")
                if stop():
                    reports.close()  # writes a checkpoint
                    raise KeyboardInterrupt(
                        f"{directory.path} is kept at {report.transitions:,} transitions; go on "
                        f"with: etairl resume {directory.path}"
                    )
        except DivergedError as error:
            raise InputError(f"{error}; {_kept(directory)}") from None
        except FloatingPointError as error:
            raise InputError(
                f"{error}; {_kept(directory)}. Lower the learning rates or hold the discriminator "
                "back, in a new run"
            ) from None


def _so_far(directory: RunDirectory) -> list[dict[str, Any]]:
    """Metrics up to the checkpoint that the run goes on from."""
    kept = directory.kept_cycle
    return [row for row in read_metrics(directory.path) if kept and row["cycle"] <= kept]


def _kept(directory: RunDirectory) -> str:
    if directory.kept_cycle is None:
        return f"there was no checkpoint yet in {directory.path}"
    return f"the last checkpoint, of cycle {directory.kept_cycle}, is kept in {directory.path}"


def _note(rows: list[dict[str, Any]], speed: float) -> str:
    row = rows[-1]
    measured = next((r["mmd2_mu"] for r in reversed(rows) if "mmd2_mu" in r), None)
    judged = next((r for r in reversed(rows) if "cost/accuracy_learner" in r), None)
    parts = [f"cycle {row['cycle']}", f"return {row['return']:.0f}"]
    if "success" in row:
        parts.append(f"solved {100 * row['success']:.0f} %")
    if measured is not None:
        parts.append(f"MMD² {measured:.4f}")
    if judged is not None:
        right = (judged["cost/accuracy_learner"] + judged["cost/accuracy_expert"]) / 2
        parts.append(f"D right {right:.2f}")
    gap = next((r["cost/gap"] for r in reversed(rows) if "cost/gap" in r), None)
    if gap is not None:
        parts.append(f"gap {gap:.2f}")
    return ", ".join([*parts, f"{speed:,.0f} transitions/s"] if speed else parts)


def summarise(directory: RunDirectory) -> None:
    """The result of a finished run in a few lines."""
    result = json.loads((directory.path / "result.json").read_text())
    last, best = result["remaining"], result["best"]
    mu, rho = last["mmd2_mu"], last["mmd2_rho"]
    rows = [
        ("transitions", f"{result['transitions']:,} in {result['cycles']} cycles"),
        (
            "return",
            f"{last['return']:.1f} ± {last['return_std']:.1f}, last {last['cycles']} cycles",
        ),
    ]
    if "success" in last:
        rows.append(
            ("tasks solved", f"{100 * last['success']:.1f} %, last {last['cycles']} cycles")
        )
    if "normalised_cost" in last:
        rows.append(("cost", f"{last['normalised_cost']:.3f}; 0 is the expert, 1 is random"))
    if result["expert_return"] is not None:
        rows.append(("expert", f"{result['expert_return']:.1f}"))
    rows += [
        ("MMD² of mu", _distance(mu)),
        ("MMD² of rho", _distance(rho)),
        ("best cycle", f"{best['cycle']} with MMD² of mu {best['mmd2_mu']:.5f}"),
    ]
    if result["collapsed_share"] is not None:
        by = "" if result.get("collapsed_by", "return") == "return" else ", by their MMD²"
        rows.append(("collapsed", f"{100 * result['collapsed_share']:.0f} % of cycles{by}"))
    rows.append(("run", str(directory.path)))
    facts("finished", rows)


def _distance(found: dict[str, Any]) -> str:
    text = f"{found['value']:.5f} [{found['low']:.5f}, {found['high']:.5f}]"
    return text if found["floor"] is None else f"{text}, expert against itself {found['floor']:.5f}"
