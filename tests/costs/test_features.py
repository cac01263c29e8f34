"""Feature maps against values by hand, and against what a user may get wrong."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.costs.family import Points, View
from etairl.costs.features import Features
from etairl.costs.maps import parse_features
from etairl.evaluation.mmd import mmd2
from etairl.types import DivergedError, InputError, Spec

SPEC = Spec(2, 1, (-1.0,), (1.0,))
KEY = jax.random.key(0)


def points(rng, n=400, shift=0.0) -> Points:
    obs, following = 3.0 * rng.normal(size=(2, n, 2)) + 5.0 + shift
    act = rng.uniform(-1, 1, size=(n, 1))
    return Points(*(jnp.asarray(x, jnp.float32) for x in (obs, act, following)))


def make(text, spec=SPEC, inputs="state_action"):
    return Features(View(spec, inputs), parse_features(text))


def columns(seen: Points) -> np.ndarray:
    x = np.concatenate([np.asarray(seen.obs), np.asarray(seen.act)], axis=1).astype(np.float64)
    return (x - x.mean(axis=0)) / x.std(axis=0)


def standardised(raw: np.ndarray) -> np.ndarray:
    return (raw - raw.mean(axis=0)) / raw.std(axis=0)


def test_identity_and_quadratic_by_hand(rng):
    seen = points(rng)
    z = columns(seen)
    for text, raw in (
        ("identity", z),
        ("quadratic", np.stack([*z.T, *(z[:, i] * z[:, j] for i, j in PAIRS)], axis=1)),
    ):
        features = make(text)
        state = features.init(KEY, seen)
        assert np.asarray(features(state, *seen)) == pytest.approx(standardised(raw), abs=1e-4)
    assert features.names(state)[:6] == ("s0", "s1", "a0", "s0²", "s0·s1", "s0·a0")
    assert len(features.names(state)) == 3 * 6 // 2


PAIRS = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]


def test_bumps_sit_on_demonstrations(rng):
    seen = points(rng, 50)
    features = make("rbf:50")
    state = features.init(KEY, seen)
    z = columns(seen)
    (centres,) = (np.asarray(a, np.float64) for a in state.arrays)
    assert sorted(centres[:, 0]) == pytest.approx(sorted(z[:, 0]), abs=1e-5)
    raw = np.exp(-((z[:, None] - centres[None]) ** 2).sum(axis=2) / 3)
    assert np.asarray(features(state, *seen)) == pytest.approx(standardised(raw), abs=1e-3)
    far = np.argsort(-np.abs(centres[1]))[:2]
    told = " ".join(f"{('s0', 's1', 'a0')[j]}{centres[1][j]:+.1f}" for j in far)
    assert features.names(state)[1] == f"near1({told})"


def test_many_waves_make_the_kernel_of_the_mmd(rng):
    """E[2 cos(wx+b) cos(wy+b)] = exp(-|x-y|²/d); with 20,000 waves the error is about 0.007."""
    features = make("fourier:20000")
    state = features.init(KEY, points(rng))
    z = jnp.asarray(rng.normal(size=(6, 3)), jnp.float32)
    f = np.asarray(features.map(state.arrays, z, z, z), np.float64)
    z = np.asarray(z, np.float64)
    kernel = np.exp(-((z[:, None] - z[None]) ** 2).sum(axis=2) / 3)
    assert f @ f.T / 20000 == pytest.approx(kernel, abs=5 * 0.0071)


def test_the_gap_in_waves_is_the_mmd(rng):
    """|mean difference|² / N is the biased MMD²: unbiased plus at most 2/n, within 0.02."""
    x, y = rng.normal(size=(2, 300, 3)) + np.array([[[0.0]], [[0.7]]])
    features = make("fourier:5000")
    state = features.init(KEY, points(rng))
    waves = lambda s: features.map(state.arrays, s, s, s)  # noqa: E731
    means = [np.asarray(waves(jnp.asarray(side, jnp.float32))) for side in (x, y)]
    gap = means[0].mean(axis=0) - means[1].mean(axis=0)
    assert (gap**2).mean() == pytest.approx(mmd2(x, y), abs=0.02)


def test_discrete_actions_and_next_states(rng):
    spec = Spec(2, 1, discrete_actions=3)
    seen = points(rng)._replace(act=jnp.asarray(rng.integers(3, size=(400, 1)), jnp.float32))
    features = make("identity", spec)
    assert features.names(features.init(KEY, seen)) == ("s0", "s1", "a0", "a1", "a2")
    features = make("identity", spec, "state_next_state")
    assert features.names(features.init(KEY, seen))[2:] == ("next_s0", "next_s1")


def user_module(tmp_path, monkeypatch, body: str) -> None:
    (tmp_path / "mymaps.py").write_text(f"import jax.numpy as jnp\nimport numpy as np\n{body}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "mymaps", raising=False)


def test_a_map_of_your_own(tmp_path, monkeypatch, rng):
    body = "def speed(obs, act):\n    return jnp.stack([obs[..., 0] ** 2, act[..., 0]], axis=-1)\n"
    user_module(tmp_path, monkeypatch, body + "speed.names = ('speed²', 'effort')")
    features = make("mymaps:speed")
    seen = points(rng)
    state = features.init(KEY, seen)
    raw = np.stack([np.asarray(seen.obs)[:, 0] ** 2, np.asarray(seen.act)[:, 0]], axis=1)
    assert np.asarray(features(state, *seen)) == pytest.approx(standardised(raw), abs=1e-4)
    assert features.names(state) == ("speed²", "effort")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return jnp.log(obs[..., :1] - 99)", r"feature bad0 is nan at a demonstrated pair \(400"),
        ("return obs[..., :0]", "empty basis explains nothing"),
        ("return obs.sum()", "one row of features per pair"),
        ("return np.linalg.nothing(obs)", "failed with AttributeError"),
        ("return obs @ jnp.ones((7, 2))", "failed with .*must be written with jax.numpy"),
        ("return np.sin(np.asarray(obs))", "failed with Tracer.*must be written with jax.numpy"),
    ],
)
def test_maps_that_fail_say_so(body, message, tmp_path, monkeypatch, rng):
    user_module(tmp_path, monkeypatch, f"def bad(obs, act):\n    {body}")
    with pytest.raises(InputError, match=message):
        make("mymaps:bad").init(KEY, points(rng))


def test_actions_in_the_absorbing_state_mean_nothing_to_a_map_of_your_own(
    tmp_path, monkeypatch, rng
):
    user_module(tmp_path, monkeypatch, "def both(obs, act):\n    return jnp.hstack([obs, act])")
    features = Features(View(SPEC, absorbing=True), parse_features("mymaps:both"))
    seen = points(rng)
    gone = jnp.asarray(rng.random(400) < 0.5)
    seen = seen._replace(obs=seen.obs.at[:, 1].set(gone))
    state = features.init(KEY, seen)
    masked = np.where(gone, 0.0, np.asarray(seen.act)[:, 0])
    assert float(state.mean[2]) == pytest.approx(masked.mean(), abs=1e-6)
    same = features(state, *seen) == features(state, *seen._replace(act=seen.act + 0.1))
    assert np.array_equal(np.asarray(same).all(axis=1), gone)
    assert features.view.names == ("s0", "absorbing", "a0")


def test_features_that_break_where_the_learner_goes_are_named(tmp_path, monkeypatch, rng):
    user_module(tmp_path, monkeypatch, "def root(obs, act):\n    return jnp.sqrt(obs + 30)")
    features = make("mymaps:root")
    state = features.init(KEY, points(rng))
    features.check(state, points(rng))
    far = points(rng)
    far = far._replace(obs=far.obs.at[:7, 1].set(-31.0))
    with pytest.raises(DivergedError, match=r"root1 is nan at a pair of the learner \(7 of 400"):
        features.check(state, far)


def test_too_many_features_for_the_memory_are_refused():
    """365 columns make 67,160 products; nothing is computed before that is said."""
    seen = Points(jnp.ones((4000, 364)), jnp.ones((4000, 1)), jnp.ones((4000, 364)))
    with pytest.raises(InputError, match="67,160 features of 4,000 demonstrated pairs do not fit"):
        make("quadratic", Spec(364, 1, (-1.0,), (1.0,))).init(KEY, seen)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cubic", "unknown features 'cubic'; choose identity, quadratic"),
        ("fourier", "fourier needs a number of features of at least 1, for instance fourier:256"),
        ("rbf:0", "an empty basis explains nothing"),
        ("nowhere:f", "cannot be found"),
        ("math:nothing", "cannot be found"),
        ("math:pi", "math:pi is not a function"),
        ("rbf:401", r"more centres than there are demonstrated pairs \(400\)"),
    ],
)
def test_unknown_maps(text, message, rng):
    with pytest.raises(InputError, match=message):
        make(text).init(KEY, points(rng))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def f(obs, act) return obs", "cannot be found .SyntaxError"),
        ("nothing", "cannot be found .NameError"),
        ("def f(obs, act):\n    return obs\nf.names = ['x'] * 2", "two features of one name"),
    ],
)
def test_modules_that_are_wrong(body, message, tmp_path, monkeypatch, rng):
    name = "wrong" + str(len(body))
    (tmp_path / f"{name}.py").write_text(body + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=message):
        make(f"{name}:f").init(KEY, points(rng))


def test_constant_and_collinear_features_are_named(tmp_path, monkeypatch, rng):
    body = (
        "def odd(obs, act):\n"
        "    x, y = obs[..., 0], obs[..., 1]\n"
        "    return jnp.stack([x, y, x + y, 0 * x + 4], axis=-1)\n"
        "odd.names = ('x', 'y', 'sum', 'four')"
    )
    user_module(tmp_path, monkeypatch, body)
    features, seen = make("mymaps:odd"), points(rng)
    state = features.init(KEY, seen)
    flat, collinear = features.warnings(state, seen)
    assert flat.startswith("feature four is the same in all demonstrations")
    assert collinear.startswith("feature ")
    assert "is collinear with the others" in collinear
    assert np.isfinite(np.asarray(features(state, *seen))).all()
    assert float(state.scale[3]) == 1.0
    sound = make("quadratic")
    assert sound.warnings(sound.init(KEY, seen), seen) == []
