"""The table beside other libraries: works in processes of their own, in turn, and its words."""

import ast
import json
import os
import sys
import zipfile
from pathlib import Path

import pytest

from etairl.bench import peer_environments
from etairl.bench.interleaved import Contestant, Ratio, Turn, Worker, in_turn
from etairl.bench.peer_cases import LIBRARIES, Case, Doer, Start, Theirs, all_cases, all_starts
from etairl.bench.peer_environments import (
    BASELINES,
    IMITATION,
    Peers,
    place,
    python_of,
    why_pip_failed,
)
from etairl.bench.peers import Comparison
from etairl.cli import bench, bench_peers
from etairl.types import InputError

BENCH = Path(bench.__file__).parents[1] / "bench"
WORKS = """
import os, time

def sleeping(settings):
    return lambda units: time.sleep(units * settings["seconds"])

def writing(settings):
    def work(units):
        with open(settings["file"], "a") as lines:
            lines.write(settings["name"])
    return work

def loud(settings):
    print("a word of a library")
    return lambda units: os.system("echo another one")

def cores(settings):
    assert len(os.sched_getaffinity(0)) == 1, "too many cores"
    assert os.environ["OMP_NUM_THREADS"] == "1", "too many threads"
    assert os.environ["PYTHONPATH"] == "", "what others can import"
    return lambda units: None

def broken(settings):
    raise ValueError("no such network")

def dying(settings):
    return lambda units: os._exit(3)

WORKS = {f.__name__: f for f in (sleeping, writing, loud, cores, broken, dying)}
"""


@pytest.fixture
def side(tmp_path):
    file = tmp_path / "works.py"
    file.write_text(WORKS)
    return Contestant("the peer", Path(sys.executable), file)


@pytest.fixture
def worker(side):
    with Worker(side) as found:
        yield found


def test_a_worker_times_its_works(worker):
    worker.make("a", "sleeping", {"seconds": 0.01})
    assert 0.05 <= worker.run("a", 5) < 1.0
    about = worker.ask(about=["pip"])
    assert about["megabytes"] > 5
    assert about["versions"]["pip"]


def test_what_a_library_prints_does_not_come_between_the_answers(worker):
    worker.make("a", "loud", {})
    assert worker.run("a", 1) >= 0


def test_a_worker_keeps_to_its_cores_and_sees_nothing_of_ours(worker):
    worker.make("a", "cores", {})


def test_works_take_turns_and_every_other_round_goes_backwards(side, tmp_path):
    file = tmp_path / "order"
    with Worker(side) as first, Worker(side) as second:
        for worker, name in ((first, "a"), (second, "b"), (second, "c")):
            worker.make(name, "writing", {"file": str(file), "name": name})
        turns = [Turn(first, "a", 1), Turn(second, "b", 1), Turn(second, "c", 1)]
        taken = in_turn(turns, rounds=3)
    assert file.read_text() == "abc" + "abc" + "cba" + "abc"
    assert [len(each) for each in taken] == [3, 3, 3]


@pytest.mark.parametrize(
    ("work", "words"),
    [
        ("broken", "the peer cannot be timed: ValueError: no such network"),
        ("unknown", "the peer cannot be timed: KeyError: 'unknown'"),
        ("dying", "the peer cannot be timed: its process ended with code 3"),
    ],
)
def test_what_goes_wrong_in_a_worker_is_a_sentence(worker, work, words):
    def ask() -> None:
        worker.make("a", work, {})
        worker.run("a", 1)

    with pytest.raises(InputError, match=words):
        ask()


def test_a_worker_that_cannot_begin(side, tmp_path):
    with pytest.raises(InputError, match="cannot be run"):
        Worker(side._replace(python=tmp_path / "none"))
    side.works.write_text("import a_library_that_is_not_there")
    with (
        Worker(side) as worker,
        pytest.raises(InputError, match="No module named 'a_library_that_is_not_there'"),
    ):
        worker.make("a", "sleeping", {})


def test_a_worker_that_gives_no_answer(side):
    with Worker(side, patience=0.5) as worker:
        worker._patience, patience = 60.0, worker._patience  # its start may take longer
        worker.make("a", "sleeping", {"seconds": 60.0})
        worker._patience = patience
        with pytest.raises(InputError, match="gave no answer in 0 s"):
            worker.run("a", 1)
        process = worker._process
    assert process.poll() is not None


def test_a_ratio_is_the_median_of_the_rounds():
    found = Ratio.of([1.0, 2.0, 4.0], [5.0, 5.0, 12.0])
    assert found == (2.0, 5.0, 3.0, 2.5, 5.0)


@pytest.fixture
def comparison(side):
    """Two libraries that sleep; one of them four times as long."""
    sides = {"etairl": side, "sb3": side, "sbx": side}
    return Comparison(sides, cores=1, rounds=3, starts=1)


def _sleep(who: str, seconds: float, units: int) -> Doer:
    return Doer(who, "sleeping", {"seconds": seconds}, units)


@pytest.fixture
def case():
    theirs = (
        Theirs("Slow", _sleep("sb3", 0.04, 1), "sleeps long", limit=2.0),
        Theirs("Same", _sleep("sbx", 0.01, 2), limit=100.0),
    )
    ours = _sleep("etairl", 0.01, 4)
    return Case("a nap", ("ms", 1e3), ours, theirs, (("Awake", "never sleeps"),))


def test_every_row_is_a_ratio_within_one_run(comparison, case, capsys):
    (rows,) = comparison.rows([case], [])
    assert [(row.what, row.beside) for row in rows] == [
        ("a nap", "Slow"),
        ("a nap", "Same"),
        ("a nap", "Awake"),
    ]
    slow, same, awake = rows
    assert 10 <= slow.ours < 40 <= slow.theirs
    assert 2 < slow.ratio < 5
    assert slow.ok
    assert not same.ok  # it is not a hundred times as slow
    assert (awake.ratio, awake.note, awake.ok) == (None, "never sleeps", True)
    bench_peers.table_of_peers(rows)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] == "!" for line in lines[1:]] == [False, True, False]
    assert "nothing comparable" in lines[3]
    assert f"{slow.ratio:.3g}" in lines[1]


def test_starts_are_fresh_processes(comparison, case):
    start = Start("a nap", case.ours, case.theirs)
    (seconds, *_), (memory, *_) = comparison.rows([], [start])
    assert [seconds.what, memory.what] == ["a nap, time", "a nap, memory"]
    assert seconds.unit == "s"
    assert 0.04 < seconds.ours < 10
    assert memory.unit == "MB"
    assert 5 < memory.ours < 60  # not that of the process which started it
    assert memory.ratio == pytest.approx(1.0, abs=0.2)


def test_a_missed_limit_is_the_exit_code(comparison, case):
    def code(limit: float) -> bool:
        theirs = (case.theirs[0]._replace(limit=limit),)
        (rows,) = comparison.rows([case._replace(theirs=theirs, absent=())], [])
        return all(row.ok for row in rows)

    assert code(1.5)
    assert not code(50.0)


def test_the_peers_are_asked_for_works_that_they_have():
    files = {name: library.works for name, library in LIBRARIES.items()}
    files["etairl"] = "works_of_etairl.py"
    for case in (*all_cases(1), *all_starts(1)):
        for doer in case.doers:
            module = ast.parse((BENCH / files[doer.who]).read_text())
            (works,) = (
                node.value
                for node in module.body
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "WORKS"
            )
            assert isinstance(works, ast.Dict)
            assert doer.work in [ast.literal_eval(key) for key in works.keys if key]
            json.dumps(doer.settings)


def test_both_sides_learn_with_the_same_sizes():
    """Limits are those of updates, of the same width and batch."""
    limits = {}
    for case in all_cases(1):
        for their in case.theirs:
            if their.limit is not None:
                limits.setdefault(their.beside, []).append(their.limit)
            if case.what.startswith("an update of SAC"):
                assert their.doer.settings["hidden"] == case.ours.settings["hidden"]
                assert their.doer.units % their.doer.settings["calls"] == 0
    assert limits["Stable-Baselines3"] == [5.0] * 6
    assert limits["SBX"] == [1.3] * 6


def test_what_runs_beside_the_peers_imports_nothing_of_ours():
    for name in ("timed_works.py", "works_of_baselines.py", "works_of_imitation.py"):
        tree = ast.parse((BENCH / name).read_text())
        found = [
            alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names
        ]
        found += [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        assert found
        assert not [module for module in found if module.split(".")[0] == "etairl"]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("ERROR: Could not install packages: [Errno 28] No space left on device", "no space left"),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(…)': /simple/torch/\n"
            "ERROR: No matching distribution found for torch==2.13.0",
            "it needs a network",
        ),
        ("Error: Command '…/python -m ensurepip' returned 1", "install its venv package"),
        ("…\nERROR: No matching distribution found for x", "No matching distribution found for x"),
        ("", "pip said nothing"),
    ],
)
def test_why_an_environment_could_not_be_made(said, words):
    assert words in why_pip_failed(said.splitlines())


def test_an_environment_needs_space(tmp_path, monkeypatch):
    monkeypatch.setattr(peer_environments, "GIGABYTES", 1e9)
    with pytest.raises(InputError, match=r"needs 1000000000.0 GB, and .* has .*; make room"):
        python_of(BASELINES, tmp_path, print)
    assert list(tmp_path.iterdir()) == []


def test_environments_are_removed_unless_they_are_kept(tmp_path):
    made = []

    def stopped() -> None:
        with place(None) as folder:
            made.append(folder / "bin")
            made[0].mkdir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert not made[0].parent.exists()
    with place(tmp_path / "kept") as folder:
        (folder / "bin").mkdir()
    assert (tmp_path / "kept" / "bin").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be made"), place(tmp_path / "file"):
        pass


def test_other_packages_make_another_environment():
    assert BASELINES.mark != IMITATION.mark
    assert BASELINES.mark != BASELINES._replace(packages=("other",)).mark


def _wheel(folder: Path) -> Path:
    """A package that exists nowhere else."""
    file = folder / "tiny_peer-1.2-py3-none-any.whl"
    about = "tiny_peer-1.2.dist-info"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("tiny_peer.py", "ANSWER = 42\n")
        archive.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-peer\nVersion: 1.2\n"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/RECORD", "")
    return file


@pytest.mark.slow  # makes an environment
def test_an_environment_is_made_once_and_used(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    peers, said = Peers("Tiny", (str(_wheel(tmp_path)),)), list[str]()
    python = python_of(peers, tmp_path / "kept", said.append)
    assert said[0] == "making an environment for Tiny"
    file = tmp_path / "works.py"
    file.write_text("import tiny_peer\nWORKS = {'answer': lambda settings: lambda units: None}\n")
    with Worker(Contestant("Tiny", python, file)) as worker:
        worker.make("a", "answer", {})
        assert worker.ask(about=["tiny_peer"])["versions"] == {"tiny_peer": "1.2"}
    before = len(said)
    assert python_of(peers, tmp_path / "kept", said.append) == python
    assert len(said) == before


@pytest.mark.slow  # makes environments
@pytest.mark.parametrize(
    "settings",
    [
        {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""},
        # Nobody listens at the port 9 of this machine.
        {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0"},
    ],
)
def test_without_packages_the_command_says_so(tmp_path, monkeypatch, settings):
    for name, value in {"PIP_CONFIG_FILE": os.devnull, **settings}.items():
        monkeypatch.setenv(name, value)
    peers = Peers("Tiny", ("a-peer-that-is-nowhere==1.0",))
    with pytest.raises(InputError, match=r"Tiny could not be made: .*it needs a network"):
        python_of(peers, tmp_path, str)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["solver", "--peers"], "--peers is a table of its own; leave solver out"),
        (["--keep", "x"], "go with --peers"),
        (["--rounds", "2"], "go with --peers"),
        (["--rows", "update"], "go with --peers"),
        (["--peers", "--rows", "tea"], "no row has 'tea'; choose from simulator alone, a step; .*"),
        (["--peers", "--rounds", "0"], "rounds"),
        (["--peers", "--cores", "1000"], "--cores 1000 is more than the"),
    ],
)
def test_options_that_do_not_fit(arguments, words):
    with pytest.raises(InputError, match=words):
        bench.run(arguments)


@pytest.mark.slow  # minutes: compiles all of ours
def test_all_of_our_own_works_run():
    own = Contestant("etairl", Path(sys.executable), BENCH / "works_of_etairl.py", own=True)
    with Worker(own) as worker:
        for case in (*all_cases(1), *all_starts(1)):
            for doer in case.doers:
                if doer.who == "etairl":
                    worker.make("a", doer.work, doer.settings)
                    assert worker.run("a", doer.units) > 0


@pytest.mark.slow  # a quarter of an hour
def test_the_table_beside_the_peers(capsys):
    """Where ETAIRL_PEER_ENVIRONMENTS names a folder that `etairl bench --peers --keep` filled."""
    folder = os.environ.get("ETAIRL_PEER_ENVIRONMENTS")
    if folder is None:
        pytest.skip("set ETAIRL_PEER_ENVIRONMENTS to a folder of `etairl bench --peers --keep`")
    assert bench.run(["--peers", "--keep", folder, "--rounds", "1", "--json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    assert {row["beside"] for row in found["peers"]} >= {lib.title for lib in LIBRARIES.values()}
    assert all(row["ratio"] is None or row["ratio"] > 0 for row in found["peers"])
