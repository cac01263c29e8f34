"""Every algorithm of the registry keeps the same promises, with every cost, solver and sampler."""

import hashlib
from dataclasses import replace
from typing import get_args

import jax
import numpy as np
import pytest
from etairl.training.loop import begin

import etairl
from etairl.algorithms.girl import GirlConfig, girl
from etairl.algorithms.registry import ALGORITHMS, SOLVERS, AlgorithmName, SolverName
from etairl.costs.discriminator import DiscriminatorConfig, Form
from etairl.costs.family import Cost
from etairl.costs.linear import CostStep, LinearConfig
from etairl.measures import Method
from etairl.runs import load_tree, save_tree
from etairl.solvers.sac import SACConfig
from etairl.solvers.solver import Solver
from etairl.training.preparation import prepare
from etairl.training.settings import TrainConfig
from etairl.types import InputError

TINY = TrainConfig(
    env="Pendulum-v1",
    demos="Pendulum-v1-25x200",
    demonstrations=3,
    horizon=20,
    girl=GirlConfig(
        transitions=100,
        episodes=3,
        solver_updates=2,
        solver_batch=8,
        cost_updates=2,
        cost_batch=8,
        remaining_cycles=2,
    ),
    cost=DiscriminatorConfig(hidden_d=(4,)),
    sac=SACConfig(hidden=(4,)),
)
FORMS = {
    "discriminator": [{"cost": replace(TINY.cost, form=form)} for form in get_args(Form)],
    "linear": [{"linear": LinearConfig(cost_step=step)} for step in get_args(CostStep)]
    + [{"linear": LinearConfig(features=name)} for name in ("identity", "fourier:8", "rbf:8")],
    "shaped": [{}],
}
KINDS = {
    "megan": "discriminator",
    "gail": "discriminator",
    "emma": "linear",
    "wiem": "linear",
    "airl": "shaped",
}
# Every form with the first solver; every other solver with one form, which it never sees. The last
# of these has a weighting that needs the clock of sac-eta.
CASES = [
    pytest.param(name, "sac", form, id=f"{name}-sac-{number}")
    for name in ALGORITHMS
    for number, form in enumerate(FORMS[KINDS[name]])
] + [
    pytest.param("megan", "sac-eta", {}, id="megan-sac-eta"),
    pytest.param("emma", "sac-eta", {}, id="emma-sac-eta"),
    pytest.param("wiem", "sac-eta", {"eta": "poisson:3"}, id="wiem-sac-eta"),
]


def test_the_registry_is_what_the_settings_allow():
    assert tuple(ALGORITHMS) == get_args(AlgorithmName)
    assert tuple(SOLVERS) == get_args(SolverName)
    assert set(KINDS) == set(ALGORITHMS), "name the cost forms of a new algorithm here"
    tried = {case.values[:2] for case in CASES}
    assert all((e.name, s) in tried for e in ALGORITHMS.values() for s in e.solvers if e.any_eta)


def play(config: TrainConfig):
    setting = prepare(config, threads=1)
    state, _, buffer = begin(setting)
    *_, last = girl(setting.game, setting.task, setting.expert, buffer, state)
    return setting, last


def fingerprint(state) -> str:
    leaves = jax.tree.leaves((state.cost, state.solver))
    return hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in leaves)).hexdigest()


@pytest.mark.parametrize(("name", "solver", "form"), CASES)
def test_it_runs_repeats_and_comes_back_from_disk(name, solver, form, tmp_path):
    """Finite states, bits that follow from the seed, and a cost that a file gives back."""
    marks = []
    for sampler in get_args(Method):
        change = {"algorithm": name, "eta": None, "solver": solver, "sampler": sampler} | form
        config = replace(TINY, **change)
        setting, last = play(config)
        marks.append((fingerprint(last.state), *map(float, last.cost_info)))
        assert all(np.isfinite(np.asarray(x)).all() for x in jax.tree.leaves(last.state))
        assert all(np.isfinite(float(x)) for x in (*last.cost_info, *last.solver_info))
    assert (marks[0] == marks[1]) == (config.eta == "dirac:0"), "there the samplers are one"
    assert fingerprint(play(config)[1].state) == marks[-1][0]
    cost = setting.game.cost
    assert isinstance(cost, Cost)
    assert isinstance(setting.game.solver, Solver)
    cost.check(cost.stored(last.state.cost))
    save_tree(tmp_path / "cost.safetensors", cost.stored(last.state.cost))
    again = load_tree(tmp_path / "cost.safetensors", cost.stored(begin(setting)[0].cost))
    points = setting.expert.points()
    assert np.array_equal(cost(again, *points), cost(last.state.cost, *points))
    assert cost(again, *points).shape == (len(points.obs),)
    assert cost.portable()(again, *points).shape == (len(points.obs),)


@pytest.mark.parametrize(
    ("name", "mode", "change"),
    [
        *((name, mode, {}) for name in ALGORITHMS for mode in ("terminating", "absorbing")),
        ("megan", "absorbing", {"solver": "sac-eta", "omega": "kl"}),
        ("emma", "terminating", {"solver": "sac-eta", "omega": "tsallis:2"}),
        ("wiem", "absorbing", {"solver": "sac-eta", "omega": "none"}),
    ],
)
def test_discrete_actions_and_early_ends(name, mode, change, tmp_path):
    from etairl.demos import Demos, save_demos
    from etairl.rollouts import UniformPolicy, collect
    from etairl.tasks import make_task

    task = make_task("CartPole-v1", 4, horizon=20, seed=9)
    played = collect(np.random.default_rng(0), task, UniformPolicy(task), 4)
    save_demos(Demos.of(played, task.spec, "random"), tmp_path / "d.npz")
    config = replace(TINY, algorithm=name, eta=None, env="CartPole-v1", mode=mode, **change)
    _, last = play(replace(config, demos=str(tmp_path / "d.npz"), demonstrations=None))
    assert all(np.isfinite(np.asarray(x)).all() for x in jax.tree.leaves(last.state))


@pytest.mark.parametrize(
    ("eta", "sac", "same"),
    [
        ("dirac:0", {}, True),
        ("zero-modified:0.9,0.8", {"gamma_rl": 0.9}, True),
        ("zero-modified:0.9,0.8", {}, False),
        ("geometric:0.9", {}, False),
    ],
)
def test_where_one_critic_is_exact_sac_eta_is_sac_bit_for_bit(eta, sac, same):
    """The criterion of these laws is that of one discount; gamma_rl is 0.8 for `sac-eta`."""
    true = replace(TINY, eta=eta, solver="sac-eta", sac=replace(TINY.sac, gamma_rl=0.8))
    plain = replace(true, solver="sac", sac=replace(true.sac, **sac))
    a, b = (
        jax.tree.leaves((last.state.solver.actor, last.state.solver.critics))
        for last in (play(config)[1] for config in (true, plain))
    )
    assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True)) is same


@pytest.mark.parametrize(
    ("eta", "message"),
    [
        ("dirac:20", "puts no mass on the first 20 steps"),
        ("poisson:50", "beyond the horizon of 20 steps, where sac-eta learns nothing"),
    ],
)
def test_weightings_that_sac_eta_cannot_take(eta, message):
    with pytest.raises(InputError, match=message):
        prepare(replace(TINY, eta=eta, solver="sac-eta"), threads=1)


@pytest.mark.parametrize("omega", ["entropy", "tsallis:2", "tsallis:1.5", "kl", "none"])
def test_every_regulariser_runs(omega):
    config = replace(TINY, omega=omega)
    assert config.anchor == (omega == "kl")
    assert (config.sac.temperature is None) == (omega in ("entropy", "kl"))
    _, last = play(config)
    assert all(np.isfinite(np.asarray(x)).all() for x in jax.tree.leaves(last.state))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "gail", "eta": "poisson:3"}, "gail is megan with eta dirac:0"),
        ({"algorithm": "airl", "omega": "tsallis:2"}, "airl needs the regulariser entropy"),
        ({"algorithm": "airl", "anchor": True}, "airl needs the regulariser entropy, got kl"),
        (
            {"algorithm": "airl", "sac": SACConfig(temperature=0.1)},
            "read against log pi, so its temperature is 1, got 0.1",
        ),
        ({"omega": "none", "anchor": True}, "--anchor is the regulariser kl"),
        ({"omega": "entropie"}, "unknown regulariser 'entropie'"),
        ({"solver": "ppo"}, "solver must be one of sac, sac-eta"),
        ({"algorithm": "airl", "solver": "sac-eta"}, "airl goes with --solver sac: its cost is"),
        ({"algorithm": "girl"}, "algorithm must be one of megan, gail, emma, wiem, airl"),
    ],
)
def test_choices_that_do_not_fit(change, message, unchecked):
    with pytest.raises(InputError, match=message):
        replace(TINY, **{"eta": None} | change)


def test_a_frozen_cost_goes_with_every_solver():
    """Nothing is read against log pi any more, and of airl's cost the shaping is gone."""
    change = {"solver": "sac-eta", "sac": SACConfig(temperature=0.1), "eta": "geometric:0.9"}
    config = replace(TINY, algorithm="airl", frozen_cost="somewhere", **change)
    assert config.sac.temperature == 0.1
    assert replace(config, omega="tsallis:2", algorithm="gail").omega == "tsallis:2"


def test_each_has_its_own_eta_and_airl_its_temperature():
    etas = {name: replace(TINY, algorithm=name, eta=None).eta for name in ALGORITHMS}
    assert etas == {
        "megan": "geometric:0.99",
        "gail": "dirac:0",
        "emma": "geometric:0.99",
        "wiem": "geometric:0.99",
        "airl": "dirac:0",
    }
    assert replace(TINY, algorithm="airl", eta="poisson:3").sac.temperature == 1.0


def test_every_algorithm_has_a_page_of_the_template():
    from pathlib import Path

    docs = Path(etairl.__file__).parents[2] / "docs" / "algorithms"
    pages = {"megan": "megan", "gail": "megan"} | {n: n for n in ("emma", "wiem", "airl")}
    assert set(pages) == set(ALGORITHMS)
    for page in set(pages.values()):
        text = (docs / f"{page}.md").read_text()
        for heading in (
            "## What it solves",
            "## Pseudo-code and metrics",
            "## Deviations from the published algorithm",
            "## What has been checked",
        ):
            assert heading in text, f"{page}: {heading}"
