"""Finite MDPs: what is refused and how, generators, products."""

import numpy as np
import pytest
import scipy.sparse as sp
from small_mdps import all_deterministic

from etairl.eta import Dirac, Geometric
from etairl.tabular.episodes import empirical_mu, sample_episodes
from etairl.tabular.exact_measures import mu
from etairl.tabular.generators import (
    chain,
    go_stay,
    grid_with_lakes,
    random_mdp,
    random_policy,
    random_sparse_mdp,
)
from etairl.tabular.mdp import MDP, check_policy, deterministic, product_mdp
from etairl.tabular.operators import evaluate, policy_iteration
from etairl.types import InputError, Trajectories

GRID = """
S...
.~~.
...G
"""


def parts():
    rng = np.random.default_rng(0)
    mdp = random_mdp(rng, 3, 2, 0.9)
    return {"P": mdp.kernel.copy(), "c": mdp.c.copy(), "p0": mdp.p0.copy(), "gamma": 0.9}


def broken(change):
    fields = parts()
    change(fields)
    return fields


def put(name, index, value):
    def change(fields):
        fields[name][index] = value

    return change


def replace(name, value):
    def change(fields):
        fields[name] = value

    return change


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("P", (1, 0, 2), 5.0), r"P\[1, 0\] sums to 5\.\d+, not to 1 \(1 of 6 rows\)"),
        (put("P", (2, 1, 0), -0.25), r"P\[2, 1, 0\] is -0.25: a probability lies in \[0, 1\]"),
        (put("P", (0, 1, 1), np.nan), r"P\[0, 1, 1\] is (nan|NaN)"),
        (put("c", (2, 1), np.inf), r"c\[2, 1\] is inf: every entry must be finite"),
        (put("c", (0, 0), np.nan), r"c\[0, 0\] is nan: every entry must be finite"),
        (put("p0", 1, -1.0), r"p0\[1\] is -1: a probability lies in \[0, 1\]"),
        (put("p0", 0, 2.0), r"p0 sums to \d\.\d+, not to 1; divide it by its sum"),
        (replace("gamma", 1.0), r"gamma must lie in \[0, 1\), got 1.0; without"),
        (replace("gamma", -0.1), r"gamma must lie in \[0, 1\), got -0.1$"),
        (replace("gamma", float("nan")), r"gamma must lie in \[0, 1\), got nan"),
        (replace("c", np.zeros(3)), r"c must have shape \[state, action\], got \(3,\)"),
        (replace("p0", np.ones(4) / 4), r"p0 must have shape \(3,\) as c has, got \(4,\)"),
        (replace("gamma", "0.9"), r"gamma must be a number, got '0.9'"),
        (replace("c", np.zeros((3, 2)) * 1j), "c must hold real numbers, got complex128"),
        (replace("c", [[1.0], [1.0, 2.0]]), "c is not an array of numbers"),
    ],
)
def test_wrong_entries_are_named(change, message, sparse):
    fields = broken(change)
    if sparse:
        fields["P"] = sp.csr_array(fields["P"].reshape(6, 3))
    with pytest.raises(InputError, match=message):
        MDP(**fields)


@pytest.mark.usefixtures("unchecked")
def test_wrong_shapes_of_the_kernel_are_refused():
    with pytest.raises(
        InputError, match=r"P must have shape \(3, 2, 3\) to fit c, got \(3, 3, 2\)"
    ):
        MDP(**broken(lambda f: f.update(P=f["P"].swapaxes(1, 2))))
    with pytest.raises(InputError, match=r"a sparse P must have shape \(6, 3\), one row per state"):
        MDP(**broken(lambda f: f.update(P=sp.csr_array(np.eye(3)))))


@pytest.mark.usefixtures("unchecked")
def test_policies_are_checked_too():
    mdp = MDP(**parts())
    with pytest.raises(InputError, match=r"a policy needs shape \(3, 2\) as c has, got \(2, 3\)"):
        check_policy(mdp, np.full((2, 3), 1 / 3))
    with pytest.raises(InputError, match=r"policy\[1\] sums to 0.75, not to 1"):
        check_policy(mdp, np.array([[0.5, 0.5], [0.5, 0.25], [1.0, 0.0]]))
    with pytest.raises(InputError, match=r"policy\[2, 0\] is -1"):
        check_policy(mdp, np.array([[0.5, 0.5], [0.5, 0.5], [-1.0, 2.0]]))


def test_arrays_are_read_only_and_shared_by_nobody():
    fields = parts()
    mdp = MDP(**fields)
    fields["c"][0, 0] = 99.0
    assert mdp.c[0, 0] != 99.0
    for array in (
        mdp.c,
        mdp.p0,
        mdp.kernel,
        random_sparse_mdp(np.random.default_rng(0), 4, 2, 2, 0.5).rows.data,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_unreachable_states_are_named():
    mdp = go_stay(0.0, 0.0, 0.0)
    mdp.require_reachable()
    lonely = MDP(mdp.P, mdp.c, np.array([0.0, 1.0]), mdp.gamma)
    assert lonely.reachable().tolist() == [False, True]
    with pytest.raises(
        InputError, match=r"state 0 cannot be reached from p0 by any policy \(1 of 2"
    ):
        lonely.require_reachable()
    grid = grid_with_lakes(GRID, 0.9)
    assert grid.reachable().all()


def test_sparse_and_dense_are_one():
    rng = np.random.default_rng(1)
    mdp = random_sparse_mdp(rng, 20, 3, 4, 0.9)
    dense = MDP(mdp.kernel, mdp.c, mdp.p0, mdp.gamma)
    policy, v, x = random_policy(rng, mdp), rng.standard_normal(20), rng.random((20, 3))
    assert mdp.expect(v) == pytest.approx(dense.expect(v))
    assert mdp.inflow(x) == pytest.approx(dense.inflow(x))
    assert mdp.under(policy).toarray() == pytest.approx(dense.under(policy))
    assert evaluate(mdp, policy) == pytest.approx(evaluate(dense, policy), abs=1e-11)


def test_grid():
    mdp = grid_with_lakes(GRID, 0.95, slip=0.0)
    best = policy_iteration(mdp)
    # Five steps of cost 1 around the lakes, discounted.
    assert best.v[0] == pytest.approx(sum(0.95**n for n in range(5)), abs=1e-9)
    assert mdp.c[5].tolist() == [10.0] * 4
    slippery = grid_with_lakes(GRID, 0.95, slip=0.3)
    assert policy_iteration(slippery).v[0] > best.v[0]
    assert slippery.rows.sum(axis=1) == pytest.approx(np.ones(48))


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        ("S.\n.x", "line 1, column 1 of the grid"),
        ("S.\n.", "line 1, column 1"),
        ("S.\n...", "line 0, column 2"),
        ("..\n.G", "no S"),
        ("", "no S"),
    ],
)
def test_bad_grids_are_refused(picture, message):
    with pytest.raises(InputError, match=message):
        grid_with_lakes(picture, 0.9)


def test_chain_and_small_mistakes():
    mdp = chain(4, 0.5)
    assert policy_iteration(mdp).v[0] == pytest.approx(1 + 0.5 + 0.25)
    assert chain(3, 0.5, slip=0.2).kernel[1, 1].tolist() == pytest.approx([0.2, 0.0, 0.8])
    with pytest.raises(InputError, match="at least 2 states, got 1"):
        chain(1, 0.5)
    with pytest.raises(InputError, match=r"successors must lie in \[1, 3\], got 4"):
        random_sparse_mdp(np.random.default_rng(0), 3, 2, 4, 0.5)
    with pytest.raises(InputError, match="deterministic policies, more than 10,000"):
        all_deterministic(random_mdp(np.random.default_rng(0), 14, 2, 0.5))
    assert len(all_deterministic(mdp)) == 16
    assert deterministic([1, 0], 2).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    for actions, named in (([0, -1], r"actions\[1\] is -1"), ([5, 0], r"actions\[0\] is 5")):
        with pytest.raises(InputError, match=f"{named}: an action is a number from 0 to 1"):
            deterministic(actions, 2)


def test_products_share_their_shape():
    rng = np.random.default_rng(2)
    one, two = random_mdp(rng, 3, 2, 0.9), random_mdp(rng, 3, 2, 0.8)
    with pytest.raises(InputError, match="task 1 differs from task 0"):
        product_mdp([one, two])
    with pytest.raises(InputError, match="at least one task"):
        product_mdp([])
    with pytest.raises(InputError, match=r"law sums to 0.5"):
        product_mdp([one, one], np.array([0.2, 0.3]))
    with pytest.raises(InputError, match=r"law must have one entry per task, 2, got shape \(3,\)"):
        product_mdp([one, one], np.array([0.2, 0.3, 0.5]))
    sparse = random_sparse_mdp(rng, 5, 2, 2, 0.9)
    both = product_mdp([sparse, sparse])
    assert both.sparse
    policy = random_policy(rng, sparse)
    doubled = mu(both, np.concatenate([policy, policy]), Geometric(0.5)).values
    assert doubled[:5] == pytest.approx(0.5 * mu(sparse, policy, Geometric(0.5)).values, abs=1e-12)


def test_episodes_that_are_none_are_refused():
    rng = np.random.default_rng(3)
    mdp = random_mdp(rng, 3, 2, 0.9)
    with pytest.raises(InputError, match="at least one episode of one step, got 0 of 5"):
        sample_episodes(rng, mdp, random_policy(rng, mdp), 0, 5)
    ends = np.array([False, True])
    strange = Trajectories(
        observations=np.array([[0.0], [7.0]]),
        actions=np.array([[0], [1]]),
        terminated=np.zeros(2, dtype=bool),
        truncated=ends,
        offsets=np.array([0, 2]),
    )
    with pytest.raises(
        InputError, match=r"observation \[7.0\] in row 1 is not a number from 0 to 2"
    ):
        empirical_mu(strange, mdp, Dirac(0))
