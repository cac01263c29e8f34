import math
import time

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from etairl.eta import (
    Dirac,
    Geometric,
    Mixture,
    Poisson,
    Table,
    Uniform,
    ZeroModifiedGeometric,
    parse_eta,
)
from etairl.types import InputError

FAMILIES = [
    Dirac(0),
    Dirac(7),
    Geometric(0.0),
    Geometric(0.5),
    Geometric(0.99),
    Poisson(3.5),
    Table((0.2, 0.0, 0.8)),
    ZeroModifiedGeometric(0.9, 0.5),
    ZeroModifiedGeometric(0.5, 0.5),
    Mixture((Dirac(2), Poisson(6.0)), (0.25, 0.75)),
]
HORIZONLESS = [Uniform(), Geometric(1.0)]


def test_the_ends_of_the_geometric_family():
    assert Geometric(0.0).pmf(5).tolist() == [1, 0, 0, 0, 0]
    assert Geometric(1.0).pmf(5) == pytest.approx(np.full(5, 0.2))
    assert Geometric(1.0).pmf(5).tolist() == Uniform().pmf(5).tolist()


def test_pmf_agrees_with_scipy():
    k = np.arange(400)
    assert Poisson(25.0).pmf(400) == pytest.approx(stats.poisson.pmf(k, 25), rel=1e-10, abs=1e-300)
    # scipy counts trials: success on trial k + 1, with probability 1 - kappa.
    assert Geometric(0.9).pmf(400) == pytest.approx(
        stats.geom.pmf(k + 1, 0.1) / stats.geom.cdf(400, 0.1), rel=1e-10
    )


@pytest.mark.parametrize("eta", FAMILIES + HORIZONLESS, ids=str)
@pytest.mark.parametrize("horizon", [8, 50])
def test_truncated_laws_sum_to_one(eta, horizon):
    pmf = eta.pmf(horizon)
    assert pmf.shape == (horizon,)
    assert pmf.sum() == pytest.approx(1.0, abs=1e-12)
    assert eta.mean(horizon) == pytest.approx(np.arange(horizon) @ pmf)


@pytest.mark.parametrize("eta", FAMILIES, ids=str)
@pytest.mark.parametrize("horizon", [1, 2, 8, 30])
def test_tail_is_what_the_truncation_leaves_out(eta, horizon):
    assert eta.tail(horizon) == pytest.approx(1.0 - np.exp(eta.log_pmf(horizon)).sum(), abs=1e-12)


@pytest.mark.parametrize("eta", HORIZONLESS, ids=str)
def test_uniform_has_no_law_without_a_horizon(eta):
    assert eta.tail(10) is None
    assert eta.mean() == math.inf
    assert eta.mean(10) == pytest.approx(4.5)


@pytest.mark.parametrize("eta", FAMILIES, ids=str)
def test_mean_is_the_limit_of_truncated_means(eta):
    assert eta.mean() == pytest.approx(eta.mean(5000), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("eta", FAMILIES + HORIZONLESS, ids=str)
def test_text_reads_back(eta):
    assert parse_eta(str(eta)) == eta


@given(st.floats(0, 1))
def test_every_kappa_reads_back(kappa):
    assert parse_eta(str(Geometric(kappa))) == Geometric(kappa)


@given(st.floats(1e-300, 1e6), st.floats(0.01, 0.99))
def test_every_mixture_reads_back(lam, share):
    mixture = Mixture((Poisson(lam), Geometric(share)), (share, 1 - share))
    assert parse_eta(str(mixture)) == mixture


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_every_table_reads_back(values):
    total = math.fsum(values)
    assume(total > 1e-3)
    table = Table(tuple(value / total for value in values))
    assert parse_eta(str(table)) == table


@pytest.mark.usefixtures("unchecked")
def test_numbers_of_numpy_read_back_too():
    for eta in (
        Geometric(np.float64(0.5)),
        Poisson(np.float32(2.5)),
        Dirac(np.int64(3)),
        ZeroModifiedGeometric(np.float64(0.9), np.float64(0.5)),
    ):
        assert parse_eta(str(eta)) == eta


def test_short_forms():
    assert parse_eta("zero-modified:0.995") == ZeroModifiedGeometric(0.995, 0.99)
    assert parse_eta(" geometric:1 ") == Geometric(1.0)
    assert str(parse_eta("poisson:25.0")) == "poisson:25"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unknown weighting"),
        ("geom:0.9", "did you mean 'geometric:0.99'"),
        ("poison:3", "did you mean 'poisson:25'"),
        ("xyz", "it is one of dirac:0"),
        ("geometric", "needs its numbers, for instance 'geometric:0.99'"),
        ("geometric:", "needs its numbers"),
        ("geometric:abc", "cannot read 'abc'"),
        ("geometric:1.5", r"kappa in \[0, 1\], got 1.5"),
        ("geometric:-0.1", r"kappa in \[0, 1\]"),
        ("geometric:nan", "not a finite number"),
        ("geometric:0.5,0.6", "has 2 numbers"),
        ("poisson:0", "mean > 0 and at most 1e6"),
        ("poisson:inf", "not a finite number"),
        ("dirac:-1", "whole number of steps >= 0"),
        ("dirac:1.5", "whole number of steps >= 0"),
        ("dirac:1e300", "whole number of steps >= 0"),
        ("poisson:1e300", "at most 1e6"),
        ("table:,", "cannot read ''"),
        ("mixture:+", "cannot read ''"),
        ("geometric:1e400", "not a finite number"),
        ("uniform:3", "takes no number"),
        ("table:0.5,0.4", "must sum to 1, these sum to 0.9"),
        ("table:1.5,-0.5", r"probabilities in \[0, 1\]"),
        ("zero-modified:0.5,0.9", "0 <= gamma <= beta < 1"),
        ("zero-modified:1,0.9", "0 <= gamma <= beta < 1"),
        ("zero-modified:0.9,0.8,0.7", "has 3 numbers"),
        ("mixture:0.5*dirac:0", "sum to 1"),
        ("mixture:dirac:0+0.5*dirac:1", "cannot read 'dirac:0'"),
        ("mixture:0.5*uniform+0.5*dirac:0", "not a law without a horizon and cannot be mixed"),
        ("mixture:0.5*mixture:1*dirac:0+0.5*dirac:0", "mixture of mixtures"),
    ],
)
def test_bad_text_says_what_and_how(text, message):
    with pytest.raises(InputError, match=message):
        parse_eta(text)


def test_no_mass_within_the_horizon():
    with pytest.raises(InputError, match="no mass on the first 5 steps"):
        Dirac(5).pmf(5)
    with pytest.raises(InputError, match="whole number of steps >= 1"):
        Dirac(0).pmf(0)


def test_a_far_looking_poisson_does_not_underflow():
    pmf = Poisson(5000.0).pmf(10)
    # eta(k)/eta(k+1) = (k+1)/lambda: nearly everything on the last step.
    assert pmf[8] / pmf[9] == pytest.approx(9 / 5000)


@pytest.mark.parametrize(
    ("spec", "gamma", "beta"),
    [
        ("dirac:0", 0.7, 0.7),
        ("geometric:0", 0.7, 0.7),
        ("table:1", 0.7, 0.7),
        ("zero-modified:0.9,0.5", 0.5, 0.9),
        ("zero-modified:0.9,0.5", 0.6, None),
        ("zero-modified:0.5,0.5", 0.6, 0.6),
        ("geometric:0.4", 0.0, 0.4),
        ("geometric:0.4", 0.5, None),
        ("poisson:3", 0.5, None),
        ("uniform", 0.5, None),
        ("geometric:1", 0.0, None),
    ],
)
def test_the_discount_whose_powers_the_weights_are(spec, gamma, beta):
    eta = parse_eta(spec)
    assert eta.discount(gamma) == beta
    weights = eta.weights(gamma, 20)
    powers = weights[0] * (gamma if beta is None else beta) ** np.arange(20)
    assert (weights == pytest.approx(powers)) is (beta is not None)


def test_a_mixture_of_many_parts_takes_no_time_to_speak_of():
    """Its total used to be made again for every part: 5 s for these."""
    parts = 16_000
    begun = time.process_time()
    eta = parse_eta("mixture:" + "+".join([f"{1 / parts}*dirac:{k % 5}" for k in range(parts)]))
    assert eta.pmf(5) == pytest.approx(np.full(5, 0.2))
    assert time.process_time() - begun < 1.5
