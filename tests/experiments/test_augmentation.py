"""A run with a generator of futures: who invents what, what is refused, how it goes on."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.algorithms import girl as template
from etairl.algorithms.girl import GirlConfig, Invented
from etairl.cli.app import main
from etairl.costs.discriminator import DiscriminatorConfig
from etairl.demos import load_demos
from etairl.eta import Geometric
from etairl.evaluation.futures import Futures
from etairl.experiments.augmentation import (
    augmented,
    check_quality,
    follow_paths,
    judge_generator,
    load_generator,
    split,
)
from etairl.experiments.imitation import run
from etairl.experiments.preparation import prepare
from etairl.experiments.settings import TrainConfig
from etairl.idle import Generator, IdleConfig, IdleState, Units
from etairl.measures import FutureSampler
from etairl.runs import RunDirectory
from etairl.solvers.sac import SACConfig
from etairl.tasks import task_space
from etairl.tasks.navigation import NAME
from etairl.tasks.product import Goals
from etairl.types import InputError

DEMOS = "etairl-Navigation-v0-300x50"
TINY = TrainConfig(
    env=NAME,
    demos=DEMOS,
    demonstrations=30,
    horizon=50,
    measure_every=2,
    idle="geometric:0.7",
    idle_gate=0.0,
    girl=GirlConfig(
        transitions=1200,
        episodes=6,
        solver_updates=5,
        solver_batch=16,
        cost_updates=3,
        cost_batch=16,
        remaining_cycles=4,
    ),
    cost=DiscriminatorConfig(hidden_d=(16,)),
    sac=SACConfig(hidden=(16, 16)),
    generator=IdleConfig(hidden_idle=(8,), idle_steps=20, idle_batch=16),
)
FILES = ("policy.safetensors", "cost.safetensors", "metrics.jsonl", "idle.safetensors", "idle.json")


def always(value: float, obs: int, act: int) -> Generator:
    """Invents one and the same pair."""
    units = Units.blank(obs, act)._replace(
        state_scale=jnp.ones(obs), lowest=jnp.full(act, value), highest=jnp.full(act, value)
    )
    state = IdleState.start(IdleConfig(hidden_idle=(4,)), jax.random.key(0), units)
    return Generator(state.averaged, units)


@pytest.mark.parametrize(("share", "cycle", "made"), [(0.25, 0, 0), (0.25, 1, 4), (1.0, 3, 16)])
def test_a_share_of_the_experts_pairs_is_invented_after_the_warm_up(share, cycle, made):
    setting = prepare(TINY)
    spec = setting.task.spec
    invented = Invented(always(0.123, spec.obs_dim, spec.act_dim), share, warmup=1)
    game = replace(setting.game, invented=invented)
    rng = np.random.default_rng(0)
    points = template._draw_expert(game, rng, setting.expert, cycle)
    assert points.obs.shape == (3, 16, spec.obs_dim)
    marked = np.isclose(np.asarray(points.act), 0.123).all(axis=2)
    assert (marked.sum(axis=1) == made).all()
    if made == 0:
        plain = template._draw_expert(setting.game, np.random.default_rng(0), setting.expert, cycle)
        assert all(map(np.array_equal, points, plain))
    # Units of this generator move nothing: invented states are states of the expert.
    states = np.asarray(points.obs)[marked]
    known = {row.tobytes() for row in setting.expert.buffer.observations}
    assert all(row.tobytes() in known for row in states)


def test_a_run_that_was_stopped_goes_on_with_its_generator(tmp_path):
    for name, stop in (("unbroken", False), ("stopped", True)):
        directory = RunDirectory(tmp_path / name)
        directory.path.mkdir()
        setting = augmented(prepare(TINY), directory.path)
        directory.open(TINY)
        reports = run(setting, directory, checkpoint_seconds=0.0)
        if stop:
            next(reports), next(reports)
            reports.close()
            kept = (directory.path / "idle.safetensors").stat().st_mtime_ns
            again = augmented(prepare(TINY), directory.path)
            list(run(again, directory))
            assert (directory.path / "idle.safetensors").stat().st_mtime_ns >= kept
        else:
            list(reports)
    for file in FILES:
        ours, theirs = ((tmp_path / name / file).read_bytes() for name in ("unbroken", "stopped"))
        assert ours == theirs, file
    result = json.loads((tmp_path / "stopped" / "result.json").read_text())
    assert result["idle"] == json.loads((tmp_path / "stopped" / "idle.json").read_text())


def test_a_generator_comes_back_from_disk(tmp_path):
    setting = augmented(prepare(TINY), tmp_path)
    directory = RunDirectory(tmp_path / "run")
    directory.open(TINY)
    next(run(setting, directory))
    found = load_generator(directory.path, TINY.generator, setting.task.spec, 1.0)
    assert found.quality == setting.futures
    states = setting.demos.trajectories.observations[:9]
    assert setting.game.invented is not None
    both = (setting.game.invented.generator, found.generator)
    made = [g.futures(np.random.default_rng(0), states)[0] for g in both]
    assert np.array_equal(*made)
    (directory.path / "idle.json").write_text("{")
    with pytest.raises(InputError, match=r"idle\.json: cannot be read"):
        load_generator(directory.path, TINY.generator, setting.task.spec, 1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"eta": "uniform"}, "see different times"),
        ({"idle": "geometric:2"}, "geometric"),
        ({"algorithm": "airl"}, "looks at next states"),
        ({"cost": DiscriminatorConfig(inputs="state_next_state")}, "looks at next states"),
        ({"mode": "absorbing"}, "absorbing states"),
        ({"idle_share": 1.5}, "idle_share must lie in"),
        ({"idle_warmup": -1}, "idle_warmup must be >= 0"),
        ({"idle_gate": float("nan")}, "idle_gate must lie in"),
    ],
)
def test_what_does_not_go_together_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        replace(TINY, **({"eta": None} | change))


def test_the_weighting_follows_the_generator():
    assert replace(TINY, eta=None).eta == "geometric:0.7"


def test_discrete_actions_are_refused():
    other = replace(TINY, env="CartPole-v1", demos="none.npz")
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


def test_true_futures_are_judged_to_be_true():
    """A generator that looks the future up in the held-out episodes has nothing to improve."""
    t = load_demos(DEMOS).trajectories
    sampler = FutureSampler(Geometric(0.7))
    _, held_out = split(t, 0)
    rows = {row.tobytes(): number for number, row in enumerate(held_out.observations)}

    class Lookup(Generator):
        def futures(self, rng, states):
            starts = np.array([rows[row.tobytes()] for row in states])
            ends = sampler.futures(rng, held_out.offsets, starts)
            return held_out.observations[ends], held_out.actions[ends]

    true = Lookup(*(getattr(always(0.0, 8, 2), name) for name in ("network", "units")))
    found = judge_generator(true, sampler, held_out, 0)
    assert found.ratio <= 2.0
    assert found.spread == pytest.approx(1.0, abs=0.1)
    space = task_space(NAME)
    assert isinstance(space, Goals)
    paths = follow_paths(true, sampler, held_out, space, 0)
    assert paths.generated.coverage == pytest.approx(paths.true.coverage, abs=0.03)
    assert paths.generated.near_target == pytest.approx(paths.true.near_target, abs=0.03)


def test_held_out_episodes_are_a_fifth_and_no_others():
    t = load_demos(DEMOS).trajectories
    shown, held_out = split(t, 0)
    assert (len(shown), len(held_out)) == (240, 60)
    seen = {row.tobytes() for row in shown.tasks}
    assert not any(row.tobytes() in seen for row in held_out.tasks)
    with pytest.raises(InputError, match="at least 5 demonstrations"):
        split(t.take(np.arange(4)), 0)


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
        assert "holds a generator already" in capsys.readouterr().err

    def test_json_and_no_gate(self, capsys):
        assert main(["idle", "--demos", DEMOS, "--json", "--gate", "0", *self.few]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["ratio"] == pytest.approx(max(0.0, found["mmd2"]) / found["floor"])
        assert set(found["paths"]) == {"generated", "true"}

    def test_demonstrations_without_places_have_no_paths(self, capsys):
        names = ["idle", "--demos", "Pendulum-v1-25x200", "--json", "--gate", "0", *self.few]
        assert main(names) == 0
        assert json.loads(capsys.readouterr().out)["paths"] is None

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--demos", "nowhere.npz"], "nowhere.npz"),
            (["--demos", DEMOS, "--eta", "geometrc:0.7"], "geometric"),
            (["--demos", DEMOS, "--idle-steps", "0"], "at least 1"),
            (["--demos", DEMOS, "--eta", "dirac:60"], "longest episode"),
            (["--demos", DEMOS, "--gamma-irl", "2"], "gamma"),
            (["--demos", DEMOS, "--episodes", "3"], "at least 5"),
        ],
    )
    def test_bad_input_is_one_sentence(self, arguments, words, capsys):
        assert main(["idle", *arguments]) == 2
        assert words in capsys.readouterr().err
