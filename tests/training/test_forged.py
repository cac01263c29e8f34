"""Checkpoints whose checksums fit, as an attacker would make them: what they say is checked."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save
from tiny import TINY

from etairl.checkpoints import Manifest
from etairl.storage import checksum
from etairl.training.session import open_run
from etairl.types import InputError

pytestmark = pytest.mark.usefixtures("unchecked")  # as users run it


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """A run that was stopped after two cycles."""
    path = tmp_path_factory.mktemp("begun") / "run"
    with open_run(TINY, path, checkpoint_seconds=0.0) as run:
        reports = run.play()
        next(reports)
        next(reports)
        reports.close()
    return path


@pytest.fixture
def stopped(begun, tmp_path) -> Path:
    return shutil.copytree(begun, tmp_path / "run")


def forged(run: Path, change: Callable[[Any], object], place: str = "values") -> None:
    for folder in (run / "checkpoints").glob("[0-9]*"):
        plain = json.loads((folder / "checkpoint.json").read_text())
        plain.pop("sha256")
        change(plain[place])
        Manifest(**plain).write(folder)


def refused(run: Path) -> str:
    with pytest.raises(InputError) as told, open_run(TINY, run, resume=True) as opened:
        list(opened.play())
    return str(told.value)


@pytest.mark.parametrize(
    "resets", [[2**62] * 5, [-1] * 5, [1.5] * 5, ["1"] * 5, [1], "11111", [[1]] * 5, None]
)
def test_numbers_of_resets(stopped, resets):
    """The first would keep the simulator busy for ever."""
    forged(stopped, lambda values: values.update(resets=resets))
    assert "a checkpoint has n" in refused(stopped)


@pytest.mark.parametrize("name", ["cycle", "since", "until", "transitions", "resets"])
def test_missing_numbers(stopped, name):
    forged(stopped, lambda values: values.pop(name))
    assert f"KeyError: '{name}'" in refused(stopped)


@pytest.mark.parametrize("value", [-1, "3", 2.0, None, [], True])
def test_numbers_that_are_none(stopped, value):
    forged(stopped, lambda values: values.update(until=value))
    assert "its numbers are not whole, or below 0; no older" in refused(stopped)


def test_a_file_that_is_not_there(stopped):
    forged(stopped, lambda files: files.update({"../../config.json": "0"}), "files")
    assert "it has not the files that are beside it" in refused(stopped)


@pytest.mark.parametrize("line", [b"{", b"5", b"\xff", b"[" * 5000])
def test_lines_of_metrics(stopped, line):
    metrics = stopped / "metrics.jsonl"
    metrics.write_bytes(line + b"\n" + metrics.read_bytes())
    logged = {"bytes": metrics.stat().st_size, "sha256": checksum(metrics.read_bytes())}
    forged(stopped, lambda kept: kept.update(logged), "metrics")
    assert "metrics.jsonl: " in refused(stopped)


@pytest.mark.parametrize("lengths", [[2**62, 2**62], [250], [0, 250], [-1, 251], [], [[1]]])
def test_lengths_of_episodes(stopped, lengths):
    for segment in (stopped / "replay").iterdir():
        arrays = load(segment.read_bytes()) | {"lengths": np.array(lengths, np.int64)}
        data = save(arrays)
        begin, end, _ = segment.name.split("-")
        segment.unlink()
        name = f"{begin}-{end}-{checksum(data)[:16]}.safetensors"
        (segment.parent / name).write_bytes(data)
    assert refused(stopped)
