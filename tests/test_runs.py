import json
import shutil

import jax.numpy as jnp
import numpy as np
import pytest

from etairl.buffers import Replay
from etairl.checkpoints import load_replay, save_replay
from etairl.locks import held
from etairl.runs import RunDirectory, no_run, read_metrics, read_result
from etairl.storage import UnreadableError, read_json, read_rows, write_atomic, write_json
from etairl.trees import load_tree, save_tree
from etairl.types import InputError, Step

SETTINGS = {"steps": 10, "rate": 0.1}


@pytest.fixture
def directory(tmp_path) -> RunDirectory:
    """A run that has just begun."""
    begun = RunDirectory(tmp_path / "run")
    begun.open(SETTINGS)
    return begun


def checkpoint(directory, number, trees, values, replay):
    since = save_replay(directory.checkpoints, replay)
    directory.checkpoints.save(number, trees, {**values, "replay_added": replay.added}, since)


def resume(path, like, replay):
    directory = RunDirectory(path)
    assert directory.open(SETTINGS)
    checkpoints = directory.checkpoints
    trees, values = checkpoints.load(like)
    load_replay(checkpoints, replay, values["replay_added"])
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


KEPT = {"net": {"w": jnp.ones(3)}}


@pytest.fixture
def two(directory, rng) -> tuple[RunDirectory, list]:
    """A run with two checkpoints of a replay that has been overwritten, and what each draws."""
    replay, drawn = filled(rng, 0), []
    for number in range(1, 9):
        more(rng, replay, 15)
        directory.log({"cycle": number})
        checkpoint(directory, number, KEPT, {}, replay)
        drawn.append(replay.draw(np.random.default_rng(1), (500,)))
    return directory, drawn[-2:]


def flip(path) -> None:
    """One bit, in the middle."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def refused(path) -> str:
    """What is said instead of resuming: one sentence."""
    with pytest.raises(InputError) as told:
        resume(path, KEPT, Replay(60, 3, 2, 1))
    assert "\n" not in str(told.value)
    assert str(told.value).count(";") == 1
    return str(told.value)


NEWEST = "checkpoints/00000008"
DAMAGES = {
    "a bit of a tree": lambda run: flip(run / NEWEST / "net.safetensors"),
    "the end of a tree": lambda run: cut(run / NEWEST / "net.safetensors", 10),
    "a tree is gone": lambda run: (run / NEWEST / "net.safetensors").unlink(),
    "a bit of the manifest": lambda run: flip(run / NEWEST / "checkpoint.json"),
    "the end of the manifest": lambda run: cut(run / NEWEST / "checkpoint.json", 10),
    "no manifest": lambda run: (run / NEWEST / "checkpoint.json").unlink(),
    "an empty manifest": lambda run: cut(run / NEWEST / "checkpoint.json", 0),
    "a list": lambda run: (run / NEWEST / "checkpoint.json").write_text("[]"),
    "a number": lambda run: (run / NEWEST / "checkpoint.json").write_text("7"),
    "another object": lambda run: (run / NEWEST / "checkpoint.json").write_text("{}"),
    "no text": lambda run: (run / NEWEST / "checkpoint.json").write_bytes(b"\xff\xfe{"),
    "nested": lambda run: (run / NEWEST / "checkpoint.json").write_text("[" * 100_000),
    "a number in it": lambda run: rewritten(run / NEWEST / "checkpoint.json"),
    "the end of the metrics": lambda run: cut(run / "metrics.jsonl", -4),
    "a bit of the metrics": lambda run: changed_line(run / "metrics.jsonl"),
    "a bit of the newest segment": lambda run: flip(segments(run)[-1]),
    "the newest segment is gone": lambda run: segments(run)[-1].unlink(),
}


def cut(path, end: int) -> None:
    path.write_bytes(path.read_bytes()[:end])


def changed_line(path) -> None:
    """In the line that came after the older checkpoint."""
    path.write_text(path.read_text().replace('"cycle": 8', '"cycle": 9'))


def rewritten(path) -> None:
    """By hand: valid JSON, but not what was written."""
    manifest = json.loads(path.read_text())
    manifest["values"]["since"] -= 1
    path.write_text(json.dumps(manifest))


def segments(run) -> list:
    return sorted((run / "replay").iterdir())


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_is_said_and_the_checkpoint_before_is_taken(two, damage):
    """Also what it needs of a replay that has been overwritten since."""
    directory, (before, _) = two
    damage(directory.path)
    again = Replay(60, 3, 2, 1)
    reopened = RunDirectory(directory.path)
    assert reopened.open(SETTINGS)
    (note,) = reopened.notes
    aside = directory.path / "checkpoints/damaged-00000008"
    assert note.endswith(
        "; the run is resumed from the checkpoint before it, of cycle 7, and the damaged one is "
        f"kept in {aside}"
    )
    assert aside.is_dir()
    _, values = resume(directory.path, KEPT, again)
    assert values["cycle"] == 7
    for a, b in zip(again.draw(np.random.default_rng(1), (500,)), before, strict=True):
        assert np.array_equal(a, b)
    assert [row["cycle"] for row in read_metrics(directory.path)] == list(range(1, 8))
    more(np.random.default_rng(0), again, 1)
    checkpoint(directory, 8, KEPT, {}, again)
    assert resume(directory.path, KEPT, Replay(60, 3, 2, 1))[1]["cycle"] == 8


HOPELESS = {
    "no metrics": lambda run: (run / "metrics.jsonl").unlink(),
    "the first metrics": lambda run: flip(run / "metrics.jsonl"),
    "a segment of both": lambda run: flip(segments(run)[-2]),
    "a segment of both is gone": lambda run: segments(run)[-2].unlink(),
    "both trees": lambda run: [flip(f) for f in run.glob("checkpoints/*/net.safetensors")],
    "no older one": lambda run: (
        flip(run / NEWEST / "net.safetensors"),
        shutil.rmtree(run / "checkpoints/00000007"),
    ),
}


@pytest.mark.parametrize("damage", HOPELESS.values(), ids=HOPELESS)
def test_an_older_checkpoint_that_is_not_whole_is_not_taken(two, damage):
    directory, _ = two
    damage(directory.path)
    ending = "; no older checkpoint is whole: restore the file, or start a new run"
    assert refused(directory.path).endswith(ending)


def test_a_damaged_older_checkpoint_is_no_reason_to_stop(two, rng):
    directory, (_, latest) = two
    flip(directory.path / "checkpoints/00000007/checkpoint.json")
    again = Replay(60, 3, 2, 1)
    resume(directory.path, KEPT, again)
    for a, b in zip(again.draw(np.random.default_rng(1), (500,)), latest, strict=True):
        assert np.array_equal(a, b)
    more(rng, again, 1)
    checkpoint(directory, 9, KEPT, {}, again)
    assert resume(directory.path, KEPT, Replay(60, 3, 2, 1))[1]["cycle"] == 9


def test_a_checkpoint_of_another_shape_is_not_damaged(directory, tmp_path, rng):
    replay = filled(rng, 4)
    for number in (1, 2):
        checkpoint(directory, number, KEPT, {}, replay)
    with pytest.raises(InputError, match="has another shape; was it made with other"):
        resume(tmp_path / "run", {"net": {"w": jnp.ones(4)}}, Replay(60, 3, 2, 1))
    assert (tmp_path / "run/checkpoints/00000002").is_dir()


@pytest.mark.parametrize("lost", [0, 1, 2, 3])
def test_a_replay_with_a_hole_is_refused(directory, tmp_path, rng, lost):
    replay = filled(rng, 0)
    for number in range(1, 5):
        more(rng, replay, 3)
        checkpoint(directory, number, {}, {}, replay)
    segments(tmp_path / "run")[lost].unlink()
    if lost == 3:  # the checkpoint before does not need it
        assert resume(tmp_path / "run", {}, Replay(60, 3, 2, 1))[1]["cycle"] == 3
        return
    with pytest.raises(InputError, match=f"from {3 * lost} to 12 is missing; no older"):
        resume(tmp_path / "run", {}, Replay(60, 3, 2, 1))


def test_a_checkpoint_of_an_older_version_is_refused_in_words(directory, tmp_path):
    """Those of 0.1 had values.json; a run of it is not resumed anyway."""
    folder = tmp_path / "run/checkpoints/00000003"
    folder.mkdir(parents=True)
    (folder / "values.json").write_text("{}")
    with pytest.raises(InputError, match=r"checkpoint\.json: cannot be read \(No such file"):
        directory.checkpoints.load({})


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
    save_replay(directory.checkpoints, replay)  # killed between the segment and the checkpoint
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
    save_replay(directory.checkpoints, replay)
    again = Replay(60, 3, 2, 1)
    resume(tmp_path / "run", {}, again)
    for a, b in zip(again.draw(np.random.default_rng(1), (500,)), expected, strict=True):
        assert np.array_equal(a, b)


def test_broken_lines_are_left_out(tmp_path):
    """A full disk cuts a line, and what comes after it joins it."""
    (tmp_path / "metrics.jsonl").write_text('{"cycle": 1}\n{"cyc{"cycle": 2}\n{"cycle": 3}\n{"cy')
    assert [row["cycle"] for row in read_metrics(tmp_path)] == [1, 3]
    assert read_metrics(tmp_path / "nowhere") == []


BROKEN = {
    "cut": b"{",
    "empty": b"",
    "list": b"[1]",
    "number": b"7",
    "null": b"null",
    "bytes": b"\xff\xfe",
    "nested": b"[" * 100_000,
    "trailing": b"{} {}",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_damaged_json_is_named(tmp_path, data):
    file = tmp_path / "result.json"
    file.write_bytes(data)
    for read in (lambda: read_json(file), lambda: read_result(tmp_path)):
        with pytest.raises(UnreadableError, match=r"result\.json: cannot be read") as told:
            read()
        assert "\n" not in str(told.value)
    file.unlink()
    with pytest.raises(UnreadableError, match=r"result\.json: cannot be read \(No such file"):
        read_json(file)
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(data + b'\n{"cycle": 2}\n')
    assert read_rows(rows) == [{"cycle": 2}]


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_damaged_settings_of_a_run_are_named(directory, data):
    (directory.path / "versions.json").write_bytes(data)
    with pytest.raises(InputError, match=r"versions\.json: cannot be read"):
        directory.check_versions()
    with pytest.raises(InputError, match=r"versions\.json: cannot be read"):
        directory.check_demonstrations("abc")
    (directory.path / "config.json").write_bytes(data)
    with pytest.raises(InputError, match=r"config\.json: cannot be read"):
        directory.open(SETTINGS)


def test_a_run_is_resumed_with_the_versions_and_demonstrations_that_began_it(tmp_path):
    directory = RunDirectory(tmp_path / "run")
    directory.open(SETTINGS, demonstrations="abc")
    directory.check_versions()
    directory.check_demonstrations("abc")
    with pytest.raises(InputError, match=r"the demonstrations are not those that .*run was begun"):
        directory.check_demonstrations("abd")
    file = tmp_path / "run" / "versions.json"
    write_json(file, json.loads(file.read_text()) | {"numpy": "0.1"})
    with pytest.raises(InputError, match=r"begun with other versions \(numpy 0\.1 → "):
        directory.check_versions()


def test_results_of_the_first_version_have_a_score(tmp_path):
    """It wrote a normalised cost: 0 the expert, 1 a random policy."""
    whole = dict.fromkeys(("cycles", "transitions", "expert_return", "best"))
    remaining = {"normalised_cost": 0.25, "cycles": 3}
    write_json(tmp_path / "result.json", whole | {"remaining": remaining})
    assert read_result(tmp_path)["remaining"] == {"score": 0.75, "cycles": 3}
    (tmp_path / "metrics.jsonl").write_text('{"cycle": 1, "normalised_cost": 1.5}\n')
    assert read_metrics(tmp_path) == [{"cycle": 1, "score": -0.5}]


@pytest.mark.parametrize("cost", ["'1.5'", None, [], {}, "1.5"])
def test_costs_of_the_first_version_that_are_no_numbers(tmp_path, cost):
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"cycle": 1, "normalised_cost": cost}))
    with pytest.raises(InputError, match=r"metrics\.jsonl: it is damaged"):
        read_metrics(tmp_path)
    remaining = {"normalised_cost": cost}
    whole = dict.fromkeys(("cycles", "transitions", "expert_return", "best"), 1)
    (tmp_path / "result.json").write_text(json.dumps({**whole, "remaining": remaining}))
    with pytest.raises(InputError, match=r"result\.json: it is damaged"):
        read_result(tmp_path)


def test_leftovers_of_a_kill_are_cleared(directory, rng):
    """Half-written files, and checkpoints; other hidden files stay."""
    checkpoint(directory, 1, KEPT, {}, filled(rng, 4))
    run = directory.path
    parts = [run / ".metrics.jsonl.77.part", run / "replay/.0-1-a.safetensors.77.part"]
    for part in parts:
        part.write_text("{")
    half = run / "checkpoints/.00000002.part"
    half.mkdir()
    (half / "net.safetensors").write_text("{")
    (run / ".notes").write_text("mine")
    assert directory.checkpoints.cycle == 1
    assert directory.open(SETTINGS) is True
    assert not any(part.exists() for part in (*parts, half))
    assert (run / ".notes").read_text() == "mine"
    assert resume(run, KEPT, Replay(60, 3, 2, 1))[1]["cycle"] == 1


def test_a_folder_belongs_to_one_run(tmp_path):
    RunDirectory(tmp_path / "run").open(SETTINGS)
    assert not RunDirectory(tmp_path / "run").open(SETTINGS)
    with pytest.raises(InputError, match=r"other settings \(rate\); choose another folder"):
        RunDirectory(tmp_path / "run").open(SETTINGS | {"rate": 0.2})
    assert not RunDirectory(tmp_path / "run").open(SETTINGS | {"steps": 20}, may_change=("steps",))
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_text("")
    with pytest.raises(InputError, match="exists and is not a run"):
        RunDirectory(tmp_path / "photos").open(SETTINGS)


def test_trees_of_another_shape_or_damaged_are_refused(tmp_path):
    save_tree(tmp_path / "t.safetensors", {"w": jnp.ones((2, 3)), "n": jnp.float32(7)})
    same = load_tree(tmp_path / "t.safetensors", {"w": jnp.zeros((2, 3)), "n": jnp.float32(0)})
    assert float(same["n"]) == 7.0
    with pytest.raises(InputError, match=r"\['w'\] is missing or has another shape"):
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
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_kill_while_a_run_begins_leaves_a_folder_to_go_on_in(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".config.json.part").write_text("{")
    directory = RunDirectory(tmp_path / "run")
    assert directory.open(SETTINGS) is False
    (tmp_path / "run" / "versions.json").unlink()
    assert directory.open(SETTINGS) is False
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
    assert directory.checkpoints.any
    directory.clear()
    kept = {p.name for p in (tmp_path / "run").iterdir()}
    assert kept == {"config.json", "versions.json", "result.json"}


def test_a_damaged_result_is_refused_and_nothing_is_removed(directory, rng):
    checkpoint(directory, 1, KEPT, {}, filled(rng, 4))
    for text in ("garbage", "{}", "5"):
        (directory.path / "result.json").write_text(text)
        with pytest.raises(InputError, match=r"result\.json"):
            directory.clear()
        with pytest.raises(InputError, match=r"result\.json"):
            read_result(directory.path)
    assert directory.checkpoints.any


def test_settings_that_were_changed_since_the_checkpoint_are_refused(directory, rng):
    config = json.loads((directory.path / "config.json").read_text())
    directory.open(config)
    checkpoint(directory, 1, KEPT, {}, filled(rng, 4))
    again = RunDirectory(directory.path)
    name = next(iter(config))
    (directory.path / "config.json").write_text(json.dumps(config | {name: "other"}))
    again.open(config | {name: "other"})
    with pytest.raises(InputError, match=r"config\.json is not as it was when the run was stopped"):
        again.checkpoints.load({})


def test_what_is_no_run_names_one_that_is(tmp_path):
    """A name that was mistyped, the folder around runs, a file, and one of something else."""
    (tmp_path / "runs/other").mkdir(parents=True)
    (tmp_path / "runs/hopper").mkdir()
    (tmp_path / "runs/hopper/config.json").write_text("{}")
    (tmp_path / "file").write_text("")
    for name, said in (
        ("runs/hoper", f"no such folder; did you mean {tmp_path}/runs/hopper?"),
        ("runs/nothing-like-it", "no such folder; name one that etairl train -o has made"),
        ("runs", f"but holds some; name one: {tmp_path}/runs/hopper"),
        ("runs/other", "it has no config.json"),
        ("file", "is not a run directory but a file"),
    ):
        words = no_run(tmp_path / name)
        assert words.startswith(f"{tmp_path / name} is not a run directory")
        assert said in words


def test_a_file_where_a_run_should_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is a file; name a folder"), held(tmp_path / "file"):
        pytest.fail("a file was held as a folder")
