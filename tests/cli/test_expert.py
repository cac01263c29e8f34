"""`etairl expert` from inside: what it keeps, what it refuses, how it goes on."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from etairl.algorithms.expert import ExpertConfig, make_expert_task
from etairl.cli import running
from etairl.cli.app import main
from etairl.demos import load_demos
from etairl.runs import RESUME_FOLDERS, RunDirectory, read_metrics
from etairl.training.experts import load_expert
from etairl.types import InputError

SMALL = [
    *("--steps=700", "--warmup=150", "--envs=4", "--cycle=20", "--batch=16", "--horizon=30"),
    *("--judge-every=200", "--judge-episodes=2", "--episodes=2", "--checkpoint-seconds=1000"),
    *("--hidden", "16", "16"),
]
FILES = ("policy.safetensors", "metrics.jsonl", "result.json")


class Noisy(gymnasium.Env):
    """A walk with noise of its own; `broken` after so many steps of all copies together."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-0.3, 0.3, (1,), np.float32)
    broken: int | None = None
    judges_break = False
    steps = made = 0

    def __init__(self):
        Noisy.made += 1
        self.number = Noisy.made

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.normal(size=2).astype(np.float32)
        return self.place, {}

    def step(self, action):
        Noisy.steps += 1
        if Noisy.broken is not None and Noisy.steps > Noisy.broken:
            raise RuntimeError("motor 7 is on fire")
        if Noisy.judges_break and self.number > 4:
            raise RuntimeError("the judge is on fire")
        noise = self.np_random.normal(size=2).astype(np.float32)
        self.place = self.place + action[0] + 0.1 * noise
        return self.place, -float(abs(self.place[0])), bool(abs(self.place[1]) > 3.0), False, {}


@pytest.fixture
def noisy() -> Iterator[str]:
    gymnasium.register("test/Noisy-v0", entry_point=Noisy, max_episode_steps=30)
    Noisy.steps, Noisy.made, Noisy.broken, Noisy.judges_break = 0, 0, None, False
    yield "test/Noisy-v0"
    gymnasium.registry.pop("test/Noisy-v0")


@pytest.fixture
def stopping(monkeypatch) -> Callable[[int, type[BaseException] | None], None]:
    """Sets after how many cycles somebody presses Ctrl-C, or something worse happens."""

    def after(cycles: int, error: type[BaseException] | None = None) -> None:
        asked = 0

        def stop() -> bool:
            nonlocal asked
            asked += 1  # once per cycle
            if asked == cycles and error is not None:
                raise error
            return asked >= cycles

        @contextmanager
        def patient() -> Iterator[Callable[[], bool]]:
            yield stop

        monkeypatch.setattr(running, "patient_interrupt", patient)

    return after


def train(folder: Path, env: str, *more: str) -> int:
    return main(["expert", "-o", str(folder), "--env", env, *SMALL, *more])


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.mark.parametrize("env", ["Hopper-v5", "Pendulum-v1", "test/Noisy-v0"])
@pytest.mark.usefixtures("noisy")
def test_a_run_that_was_stopped_ends_with_the_bytes_of_an_unbroken_one(
    env, tmp_path, stopping, capsys
):
    """Stopped in the warm-up, in the middle, and after the last cycle but before the recording."""
    more = ("--normalise", "running") if env == "Hopper-v5" else ()
    assert train(tmp_path / "unbroken", env, *more) == 0
    for cycles in (1, 3, 5, 2):
        stopping(cycles)
        assert train(tmp_path / "stopped", env, *more) in (0, 130)
    stopping(1000)
    assert train(tmp_path / "stopped", env, *more) == 0
    assert contents(tmp_path / "stopped") == contents(tmp_path / "unbroken")
    said = capsys.readouterr()
    assert "etairl: interrupted; " in said.err
    assert "transitions; the same command resumes it" in said.err


def test_stopped_in_the_last_cycle(tmp_path, stopping):
    """Everything is trained; the same command only finishes and records, if nobody stops it."""
    assert train(tmp_path / "unbroken", "Pendulum-v1") == 0
    stopping(read_metrics(tmp_path / "unbroken")[-1]["cycle"])
    assert train(tmp_path / "late", "Pendulum-v1") == 130
    assert not RunDirectory(tmp_path / "late").finished
    stopping(1)
    assert train(tmp_path / "late", "Pendulum-v1") == 130
    stopping(1000)
    assert train(tmp_path / "late", "Pendulum-v1") == 0
    assert contents(tmp_path / "late") == contents(tmp_path / "unbroken")
    assert (tmp_path / "late/Pendulum-v1-2x30.npz").is_file()


def test_killed_before_the_first_checkpoint(tmp_path, stopping):
    """There is nothing to resume from: the run begins anew, and its metrics with it."""
    stopping(1000)
    assert train(tmp_path / "unbroken", "Pendulum-v1") == 0
    stopping(4, RuntimeError)
    with pytest.raises(RuntimeError):
        train(tmp_path / "early", "Pendulum-v1")
    assert (tmp_path / "early/metrics.jsonl").read_text()
    for name in RESUME_FOLDERS:  # an exception leaves a checkpoint, a kill does not
        shutil.rmtree(tmp_path / "early" / name)
    stopping(1000)
    assert train(tmp_path / "early", "Pendulum-v1") == 0
    assert contents(tmp_path / "early") == contents(tmp_path / "unbroken")


def test_a_simulator_that_fails_while_acting_loses_nothing(tmp_path, noisy, capsys):
    """In the middle of a cycle: what came before is kept, and once repaired all goes on."""
    assert train(tmp_path / "unbroken", noisy) == 0
    Noisy.steps, Noisy.broken = 0, 433
    assert train(tmp_path / "failed", noisy) == 2
    assert "motor 7 is on fire" in capsys.readouterr().err
    Noisy.broken = None
    assert train(tmp_path / "failed", noisy) == 0
    assert "resuming from step" in capsys.readouterr().out
    assert contents(tmp_path / "failed") == contents(tmp_path / "unbroken")


def test_a_judge_that_fails_loses_nothing(tmp_path, noisy, capsys):
    """The cycle before it was learned from: it is in the checkpoint, and in the metrics."""
    Noisy.judges_break = True
    assert train(tmp_path / "run", noisy) == 2
    said = capsys.readouterr().err
    assert "the judge is on fire" in said
    assert "Traceback" not in said
    values = [
        json.loads(path.read_text())["values"]
        for path in (tmp_path / "run").glob("checkpoints/*/checkpoint.json")
    ]
    assert [value["steps"] for value in values][-1] >= 200
    assert (tmp_path / "run/replay").is_dir()
    Noisy.judges_break = False
    assert train(tmp_path / "run", noisy) == 0


def test_what_diverged_is_not_kept(tmp_path, stopping, capsys):
    """Learning rates beyond all reason: the checkpoint before stays, and the policy is blamed."""
    wild = ("--actor-lr=1e10", "--critic-lr=1e10")
    stopping(1)
    assert train(tmp_path / "run", "Pendulum-v1", *wild) == 130
    kept = sorted((tmp_path / "run/checkpoints").iterdir())
    stopping(1000)
    assert train(tmp_path / "run", "Pendulum-v1", *wild) == 2
    said = capsys.readouterr().err
    assert "diverged" in said
    assert "simulator" not in said
    assert "the last checkpoint, of cycle 1, is in" in said
    assert sorted((tmp_path / "run/checkpoints").iterdir()) == kept


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--env", "Hoper-v5"), "did you mean Hopper-v5"),
        (("--env", "FrozenLake-v1"), "observations of type Discrete are not supported"),
        (("--horizon", "-3"), "horizon must be at least 1"),
        (("--seed", "-1"), "seed must be >= 0"),
        (("--seed", "4294967296"), "seed must be >= 0 and below 2^32"),
        (("--steps", "10000"), "all 10000 steps are warm-up"),
        (("--capacity", "40"), "capacity must hold three steps of 16 copies, got 40"),
        (("--warmup", "-1"), "warmup must be >= 0"),
        (("--updates-per-step", "nan"), "updates_per_step must be > 0"),
        (("--episodes", "0"), "episodes must be at least 1"),
        (("--record-steps", "-5"), "record_steps must be at least 1"),
        (("--record-steps", "0"), "record_steps must be at least 1"),
        (("--checkpoint-seconds", "-1"), "checkpoint_seconds must be >= 0"),
        (("--actor-lr", "0"), "actor_lr must be > 0"),
        (("--max-gradient-norm", "-1"), "max_gradient_norm must be > 0"),
        (("--steps", "1.5"), "--steps: '1.5' is not a whole number"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(tmp_path, capsys, arguments, message):
    assert main(["expert", "-o", str(tmp_path / "run"), *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("experts") / "run"
    assert train(folder, "Pendulum-v1", "--episodes=3") == 0
    return folder


def test_demonstrations_are_no_replays_of_training_episodes(finished):
    recorded = load_demos(finished / "Pendulum-v1-3x30.npz").trajectories
    task = make_expert_task(ExpertConfig(env="Pendulum-v1", envs=4, horizon=30))
    seen = {row.tobytes() for _ in range(10) for row in task.reset()}
    assert not seen & {row.tobytes() for row in recorded.observations[recorded.offsets[:-1]]}


def test_drawn_actions_are_others_and_the_card_says_so(finished, capsys):
    def record(*more):
        assert train(finished, "Pendulum-v1", "--episodes=3", "--json", *more) == 0
        card = json.loads(capsys.readouterr().out)
        return card, load_demos(card["file"]).trajectories.actions

    drawn_card, drawn = record("--stochastic")
    card, likely = record()
    again, same = record()
    assert np.array_equal(likely, same)
    assert not np.array_equal(likely, drawn)
    assert card["playing"] == again["playing"] == "greedy"
    assert drawn_card["playing"] == "drawn"


def test_a_name_with_a_slash_makes_no_folder(tmp_path, noisy):
    assert train(tmp_path / "run", noisy, "--steps=200") == 0
    assert (tmp_path / "run/test-Noisy-v0-2x30.npz").is_file()


def test_other_versions_are_refused(tmp_path, stopping, capsys):
    stopping(3)
    assert train(tmp_path / "run", "Pendulum-v1") == 130
    file = tmp_path / "run/versions.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"jax": "0.0.1"}))
    assert train(tmp_path / "run", "Pendulum-v1") == 2
    assert "was begun with other versions (jax 0.0.1 →" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["resume", "evaluate"])
def test_other_commands_know_an_expert(finished, capsys, command):
    assert main([command, str(finished)]) == 2
    said = capsys.readouterr().err
    assert "is a run of `etairl expert`" in said
    assert "run the same `etairl expert` command again" in said


def test_the_policy_of_a_run_in_python(finished):
    recorded = load_demos(finished / "Pendulum-v1-3x30.npz").trajectories
    actions = load_expert(finished)(None, recorded.observations)
    assert actions == pytest.approx(recorded.actions, abs=1e-4)


def test_settings_are_checked_in_python_too():
    with pytest.raises(InputError, match="seed must be >= 0"):
        ExpertConfig(seed=-1)


def test_a_planner_records_without_training(tmp_path, capsys):
    command = ["expert", "-o", str(tmp_path / "nav"), "--env", "etairl/Navigation-v0", "--planner"]
    assert main([*command, "--episodes", "7"]) == 0
    assert "100 % of the tasks solved" in capsys.readouterr().out
    (file,) = (tmp_path / "nav").glob("*.npz")
    assert file.name == "etairl-Navigation-v0-7x50.npz"
    recorded = load_demos(file).trajectories
    assert recorded.tasks.shape == (7, 2)
    card = json.loads(file.with_suffix(".json").read_text())
    assert card["success"] == 1.0
    assert card["training"] is None
    assert card["playing"] == "greedy"
    assert main(["expert", "-o", str(tmp_path / "x"), "--env", "Hopper-v5", "--planner"]) == 2
    assert "Hopper-v5 has no planner; there is one for FetchReach-v4" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_an_expert_learns_many_tasks(tmp_path, capsys):
    """And goes on in the middle of their episodes."""
    command = ["expert", "-o", str(tmp_path / "run"), "--env", "etairl/Navigation-v0", *SMALL]
    assert main(command) == 0
    assert "of the tasks solved" in capsys.readouterr().out
    (file,) = (tmp_path / "run").glob("*.npz")
    assert load_demos(file).trajectories.tasks.shape == (2, 2)
    assert load_expert(tmp_path / "run")(None, np.zeros((3, 8), np.float32)).shape == (3, 2)
