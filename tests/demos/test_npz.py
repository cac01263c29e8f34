"""Files that others made: good ones read exactly, bad ones give one sentence."""

import io
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy

from etairl.demos import Demos, load_demos, save_demos
from etairl.types import InputError, Trajectories


def arrays(demos: Demos) -> dict[str, np.ndarray]:
    t = demos.trajectories
    return {
        "observations": t.observations,
        "actions": t.actions,
        "rewards": t.rewards,
        "terminals": t.terminated,
        "timeouts": t.truncated,
        "episode_lengths": t.lengths,
        "final_observations": t.final_observations,
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "demos.npz"


def test_a_round_trip_keeps_every_array(assert_same, demos, path):
    save_demos(demos, path)
    again = load_demos(path)
    assert_same(demos.trajectories, again.trajectories)
    assert again.spec == demos.spec


def test_tasks_doubles_and_missing_rewards_survive(assert_same, demos, path):
    t = demos.trajectories
    bare = Trajectories(
        t.observations.astype(np.float64),
        t.actions.astype(np.float64),
        t.terminated,
        t.truncated,
        t.offsets,
        tasks=np.arange(len(t) * 2, dtype=np.float32).reshape(len(t), 2),
    )
    save_demos(Demos.of(bare, demos.spec), path)
    assert_same(bare, load_demos(path).trajectories)


def test_the_same_demonstrations_are_the_same_bytes(demos, tmp_path):
    for name in ("a.npz", "b.npz"):
        save_demos(demos, tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["a.npz", "b.npz"]


def test_plain_numpy_files_are_read(assert_same, demos, path):
    np.savez(path, **arrays(demos), something_else=np.zeros(3))
    assert_same(demos.trajectories, load_demos(path).trajectories)


def test_other_byte_orders_and_memory_layouts_are_read(assert_same, demos, path):
    given = arrays(demos)
    given["observations"] = np.asfortranarray(given["observations"]).astype(">f4", order="F")
    np.savez(path, **given)
    assert_same(demos.trajectories, load_demos(path).trajectories)


def test_nothing_is_overwritten_unasked(demos, path):
    path.write_text("precious")
    with pytest.raises(InputError, match="exists already; choose another"):
        save_demos(demos, path)
    assert path.read_text() == "precious"
    save_demos(demos, path, overwrite=True)
    with pytest.raises(InputError, match="write to a name that ends in"):
        save_demos(demos, path.with_suffix(".csv"))


@pytest.mark.parametrize("name", ["observations", "terminals", "timeouts", "episode_lengths"])
def test_a_missing_array_is_named(demos, path, name):
    given = arrays(demos)
    del given[name]
    np.savez(path, **given)
    with pytest.raises(InputError, match=rf"demos.npz: missing {name} \(it has "):
        load_demos(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observations": np.zeros((480, 4), np.int32)}, "must be floating-point, it is int32"),
        ({"observations": np.zeros((480, 4), complex)}, "must be floating-point, it is complex128"),
        ({"terminals": np.zeros(480)}, "terminals must be boolean, it is float64"),
        ({"episode_lengths": np.full(8, 60.0)}, "episode_lengths must be integer, it is float64"),
        ({"actions": np.full((480, 2), "x")}, "actions must be floating-point or integer"),
        ({"observations": np.zeros(480)}, r"must have 2 dimensions, its shape is \[480\]"),
        ({"observations": np.zeros((0, 4))}, r"observations is empty: its shape is \[0, 4\]"),
        ({"actions": np.zeros((479, 2))}, "actions has 479 steps, observations has 480"),
        ({"rewards": np.zeros(481)}, "rewards has 481 steps"),
        ({"final_observations": np.zeros((7, 4))}, "has 7 episodes, episode_lengths has 8"),
        ({"final_observations": np.zeros((8, 3))}, "has 3 observation columns"),
        ({"action_low": np.zeros(3), "action_high": np.ones(3)}, "has 3 action columns"),
        ({"action_low": np.zeros(2)}, "both bounds"),
        ({"actions": np.zeros((480, 0))}, "actions is empty"),
        ({"environment": np.array("x" * 300)}, "environment is longer than 200 characters"),
        ({"discrete_actions": np.array(0)}, "with at least one action"),
        ({"episode_lengths": np.full(8, 61)}, "lengths sum to 488, but there are 480 steps"),
        ({"episode_lengths": np.array([120, 0] + [60] * 6)}, "episode 1 has length 0"),
        ({"episode_lengths": np.array([180, -60] + [60] * 6)}, "episode 1 has length -60"),
        ({"terminals": np.ones(480, bool)}, "marked as ended at step 0, before its last step"),
        ({"timeouts": np.zeros(480, bool)}, "episode 0 has no end mark on its last step"),
    ],
)
def test_wrong_arrays_give_one_sentence(demos, path, change, message):
    np.savez(path, **(arrays(demos) | change))
    with pytest.raises(InputError, match=message):
        load_demos(path)


@pytest.mark.parametrize("name", ["observations", "actions", "rewards", "final_observations"])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (-np.inf, "infinite")])
def test_nan_and_infinity_are_located(demos, path, name, value, word):
    given = arrays(demos)
    given[name] = given[name].copy()
    given[name].flat[5] = value
    np.savez(path, **given)
    with pytest.raises(InputError, match=rf"{name}\[.*\] is {word} \(1 value is NaN,"):
        load_demos(path)


def test_python_objects_are_refused_unread(demos, path):
    class Bomb:
        def __reduce__(self):
            return (os.system, (f"touch {path}.exploded",))

    np.savez(path, **(arrays(demos) | {"rewards": np.array([Bomb()], dtype=object)}))
    with pytest.raises(InputError, match="rewards holds Python objects, which could run code"):
        load_demos(path)
    assert not Path(f"{path}.exploded").exists()


def test_a_zip_bomb_is_refused_by_its_declared_size(demos, path):
    given = arrays(demos)
    del given["observations"]
    np.savez(path, **given)
    rows = 10**9
    header = io.BytesIO()
    npy.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (rows, 4)})
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("observations.npy", "w", force_zip64=True) as stream,
    ):
        stream.write(header.getvalue())
        stream.write(bytes(10**6))
    # Rewrite the declared size in the directory at the end of the file, as a forger would.
    raw = path.read_bytes()
    true = struct.pack("<I", 10**6 + len(header.getvalue()))
    forged = raw.replace(true, struct.pack("<I", 0xFFFFFFF0))
    assert forged != raw
    path.write_bytes(forged)
    with pytest.raises(InputError, match="declares 16000000000 bytes but holds"):
        load_demos(path)


def test_an_honest_but_huge_file_is_refused_before_reading(demos, path):
    np.savez_compressed(path, **(arrays(demos) | {"tasks": np.zeros((8, 10**6), np.float32)}))
    assert path.stat().st_size < 200_000
    with pytest.raises(InputError, match=r"declare 0.0 GiB, more than the limit of 0.0 GiB"):
        load_demos(path, max_bytes=10**7)
    assert load_demos(path).trajectories.tasks.shape == (8, 10**6)


def test_a_header_bomb_is_refused_unread(demos, path):
    given = arrays(demos)
    del given["rewards"]
    np.savez(path, **given)
    bomb = b"\x93NUMPY\x02\x00" + struct.pack("<I", 10**9) + b" " * 99
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rewards.npy", bomb)
    with pytest.raises(InputError, match="rewards has a header of 1000000000 bytes"):
        load_demos(path)


@pytest.mark.parametrize(
    "header",
    [
        b"{",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"-" * 9000 + b"1,), }",
        b"{'descr': '<U0', 'fortran_order': False, 'shape': (480,), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': " + b"(" * 3000 + b"}",
    ],
)
def test_a_header_that_is_none_is_refused(demos, path, header):
    given = arrays(demos)
    del given["rewards"]
    np.savez(path, **given)
    text = header + b"\n"
    with zipfile.ZipFile(path, "a") as archive:
        start = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text))
        archive.writestr("rewards.npy", start + text)
    with pytest.raises(InputError, match=r"rewards (is not a plain NumPy array|must be floating)"):
        load_demos(path)


def test_lengths_of_more_episodes_than_steps_are_refused(demos, path):
    """1.5e9 ones, a few megabytes when packed, used to become a list."""
    np.savez(path, **arrays(demos) | {"episode_lengths": np.ones(10**6, np.int8)})
    with pytest.raises(InputError, match="names 1000000 episodes, but there are 480 steps"):
        load_demos(path)


@pytest.mark.parametrize("kind", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_kinds_of_damage_name_the_file(demos, path, kind):
    given = arrays(demos)
    rewards = io.BytesIO()
    np.save(rewards, given.pop("rewards"))
    np.savez(path, **given)
    with zipfile.ZipFile(path, "a", kind) as archive:
        archive.writestr("rewards.npy", rewards.getvalue())
    raw = path.read_bytes()
    at = raw.index(b"rewards.npy") + 60
    path.write_bytes(raw[:at] + bytes(200) + raw[at + 200 :])
    with pytest.raises(
        InputError, match=r"demos\.npz: (?:this npz file is damaged|rewards is not a plain)"
    ):
        load_demos(path)


def test_a_failed_write_names_the_file(demos, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match=r"taken/x\.npz: cannot be written"):
        save_demos(demos, tmp_path / "taken" / "x.npz")


def test_a_cut_file_is_refused_wherever_it_is_cut(demos, path):
    np.savez_compressed(path, **arrays(demos))
    raw = path.read_bytes()
    for part in (0, 1, 30, len(raw) // 2, len(raw) - 1):
        path.write_bytes(raw[:part])
        with pytest.raises(InputError, match="is not an npz file, or it is damaged"):
            load_demos(path)


def test_flipped_bits_are_noticed(assert_same, demos, path):
    np.savez_compressed(path, **arrays(demos))
    raw = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    noticed = 0
    for position in rng.integers(0, len(raw), 60).tolist():
        damaged = bytearray(raw)
        damaged[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            again = load_demos(path)
            # A bit that carries nothing (a time stamp, a flag) may flip unnoticed.
            assert_same(demos.trajectories, again.trajectories)
        except InputError:
            noticed += 1
    assert noticed > 40


def test_not_an_array_inside(demos, path):
    given = arrays(demos)
    del given["rewards"]
    np.savez(path, **given)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("rewards.npy", b"not an array")
    with pytest.raises(InputError, match="rewards is not a plain NumPy array"):
        load_demos(path)


def test_an_array_that_is_there_twice(demos, path):
    np.savez(path, **arrays(demos))
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("rewards.npy", b"another")
    with pytest.raises(InputError, match="rewards is in the file twice"):
        load_demos(path)


def test_missing_files_and_folders(demos, tmp_path):
    with pytest.raises(
        InputError, match=r"no such file: .*hoper.npz; name a file by .* etairl demos ls$"
    ):
        load_demos(tmp_path / "hoper.npz")
    save_demos(demos, tmp_path / "hopper.npz")
    with pytest.raises(InputError, match=r"did you mean .*hopper.npz\?"):
        load_demos(tmp_path / "hoper.npz")
    with pytest.raises(InputError, match="is a folder; name one"):
        load_demos(tmp_path)


def test_bounds_given_by_the_user_override_those_of_the_file(demos, path):
    save_demos(demos, path)
    narrow = load_demos(path, bounds=(-0.1, 0.1))
    assert narrow.clipped > 0
    assert narrow.spec.action_high == (0.1, 0.1)


def test_third_party_files_say_what_their_readme_says(third_party):
    returns = {
        "Hopper-v4-berkeley2023": 3717.5,
        "HalfCheetah-v4-berkeley-policy": 4164.7,
        "Ant-v4-berkeley-policy": 4598.2,
        "Pendulum-v1-humancompatibleai": -185.4,
        "CartPole-v1-humancompatibleai": 473.3,
        "FetchPush-v1-yifanwu": -9.32,
    }
    for name, mean in returns.items():
        found = load_demos(third_party / f"{name}.npz").trajectories.returns
        assert found.mean() == pytest.approx(mean, abs=0.06)
    raw = load_demos(third_party / "Hopper-v4-berkeley2023.npz", bounds=(-1.0, 1.0))
    assert raw.clipped > 0


def test_every_third_party_file_loads(third_party):
    for file in sorted(third_party.glob("*.npz")):
        assert load_demos(file).trajectories.steps > 0
