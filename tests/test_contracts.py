"""Every algorithm of the registry keeps the same promises, with every cost, solver and sampler."""

import hashlib
import json
from dataclasses import replace
from typing import get_args

import jax
import numpy as np
import pytest
import tiny

import etairl
from etairl.algorithms.girl import as_points, girl
from etairl.algorithms.registry import ALGORITHMS, cost_kinds
from etairl.costs.discriminator import Form
from etairl.costs.family import Cost, CostConfig
from etairl.costs.frozen import Frozen
from etairl.costs.linear import CostStep, LinearConfig
from etairl.decoding import encode
from etairl.measures import Method
from etairl.solvers.iq_config import PolicyTerm
from etairl.solvers.players import SOLVERS
from etairl.solvers.solver import Solver, SolverConfig
from etairl.training.config_files import config_from
from etairl.training.flat import configure
from etairl.training.preparation import prepare
from etairl.training.settings import TrainConfig
from etairl.trees import load_tree, save_tree
from etairl.types import InputError

# Sizes of networks and batches are those of other tests: what they compiled serves here.
TINY = configure(
    tiny.TINY, demonstrations=3, horizon=20, transitions=100, episodes=3, remaining_cycles=2
)
FORMS = {
    "discriminator": [{"form": form} for form in get_args(Form)],
    "linear": [{"cost_step": step} for step in get_args(CostStep)]
    + [{"features": name} for name in ("identity", "fourier:8", "rbf:8")]
    + [{"mean_cost": 0.0}],
    "shaped": [{}],
    "regularised": [{}, {"omega": "tsallis:1.2"}],
    "empowered": [{}],
    "coded": [{}],
    "implied": [{"policy_term": term} for term in get_args(PolicyTerm)]
    + [{"expert_target": "fixed", "eta": "geometric:0.9"}],
}
IQ = {"hidden": (16, 16), "solver_updates": 5, "updates_per_step": None, "solver_batch": 16}
PPO = {"rollout": "steps", "hidden": (16, 16), "minibatch": 20, "epochs": 2}
TEMPLATED = ("emma", "wiem", "airl", "rairl", "eairl", "sgail")
SLOW = pytest.mark.slow  # the same cost meets another solver, and the same solver another cost
# Every form with the first solver; every other solver with one form, which it never sees. The last
# of these has a weighting that needs the clock of sac-eta.
CASES = [
    pytest.param(name, "sac", form, id=f"{name}-sac-{number}")
    for name in ALGORITHMS
    if name != "iq"
    for number, form in enumerate(FORMS[ALGORITHMS[name].cost.kind])
] + [
    *(
        pytest.param("iq", "iq", IQ | form, id=f"iq-{number}")
        for number, form in enumerate(FORMS["implied"])
    ),
    pytest.param("megan", "sac-eta", {}, id="megan-sac-eta"),
    pytest.param("emma", "sac-eta", {}, id="emma-sac-eta", marks=SLOW),
    pytest.param("wiem", "sac-eta", {"eta": "poisson:3"}, id="wiem-sac-eta"),
    *(
        pytest.param(
            name, "ppo", PPO, id=f"{name}-ppo", marks=SLOW if name in "emma wiem sgail" else ()
        )
        for name in ("megan", "emma", "wiem", "airl", "rairl", "eairl", "sgail")
    ),
    pytest.param("megan", "ppo-eta", PPO, id="megan-ppo-eta"),
    pytest.param("sgail", "sac-eta", {"eta": "geometric:0.9"}, id="sgail-sac-eta", marks=SLOW),
    pytest.param("sgail", "ppo-eta", PPO, id="sgail-ppo-eta", marks=SLOW),
    pytest.param("emma", "ppo-eta", PPO | {"omega": "none"}, id="emma-ppo-eta", marks=SLOW),
    pytest.param("wiem", "ppo-eta", PPO | {"eta": "poisson:3"}, id="wiem-ppo-eta"),
]


def test_everything_that_goes_together_is_tried():
    assert set(FORMS) == set(cost_kinds()), "name the forms of a new cost here"
    tried = {case.values[:2] for case in CASES}
    for name, entry in ALGORITHMS.items():
        for kind in SOLVERS if entry.any_eta else ():
            if name in ("airl", "rairl", "eairl") and kind in ("sac-eta", "ppo-eta"):
                with pytest.raises(InputError, match=f"^{name} goes with --solver sac or ppo"):
                    configure(TINY, algorithm=name, solver=kind)
            elif (name == "iq") != (kind == "iq"):
                with pytest.raises(InputError, match="a cost that a solver implies needs both"):
                    configure(TINY, algorithm=name, solver=kind)
            else:
                assert (name, kind) in tried


@pytest.mark.parametrize(("name", "solver", "form"), CASES)
def test_settings_come_back_from_a_file(name, solver, form, tmp_path):
    config = configure(TINY, algorithm=name, solver=solver, **form)
    assert isinstance(config.cost, CostConfig)
    assert isinstance(config.solver, SolverConfig)
    written = json.loads(json.dumps(encode(config)))
    assert config_from(written, tmp_path / "config.json") == config
    assert written["cost"]["kind"] == ALGORITHMS[name].cost.kind
    assert written["solver"]["kind"] == solver


def play(config: TrainConfig):
    prepared = prepare(config, threads=1)
    state, buffer = prepared.begin(), prepared.make_buffer()
    *_, last = girl(prepared.game, prepared.task, prepared.expert, buffer, state)
    return prepared, last


def fingerprint(state) -> str:
    leaves = jax.tree.leaves((state.cost, state.solver))
    return hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in leaves)).hexdigest()


@pytest.mark.parametrize(("name", "solver", "form"), CASES)
def test_it_runs_repeats_and_comes_back_from_disk(name, solver, form, tmp_path):
    """Finite states, bits that follow from the seed, and a cost that a file gives back."""
    marks = []
    for sampler in get_args(Method):
        config = configure(TINY, algorithm=name, solver=solver, sampler=sampler, **form)
        prepared, last = play(config)
        cost_info = last.cost_info or ()
        assert (last.cost_info is None) == (not prepared.game.cost.learns)
        marks.append((fingerprint(last.state), *map(float, cost_info)))
        assert all(np.isfinite(np.asarray(x)).all() for x in jax.tree.leaves(last.state))
        assert all(np.isfinite(float(x)) for x in (*cost_info, *last.solver_info))
    assert (marks[0] == marks[1]) == (config.eta == "dirac:0"), "there the samplers are one"
    assert fingerprint(play(config)[1].state) == marks[-1][0]
    cost, fresh = prepared.game.cost, prepared.game.cost.stored(prepared.cost)
    assert isinstance(cost, Cost)
    assert isinstance(prepared.game.solver, Solver)
    learned = cost.learned(last.state.cost, last.state.solver)
    cost.check(cost.stored(learned), fresh)
    save_tree(tmp_path / "cost.safetensors", cost.stored(learned))
    again = load_tree(tmp_path / "cost.safetensors", fresh)
    points = as_points(prepared.expert.transitions())
    assert np.array_equal(cost(again, *points), cost(learned, *points))
    assert (learned is last.state.cost) == cost.learns
    assert cost(again, *points).shape == (len(points.obs),)
    assert cost.portable()(again, *points).shape == (len(points.obs),)
    if cost.learns:  # what a fresh policy, here or in another world, would pay
        frozen = Frozen(cost.portable(), same_demos=False)
        kept = load_tree(tmp_path / "cost.safetensors", frozen.init(jax.random.key(1), points))
        frozen.check(kept, frozen.init(jax.random.key(2), points))
        assert np.array_equal(frozen(kept, *points), cost.portable()(learned, *points))
        if not frozen.needs_actions:
            other = points._replace(act=-points.act)
            assert np.array_equal(frozen(kept, *other), frozen(kept, *points))


@pytest.mark.parametrize(
    ("name", "mode", "change"),
    [
        *((name, mode, {}) for name in ALGORITHMS for mode in ("terminating", "absorbing")),
        ("megan", "absorbing", {"solver": "sac-eta", "omega": "kl"}),
        ("emma", "terminating", {"solver": "sac-eta", "omega": "tsallis:2"}),
        ("wiem", "absorbing", {"solver": "sac-eta", "omega": "none"}),
        *(("megan", mode, {"solver": "ppo-eta", **PPO}) for mode in ("terminating", "absorbing")),
        ("airl", "absorbing", {"solver": "ppo", **PPO}),
        ("iq", "absorbing", IQ | {"policy_term": "value", "omega": "tsallis:2"}),
        ("iq", "terminating", IQ | {"policy_term": "start", "eta": "poisson:3"}),
    ],
)
def test_discrete_actions_and_early_ends(name, mode, change, tmp_path):
    from etairl.demos import Demos, save_demos
    from etairl.rollouts import UniformPolicy, collect
    from etairl.tasks import make_task

    task = make_task("CartPole-v1", 4, horizon=20, seed=9)
    played = collect(np.random.default_rng(0), task, UniformPolicy(task), 4)
    save_demos(Demos.of(played, task.spec, "random"), tmp_path / "d.npz")
    world = {"env": "CartPole-v1", "mode": mode, "demos": str(tmp_path / "d.npz")}
    _, last = play(configure(TINY, algorithm=name, demonstrations=None, **world, **change))
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
    true = configure(TINY, eta=eta, solver="sac-eta", gamma_rl=0.8)
    plain = configure(true, solver="sac", **sac)
    a, b = (
        jax.tree.leaves((last.state.solver.actor, last.state.solver.critics))
        for last in (play(config)[1] for config in (true, plain))
    )
    assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True)) is same


@pytest.mark.parametrize(
    ("eta", "message"),
    [
        ("dirac:20", "puts no mass on the first 20 steps"),
        ("poisson:50", "beyond the horizon of 20 steps, where a solver that weighs"),
    ],
)
def test_weightings_that_sac_eta_cannot_take(eta, message):
    with pytest.raises(InputError, match=message):
        prepare(configure(TINY, eta=eta, solver="sac-eta"), threads=1)


@pytest.mark.parametrize("omega", ["entropy", "tsallis:2", "tsallis:1.5", "kl", "none"])
def test_every_regulariser_runs(omega):
    config = configure(TINY, omega=omega)
    assert (config.solver.temperature is None) == (omega in ("entropy", "kl"))
    prepared, last = play(config)
    assert prepared.game.solver.needs_clone == (omega == "kl")
    assert (last.state.solver.reference is None) == (omega != "kl")
    assert all(np.isfinite(np.asarray(x)).all() for x in jax.tree.leaves(last.state))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "gail", "eta": "poisson:3"}, "gail is megan with eta dirac:0"),
        ({"algorithm": "airl", "omega": "tsallis:2"}, "airl needs the regulariser entropy"),
        ({"algorithm": "airl", "omega": "kl"}, "airl needs the regulariser entropy, got kl"),
        (
            {"algorithm": "airl", "temperature": 0.1},
            "read against log pi, so its temperature is 1, got 0.1",
        ),
        ({"algorithm": "rairl", "omega": "none"}, "rairl needs the regulariser entropy or tsallis"),
        ({"algorithm": "rairl", "temperature": 0.1}, "so its temperature is 1, got 0.1"),
        ({"algorithm": "eairl", "omega": "tsallis:2"}, "eairl needs the regulariser entropy"),
        ({"algorithm": "sgail", "codes": 1}, "a single code says nothing"),
        ({"anchor": True}, "unknown setting 'anchor'"),
        ({"radius": 2.0}, "radius is not a setting of megan with the solver sac"),
        ({"omega": "entropie"}, "unknown regulariser 'entropie'"),
        ({"solver": "trpo"}, "solver must be one of sac, sac-eta, ppo, ppo-eta, iq"),
        ({"solver": "ppo", "omega": "kl"}, "ppo does not know the regulariser kl"),
        ({"solver": "ppo", "polyak": 0.1}, "polyak is not a setting of megan with the solver ppo"),
        (
            {"algorithm": "airl", "solver": "sac-eta"},
            "airl goes with --solver sac or ppo: its cost is",
        ),
        ({"algorithm": "iq", "solver": "sac"}, "needs both; take --solver iq"),
        ({"solver": "sac-eta", "at_once": 5}, "sac-eta updates .* in turn: leave out --at-once"),
        ({"algorithm": "iq", "at_once": 5}, "iq updates .* in turn: leave out --at-once"),
        ({"solver": "iq"}, "megan with the solver iq: .* take --algorithm iq"),
        ({"algorithm": "iq", "frozen_cost": "somewhere"}, "it cannot be frozen for others"),
        ({"algorithm": "iq", "idle": "geometric:0.7"}, "looks at next states, which --idle"),
        (
            {"algorithm": "girl"},
            "algorithm must be one of megan, gail, emma, wiem, airl, rairl, eairl, sgail, iq",
        ),
    ],
)
def test_choices_that_do_not_fit(change, message, unchecked):
    with pytest.raises(InputError, match=message):
        configure(TINY, **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost": LinearConfig()}, "megan has costs of the kind log D, a discriminator; got"),
        ({"algorithm": "wiem", "cost": LinearConfig("ball")}, "wiem has costs of the kind w·f, w"),
        ({"algorithm": "gail"}, "gail is megan with eta dirac:0; for geometric:0.99 take megan"),
        ({"omega": "tsallis:2"}, "an adaptive temperature aims at an entropy or a divergence"),
        ({"eta": "geometric:.5"}, "write eta as geometric:0.5, not as"),
    ],
)
def test_settings_that_were_not_settled(change, message):
    """Without `configure` nothing is filled in, and what does not fit is refused."""
    with pytest.raises(InputError, match=message):
        replace(TINY, **change)


def test_a_frozen_cost_goes_with_every_solver():
    """Nothing is read against log pi any more, and of airl's cost the shaping is gone."""
    change = {"solver": "sac-eta", "temperature": 0.1, "eta": "geometric:0.9"}
    config = configure(TINY, algorithm="airl", frozen_cost="somewhere", **change)
    assert config.solver.temperature == 0.1
    assert configure(config, omega="tsallis:2", algorithm="gail").omega == "tsallis:2"


def test_each_has_its_own_eta_and_airl_its_temperature():
    etas = {name: configure(TINY, algorithm=name).eta for name in ALGORITHMS}
    assert etas == {
        "megan": "geometric:0.99",
        "gail": "dirac:0",
        "emma": "geometric:0.99",
        "wiem": "geometric:0.99",
        "airl": "dirac:0",
        "rairl": "dirac:0",
        "eairl": "dirac:0",
        "sgail": "dirac:0",
        "iq": "dirac:0",
    }
    assert configure(TINY, algorithm="airl", eta="poisson:3").solver.temperature == 1.0
    assert configure("default").solver.ppo.last_temperature == 0.0
    on_policy = configure("default", algorithm="airl").solver.ppo
    assert (on_policy.temperature, on_policy.last_temperature) == (1.0, 1.0)


def test_costs_read_against_the_policy_have_a_penalty_of_their_own():
    """No penalty unless it is asked for, and what they have goes to no other algorithm."""
    for name in ("airl", "eairl"):
        there = configure("default", algorithm=name)
        assert (there.cost.network.gradient_penalty, there.cost.network.lr_d) == (0.0, 1e-3)
        assert configure(there, algorithm="gail").cost.network.gradient_penalty == 1.0
    asked = configure("default", algorithm="airl", gradient_penalty=0.3)
    assert asked.cost.network.gradient_penalty == 0.3
    assert configure(asked, seed=1).cost == asked.cost


def test_the_solver_follows_the_algorithm_and_back():
    there = configure(TINY, algorithm="iq")
    assert (there.solver.kind, there.solver.temperature) == ("iq", 0.005)
    assert configure(configure(TINY, algorithm="airl"), algorithm="iq").solver == there.solver
    assert configure(there, seed=1).solver == there.solver
    assert configure(there, algorithm="gail").solver.kind == "sac"
    assert configure(there, algorithm="megan", solver="ppo").solver.kind == "ppo"


def test_every_algorithm_has_a_page_of_the_template():
    from pathlib import Path

    docs = Path(etairl.__file__).parents[2] / "docs" / "algorithms"
    pages = {"megan": "megan", "gail": "megan"} | {n: n for n in (*TEMPLATED, "iq")}
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
