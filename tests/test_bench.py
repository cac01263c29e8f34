"""The benchmark measures what it says; its speed limits are no test (machines are shared)."""

import json
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest
from tiny import TINY

from etairl.bench import (
    core_speed,
    cycle_speed,
    draw_speed,
    exact_speed,
    growth_speed,
    solver_speed,
    study_speed,
)
from etairl.bench.measuring_speed import bench_measuring
from etairl.bench.race import Look, outcome, race
from etairl.tasks import make_task
from etairl.training.flat import configure
from etairl.types import InputError


def test_every_case_is_timed(monkeypatch):
    monkeypatch.setattr(draw_speed, "DRAWS", 1000)
    draws = list(draw_speed.bench_draws(rounds=1))
    assert len(draws) == draw_speed.CASES == 2 * 2 * 9
    assert all(draw.milliseconds > 0 and draw.ratio > 0 and draw.flat_ratio > 0 for draw in draws)
    assert {draw.limit for draw in draws} == {1.3, 4.0}
    assert all(draw.ok == (draw.ratio <= draw.limit) for draw in draws)


def test_mmd_is_timed_against_its_products():
    found = draw_speed.bench_mmd(points=400, dims=5, rounds=1)
    assert found.ratio == pytest.approx(found.seconds / found.products_seconds)


def test_the_plain_draw_is_uniform_over_trajectories_and_times(monkeypatch):
    monkeypatch.setattr(draw_speed, "DRAWS", 100_000)
    rows = draw_speed._plain(np.random.default_rng(0), np.array([0, 500, 550]))
    assert abs((rows >= 500).mean() - 0.5) < 4 * 0.5 / np.sqrt(100_000)


@pytest.mark.slow
def test_rollouts_and_updates_are_timed():
    found = solver_speed.bench_rollouts("Pendulum-v1", envs=3, steps=10, rounds=1)
    assert found.ratio == pytest.approx(found.with_policy / found.fixed_actions)
    assert solver_speed.bench_update("Hopper-v5", (8,), batch=4, updates=2).milliseconds > 0


@pytest.mark.slow
def test_a_cycle_is_timed_with_the_same_simulation_on_both_sides():
    found = cycle_speed.bench_run(configure(TINY, transitions=10_000), rounds=2)
    assert found.transitions == 250
    assert 0 < found.played < min(found.megan, found.gail)
    assert found.ratio_to_gail == pytest.approx(found.megan / found.gail)
    assert found.ratio_to_simulator == pytest.approx(found.megan / found.simulator)


@pytest.mark.slow
@pytest.mark.skipif(not core_speed.can_compare(), reason="needs two cores, and Linux")
def test_a_cycle_is_timed_on_one_core_and_on_two():
    changed = {"updates_per_step": 1.0, "at_once": 25, "hidden": (8,), "hidden_d": (8,)}
    case = core_speed.CoreCase("off-policy", changed, limit=0.01)
    found = core_speed.bench_cores(case, horizon=26, rounds=3)
    assert found.settings.startswith("off-policy --updates-per-step 1.0 --at-once 25")
    assert found.lowest <= found.ratio <= found.highest
    assert min(found.one_core, found.both_cores, found.fastest) > 0
    assert found.ok == (found.fastest >= 0.01)


def test_cycles_on_both_cores_need_two(monkeypatch):
    monkeypatch.setattr(core_speed, "cores", lambda: 1)
    assert not core_speed.can_compare()


def test_the_share_of_measuring_is_that_of_a_whole_run():
    """Once in `measure_every` cycles: m/k of the c + m/k seconds that a cycle takes."""
    found = bench_measuring(TINY, rounds=3)
    assert (found.every, found.episodes) == (2, 5)
    assert min(found.cycle, found.mmd2) > 0
    assert found.share == pytest.approx(found.mmd2 / (2 * found.cycle + found.mmd2))
    assert found.ok == (found.share <= 0.03)


def test_the_stopwatch_counts_the_steps_of_its_task_alone():
    task = cycle_speed.Stopwatch(make_task("Pendulum-v1", 2, horizon=5))
    twin = make_task("Pendulum-v1", 2, horizon=5)
    assert task.reset() == pytest.approx(twin.reset())
    assert task.seconds == 0
    actions = np.zeros((2, 1), np.float32)
    assert task.step(actions).observations == pytest.approx(twin.step(actions).observations)
    assert task.seconds > 0


@pytest.mark.slow  # 80 s: three processes that import and compile
def test_runs_side_by_side_are_timed():
    found = study_speed.bench_study(cycles=1)
    assert found.ratio == pytest.approx(found.one_by_one / found.side_by_side)
    assert found.ok == (found.ratio >= 1.8)


def test_runs_side_by_side_need_cores(monkeypatch):
    monkeypatch.setattr(study_speed, "cores", lambda: 1)
    with pytest.raises(InputError, match="need 2 cores, here are 1"):
        study_speed.bench_study()


def test_exact_measures_are_timed(monkeypatch):
    sizes = (("random", 50, 3), ("random", 50, 10), ("grid", 25, 4))
    monkeypatch.setattr(exact_speed, "KERNELS", sizes)
    monkeypatch.setattr(exact_speed, "GROWTH", np.inf)
    found = list(exact_speed.bench_mu(rounds=1))
    assert [(exact.world, exact.states, exact.actions) for exact in found] == [
        ("random", 50, 10),
        ("random", 50, 10),
        ("grid", 25, 4),
    ]
    assert found[0].nonzeros < found[1].nonzeros <= 50 * 10 * 10
    assert all(exact.ok and exact.seconds > 0 and exact.error < 1e-10 for exact in found)
    per_nonzero = [exact.nanoseconds_per_nonzero for exact in found]
    assert per_nonzero[0] == pytest.approx(1e9 * found[0].seconds / found[0].nonzeros)
    assert [exact.growth for exact in found] == pytest.approx(
        [1.0, per_nonzero[1] / per_nonzero[0], 1.0]
    )


def test_a_slow_or_large_exact_measure_is_flagged(monkeypatch):
    monkeypatch.setattr(exact_speed, "KERNELS", (("random", 50, 3), ("random", 50, 10)))
    for limit in ("SECONDS", "MEBIBYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(exact_speed, limit, 0.0)
            assert not next(exact_speed.bench_mu(rounds=1)).ok


def test_time_that_grows_faster_than_the_non_zeros_is_flagged(monkeypatch):
    monkeypatch.setattr(exact_speed, "KERNELS", (("random", 50, 3), ("random", 50, 10)))
    monkeypatch.setattr(exact_speed, "GROWTH", 0.0)
    assert [exact.ok for exact in exact_speed.bench_mu(rounds=1)] == [False, False]


def test_a_race_is_over_when_the_greedy_policy_is_there():
    looks = [Look(100, 0.5, 1.0), Look(200, 0.92, 2.5), Look(300, 0.7, 4.0), Look(400, 0.95, 5.5)]
    cycles = [Look(100, 0.1), Look(200, 0.8), Look(300, 0.4), Look(400, 0.9), Look(400, 0.9)]
    found = outcome(TINY, looks, cycles)
    assert (found.seconds, found.transitions) == (2.5, 200)
    assert (found.score, found.lowest, found.collapsed) == (0.95, 0.7, 0.25)


def test_a_race_that_nobody_wins_says_so():
    found = outcome(TINY, [Look(100, 0.5, 1.0)], [Look(100, 0.5)])
    assert (found.seconds, found.transitions, found.lowest, found.collapsed) == (None,) * 4
    assert found.score == 0.5


def test_a_race_looks_every_few_cycles_and_stops_with_the_run():
    heard: list[Look] = []
    found = race(TINY, heard.append, look_every=2)
    cycles = -(-TINY.girl.transitions // (TINY.girl.episodes * TINY.horizon))
    assert len(heard) == -(-cycles // 2)
    assert all(a.seconds < b.seconds for a, b in pairwise(heard))
    assert found.score == heard[-1].score


def test_what_grows_is_printed_as_json_too():
    """`ok` was a truth value of NumPy, which JSON does not know."""
    rows = growth_speed.bench_stored((4_000, 8_000))
    assert [row.transitions for row in rows] == [4_000, 8_000]
    assert json.loads(json.dumps([asdict(row) for row in rows]))[0]["ratio"] == 1.0
    full = growth_speed.bench_full_replay(10_000, laps=4)
    assert json.loads(json.dumps(asdict(full)))["ok"] in (True, False)
