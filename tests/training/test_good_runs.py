"""A run knows when it is good: it stops, keeps its best policy, and comes back after a collapse.

The expert of these runs is the learner before it learned anything, so that they begin as good as
they can be, without a second of training.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

import etairl
from etairl.algorithms import girl as template
from etairl.algorithms.girl import GirlConfig
from etairl.cli.app import main
from etairl.cli.ending import print_result
from etairl.cli.running import follow
from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.discriminator import GanConfig
from etairl.demos import Demos, save_demos
from etairl.networks import MLP
from etairl.rollouts import collect
from etairl.runs import read_metrics
from etairl.solvers.learned import load_player
from etairl.solvers.players import SOLVERS, PPOSettings
from etairl.solvers.ppo_config import PPOConfig
from etairl.tasks import make_task
from etairl.training import preparation
from etairl.training.flat import configure
from etairl.training.preparation import prepare
from etairl.training.session import open_run
from etairl.training.settings import TrainConfig

START = TrainConfig(
    env="Pendulum-v1",
    demos="Pendulum-v1-25x200",
    demonstrations=6,
    horizon=20,
    measure_every=1,
    girl=GirlConfig(
        transitions=1_360, episodes=4, cost_updates=2, cost_batch=8, remaining_cycles=4
    ),
    cost=GanConfig(network=DiscriminatorConfig(hidden_d=(8,))),
    solver=PPOSettings(
        PPOConfig(hidden=(8,), epochs=2, minibatch=40, normalise="none", first_std=0.1)
    ),
)
DESTROYED = 7
"""the cycle after which the actor is destroyed on purpose"""
FILES = ("policy", "best-policy", "cost")


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> TrainConfig:
    """Settings with the learner's own first policy as the expert, and without any rewards."""
    prepared = prepare(START)
    policy = prepared.game.solver.policy(prepared.begin().solver)
    task = make_task("Pendulum-v1", 8, horizon=20, seed=99)
    played = collect(np.random.default_rng(0), task, policy, 24)
    file = tmp_path_factory.mktemp("demos") / "own.npz"
    save_demos(Demos.of(replace(played, rewards=None), task.spec, "own", "drawn"), file)
    return replace(START, demos=str(file))


def destroyed(actor: MLP) -> MLP:
    """An actor that always pushes to the right."""
    *others, last = actor.biases
    return MLP(actor.weights, (*others, last.at[0].set(1.0)), actor.activation)


@pytest.fixture
def sabotage(monkeypatch) -> None:
    """Whoever plays the game finds the actor destroyed after a certain cycle."""
    plain = preparation.girl

    def girl(game, task, expert, buffer, state) -> Iterator[template.Cycle]:
        for cycle in plain(game, task, expert, buffer, state):
            if cycle.state.cycles != DESTROYED:
                yield cycle
                continue
            bad = cycle.state.solver._replace(actor=destroyed(cycle.state.solver.actor))
            again = cycle.state._replace(solver=bad)
            yield cycle._replace(state=again)
            yield from plain(game, task, expert, buffer, again)
            return

    monkeypatch.setattr(preparation, "girl", girl)


def test_a_run_as_near_as_the_expert_to_itself_stops(own, tmp_path, capsys):
    """No demonstration has a reward, and neither the rows nor the words need one."""
    path = etairl.train(replace(own, patience=3, keep="best"), tmp_path / "run").path
    result, rows = json.loads((path / "result.json").read_text()), read_metrics(path)
    stopped = result["stopped"]
    assert result["watched"] == "18 demonstrations held out"
    assert (stopped["why"], stopped["cycle"]) == ("matches", len(rows))
    assert len(rows) < 17
    assert "to 18 demonstrations held out was below 0." in stopped["message"]
    assert all(max(r["watched/mmd2_mu"] for r in rows[-2:]) < r["watched/floor"] for r in rows)
    print_result(path)
    said = capsys.readouterr().out
    assert stopped["message"] in " ".join(said.split())
    assert f"the policy that played cycle {result['kept']['cycle']}: MMD²" in said


def test_the_best_policy_is_the_one_that_played(own, tmp_path, monkeypatch):
    """And not the one that its cycle made of it. All demonstrations are in use here."""
    plain, actors = preparation.girl, []

    def girl(game, task, expert, buffer, state) -> Iterator[template.Cycle]:
        actors.append(jax.tree.map(np.array, state.solver.actor))
        for cycle in plain(game, task, expert, buffer, state):
            actors.append(jax.tree.map(np.array, cycle.state.solver.actor))
            yield cycle

    monkeypatch.setattr(preparation, "girl", girl)
    fast = configure(own, learning_rate=0.03, demonstrations=None, transitions=560)
    path = etairl.train(replace(fast, keep="best"), tmp_path / "run").path
    result = json.loads((path / "result.json").read_text())
    assert result["watched"] == "the demonstrations in use"
    assert result["stopped"]["why"] == "transitions"
    cycle = result["best"]["cycle"]
    assert result["kept"]["policy"] == "best"
    assert result["kept"]["cycle"] == cycle < 7
    prepared = prepare(fast)
    like = prepared.begin().solver
    for name in ("policy", "best-policy"):
        kept, _ = load_player(path / f"{name}.safetensors", (like.actor, like.normaliser))
        same = [
            all(map(np.array_equal, jax.tree.leaves(kept), jax.tree.leaves(actor)))
            for actor in actors
        ]
        assert same.index(True) == cycle - 1
        assert sum(same) == 1


def stopped_and_resumed(config: TrainConfig, path: Path, cycles: list[int]) -> None:
    """Stopped after each of some cycles, in the end once more as by a kill before a checkpoint."""
    for number, end in enumerate(cycles):
        with (
            open_run(config, path, resume=number > 0, checkpoint_seconds=1000.0) as run,
            closing(run.play()) as reports,
        ):
            while len(run.rows) < end:
                next(reports)
    shutil.rmtree(path / "checkpoints" / f"{cycles[-1]:08d}")


@pytest.mark.usefixtures("sabotage")
def test_a_destroyed_policy_comes_back_and_so_do_the_bytes(own, tmp_path, capsys):
    config, path = replace(own, recover=True), tmp_path / "unbroken"
    follow(config, path)
    said = capsys.readouterr().err
    result, rows = json.loads((path / "result.json").read_text()), read_metrics(path)
    last = DESTROYED + 3
    assert f"cycle {last}: the learner has collapsed: it is far behind cycle" in said
    assert "back to the policy that played then, with half the learning rates" in said
    assert [row["cycle"] for row in rows if row.get("recovered")] == [last]
    assert (result["recoveries"], result["collapsed_cycles"]) == (1, 3)
    assert result["collapsed_last_third"] == 0
    far = [row["watched/mmd2_mu"] for row in rows]
    assert max(far[:DESTROYED] + far[last:]) < 0.5 * min(far[DESTROYED:last])
    rates = {row["cycle"]: row["solver/learning_rate"] for row in rows}
    assert rates[last + 1] == pytest.approx(0.5 * rates[last])
    stopped_and_resumed(config, tmp_path / "parts", [last - 2, last, last + 2])
    assert main(["resume", str(tmp_path / "parts")]) == 0
    names = (*(f"{name}.safetensors" for name in FILES), "metrics.jsonl", "result.json")
    for name in names:
        assert (tmp_path / "parts" / name).read_bytes() == (path / name).read_bytes(), name
    assert "1 of 3 times, by going back to the best policy" in capsys.readouterr().out


@pytest.mark.usefixtures("sabotage")
def test_a_collapse_is_said_where_it_stays_and_the_best_policy_is_still_there(own, tmp_path):
    config = configure(own, transitions=960, recover=False, keep="best")
    found = etairl.train(config, tmp_path / "run")
    (said,) = found.metrics["diagnostics"]
    assert (said["name"], said["cycle"]) == ("collapsed", DESTROYED + 3)
    assert found.metrics["kept"]["cycle"] <= DESTROYED
    assert found.metrics["collapsed_cycles"] == found.metrics["cycles"] - DESTROYED
    assert found.metrics["collapsed_last_third"] > 0
    seen = found.demonstrations.observations[:50]
    pushes = [
        etairl.Result(found.path).policy(seen),
        etairl.Result(found.path, "best").policy(seen),
    ]
    assert np.array_equal(*pushes)
    assert np.abs(pushes[0]).max() < 1.9


@pytest.mark.parametrize("kind", SOLVERS)
def test_every_solver_can_be_slowed(kind):
    solver = prepare(configure(START, solver=kind, algorithm="iq" if kind == "iq" else "megan"))
    plain, half = solver.game.solver, solver.game.solver.slowed(0.5)
    numbers = zip(jax.tree.leaves(plain), jax.tree.leaves(half), strict=True)
    assert {round(b / a, 6) for a, b in numbers if a != b} == {0.5}
    assert jax.tree.structure(plain) == jax.tree.structure(half)


def test_too_few_measurements_keep_the_last(own, tmp_path):
    few = configure(own, transitions=160, keep="best")
    result = etairl.train(few, tmp_path / "run").metrics
    assert result["kept"]["policy"] == "last"
    assert "too few measurements" in result["kept"]["why"]
    assert result["best"]["cycle"] == result["cycles"] == 2
