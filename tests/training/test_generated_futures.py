"""A run with a generator of futures: who generates what, what is refused, how it goes on."""

import json
import os
import signal
import time
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from programs import start
from tiny import NAVIGATION, TINY

from etairl.algorithms import girl as template
from etairl.algorithms.girl import Generated
from etairl.cli.app import main
from etairl.demos import Selection, load_demos, save_demos
from etairl.eta import Geometric
from etairl.evaluation.generated_futures import Futures
from etairl.idle import (
    Generator,
    IdleConfig,
    IdleState,
    Units,
    check_quality,
    follow_paths,
    hold_out,
    idle,
    judge_generator,
    load_generator,
    nearest_possible,
    quality,
    save_generator,
    train_generator,
)
from etairl.measures import FutureSampler
from etairl.tasks import task_space
from etairl.tasks.navigation_world import NAVIGATION as NAME
from etairl.tasks.product import Goals
from etairl.training import preparation
from etairl.training.flat import configure
from etairl.training.preparation import prepare, with_generator
from etairl.training.session import open_run
from etairl.types import InputError

DEMOS = "etairl-Navigation-v0-300x50"
GENERATING = replace(
    TINY,
    env=NAME,
    demos=NAVIGATION,
    demonstrations=30,
    eta="geometric:0.7",
    idle="geometric:0.7",
    idle_gate=0.0,
    girl=replace(TINY.girl, transitions=1200, episodes=6),
    generator=IdleConfig(hidden_idle=(8,), idle_steps=20, idle_batch=16),
)
FILES = ("policy.safetensors", "cost.safetensors", "metrics.jsonl", "idle.safetensors", "idle.json")


def always(value: float, obs: int, act: int) -> Generator:
    """Generates one and the same pair."""
    units = Units.blank(obs, act)._replace(
        state_scale=jnp.ones(obs), lowest=jnp.full(act, value), highest=jnp.full(act, value)
    )
    state = IdleState.start(IdleConfig(hidden_idle=(4,)), jax.random.key(0), units)
    return Generator(state.averaged, units, FutureSampler(Geometric(0.7)))


@pytest.mark.parametrize(("share", "cycle", "made"), [(0.25, 0, 0), (0.25, 1, 4), (1.0, 3, 16)])
def test_a_share_of_the_experts_pairs_is_generated_after_the_warm_up(share, cycle, made):
    setting = prepare(GENERATING)
    spec = setting.task.spec
    generated = Generated(always(0.123, spec.obs_dim, spec.act_dim), share, warmup=1)
    game = replace(setting.game, generated=generated)
    rng = np.random.default_rng(0)
    points = template._draw_expert(game, rng, setting.expert, cycle, 3)
    assert points.obs.shape == (3, 16, spec.obs_dim)
    marked = np.isclose(np.asarray(points.act), 0.123).all(axis=2)
    assert (marked.sum(axis=1) == made).all()
    if made == 0:
        rng = np.random.default_rng(0)
        plain = template._draw_expert(setting.game, rng, setting.expert, cycle, 3)
        assert all(map(np.array_equal, points, plain))
    # Units of this generator move nothing: generated states are states of the expert.
    states = np.asarray(points.obs)[marked]
    known = {row.tobytes() for row in setting.expert.buffer.observations}
    assert all(row.tobytes() in known for row in states)


def test_settings_reach_the_game(tmp_path):
    config = replace(GENERATING, idle_share=0.125, idle_warmup=3)
    generated = with_generator(prepare(config), tmp_path).game.generated
    assert generated is not None
    assert (generated.share, generated.warmup) == (0.125, 3)
    assert generated.generator.sampler == config.future
    assert generated.generator.mend is not None


def test_a_run_that_was_stopped_is_resumed_with_its_generator(tmp_path, monkeypatch):
    with open_run(GENERATING, tmp_path / "unbroken") as run:
        list(run.play())
    with open_run(GENERATING, tmp_path / "stopped", checkpoint_seconds=0.0) as run:
        reports = run.play()
        next(reports), next(reports)
        reports.close()
    monkeypatch.setattr(preparation, "train_generator", None)  # it is read, not made again
    with open_run(GENERATING, tmp_path / "stopped", resume=True) as run:
        list(run.play())
    for file in FILES:
        ours, theirs = ((tmp_path / name / file).read_bytes() for name in ("unbroken", "stopped"))
        assert ours == theirs, file
    about, result = (
        json.loads((tmp_path / "stopped" / file).read_text())
        for file in ("idle.json", "result.json")
    )
    assert result["idle"] == about["quality"]
    assert about["eta"] == "geometric:0.7"
    assert about["config"]["idle_steps"] == 20


def test_a_generator_comes_back_from_disk(tmp_path):
    setting = with_generator(prepare(GENERATING), tmp_path)
    kept = setting.generator
    assert kept is not None
    save_generator(tmp_path, kept, GENERATING.generator)
    found = load_generator(tmp_path, kept.generator.mend)
    assert found.quality == kept.quality
    states = setting.demos.trajectories.observations[:9]
    made = [
        g.futures(np.random.default_rng(0), states)[0] for g in (kept.generator, found.generator)
    ]
    assert np.array_equal(*made)
    with pytest.raises(InputError, match="exists and is not a run"):
        with_generator(prepare(GENERATING), tmp_path)
    (tmp_path / "idle.json").write_text("{}")
    with pytest.raises(InputError, match=r"idle\.json: the checksum of the generator is wrong"):
        load_generator(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"eta": "uniform"}, "see different times"),
        ({"idle": "geometric:2"}, "geometric"),
        ({"algorithm": "airl"}, "looks at next states"),
        ({"inputs": "state_next_state"}, "looks at next states"),
        ({"mode": "absorbing"}, "absorbing states"),
        ({"idle_share": 1.5}, "idle_share must lie in"),
        ({"idle_warmup": -1}, "idle_warmup must be >= 0"),
        ({"idle_gate": float("nan")}, "idle_gate must lie in"),
    ],
)
def test_what_does_not_go_together_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        configure(GENERATING, **change)


def test_the_weighting_follows_the_generator():
    assert configure("paper/navigation", idle="geometric:0.7").eta == "geometric:0.7"


def test_discrete_actions_are_refused():
    other = replace(GENERATING, env="CartPole-v1", demos="none.npz")
    with pytest.raises(InputError, match="continuous actions"):
        prepare(other)


def test_a_generator_that_is_not_good_enough_is_refused():
    good = Futures(mmd2=0.001, floor=0.001, spread=0.9, points=100)
    check_quality(good, 4.0)
    with pytest.raises(InputError, match=r"10\.0 times as far.*the limit is 4"):
        check_quality(replace(good, mmd2=0.01), 4.0)
    with pytest.raises(InputError, match=r"has collapsed: its futures scatter 0\.01"):
        check_quality(replace(good, spread=0.01), 4.0)
    check_quality(replace(good, mmd2=0.01, spread=0.0), 0.0)


def test_nothing_is_written_when_it_is_refused(tmp_path, capsys):
    few = ["--hidden-idle", "8", "--idle-steps=20", "--idle-batch=16", "--threads=1"]
    output = tmp_path / "run"
    arguments = ["train", "-o", str(output), "--preset=paper/navigation", "--idle=geometric:0.7"]
    assert main([*arguments, *few]) == 2
    assert "with --idle-gate 0 it is used all the same" in capsys.readouterr().err
    assert not output.exists()


NEAR, FAR = FutureSampler(Geometric(0.7)), FutureSampler(Geometric(0.9))


class Lookup(Generator):
    """Looks futures up in the held-out episodes, by a law of its own, and spoils them."""

    def __init__(self, held_out, law=NEAR, spoil=lambda states, futures: futures):
        rows = {row.tobytes(): number for number, row in enumerate(held_out.observations)}
        parts = {"sampler": NEAR, "held_out": held_out, "law": law, "spoil": spoil, "rows": rows}
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    def futures(self, rng, states):
        starts = np.array([self.rows[row.tobytes()] for row in states])
        ends = self.law.futures(rng, self.held_out.offsets, starts)
        ahead = self.spoil(states, self.held_out.observations[ends])
        return ahead.astype(np.float32), self.held_out.actions[ends]


@pytest.mark.parametrize("source", [DEMOS, "FetchReach-v4-200x100"])
def test_what_is_true_passes_and_what_is_a_little_wrong_does_not(source):
    """On the bundled demonstrations, where a future is close to its state."""
    _, held_out = hold_out(load_demos(source).trajectories, 0)
    rng, spread = np.random.default_rng(0), held_out.observations.std(axis=0)
    right = judge_generator(Lookup(held_out), held_out, 0)
    assert right.ratio <= 2.0
    assert right.spread == pytest.approx(1.0, abs=0.1)
    for wrong in (
        Lookup(held_out, spoil=lambda s, z: s + 0.5 * (z - s)),
        Lookup(held_out, spoil=lambda s, z: z + 0.1 * spread * rng.normal(size=z.shape)),
        Lookup(held_out, law=FAR),
    ):
        assert judge_generator(wrong, held_out, 0).ratio > 4.0


def test_paths_of_true_futures_are_covered_alike():
    _, held_out = hold_out(load_demos(DEMOS).trajectories, 0)
    space = task_space(NAME)
    assert isinstance(space, Goals)
    paths = follow_paths(Lookup(held_out), held_out, space, 0)
    assert paths.generated.coverage == pytest.approx(paths.true.coverage, abs=0.03)
    assert paths.generated.near_target == pytest.approx(paths.true.near_target, abs=0.03)


def test_it_learns_from_some_episodes_and_is_judged_on_the_others(monkeypatch):
    t, seen = load_demos(DEMOS, select=Selection(30)).trajectories, {}

    def learns(config, seed, shown, sampler, mend):
        seen["shown"] = shown
        yield from idle(config, seed, shown, sampler, mend=mend)

    def judges(made, held_out, seed):
        seen["held_out"] = held_out
        return judge_generator(made, held_out, seed)

    monkeypatch.setattr(quality, "idle", learns)
    monkeypatch.setattr(quality, "judge_generator", judges)
    train_generator(GENERATING.generator, NEAR, t, 0)
    shown, held_out = hold_out(t, 0)
    assert np.array_equal(seen["shown"].observations, shown.observations)
    assert np.array_equal(seen["held_out"].observations, held_out.observations)


@pytest.mark.slow
@pytest.mark.parametrize("source", [DEMOS, "FetchReach-v4-200x100"])
def test_the_defaults_are_within_two_floors(source):
    t = load_demos(source).trajectories
    mend = nearest_possible(load_demos(source).spec)
    found = train_generator(IdleConfig(), NEAR, t, 0, mend=mend)
    assert found.quality.ratio <= 2.0


def test_held_out_episodes_are_a_fifth_and_no_others():
    t = load_demos(DEMOS).trajectories
    shown, held_out = hold_out(t, 0)
    assert (len(shown), len(held_out)) == (240, 60)
    seen = {row.tobytes() for row in shown.tasks}
    assert not any(row.tobytes() in seen for row in held_out.tasks)
    with pytest.raises(InputError, match="at least 5 demonstrations"):
        hold_out(t.take(np.arange(4)), 0)


class TestCommand:
    few = ("--hidden-idle", "8", "--idle-steps", "20", "--idle-batch", "16")

    def test_a_poor_generator_ends_with_1_and_says_why(self, tmp_path, capsys):
        output = str(tmp_path / "made")
        assert main(["idle", "--demos", DEMOS, "-o", output, *self.few]) == 1
        said = capsys.readouterr().out
        assert "at the target" in said
        assert "Use a weighting that looks less far ahead" in said
        assert (tmp_path / "made" / "futures.png").read_bytes()[:4] == b"\x89PNG"
        assert main(["idle", "--demos", DEMOS, "-o", output, *self.few]) == 2
        assert "exists already" in capsys.readouterr().err

    def test_json_stays_json_when_it_is_refused(self, capsys):
        assert main(["idle", "--demos", DEMOS, "--json", *self.few]) == 1
        found = json.loads(capsys.readouterr().out)
        assert not found["accepted"]
        assert "--idle-gate 0" in found["why"]

    def test_tasks_of_another_size_are_refused_before_anything_is_learned(self, tmp_path, capsys):
        shown = load_demos(DEMOS, select=Selection(10))
        tasks = np.zeros((10, 3), np.float32)
        wrong = replace(shown, trajectories=replace(shown.trajectories, tasks=tasks))
        save_demos(wrong, tmp_path / "wrong.npz")
        assert main(["idle", "--demos", str(tmp_path / "wrong.npz")]) == 2
        assert "vector of 2 numbers" in capsys.readouterr().err

    def test_ctrl_c_is_one_word(self, tmp_path):
        said = tmp_path / "said"
        process = start("idle", "--demos", DEMOS, folder=tmp_path, output=said)
        while not said.exists() or "learning futures" not in said.read_text():
            assert process.is_alive(), "it ended before it began"
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGINT)
        process.join(60)
        assert process.exitcode == 130, said.read_text()
        assert "interrupted; nothing was written" in said.read_text()

    def test_json_and_no_gate(self, capsys):
        assert main(["idle", "--demos", DEMOS, "--json", "--idle-gate", "0", *self.few]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["ratio"] == pytest.approx(max(0.0, found["mmd2"]) / found["floor"])
        assert set(found["paths"]) == {"generated", "true"}

    def test_demonstrations_without_places_have_no_paths(self, capsys):
        names = ["idle", "--demos", "Pendulum-v1-25x200", "--json", "--idle-gate", "0", *self.few]
        assert main(names) == 0
        assert json.loads(capsys.readouterr().out)["paths"] is None

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--demos", "nowhere.npz"], "nowhere.npz"),
            (["--demos", DEMOS, "--eta", "geometrc:0.7"], "geometric"),
            (["--demos", DEMOS, "--idle-steps", "0"], "at least 1"),
            (["--demos", DEMOS, "--gamma-irl", "2"], "gamma"),
            (["--demos", DEMOS, "--episodes", "3"], "at least 5"),
            (["--demos", DEMOS, "--eta", "dirac:0"], "one recorded future"),
            (["--demos", DEMOS, "--seed", "-1"], "seed must be >= 0"),
            (["--demos", DEMOS, "--idle-gate", "nan"], "idle_gate must be >= 0"),
        ],
    )
    def test_bad_input_is_one_sentence(self, arguments, words, capsys):
        assert main(["idle", *arguments]) == 2
        assert words in capsys.readouterr().err
