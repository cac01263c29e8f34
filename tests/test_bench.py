"""The benchmark measures what it says; its speed limits are no test (machines are shared)."""

import numpy as np
import pytest

from etairl.bench import sampling, solver


def test_every_case_is_timed(monkeypatch):
    monkeypatch.setattr(sampling, "DRAWS", 1000)
    draws = list(sampling.bench_draws(rounds=1))
    assert len(draws) == sampling.CASES == 2 * 2 * 9
    assert all(draw.milliseconds > 0 and draw.ratio > 0 and draw.flat_ratio > 0 for draw in draws)
    assert {draw.limit for draw in draws} == {1.3, 4.0}
    assert all(draw.ok == (draw.ratio <= draw.limit) for draw in draws)


def test_mmd_is_timed_against_its_products():
    found = sampling.bench_mmd(points=400, dims=5, rounds=1)
    assert found.ratio == pytest.approx(found.seconds / found.products_seconds)


def test_the_plain_draw_is_uniform_over_trajectories_and_times(monkeypatch):
    monkeypatch.setattr(sampling, "DRAWS", 100_000)
    rows = sampling._plain(np.random.default_rng(0), np.array([0, 500, 550]))
    assert abs((rows >= 500).mean() - 0.5) < 4 * 0.5 / np.sqrt(100_000)


def test_rollouts_and_updates_are_timed():
    found = solver.bench_rollouts("Pendulum-v1", envs=3, steps=10, rounds=1)
    assert found.ratio == pytest.approx(found.with_policy / found.fixed_actions)
    assert solver.bench_update((8,), batch=4, updates=2).milliseconds > 0
