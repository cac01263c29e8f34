"""Errata (f), (g): the policy gradient is tractable; the performance-difference identity."""

import numpy as np
import pytest

from etairl.eta import Dirac, Geometric, Poisson
from etairl.regularisers import Entropy, KullbackLeibler, Tsallis, Unregularised
from etairl.replication.claims.planning import differences
from etairl.tabular.eta_criterion import criterion, critics, gradient, logit_gradient, visits
from etairl.tabular.exact_measures import future, mu
from etairl.tabular.generators import go_stay, go_stay_policy, random_mdp, random_policy
from etairl.tabular.operators import evaluate
from etairl.tabular.phase import phase_mu


def softmax(logits):
    policy = np.exp(logits - logits.max(axis=1, keepdims=True))
    return policy / policy.sum(axis=1, keepdims=True)


def differences_of(f, logits, step=1e-5):
    found = np.zeros_like(logits)
    for index in np.ndindex(logits.shape):
        ahead, behind = logits.copy(), logits.copy()
        ahead[index] += step
        behind[index] -= step
        found[index] = (f(softmax(ahead)) - f(softmax(behind))) / (2 * step)
    return found


def world(seed, gamma=0.8):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 4, 3, gamma)
    return rng, mdp, random_policy(rng, mdp)


REGULARISERS = {
    "none": Unregularised(),
    "entropy": Entropy(0.3),
    "tsallis": Tsallis(0.3),
    "kl": KullbackLeibler(0.3, np.full((4, 3), 1 / 3)),
}


@pytest.mark.parametrize("regulariser", REGULARISERS.values(), ids=REGULARISERS)
@pytest.mark.parametrize("eta", [Geometric(0.6), Poisson(3.0), Dirac(2)], ids=str)
def test_gradient_matches_finite_differences(eta, regulariser):
    _, mdp, policy = world(0)
    numeric = differences_of(lambda other: criterion(mdp, other, eta, regulariser), np.log(policy))
    exact = logit_gradient(mdp, policy, eta, regulariser)
    assert np.abs(exact - numeric).max() < 2e-8


def test_the_printed_two_term_formula_is_true():
    """The classical term, plus Q averaged under the derivative of the future law."""
    _, mdp, policy = world(1)
    eta = Geometric(0.6)
    q = critics(mdp, policy, 0.6).q

    def ahead(other):
        return float((future(mdp, other, eta).values * q).sum())

    # P^eta moves with the policy and Q(s, a) stays; then Q moves and P^eta stays.
    law = future(mdp, policy, eta).values
    first = differences_of(ahead, np.log(policy))

    def inner(other):
        v = evaluate(mdp, other)
        return float((law * (mdp.c + mdp.gamma * mdp.expect(v))).sum())

    second = differences_of(inner, np.log(policy))
    assert first + second == pytest.approx(logit_gradient(mdp, policy, eta), abs=2e-8)


def test_dropping_the_additional_term_is_wrong_by_some_percent():
    """30 random MDPs at gamma .5, kappa .8; `etairl theory` has others, at .8 and .6."""
    errors = []
    for seed in range(30):
        _, mdp, policy = world(seed, gamma=0.5)
        eta = Geometric(0.8)
        exact = logit_gradient(mdp, policy, eta)
        kept = mu(mdp, policy, eta).states[:, None] * critics(mdp, policy, 0.8).q
        kept = policy * (kept - (policy * kept).sum(axis=1, keepdims=True))
        errors.append(np.linalg.norm(kept - exact) / np.linalg.norm(exact))
    assert np.median(errors) == pytest.approx(0.107, abs=5e-4)
    assert max(errors) == pytest.approx(0.644, abs=5e-4)


def test_what_a_pair_still_costs():
    """E[sum_{n>=t} w_n c_n | s_t, a_t] = gamma w_{t-1} Q + U_t, and U_t = kappa^t U."""
    _, mdp, policy = world(2)
    kappa, eta = 0.6, Geometric(0.6)
    weights = eta.weights(mdp.gamma, 256)  # .8^256 is below 1e-24
    two, step = critics(mdp, policy, kappa), mdp.under(policy)
    for t in (0, 1, 5):
        cost, left = (policy * mdp.c).sum(axis=1), np.zeros(4)
        for weight in weights[:t:-1]:
            left = weight * cost + step @ left
        expected = weights[t] * mdp.c + mdp.expect(left)
        before = weights[t - 1] if t else 0.0
        found = mdp.gamma * before * two.q + kappa**t * two.u
        assert np.abs(found - expected).max() < 1e-12


def test_second_critic():
    _, mdp, policy = world(3)
    two = critics(mdp, policy, 0.6)
    assert two.u == pytest.approx(0.4 * two.q + 0.6 * mdp.expect(two.u_bar), abs=1e-13)
    assert (policy * two.q).sum(axis=1) == pytest.approx(two.v, abs=1e-13)
    assert (policy * two.u).sum(axis=1) == pytest.approx(two.u_bar, abs=1e-13)
    assert mdp.p0 @ two.u_bar == pytest.approx(criterion(mdp, policy, Geometric(0.6)), abs=1e-13)


def test_entropy_enters_both_critics():
    """Q = c + alpha log pi + gamma E v gives the same gradient as the partial derivatives."""
    _, mdp, policy = world(4)
    alpha, eta = 0.3, Geometric(0.6)
    soft = mdp.with_cost(mdp.c + alpha * np.log(policy))
    assert logit_gradient(soft, policy, eta) == pytest.approx(
        logit_gradient(mdp, policy, eta, Entropy(alpha)), abs=1e-13
    )


def test_a_phase_blind_policy_has_the_value_of_the_phase_mdp():
    _, mdp, policy = world(5)
    running = phase_mu(mdp, 0.6, policy, policy)
    assert (running * mdp.c).sum() == pytest.approx(criterion(mdp, policy, Geometric(0.6)))


def test_variance_falls_from_return_to_advantage():
    """Per trajectory: whole return, return to go, minus a baseline, two-critic advantage."""
    rng, mdp, policy = world(6)
    kappa, horizon, count = 0.6, 60, 1500
    weights = Geometric(kappa).weights(mdp.gamma, horizon)
    before = np.concatenate([[0.0], weights[:-1]])
    two = critics(mdp, policy, kappa)
    kernel, fade = mdp.kernel.cumsum(axis=2), kappa ** np.arange(horizon)
    states = np.searchsorted(mdp.p0.cumsum(), rng.random(count))
    seen, taken = [], []
    for _ in range(horizon):
        actions = (policy.cumsum(axis=1)[states] < rng.random(count)[:, None]).sum(axis=1)
        seen.append(states)
        taken.append(np.minimum(actions, 2))
        states = (kernel[states, taken[-1]] < rng.random(count)[:, None]).sum(axis=1)
        states = np.minimum(states, 3)
    s, a = np.stack(seen, axis=1), np.stack(taken, axis=1)
    paid = weights * mdp.c[s, a]
    to_go = paid[:, ::-1].cumsum(axis=1)[:, ::-1]
    base = mdp.gamma * before * two.v[s] + fade * two.u_bar[s]
    gains = {
        "return": np.repeat(paid.sum(axis=1, keepdims=True), horizon, axis=1),
        "to go": to_go,
        "baseline": to_go - base,
        "advantage": mdp.gamma * before * two.q[s, a] + fade * two.u[s, a] - base,
    }
    scores = np.eye(12)[s * 3 + a].reshape(count, horizon, 4, 3) - (
        np.eye(4)[s][..., None] * policy[s][:, :, None]
    )
    exact = logit_gradient(mdp, policy, Geometric(kappa))
    variances = {}
    for name, gain in gains.items():
        estimates = np.einsum("nt,ntsa->nsa", gain, scores)
        error = estimates.std(axis=0) / np.sqrt(count)
        assert (np.abs(estimates.mean(axis=0) - exact) < 5 * error + 1e-9).all(), name
        variances[name] = estimates.var(axis=0).sum()
    assert list(variances.values()) == pytest.approx([238, 15.1, 0.304, 0.0632], rel=5e-3)


def test_performance_difference_on_the_chain():
    mdp, old, new = go_stay(0.4, 1.0, 0.0), go_stay_policy(1.0), go_stay_policy(0.0)
    eta, two = Geometric(0.5), critics(mdp, old, 0.5)
    assert criterion(mdp, old, eta) == pytest.approx(0.8)
    advantage = (mu(mdp, new, eta).values * (two.q - two.v[:, None])).sum()
    assert advantage == pytest.approx(0.1)
    assert future(mdp, new, eta).states @ two.v == pytest.approx(0.4)
    found = differences(mdp, old, new, 0.5)
    assert found == pytest.approx({"true": 0.5, "printed": 0.9, "corrected": 0.5, "local": 0.5})


def test_performance_difference_on_random_mdps():
    printed = []
    for seed in range(30):
        rng, mdp, old = world(seed)
        found = differences(mdp, old, random_policy(rng, mdp), 0.6)
        assert found["corrected"] == pytest.approx(found["true"], abs=1e-12)
        assert found["local"] == pytest.approx(found["true"], abs=1e-12)
        printed.append(abs(found["printed"] / found["true"] - 1))
        classical = differences(mdp, old, random_policy(rng, mdp), 0.0)
        assert classical["printed"] == pytest.approx(classical["true"], abs=1e-12)
    assert max(printed) == pytest.approx(0.028, abs=5e-4)


def test_surrogate_of_the_local_form_has_the_true_gradient():
    """Old measures in the local form: its derivative at the old policy is item (f)."""
    _, mdp, policy = world(7)
    two, eta = critics(mdp, policy, 0.6), Geometric(0.6)
    ahead = future(mdp, policy, eta).states
    now = mu(mdp, policy, eta).states - ahead
    local = now[:, None] * two.q + (ahead / 0.4)[:, None] * two.u
    assert gradient(mdp, policy, eta) == pytest.approx(local, abs=1e-13)
    assert visits(mdp, policy, 3).sum(axis=1) == pytest.approx(np.ones(3))
