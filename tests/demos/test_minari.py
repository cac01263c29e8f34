"""Real Minari datasets on disk, both ways."""

import json
import warnings
from dataclasses import replace

import gymnasium
import h5py
import minari
import numpy as np
import pytest
from minari.data_collector import EpisodeBuffer

from etairl.demos import Demos, Selection, bundled_demos, find_demos, load_demos, save_demos
from etairl.types import InputError, Spec, Trajectories

pytestmark = pytest.mark.usefixtures("minari_folder")


def test_a_round_trip_keeps_every_array(assert_same, demos):
    save_demos(demos, "minari:etairl/walk-v0")
    again = load_demos("minari:etairl/walk-v0")
    assert_same(demos.trajectories, again.trajectories)
    assert again.spec == demos.spec


@pytest.mark.parametrize("playing", ["drawn", "greedy", None])
def test_how_they_were_played_survives(demos, playing):
    save_demos(replace(demos, playing=playing), "minari:etairl/played-v0")
    assert load_demos("minari:etairl/played-v0").playing == playing


def test_what_minari_has_no_field_for_survives_too(assert_same, demos):
    t = demos.trajectories
    bare = Trajectories(
        t.observations.astype(np.float64),
        t.actions,
        t.terminated,
        t.truncated,
        t.offsets,
        tasks=np.linspace(0, 1, 2 * len(t), dtype=np.float32).reshape(-1, 2),
    )
    save_demos(Demos.of(bare, Spec(4, 2)), "minari:bare-v3")
    again = load_demos("minari:bare-v3")
    assert_same(bare, again.trajectories)
    assert again.spec == Spec(4, 2)


def test_discrete_actions_survive(assert_same, demos, rng):
    t = demos.trajectories
    index = rng.integers(0, 3, (t.steps, 1))
    discrete = Trajectories(t.observations, index, t.terminated, t.truncated, t.offsets, t.rewards)
    given = Demos.of(discrete, Spec(4, 1, discrete_actions=3))
    save_demos(given, "minari:choose-v0")
    assert isinstance(minari.load_dataset("choose-v0").action_space, gymnasium.spaces.Discrete)
    again = load_demos("minari:choose-v0")
    assert_same(given.trajectories, again.trajectories)
    assert again.spec.discrete_actions == 3


def test_minari_reads_what_we_wrote(demos):
    save_demos(demos, "minari:etairl/walk-v0")
    dataset = minari.load_dataset("etairl/walk-v0")
    t = demos.trajectories
    assert dataset.total_episodes == len(t)
    assert dataset.total_steps == t.steps
    episode = dataset[2]
    rows = slice(int(t.offsets[2]), int(t.offsets[3]))
    assert episode.observations.shape == (61, 4)
    assert episode.observations[:-1].tolist() == t.observations[rows].tolist()
    assert episode.rewards.tolist() == t.rewards[rows].tolist()


def test_a_dataset_of_minaris_own_making_is_read(rng):
    """Dict observations in double precision, flattened in Gymnasium's order (by key)."""
    box = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    goal = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float64)
    space = gymnasium.spaces.Dict({"observation": box, "desired_goal": goal})
    observation, desired = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    buffer = EpisodeBuffer(
        observations={"observation": observation, "desired_goal": desired},
        actions=rng.uniform(-3, 3, (5, 1)).astype(np.float32),
        rewards=list(rng.normal(size=5)),
        terminations=[False] * 4 + [True],
        truncations=[False] * 5,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Minari asks for an author
        minari.create_dataset_from_buffers(
            "reach-v0",
            [buffer],
            observation_space=space,
            action_space=gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32),
        )
    demos = load_demos("minari:reach-v0")
    expected = np.concatenate([desired, observation], axis=1)
    assert demos.trajectories.observations.tolist() == expected[:-1].tolist()
    assert demos.trajectories.final_observations.tolist() == expected[-1:].tolist()
    names = ("desired_goal", "observation[0]", "observation[1]")
    assert demos.spec.observation_names == names
    assert demos.clipped > 0
    assert np.abs(demos.trajectories.actions).max() <= 1.0


def test_selection_applies_to_minari_as_well(demos):
    save_demos(demos, "minari:walk-v0")
    assert len(load_demos("minari:walk-v0", select=Selection(episodes=2)).trajectories) == 2


def test_bad_names_and_missing_datasets(demos, minari_folder):
    with pytest.raises(InputError, match=r"\(there are: none\); .* minari download"):
        load_demos("minari:nothing-v0")
    assert not minari_folder.exists(), "looking must not create folders"
    with pytest.raises(InputError, match="not the name of a dataset"):
        load_demos("minari:../../etc")
    with pytest.raises(InputError, match="not the name of a dataset"):
        save_demos(demos, "minari:no version")
    save_demos(demos, "minari:walk-v0")
    with pytest.raises(InputError, match="exists already; choose another name or version"):
        save_demos(demos, "minari:walk-v0")
    with pytest.raises(InputError, match=r"there are: walk-v0"):
        load_demos("minari:walk-v1")


def test_a_dataset_that_would_build_an_environment_is_refused(demos, minari_folder):
    save_demos(demos, "minari:walk-v0")
    file = minari_folder / "walk-v0" / "data" / "metadata.json"
    metadata = json.loads(file.read_text())
    del metadata["action_space"]
    file.write_text(json.dumps(metadata))
    with pytest.raises(InputError, match="lacks observation space, action space"):
        load_demos("minari:walk-v0")


def test_damaged_datasets_give_one_sentence(demos, minari_folder):
    save_demos(demos, "minari:walk-v0")
    data = minari_folder / "walk-v0" / "data"
    whole = (data / "main_data.hdf5").read_bytes()
    (data / "main_data.hdf5").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cannot be read \(OSError"):
        load_demos("minari:walk-v0")
    (data / "metadata.json").write_text("{")
    with pytest.raises(InputError, match=r"its metadata.json cannot be read"):
        load_demos("minari:walk-v0")


def test_a_huge_declared_array_is_refused_before_reading(demos, minari_folder):
    save_demos(demos, "minari:walk-v0")
    path = minari_folder / "walk-v0" / "data" / "main_data.hdf5"
    with h5py.File(path, "a") as file:
        del file["episode_0/rewards"]
        file["episode_0"].create_dataset("rewards", shape=(10**12,), dtype="f4", chunks=(1024,))
    assert path.stat().st_size < 10**6
    with pytest.raises(InputError, match=r"declare 3725.3 GiB, more than the limit of 2.0 GiB"):
        load_demos("minari:walk-v0")


def open_data(minari_folder, name="walk-v0"):
    return h5py.File(minari_folder / name / "data" / "main_data.hdf5", "a")


def test_nothing_outside_the_file_is_read(demos, minari_folder, tmp_path):
    """Links, virtual and external arrays lead to any file of the machine: all are refused."""
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(240))
    with h5py.File(tmp_path / "other.hdf5", "w") as other:
        other["rewards"] = np.zeros(60, np.float32)

    def external(group):
        group.create_dataset("rewards", (60,), "f4", external=[(str(secret), 0, 240)])

    def virtual(group):
        layout = h5py.VirtualLayout((60,), "f4")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.hdf5"), "rewards", (60,))
        group.create_virtual_dataset("rewards", layout)

    def link(group):
        group["rewards"] = h5py.ExternalLink(str(tmp_path / "other.hdf5"), "rewards")

    def soft(group):
        group["rewards"] = h5py.SoftLink("/episode_1/rewards")

    def text(group):
        group.create_dataset("rewards", data=["a"] * 60)

    for number, attack in enumerate((external, virtual, link, soft, text)):
        name = f"walk-v{number}"
        save_demos(demos, f"minari:{name}")
        with open_data(minari_folder, name) as file:
            del file["episode_0/rewards"]
            attack(file["episode_0"])
        with pytest.raises(InputError, match=r"rewards is (missing, a link|not a plain array)"):
            load_demos(f"minari:{name}")


def test_shared_arrays_count_every_time(demos, minari_folder):
    save_demos(demos, "minari:walk-v0")
    with open_data(minari_folder) as file:
        for i in range(1, 8):
            del file[f"episode_{i}/observations"]
            file[f"episode_{i}/observations"] = file["episode_0/observations"]
    with pytest.raises(InputError, match="more than the limit"):
        load_demos("minari:walk-v0", max_bytes=8 * 61 * 16)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("total_episodes", 10**12, "speaks of 1000000000000 episodes"),
        ("total_episodes", 2, "speaks of 2 episodes"),
        ("total_episodes", None, "speaks of None episodes"),
        ("etairl", 3, "has been changed"),
        ("etairl", {"tasks": "abc"}, "has been changed"),
        ("etairl", {"task_dtype": "nonsense"}, "has been changed"),
        ("etairl", {"surprise": 1}, "has been changed"),
        ("etairl", {"rewards": True, "ours": True, "action_low": [1.0]}, None),
        ("action_space", '{"type": "Text", "max_length": 3}', "cannot be read|not supported"),
        ("action_space", json.dumps({"type": "Discrete", "n": 10**30, "start": 0}), "cannot be"),
        ("action_space", '{"type": "Tuple", "subspaces": [' * 2000 + "]}" * 2000, "cannot be read"),
        ("observation_space", 5, "cannot be read"),
        ("data_format", "arrow", "only hdf5 is supported"),
    ],
)
def test_metadata_that_somebody_changed(demos, minari_folder, key, value, message):
    save_demos(demos, "minari:walk-v0")
    file = minari_folder / "walk-v0" / "data" / "metadata.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    if message is None:
        assert load_demos("minari:walk-v0").spec.action_low is None
        return
    with pytest.raises(InputError, match=message):
        load_demos("minari:walk-v0")


def test_nested_nonsense_is_no_metadata(demos, minari_folder):
    save_demos(demos, "minari:walk-v0")
    (minari_folder / "walk-v0" / "data" / "metadata.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"metadata\.json cannot be read"):
        load_demos("minari:walk-v0")


def test_any_bounds_survive(assert_same, demos):
    """0.1 has no exact float32; one side may be open."""
    spec = Spec(4, 2, (-0.1, -np.inf), (0.7, 0.3), environment="own")
    given = Demos.of(demos.trajectories, spec)
    save_demos(given, "minari:walk-v0")
    again = load_demos("minari:walk-v0")
    assert again.spec == spec
    assert_same(given.trajectories, again.trajectories)


def test_sources_of_a_folder_and_of_minari(demos, tmp_path):
    save_demos(demos, "minari:walk-v0")
    save_demos(demos, tmp_path / "good.npz")
    found = [str(tmp_path / "good.npz"), "minari:walk-v0"]
    assert find_demos(tmp_path) == [*bundled_demos(), *found]
    with pytest.raises(InputError, match="no such folder"):
        find_demos(tmp_path / "nowhere")
