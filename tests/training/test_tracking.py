"""Dashboards: what they are handed, and how a run that is resumed goes on there.

With the libraries where they are installed, else with stand-ins that have their functions.
"""

import importlib.util
import sys
from types import SimpleNamespace

import pytest
from tiny import TINY

from etairl.training.tracking import check_service, tracker
from etairl.types import InputError

ROWS = [{"cycle": 1, "transitions": 250, "return": -3.0}, {"cycle": 2, "transitions": 500}]


class Wandb:
    """What we call of Weights & Biases."""

    def __init__(self):
        self.begun, self.logged, self.codes = [], [], []

    def init(self, **words):
        self.begun.append(words)
        finish = lambda exit_code: self.codes.append(exit_code)  # noqa: E731
        return SimpleNamespace(id=words.get("id", "new-1"), log=self._log, finish=finish)

    def _log(self, row, step):
        self.logged.append((step, row))


class Mlflow:
    """What we call of MLflow."""

    def __init__(self):
        self.begun, self.logged, self.ends, self.params = [], [], [], {}

    def set_experiment(self, name):
        self.experiment = name

    def start_run(self, **words):
        self.begun.append(words)
        return SimpleNamespace(info=SimpleNamespace(run_id=words.get("run_id", "new-1")))

    def log_params(self, params):
        self.params |= params

    def log_metrics(self, numbers, step):
        self.logged.append((step, numbers))

    def end_run(self, status):
        self.ends.append(status)


@pytest.mark.parametrize(("name", "service"), [("wandb", Wandb), ("mlflow", Mlflow)])
def test_rows_arrive_and_a_resumed_run_goes_on(name, service, tmp_path, monkeypatch):
    stand_in = service()
    monkeypatch.setitem(sys.modules, name, stand_in)
    first = tracker(name, TINY, tmp_path)
    first.add(ROWS[0])
    first.close(finished=False)
    again = tracker(name, TINY, tmp_path)
    again.add(ROWS[1])
    again.close(finished=True)
    assert first.id == again.id == "new-1"
    assert [step for step, _ in stand_in.logged] == [250, 500]
    assert stand_in.logged[0][1]["return"] == -3.0
    new, old = stand_in.begun
    if name == "wandb":
        assert new["config"]["env"] == "Pendulum-v1"
        assert old["id"] == "new-1"
        assert stand_in.codes == [1, 0]
    else:
        assert stand_in.params["env"] == "Pendulum-v1"
        assert (old, new["run_name"]) == ({"run_id": "new-1"}, tmp_path.name)
        assert stand_in.ends == ["KILLED", "FINISHED"]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # theirs are not ours
@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_the_libraries_themselves_offline(name, tmp_path, monkeypatch):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed here; `make wheel` installs its extra")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    for row in ROWS:
        shown = tracker(name, TINY, tmp_path)
        shown.add(row)
        shown.close(finished=True)


def test_what_is_not_installed_or_fails_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(InputError, match=r"not installed; run: pip install 'etairl\[mlflow\]'"):
        check_service("mlflow")

    def refuse(**_):
        raise ConnectionError("no\nnetwork")

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=refuse))
    with pytest.raises(InputError, match="--track wandb: no network"):
        tracker("wandb", TINY, tmp_path)
    assert not list(tmp_path.iterdir())
