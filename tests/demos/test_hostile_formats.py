"""Files that lie about their sizes, hold objects, or were damaged: always one sentence."""

import json
import shutil
import tracemalloc
from pathlib import Path

import h5py
import numpy as np
import pytest

from etairl.demos import Importing, load_demos
from etairl.types import InputError

FILES = Path(__file__).parents[1] / "fixtures" / "demos"
WHOLE = ("d4rl.hdf5", "d4rl.npz", "robomimic.hdf5", "stable_baselines.npz", "trajectories.npz")
ARROW = ("lerobot/data/chunk-000/episode_000000.parquet", "imitation_folder")


def refused(path: Path, match: str | None = None, **options) -> str:
    with pytest.raises(InputError, match=match) as caught:
        load_demos(path, importing=Importing(**options))
    text = str(caught.value)
    assert path.name in text
    assert "\n" not in text
    assert len(text) < 1200
    return text


@pytest.mark.parametrize("name", [*WHOLE, "transitions.npz", "table.csv", *ARROW])
def test_damaged_bytes_end_in_a_sentence_or_in_demonstrations(name, tmp_path, rng):
    if name in ARROW:
        pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra import)")
    path = tmp_path / Path(name).name
    (shutil.copytree if (FILES / name).is_dir() else shutil.copy)(FILES / name, path)
    file = next(path.glob("*.arrow")) if path.is_dir() else path
    good = file.read_bytes()
    said = []
    for _ in range(40):
        bad = bytearray(good)
        for place in rng.integers(0, len(good), rng.integers(1, 4)):
            bad[place] = rng.integers(256)
        file.write_bytes(bytes(bad[: rng.integers(1, len(bad))]) if rng.random() < 0.2 else bad)
        try:
            load_demos(path, importing=Importing(observations=_keys(name)), max_bytes=2**24)
        except InputError as error:
            said.append(str(error))
    assert not [text for text in said if "\n" in text]


def _keys(name: str) -> tuple[str, ...]:
    return ("object", "robot_pos") if name.startswith("robomimic") else ()


def test_hdf5_that_declares_more_than_it_holds(tmp_path):
    path = tmp_path / "bomb.hdf5"
    with h5py.File(path, "w") as file:
        file.create_dataset("observations", (50_000_000, 3), "f4", chunks=(1000, 3))
        file.create_dataset("actions", (50_000_000, 1), "f4", chunks=(1000, 1))
        file.create_dataset("terminals", (50_000_000,), "?", chunks=(1000,))
    tracemalloc.start()
    refused(path, "declares 600,000,000 bytes, but holds 0")
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_hdf5_links_and_texts_are_no_arrays(tmp_path):
    path = tmp_path / "links.hdf5"
    with h5py.File(path, "w") as file:
        for name in ("observations", "actions"):
            file[name] = np.zeros((3, 2), np.float32)
        file["terminals"] = h5py.ExternalLink(str(FILES / "d4rl.hdf5"), "terminals")
    refused(path, "in no known format")
    with h5py.File(path, "a") as file:
        del file["terminals"]
        file["terminals"] = [b"no", b"no", b"yes"]
    refused(path, "terminals is not a plain array of numbers")


def test_demos_within_a_file_must_agree(tmp_path):
    path = tmp_path / "robot.hdf5"
    shutil.copy(FILES / "robomimic.hdf5", path)
    with h5py.File(path, "a") as file:
        del file["data/demo_10/obs/object"]
        file["data/demo_10/obs/object"] = np.zeros((2, 1))
    refused(path, r"demo_10/obs/object has shape \[2, 1\]", observations=("object",))


def test_objects_are_not_unpickled(tmp_path):
    path = tmp_path / "objects.npz"
    arrays = {"obs": np.zeros((2, 1)), "acts": np.zeros(2), "dones": np.array([{}, {}], object)}
    np.savez(path, **arrays)
    refused(path, "dones holds Python objects")


@pytest.mark.parametrize("indices", [[9], [0], [3, 2], [-1], [2**62]])
def test_indices_that_split_nothing(tmp_path, indices):
    path = tmp_path / "split.npz"
    n = len(indices) + 1
    np.savez(
        path,
        obs=np.zeros((4 + n, 1)),
        acts=np.zeros((4, 1)),
        terminal=np.ones(n, bool),
        indices=np.array(indices),
    )
    refused(path, "indices must")


def test_arrow_folders_name_files_of_their_own_alone(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra import)")
    path = tmp_path / "folder"
    shutil.copytree(FILES / "imitation_folder", path)
    for listed in (
        [{"filename": "../other.arrow"}],
        [{"filename": "/etc/passwd"}],
        5,
        [5],
        [{}],
        [{"filename": "a" * 300}],
    ):
        (path / "state.json").write_text(json.dumps({"_data_files": listed}))
        refused(path)
    (path / "state.json").write_text("[" * 100_000)
    refused(path, "cannot be read as JSON")


def test_arrow_files_that_unpack_are_refused(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra import)")
    path = tmp_path / "folder"
    shutil.copytree(FILES / "imitation_folder", path)
    file = next(path.glob("*.arrow"))
    obs = pa.array([np.zeros((101, 200)).tolist()])
    acts, terminal = pa.array([np.zeros((100, 1)).tolist()]), pa.array([True])
    rows = pa.record_batch([obs, acts, terminal], ["obs", "acts", "terminal"])
    for compression, message in (("zstd", "are compressed"), (None, None)):
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.ipc.new_stream(file, rows.schema, options=options) as writer:
            writer.write_batch(rows)
        if message is not None:
            refused(path, message)
    assert load_demos(path, importing=Importing()).trajectories.observations.shape == (100, 200)


def test_parquet_of_few_bytes_for_many_rows(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra import)")
    import pyarrow.parquet as pq

    rows = 2_000_000
    zeros = pa.array(np.zeros(rows))
    state = pa.FixedSizeListArray.from_arrays(zeros, 1)
    whole = pa.array(np.zeros(rows, np.int64))
    names = ["observation.state", "action", "episode_index", "frame_index"]
    table = pa.table([state, zeros, whole, whole], names)
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path)
    assert path.stat().st_size < 200_000
    with pytest.raises(InputError, match=r"declare .* more than the limit"):
        load_demos(path, importing=Importing(), max_bytes=2**20)
    refused(path, "frames are missing")


def test_parquet_with_missing_values(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra import)")
    import pyarrow.parquet as pq

    columns = {
        "observation.state": [[1.0], None],
        "action": [0.0, 1.0],
        "episode_index": [0, 0],
        "frame_index": [0, 1],
    }
    pq.write_table(pa.table(columns), tmp_path / "gaps.parquet")
    refused(tmp_path / "gaps.parquet", "column observation.state: some of its values are missing")
    columns["observation.state"] = [[1.0], [1.0, 2.0]]
    pq.write_table(pa.table(columns), tmp_path / "gaps.parquet")
    refused(tmp_path / "gaps.parquet", r"column observation.state: its lists differ in length")


def test_rewards_of_another_shape(tmp_path):
    path = tmp_path / "rewards.npz"
    plain = {"observations": np.zeros((4, 2)), "actions": np.zeros((4, 1))}
    ends = np.array([False, False, False, True])
    np.savez(path, **plain, terminals=ends, rewards=np.zeros((4, 3)))
    refused(path, r"rewards have shape \[4, 3\]: one number a step is needed")


def test_names_in_an_archive_that_are_no_text(tmp_path):
    path = tmp_path / "names.npz"
    np.savez(path, η=np.zeros(3))
    raw = path.read_bytes()
    assert raw.count("η".encode()) == 2
    path.write_bytes(raw.replace("η".encode(), b"\xb7\x80"))
    refused(path, "is not an npz file, or it is damaged")
