"""The metrics of a run once more, for the dashboards of Weights & Biases and MLflow.

A run directory stays what a run is; a dashboard sees its rows. `tracking.json` in it says under
which names, so that a run that is resumed goes on there, too.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from etairl.storage import read_json, write_json
from etairl.training.flat import flatten
from etairl.training.settings import TrainConfig
from etairl.types import InputError

Service = Literal["wandb", "mlflow"]
_FILE = "tracking.json"


@runtime_checkable
class Tracker(Protocol):
    """What sees the rows of a run."""

    id: str
    """under which the service knows the run"""

    def add(self, row: Mapping[str, Any]) -> None:
        """One cycle, placed at its number of transitions."""

    def close(self, finished: bool) -> None:
        """No more cycles."""


class Wandb:
    """Weights & Biases; offline where its own variable `WANDB_MODE=offline` says so."""

    def __init__(self, config: TrainConfig, run: Path, known: str | None):
        wandb = _library("wandb")
        again = {} if known is None else {"id": known, "resume": "allow"}
        self._run = wandb.init(
            project="etairl", name=run.name, dir=str(run), config=_settings(config), **again
        )
        self.id = str(self._run.id)

    def add(self, row: Mapping[str, Any]) -> None:
        """One cycle, placed at its number of transitions."""
        self._run.log(dict(row), step=row["transitions"])

    def close(self, finished: bool) -> None:
        """No more cycles."""
        self._run.finish(exit_code=0 if finished else 1)


class Mlflow:
    """MLflow; where it stores things its own variable `MLFLOW_TRACKING_URI` says."""

    def __init__(self, config: TrainConfig, run: Path, known: str | None):
        self._mlflow = _library("mlflow")
        if known is None:
            self._mlflow.set_experiment("etairl")
            begun = self._mlflow.start_run(run_name=run.name)
            self._mlflow.log_params(_settings(config))
        else:
            begun = self._mlflow.start_run(run_id=known)
        self.id = str(begun.info.run_id)

    def add(self, row: Mapping[str, Any]) -> None:
        """One cycle, placed at its number of transitions."""
        numbers = {name: float(value) for name, value in row.items()}
        self._mlflow.log_metrics(numbers, step=row["transitions"])

    def close(self, finished: bool) -> None:
        """No more cycles."""
        self._mlflow.end_run("FINISHED" if finished else "KILLED")


_SERVICES: dict[Service, Callable[[TrainConfig, Path, str | None], Tracker]] = {
    "wandb": Wandb,
    "mlflow": Mlflow,
}


def check_service(service: Service | None) -> None:
    """Refuse a service whose library is not installed, before a run begins."""
    if service is not None:
        _library(service)


def tracker(service: Service, config: TrainConfig, run: Path) -> Tracker:
    """Begin to show a run there, or go on."""
    names = read_json(run / _FILE) if (run / _FILE).is_file() else {}
    try:
        made = _SERVICES[service](config, run, names.get(service))
    except InputError:
        raise
    except Exception as error:  # whatever a library makes of a network, an account or a disk
        raise InputError(f"--track {service}: {' '.join(str(error).split())[:300]}") from None
    write_json(run / _FILE, names | {service: made.id})
    return made


def _library(service: Service) -> Any:
    try:
        return import_module(service)
    except ImportError:
        raise InputError(
            f"--track {service} needs a package that is not installed; run: pip install "
            f"'etairl[{service}]'"
        ) from None


def _settings(config: TrainConfig) -> dict[str, Any]:
    return {name: value for name, value in flatten(config).items() if value is not None}
