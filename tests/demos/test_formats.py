"""Files of other libraries, made with their own writers: the same episodes out of all of them."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from etairl.demos import Demos, Importing, Noise, Selection, load_demos, save_demos
from etairl.types import InputError

FILES = Path(__file__).parents[1] / "fixtures" / "demos"
THIRD_PARTY = Path(__file__).parents[3] / "shared" / "demos"
NUMBERED = ("d4rl.hdf5", "d4rl.npz", "trajectories.npz", "transitions.npz", "table.csv")
ARROW = ("imitation_folder", "lerobot")


def read(name: str, **options) -> Demos:
    if name.startswith(("imitation", "lerobot", "other")):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra import)")
    return load_demos(FILES / name, importing=Importing(**options))


def notes(demos: Demos) -> str:
    return " | ".join(demos.notes)


@pytest.mark.parametrize("name", [*NUMBERED, *ARROW])
def test_all_formats_give_the_same_episodes(name):
    demos = read(name)
    t = demos.trajectories
    assert t.lengths.tolist() == [4, 3]
    steps = np.array([0, 1, 2, 3, 0, 1, 2])
    np.testing.assert_allclose(t.observations[:, 0], steps)
    np.testing.assert_allclose(t.observations[:, 1], [0, 0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(t.observations[:, 2], steps / 10, rtol=1e-6)
    np.testing.assert_allclose(t.actions[:, 0], steps / 10, rtol=1e-6)
    np.testing.assert_allclose(t.actions[:, 1], [0, 0, 0, 0, -1, -1, -1])
    assert t.rewards is not None
    np.testing.assert_allclose(t.rewards, steps + 1)
    assert np.flatnonzero(t.terminated).tolist() == [3]
    assert np.flatnonzero(t.truncated).tolist() == [6]
    assert str(FILES / name) in demos.notes[0]


@pytest.mark.parametrize("name", ["trajectories.npz", "transitions.npz", "imitation_folder"])
def test_imitation_knows_the_last_observations(name):
    final = read(name).trajectories.final_observations
    np.testing.assert_allclose(final, [[4, 0, 0.4], [3, 1, 0.3]], rtol=1e-6)


def test_a_last_episode_without_an_end_is_kept_and_said():
    assert "cut off after 3 steps" in notes(read("d4rl.hdf5"))
    assert "cut off" not in notes(read("trajectories.npz"))


@pytest.mark.parametrize("name", ["stable_baselines.npz", "imitation_folder_index"])
def test_discrete_actions(name):
    demos = read(name, discrete=2)
    assert demos.spec.discrete_actions == 2
    assert demos.trajectories.actions.ravel().tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert demos.trajectories.actions.dtype == np.int64
    with pytest.raises(InputError, match=r"action 1 at row 1 is not one of the 1 actions"):
        read(name, discrete=1)


def test_ends_that_stable_baselines_does_not_know():
    demos = read("stable_baselines.npz")
    assert demos.trajectories.truncated.sum() == 2
    assert "does not say why its episodes end" in notes(demos)
    limited = read("stable_baselines.npz", time_limit=4)
    assert np.flatnonzero(limited.trajectories.terminated).tolist() == [6]
    assert np.flatnonzero(limited.trajectories.truncated).tolist() == [3]
    with pytest.raises(InputError, match="episode 0 has 4 steps, more than --time-limit 3"):
        read("stable_baselines.npz", time_limit=3)


def test_a_time_limit_that_looks_like_an_end_is_pointed_out(tmp_path):
    ends = np.arange(6) % 3 == 2
    np.savez(
        tmp_path / "limit.npz",
        observations=np.ones((6, 2)),
        actions=np.ones((6, 1)),
        rewards=np.ones(6),
        terminals=ends,
        timeouts=np.zeros(6, bool),
    )
    demos = load_demos(tmp_path / "limit.npz", importing=Importing())
    assert "if that is a time limit, import with --time-limit 3" in notes(demos)
    again = load_demos(tmp_path / "limit.npz", importing=Importing(time_limit=3))
    assert again.trajectories.truncated.sum() == 2
    assert not again.trajectories.terminated.any()


def test_robomimic_keys_stand_in_the_order_asked_for():
    demos = read("robomimic.hdf5", observations=("robot_pos", "object"))
    t = demos.trajectories
    assert demos.spec.observation_names == ("robot_pos[0]", "robot_pos[1]", "object")
    np.testing.assert_allclose(t.observations[:, 0], [0, 1, 2, 3, 0, 1, 2])  # demo_2 first
    np.testing.assert_allclose(t.final_observations, [[4, 0, 0.4], [3, 1, 0.3]], rtol=1e-6)
    assert np.flatnonzero(t.terminated).tolist() == [3]
    other = read("robomimic.hdf5", observations=("object", "robot_pos"))
    np.testing.assert_allclose(other.trajectories.observations, t.observations[:, [2, 0, 1]])
    assert "object, robot_pos, in this order" in notes(other)


def test_images_are_refused_and_the_rest_is_named(tmp_path):
    with pytest.raises(InputError, match=r"camera: images .* --observations object robot_pos$"):
        read("robomimic.hdf5")
    np.savez(
        tmp_path / "pixels.npz",
        obs=np.zeros((4, 8, 8, 3), np.uint8),
        acts=np.zeros(4, np.int64),
        dones=np.ones(4, bool),
    )
    with pytest.raises(
        InputError, match=r"uint8 of shape \[8, 8, 3\] at each step: images are not"
    ):
        load_demos(tmp_path / "pixels.npz", importing=Importing())


@pytest.mark.parametrize("target", ["kept.npz", "minari:kept/names-v0"])
def test_names_of_columns_are_kept(target, tmp_path, minari_folder):
    demos = read("table.csv")
    assert demos.spec.observation_names == ("step", "episode", "tenth")
    assert demos.spec.action_names == ("push", "turn")
    target = target if target.startswith("minari:") else str(tmp_path / target)
    save_demos(demos, target)
    assert load_demos(target).spec == demos.spec
    turned = load_demos(target, importing=Importing(observations=("tenth", "step")))
    assert turned.spec.observation_names == ("tenth", "step")
    np.testing.assert_allclose(
        turned.trajectories.observations, demos.trajectories.observations[:, [2, 0]]
    )
    with pytest.raises(InputError, match="no column of observations 'speed'; there are step"):
        load_demos(target, importing=Importing(observations=("speed",)))


def test_lerobot_names_its_columns():
    demos = read("lerobot")
    assert demos.spec.observation_names == ("step", "episode", "tenth")
    assert demos.spec.action_names == ("push", "turn")
    one = read("lerobot/data/chunk-000/episode_000001.parquet")
    assert one.trajectories.lengths.tolist() == [3]
    with pytest.raises(InputError, match=r"no column speed; there are observation\.state, action"):
        read("lerobot", observations=("speed",))


def test_thinning_keeps_times_through_an_import(tmp_path):
    thin = load_demos(
        FILES / "d4rl.npz", importing=Importing(), select=Selection(episodes=1, every=2)
    )
    save_demos(thin, tmp_path / "thin.npz")
    t = load_demos(tmp_path / "thin.npz").trajectories
    assert t.times.tolist() == [0, 2]
    assert t.durations.tolist() == [4]
    assert t.rewards is not None
    assert t.rewards.tolist() == [3.0, 7.0]


@pytest.mark.parametrize("part", ["observations", "actions"])
def test_noise_has_the_size_asked_for_and_a_seed(part, demos, tmp_path):
    save_demos(demos, tmp_path / "clean.npz")

    def noisy(seed: int) -> Demos:
        noise = Noise(0.5, part, seed)
        return load_demos(tmp_path / "clean.npz", noise=noise, bounds=(-9.0, 9.0))

    first, t = noisy(1), demos.trajectories
    difference = getattr(first.trajectories, part) - getattr(t, part)
    scale = getattr(t, part).std(axis=0)
    # n steps: the standard deviation of a column is off by more than 5 / sqrt(2 n) once in 10^6.
    assert np.allclose(difference.std(axis=0) / scale, 0.5, rtol=5 / np.sqrt(2 * t.steps))
    other = "actions" if part == "observations" else "observations"
    np.testing.assert_array_equal(getattr(first.trajectories, other), getattr(t, other))
    same, unlike = noisy(1).trajectories, noisy(2).trajectories
    np.testing.assert_array_equal(getattr(same, part), getattr(first.trajectories, part))
    assert not np.array_equal(getattr(unlike, part), getattr(first.trajectories, part))
    assert f"added to the {part} (seed 1)" in notes(first)
    assert (first.playing == "drawn") == (part == "actions")


def test_noise_needs_to_know_where():
    with pytest.raises(InputError, match="needs --noise-on"):
        Noise(0.1)
    with pytest.raises(InputError, match="no continuous actions"):
        load_demos(
            FILES / "stable_baselines.npz", importing=Importing(), noise=Noise(0.1, "actions")
        )


def test_indices_of_a_table_get_no_noise(tmp_path):
    """A table has numbers alone: only --discrete says that they are indices."""
    (tmp_path / "table.csv").write_text("ep,obs_x,action\n1,0.5,1\n1,0.25,0\n")
    with pytest.raises(InputError, match=r"no continuous actions .* leave --noise out"):
        load_demos(
            tmp_path / "table.csv", importing=Importing(discrete=2), noise=Noise(0.1, "actions")
        )


def test_episodes_that_are_stacked_are_to_be_put_below_each_other(tmp_path):
    np.savez(
        tmp_path / "stacked.npz",
        observations=np.zeros((4, 5, 3)),
        actions=np.zeros((4, 5, 1)),
        rewards=np.zeros((4, 5)),
        terminals=np.zeros((4, 5), bool),
    )
    with pytest.raises(
        InputError, match=r"terminals have the shape \[4, 5\]; put the steps of all"
    ):
        load_demos(tmp_path / "stacked.npz", importing=Importing())


def test_what_is_missing_is_said_with_what_to_do(tmp_path):
    np.savez(tmp_path / "bare.npz", observations=np.zeros((4, 2)), actions=np.zeros((4, 1)))
    with pytest.raises(InputError, match=r"missing terminals, timeouts, .*; mark the last step of"):
        load_demos(tmp_path / "bare.npz", importing=Importing())


def test_other_commands_say_how_to_bring_a_file_in():
    with pytest.raises(InputError, match=r"d4rl.hdf5 is D4RL-style HDF5; bring .* -o d4rl.npz$"):
        load_demos(FILES / "d4rl.hdf5")


def test_what_a_file_holds_is_said_where_it_is_not_known(tmp_path):
    np.savez(tmp_path / "odd.npz", x=np.zeros((3, 2)), y=np.arange(3))
    with pytest.raises(InputError, match=r"holds x float64 \[3, 2\], y int64 \[3\]\. Known are D4"):
        load_demos(tmp_path / "odd.npz", importing=Importing())
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="a folder in no known format; it holds none"):
        load_demos(tmp_path / "empty", importing=Importing())
    (tmp_path / "old.pkl").write_bytes(b"\x80\x04\x95junk")
    with pytest.raises(InputError, match="it is a pickle, which could run code"):
        load_demos(tmp_path / "old.pkl", importing=Importing())


def test_options_that_a_format_has_no_use_for_are_refused():
    with pytest.raises(InputError, match="--observations has nothing to choose from"):
        read("d4rl.npz", observations=("a",))
    with pytest.raises(InputError, match="--episode has nothing to choose from"):
        read("robomimic.hdf5", episode="a")


@pytest.mark.parametrize(
    ("text", "meant"),
    [("Pendulm", "Pendulum-v1-25x200"), ("Hoper", "Hopper-v5-25x500"), ("Ant", "Ant-v5-25x500")],
)
def test_an_environment_is_understood_for_its_demonstrations(text, meant):
    with pytest.raises(InputError, match=rf"no such file: {text}; did you mean {meant}\?"):
        load_demos(text)


@pytest.mark.parametrize("name", ["CartPole-v1-stablebaselines", "Hopper-v2-opolo"])
def test_third_party_files_survive_the_form_of_others(assert_same, name, tmp_path):
    source = THIRD_PARTY / f"{name}.npz"
    if not source.is_file():
        pytest.skip(f"{source.name} is not there")
    t = load_demos(source).trajectories
    np.savez(
        tmp_path / "flat.npz",
        observations=t.observations,
        actions=t.actions,
        rewards=t.rewards,
        terminals=t.terminated,
        timeouts=t.truncated,
    )
    assert_same(t, load_demos(tmp_path / "flat.npz", importing=Importing()).trajectories)


def test_a_folder_of_hugging_face_says_what_it_has_instead(tmp_path):
    """As sets for decision transformers are laid out, with other names."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra import)")
    folder = tmp_path / "other"
    shutil.copytree(FILES / "imitation_folder", folder)
    (file,) = folder.glob("*.arrow")
    found = pa.ipc.open_stream(file.read_bytes()).read_all()
    other = found.rename_columns(
        [name.replace("obs", "observations") for name in found.schema.names]
    )
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, other.schema) as writer:
        writer.write_table(other)
    info = folder / "dataset_info.json"
    info.write_text(info.read_text().replace('"obs"', '"observations"'))
    with pytest.raises(InputError, match=r"this one lacks obs; there are .*observations"):
        load_demos(folder, importing=Importing())
