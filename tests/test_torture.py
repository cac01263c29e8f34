"""`make torture`: its inputs are the same in every repetition, and it notices what is wrong."""

import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from torture import kills, workers
from torture.mutations import changed_value, mutated
from torture.readers import READERS

from etairl.types import InputError

ROOT = Path(__file__).parents[1]
SURROUNDINGS = os.environ | {
    "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("src", "tools", "tests"))
}


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> dict[str, list[dict[str, bytes]]]:
    """Valid inputs of readers that need no run."""
    place = tmp_path_factory.mktemp("valid")
    made = {}
    for name in ("eta", "npz", "study file"):
        folder = place / name
        READERS[name].make(folder)
        made[name] = [workers._snapshot(path) for path in sorted(folder.iterdir())]
    return made


@pytest.mark.parametrize("name", ["eta", "npz", "study file"])
def test_inputs_are_known_by_their_number(valid, name):
    def some() -> list:
        inputs = workers.Inputs(READERS[name], valid[name], 3, name)
        return [inputs.input(number)[1] for number in range(60)]

    first = some()
    assert first == some()
    assert len({tuple(changed.items()) for changed in first}) > 40


def test_an_npz_is_damaged_behind_its_checksums(valid, tmp_path):
    """Otherwise all that is tested is the checksum."""
    rng, whole = np.random.default_rng(0), valid["npz"][0]["demos.npz"]
    good = 0
    for _ in range(40):
        (tmp_path / "x.npz").write_bytes(mutated(rng, "x.npz", whole, [whole]))
        try:
            with zipfile.ZipFile(tmp_path / "x.npz") as archive:
                good += archive.testzip() is None
        except (zipfile.BadZipFile, UnicodeDecodeError, NotImplementedError, OSError):
            continue
    assert good >= 15


def test_values_of_json_change():
    value = {"a": [1, {"b": None}], "c": "text"}
    rng = np.random.default_rng(0)
    changed = {json.dumps(changed_value(rng, value)) for _ in range(50)}
    assert len(changed) > 30
    assert value == {"a": [1, {"b": None}], "c": "text"}


def hangs(_: Path) -> None:
    end = time.process_time() + 5.0
    while time.process_time() < end:
        pass


def echoes(_: Path) -> None:
    error = InputError("")
    error.args = ("two\nlines",)
    raise error


def says(_: Path) -> None:
    raise InputError("the file is damaged; restore it")


def fails(_: Path) -> None:
    raise KeyError("x")


@pytest.mark.parametrize(
    ("read", "outcome"),
    [
        (Path.exists, "read"),
        (says, "refused"),
        (fails, "KeyError: "),
        (echoes, "no sentence: "),
        (hangs, "over 0.2 s: "),
    ],
)
def test_what_is_wrong_is_noticed(monkeypatch, tmp_path, read, outcome):
    monkeypatch.setattr(workers, "SECONDS", 0.2)
    before = workers.signal.signal(workers.signal.SIGPROF, workers._hang)
    try:
        assert workers._outcome(read, tmp_path)[0].startswith(outcome)
    finally:
        workers.signal.signal(workers.signal.SIGPROF, before)


_OTHERS = """
import sys, pathlib
from torture import kills, workers
from torture.readers import READERS, Reader
EATEN = []

def make(folder):
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "file").write_bytes(b"valid")

def read(folder):
    data = (folder / "file").read_bytes()
    if data == b"valid":
        return
    match sys.argv[1]:
        case "memory":
            EATEN.append(bytearray(2**31))
        case "import":
            sys.path.insert(0, "")
            import evil
            sys.modules.pop("evil")
        case "pickle":
            import pickle
            pickle.loads(b"cbuiltins\\nlen\\n.")

class Queue:
    def put(self, result):
        print(sorted(result[1]))

class At:
    value = 0

READERS["bad"] = Reader(make, read)
valid, kept = pathlib.Path("valid").resolve(), pathlib.Path("kept").resolve()
make(valid)
workers.work("bad", valid, kept, 0, range(12), At, Queue())
"""


@pytest.mark.parametrize(
    ("fault", "noticed"),
    [("memory", "MemoryError: "), ("import", "ran code: "), ("pickle", "ran code: "), ("none", "")],
)
def test_memory_and_code_are_noticed(tmp_path, fault, noticed):
    """In a process of its own: it is limited for good."""
    done = subprocess.run(
        [sys.executable, "-c", _OTHERS, fault],
        cwd=tmp_path,
        env=SURROUNDINGS,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert noticed in done.stdout
    kept = list(tmp_path.glob("kept/bad/*/*/what.txt"))
    assert bool(kept) == (fault != "none")
    assert all((file.parent / "input" / "file").is_file() for file in kept)


@pytest.mark.slow
def test_every_reader_reads_or_refuses(tmp_path):
    command = [sys.executable, "-m", "torture", "--inputs=200", "--seed=7", f"--kept={tmp_path}/k"]
    done = subprocess.run(command, cwd=tmp_path, env=SURROUNDINGS, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_run_with_another_byte_differs(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.safetensors").write_bytes(b"weights")
        (tmp_path / name / "result.json").write_bytes(b"{}")
    assert kills.differing(tmp_path / "a", tmp_path / "b") == []
    (tmp_path / "a/policy.safetensors").write_bytes(b"weightz")
    (tmp_path / "a/result.json").unlink()
    found = kills.differing(tmp_path / "a", tmp_path / "b")
    assert found == ["a/policy.safetensors", "a/result.json"]


def test_studies_differ_in_numbers_but_not_in_seconds(tmp_path):
    for name, seconds in (("a", 1.5), ("b", 2.5)):
        (tmp_path / name / "runs").mkdir(parents=True)
        row = {"return": 3.0, "seconds_to_90": seconds}
        for table in ("results.json", "statistics.json"):
            (tmp_path / name / table).write_text(json.dumps([row], indent=2))
    assert kills.study_differs(tmp_path / "a", tmp_path / "b") == []
    (tmp_path / "a/results.json").write_text(json.dumps([row | {"return": 4.0}], indent=2))
    assert kills.study_differs(tmp_path / "a", tmp_path / "b") == ["a/results.json"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["train", "study"])
def test_kills_change_nothing(tmp_path, kind):
    command = [sys.executable, "-m", "torture", "--kills=2", f"--readers={kind}"]
    paths = os.pathsep.join(str(ROOT / name) for name in ("src", "tools", "tests"))
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=SURROUNDINGS | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 kills" in done.stdout
