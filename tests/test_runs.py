import json
import shutil
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

from etairl.buffers import Replay
from etairl.runs import (
    RunDirectory,
    load_replay,
    load_tree,
    read_json,
    read_metrics,
    save_replay,
    save_tree,
    write_atomic,
)
from etairl.types import InputError, Step


@dataclass(frozen=True)
class Settings:
    steps: int = 10
    rate: float = 0.1


@pytest.fixture
def directory(tmp_path) -> RunDirectory:
    """A run that has just begun."""
    begun = RunDirectory(tmp_path / "run")
    begun.open(Settings())
    return begun


def checkpoint(directory, number, trees, values, replay):
    save_replay(directory, replay)
    kept = {**values, "replay_added": replay.added}
    directory.save(number, trees, kept, replay.added - replay.rows)


def resume(path, like, replay):
    directory = RunDirectory(path)
    trees, values = directory.load(like)
    load_replay(directory, replay, values["replay_added"])
    return trees, values


def filled(rng, steps, capacity=60) -> Replay:
    replay = Replay(capacity, 3, 2, 1)
    replay.start(rng.normal(size=(3, 2)).astype(np.float32))
    more(rng, replay, steps)
    return replay


def more(rng, replay, steps):
    for _ in range(steps):
        step = Step(
            rng.normal(size=(3, 2)).astype(np.float32),
            rng.normal(size=3).astype(np.float32),
            rng.random(3) < 0.1,
            np.zeros(3, bool),
            rng.random(3) < 0.1,
        )
        replay.add(rng.normal(size=(3, 1)).astype(np.float32), step)


@pytest.mark.parametrize("parts", [(5,), (5, 7), (5, 30, 4), (19, 1, 25, 0, 3)])
def test_a_replay_comes_back_from_its_segments(directory, tmp_path, rng, parts):
    replay = filled(rng, 0)
    for number, steps in enumerate(parts, start=1):
        more(rng, replay, steps)
        checkpoint(directory, number, {"net": {"w": jnp.ones(3)}}, {"steps": steps}, replay)
    again = Replay(60, 3, 2, 1)
    trees, values = resume(tmp_path / "run", {"net": {"w": jnp.zeros(3)}}, again)
    assert values["steps"] == parts[-1]
    assert trees["net"]["w"].tolist() == [1, 1, 1]
    assert (again.added, again.next) == (replay.added, replay.next)
    drawn, expected = (r.draw(np.random.default_rng(1), (500,)) for r in (again, replay))
    for a, b in zip(drawn, expected, strict=True):
        assert np.array_equal(a, b)


def test_two_checkpoints_are_kept_and_old_segments_go(directory, tmp_path, rng):
    replay = filled(rng, 0)
    for number in range(1, 9):
        more(rng, replay, 10)
        checkpoint(directory, number, {}, {}, replay)
    assert sorted(p.name for p in (tmp_path / "run/checkpoints").iterdir()) == [
        "00000007",
        "00000008",
    ]
    assert len(list((tmp_path / "run/replay").iterdir())) <= 3


@pytest.mark.parametrize("hurt", ["values.json", "net.safetensors"])
def test_after_a_damaged_checkpoint_the_one_before_is_whole(directory, tmp_path, rng, hurt):
    """Also what it needs of a memory that has been overwritten since."""
    replay = filled(rng, 0)
    net = {"net": {"w": jnp.ones(3)}}
    expected = ()
    for number in range(1, 9):
        expected = replay.draw(np.random.default_rng(1), (500,)) if replay.added else ()
        more(rng, replay, 15)
        checkpoint(directory, number, net, {}, replay)
    newest = tmp_path / "run/checkpoints/00000008"
    (newest / hurt).write_bytes((newest / hurt).read_bytes()[:10])
    with pytest.raises(InputError, match=rf"{hurt}: .*; move .*00000008 elsewhere to go on"):
        resume(tmp_path / "run", net, Replay(60, 3, 2, 1))
    newest.rename(newest.with_name("00000008.damaged"))
    again = Replay(60, 3, 2, 1)
    resume(tmp_path / "run", net, again)
    for a, b in zip(again.draw(np.random.default_rng(1), (500,)), expected, strict=True):
        assert np.array_equal(a, b)
    more(rng, again, 1)
    (tmp_path / "run/checkpoints/00000007" / hurt).write_text("{")
    checkpoint(directory, 8, net, {}, again)  # an older one that is damaged is no reason to stop
    (tmp_path / "run/checkpoints/00000008" / hurt).write_text("{")
    shutil.rmtree(tmp_path / "run/checkpoints/00000007")
    with pytest.raises(InputError, match=f"{hurt}: .*, and there is no checkpoint before it"):
        resume(tmp_path / "run", net, Replay(60, 3, 2, 1))


def test_a_checkpoint_of_another_size_is_not_damaged(directory, tmp_path, rng):
    replay = filled(rng, 4)
    for number in (1, 2):
        checkpoint(directory, number, {"net": {"w": jnp.ones(3)}}, {}, replay)
    with pytest.raises(InputError, match="of another size") as told:
        resume(tmp_path / "run", {"net": {"w": jnp.ones(4)}}, Replay(60, 3, 2, 1))
    assert "elsewhere" not in str(told.value)


@pytest.mark.parametrize("lost", [0, 1, 2, 3])
def test_a_memory_with_a_hole_is_refused(directory, tmp_path, rng, lost):
    replay = filled(rng, 0)
    for number in range(1, 5):
        more(rng, replay, 3)
        checkpoint(directory, number, {}, {}, replay)
    sorted((tmp_path / "run/replay").iterdir())[lost].unlink()
    gone = f"from {3 * lost} to 12 is gone"
    with pytest.raises(InputError, match=gone):
        resume(tmp_path / "run", {}, Replay(60, 3, 2, 1))


@pytest.mark.parametrize("full", [False, True], ids=["whole", "overwritten"])
def test_checkpoints_that_do_not_say_where_their_memory_begins(directory, tmp_path, rng, full):
    """Written by an older version: all that there was is needed, and there if nothing was lost."""
    replay = filled(rng, 0)
    for number in range(1, 9):
        more(rng, replay, 10 if full else 2)
        checkpoint(directory, number, {}, {}, replay)
    for file in (tmp_path / "run/checkpoints").glob("*/values.json"):
        values = json.loads(file.read_text())
        del values["since"]
        file.write_text(json.dumps(values))
    again = Replay(60, 3, 2, 1)
    if full:
        with pytest.raises(InputError, match="is gone"):
            resume(tmp_path / "run", {}, again)
    else:
        resume(tmp_path / "run", {}, again)
        assert again.added == 16


def test_the_same_checkpoint_twice_is_one(directory, tmp_path, rng):
    """An interrupt may come between writing a checkpoint and going on."""
    replay = filled(rng, 4)
    for _ in range(2):
        checkpoint(directory, 1, {"net": {"w": jnp.ones(3)}}, {"steps": 12}, replay)
    _, values = resume(tmp_path / "run", {}, Replay(60, 3, 2, 1))
    assert values["steps"] == 12


def test_what_was_written_after_the_checkpoint_is_dropped(directory, tmp_path, rng):
    replay = filled(rng, 4)
    directory.log({"cycle": 1, "return": 1.0})
    checkpoint(directory, 1, {}, {}, replay)
    directory.log({"cycle": 2, "return": 2.0})
    more(rng, replay, 3)
    save_replay(directory, replay)  # killed between the segment and the checkpoint
    with (tmp_path / "run/metrics.jsonl").open("a") as stream:
        stream.write('{"cycle": 3, "retu')  # killed within a line
    again = Replay(60, 3, 2, 1)
    resume(tmp_path / "run", {}, again)
    assert again.added == 4
    lines = (tmp_path / "run/metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["cycle"] for line in lines] == [1]
    assert len(list((tmp_path / "run/replay").iterdir())) == 1


def test_a_kill_before_the_checkpoint_loses_nothing_of_a_full_memory(directory, tmp_path, rng):
    """What the new rows overwrite still belongs to the checkpoint before."""
    replay = filled(rng, 0)
    for number in range(1, 9):
        more(rng, replay, 5)
        checkpoint(directory, number, {}, {}, replay)
    expected = replay.draw(np.random.default_rng(1), (500,))
    more(rng, replay, 15)
    save_replay(directory, replay)
    again = Replay(60, 3, 2, 1)
    resume(tmp_path / "run", {}, again)
    for a, b in zip(again.draw(np.random.default_rng(1), (500,)), expected, strict=True):
        assert np.array_equal(a, b)


def test_broken_lines_are_left_out(tmp_path):
    """A full disk cuts a line, and what comes after it joins it."""
    (tmp_path / "metrics.jsonl").write_text('{"cycle": 1}\n{"cyc{"cycle": 2}\n{"cycle": 3}\n{"cy')
    assert [row["cycle"] for row in read_metrics(tmp_path)] == [1, 3]
    assert read_metrics(tmp_path / "nowhere") == []


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "result.json").write_text("{")
    with pytest.raises(InputError, match=r"result\.json: cannot be read"):
        read_json(tmp_path / "result.json")


def test_a_folder_belongs_to_one_run(tmp_path):
    RunDirectory(tmp_path / "run").open(Settings())
    assert not RunDirectory(tmp_path / "run").open(Settings())
    with pytest.raises(InputError, match=r"other settings \(rate\); choose another folder"):
        RunDirectory(tmp_path / "run").open(Settings(rate=0.2))
    assert not RunDirectory(tmp_path / "run").open(Settings(steps=20), may_change=("steps",))
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_text("")
    with pytest.raises(InputError, match="exists and is no run"):
        RunDirectory(tmp_path / "photos").open(Settings())


def test_trees_of_another_size_or_damaged_are_refused(tmp_path):
    save_tree(tmp_path / "t.safetensors", {"w": jnp.ones((2, 3)), "n": jnp.float32(7)})
    same = load_tree(tmp_path / "t.safetensors", {"w": jnp.zeros((2, 3)), "n": jnp.float32(0)})
    assert float(same["n"]) == 7.0
    with pytest.raises(InputError, match=r"\['w'\] is missing or of another size"):
        load_tree(tmp_path / "t.safetensors", {"w": jnp.zeros((3, 3)), "n": jnp.float32(0)})
    raw = (tmp_path / "t.safetensors").read_bytes()
    (tmp_path / "t.safetensors").write_bytes(raw[:20])
    with pytest.raises(InputError, match="cannot be read"):
        load_tree(tmp_path / "t.safetensors", {"w": jnp.zeros((2, 3))})


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    write_atomic(tmp_path / "f", b"old")
    monkeypatch.setattr("os.fsync", lambda fd: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError, match="No space left"):
        write_atomic(tmp_path / "f", b"new")
    assert (tmp_path / "f").read_bytes() == b"old"


def test_a_kill_while_a_run_begins_leaves_a_folder_to_go_on_in(tmp_path):
    config = Settings()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".config.json.part").write_text("{")
    directory = RunDirectory(tmp_path / "run")
    assert directory.open(config) is False
    (tmp_path / "run" / "versions.json").unlink()
    assert directory.open(config) is False
    directory.check_versions()


def test_what_a_finished_run_has_left_over_is_cleared(directory, tmp_path, rng, monkeypatch):
    """Also when it was killed after its result was written."""

    def killed(*_, **__):
        raise KeyboardInterrupt

    checkpoint(directory, 1, {}, {}, filled(rng, 5))
    monkeypatch.setattr("shutil.rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        directory.finish({"cycles": 1})
    monkeypatch.undo()
    assert directory.finished
    assert directory.has_checkpoint
    directory.clear()
    kept = {p.name for p in (tmp_path / "run").iterdir()}
    assert kept == {"config.json", "versions.json", "result.json"}
