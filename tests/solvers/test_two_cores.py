"""Critics and actor at once: the same numbers whatever the timing, the cores and the kills."""

import os
import signal
import threading
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from programs import on_one_core, run, start
from tiny import TINY

import etairl
from etairl.runs import read_metrics
from etairl.solvers import ppo, sac_at_once
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.solvers.sac_state import SACDraw
from etairl.solvers.solver import Batch
from etairl.solvers.two_cores import at_once
from etairl.training.flat import configure
from etairl.types import Spec

FILES = ("policy.safetensors", "cost.safetensors", "metrics.jsonl", "result.json")
SPEC = Spec(3, 2, (-1.0, -2.0), (1.0, 4.0))
SMALL = SACConfig(hidden=(8,), actor_average=0.01)
AT_ONCE = configure(TINY, at_once=2)
ON_POLICY = configure(TINY, solver="ppo", hidden=(8, 8), minibatch=50)


def batch_of(rng, updates, n=32):
    return Batch(
        obs=rng.normal(size=(updates, n, 3)).astype(np.float32),
        act=rng.uniform(-1, 1, (updates, n, 2)).astype(np.float32),
        cost=rng.normal(size=(updates, n)).astype(np.float32),
        next_obs=rng.normal(size=(updates, n, 3)).astype(np.float32),
        terminated=(rng.random((updates, n)) < 0.1).astype(np.float32),
    )


def same(one, other) -> bool:
    return all(
        np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (one, other)), strict=True)
    )


def contents(path) -> list[bytes]:
    return [(path / file).read_bytes() for file in FILES]


def after(play: OffPolicy, rng_of, cost=None, updates: int = 5):
    solver = SAC(SMALL, SPEC, play=play)
    drawn = SACDraw([batch_of(rng_of(), updates)])
    args = () if cost is None else (cost, jnp.float32(2.0))
    return solver.updates(jax.random.key(1), solver.init(jax.random.key(0)), drawn, *args)


@pytest.fixture
def fresh():
    return lambda: np.random.default_rng(3)


def test_each_side_sees_the_other_as_it_was_when_the_block_began(fresh):
    """Five updates in blocks of two, by hand: 2 + 2 + 1."""
    solver = SAC(SMALL, SPEC, play=OffPolicy(at_once=2))
    batches, key = batch_of(fresh(), 5), jax.random.key(1)
    keys = jax.vmap(jax.random.split)(jax.random.split(key, 5))
    critics, actor = map(jax.jit, (SAC.critics_step, SAC.actor_step))
    state, losses = solver.init(jax.random.key(0)), []
    for block in ((0, 1), (2, 3), (4,)):
        judged = acted = state
        for k in block:
            batch = jax.tree.map(lambda x, k=k: x[k], batches)
            judged, (loss, _) = critics(solver, judged, batch, keys[k, 0])
            acted, _ = actor(solver, acted, batch, keys[k, 1])
            losses.append(float(loss))
        state = acted._replace(
            critics=judged.critics,
            targets=judged.targets,
            critic_optimiser=judged.critic_optimiser,
        )
    drawn = SACDraw([batches])
    found, info = solver.updates(key, solver.init(jax.random.key(0)), drawn)
    for one, other in zip(*map(jax.tree.leaves, (found, state)), strict=True):
        assert np.asarray(one) == pytest.approx(np.asarray(other), rel=1e-4, abs=1e-6)
    assert float(info.critic_loss) == pytest.approx(np.mean(losses), rel=1e-5)
    in_turn, _ = SAC(SMALL, SPEC).updates(key, solver.init(jax.random.key(0)), drawn)
    assert not same(found.critics, in_turn.critics)


@pytest.mark.parametrize("slow", ["critics", "actor"])
def test_the_slower_side_changes_nothing(fresh, monkeypatch, slow):
    """A side that waits before it begins, and waits again when it is done."""

    def waiting(work):
        time.sleep(0.05)
        result = jax.block_until_ready(work())
        time.sleep(0.05)
        return result

    def slowed(first, second):
        if slow == "critics":
            return at_once(partial(waiting, first), second)
        return at_once(first, partial(waiting, second))

    expected = after(OffPolicy(at_once=2), fresh)
    monkeypatch.setattr(sac_at_once, "at_once", slowed)
    assert same(after(OffPolicy(at_once=2), fresh), expected)


def test_the_cost_is_the_current_one(fresh):
    double = jax.tree_util.Partial(lambda scale, obs, act, next_obs: scale * obs[:, 0])
    nothing = jax.tree_util.Partial(lambda scale, obs, act, next_obs: 0.0 * obs[:, 0])
    states = [after(OffPolicy(at_once=5), fresh, c)[0] for c in (double, double, nothing)]
    assert same(states[0], states[1])
    assert not same(states[0].critics, states[2].critics)


def test_critics_alone_leave_the_actor(fresh):
    solver = SAC(SMALL, SPEC, play=OffPolicy(at_once=2))
    first = solver.init(jax.random.key(0))
    drawn = SACDraw([batch_of(fresh(), 5)], critics_only=True)
    state, _ = solver.updates(jax.random.key(1), solver.init(jax.random.key(0)), drawn)
    assert same(state.actor, first.actor)
    assert not same(state.critics, first.critics)


def test_both_run_at_the_same_time():
    """Each waits for the other to have begun: one after the other would never end."""
    met = threading.Barrier(2, timeout=30)
    assert sorted(at_once(met.wait, met.wait)) == [0, 1]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_fails_is_said_and_nothing_goes_on(error):
    done = []

    def fails():
        raise error("the simulator is gone")

    def works():
        time.sleep(0.2)
        done.append(1)

    with pytest.raises(error, match="the simulator is gone"):
        at_once(fails, works)
    assert done == [1]
    with pytest.raises(error, match="the simulator is gone"):
        at_once(works, fails)
    assert done == [1, 1]


def test_actor_and_critics_of_ppo_learn_the_same_in_any_order(tmp_path, monkeypatch):
    def backwards(first, second):
        later = jax.block_until_ready(second())
        return first(), later

    usual = contents(etairl.train(ON_POLICY, tmp_path / "usual").path)
    monkeypatch.setattr(ppo, "at_once", backwards)
    assert contents(etairl.train(ON_POLICY, tmp_path / "backwards").path) == usual


def test_gail_is_megan_with_all_weight_on_the_present_bit_for_bit(tmp_path):
    choices = {"gail": {"algorithm": "gail"}, "dirac": {"eta": "dirac:0"}, "megan": {}}
    found = {}
    for name, choice in choices.items():
        path = etairl.train(configure(AT_ONCE, **choice), tmp_path / name).path
        assert len(read_metrics(path)) >= 5
        found[name] = contents(path)
    assert found["gail"] == found["dirac"] != found["megan"]


OPTIONS = [
    *("--env=Pendulum-v1", "--demos=Pendulum-v1-25x200", "--demonstrations=5", "--horizon=50"),
    *("--transitions=1500", "--episodes=5", "--rollout=episodes", "--cost-updates=3"),
    *("--cost-batch=16", "--measure-every=2", "--remaining-cycles=4", "--checkpoint-seconds=0"),
]
SOLVERS = {
    "sac": ["--solver=sac", "--solver-updates=5", "--solver-batch=16", "--at-once=2"],
    "ppo": ["--solver=ppo", "--minibatch=50"],
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_core_a_kill_and_ctrl_c_leave_the_same_bytes(tmp_path, solver):
    options = [*OPTIONS, *SOLVERS[solver], "--hidden=16"]
    one = on_one_core if hasattr(os, "sched_setaffinity") else None
    assert run("train", "-o", "one", *options, folder=tmp_path, before=one).returncode == 0
    assert run("train", "-o", "all", *options, folder=tmp_path).returncode == 0
    for how, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
        name, said = how.name, tmp_path / f"said-{how.name}"
        process = start("train", "-o", name, *options, folder=tmp_path, output=said)
        for _ in range(3000):
            log = tmp_path / name / "metrics.jsonl"
            if log.is_file() and log.read_text().count("\n") >= 2:
                break
            time.sleep(0.02)
        os.kill(process.pid, how)
        process.join(60)
        assert process.exitcode == code
        assert "Traceback" not in said.read_text()
        assert run("resume", name, folder=tmp_path).returncode == 0
    found = {name: contents(tmp_path / name) for name in ("one", "all", "SIGKILL", "SIGINT")}
    assert found["SIGKILL"] == found["SIGINT"] == found["all"]
    # The distances in result.json are sums over as many threads as there are cores.
    assert found["one"][:-1] == found["all"][:-1]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_any_number_of_cores_gives_the_same_bytes(tmp_path, monkeypatch):
    """With networks of the usual size, whose sums XLA would share out; as a user's processes."""
    monkeypatch.delenv("NPROC")
    options = [*OPTIONS[:3], "--horizon=100", "--transitions=8000", "--quiet"]
    names = ("policy", "clone", "cost")
    found = []
    for name, before in (("one", on_one_core), ("all", None)):
        assert run("train", "-o", name, *options, folder=tmp_path, before=before).returncode == 0
        files = (tmp_path / name / f"{file}.safetensors" for file in names)
        found.append([file.read_bytes() for file in files])
    assert found[0] == found[1]
