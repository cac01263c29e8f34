"""A policy for use: loaded without a simulator, asked as others are, exported, pickled."""

import itertools
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import onnx_reader
import programs
import pytest
from tiny import TINY

import etairl
from etairl.networks import MLP, Normaliser
from etairl.solvers.exports import layers_of, numpy_bytes
from etairl.solvers.learned import About, LearnedPolicy, load_learned, named_weights, save_policy
from etairl.solvers.onnx_file import onnx_bytes
from etairl.training.flat import configure
from etairl.types import InputError, Spec

ROOT = Path(__file__).parents[2]
FIXTURES = Path(__file__).parent / "fixtures"
TOLERANCE = 1e-6
"""relative to the half range of the actions; float32 has 6e-8, and libraries add in other orders"""
KINDS = list(itertools.product(["tanh", "relu", "elu"], [False, True], [None, 4], [False, True]))
IDS = [
    "-".join([a, *(n for n, on in (("norm", n), ("discrete", d), ("marked", m)) if on)])
    for a, n, d, m in KINDS
]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run of seconds."""
    short = configure(TINY, transitions=500, normalise="demonstrations")
    return etairl.train(short, tmp_path_factory.mktemp("learned") / "run").path


@pytest.fixture
def observations(rng) -> np.ndarray:
    return etairl.load_demos("Pendulum-v1-25x200").trajectories.observations[:40]


def made(activation="tanh", normalises=True, discrete=None, marked=False, dims=5) -> LearnedPolicy:
    """With random weights."""
    spec = Spec(dims, 1, None, None, discrete, "Made-v0")
    if discrete is None:
        spec = Spec(dims, 2, (-1.0, 0.0), (3.0, 10.0), None, "Made-v0")
    sizes = (dims + marked, 64, 32, discrete or 4)
    actor = MLP.init(jax.random.key(3), sizes, activation)
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=sizes[0]), rng.uniform(0.01, 2.0, sizes[0])
    normaliser = Normaliser(*(np.asarray(a, np.float32) for a in (7.0, mean, variance)))
    return LearnedPolicy(
        named_weights(actor, normaliser), About(spec, activation, normalises, marked), seed=1
    )


def forward(file: Path, x: np.ndarray) -> np.ndarray:
    """The forward pass of the docs, word for word."""
    page = (ROOT / "docs" / "policies.md").read_text()
    (block,) = [b for b in re.findall(r"```py\n(.*?)```", page, re.S) if "def act" in b]
    names: dict[str, Any] = {}
    exec(block.replace('"policy.npz"', repr(str(file))), names)
    with names["p"]:
        return names["act"](x)


def test_it_predicts_what_the_run_plays_without_a_simulator(run, observations, tmp_path):
    loaded, result = etairl.load(run), etairl.Result(run)
    assert np.array_equal(loaded.predict(observations)[0], result.policy(observations))
    best = etairl.load(run, "best").predict(observations)[0]
    assert np.array_equal(best, etairl.Result(run, "best").policy(observations))
    np.save(tmp_path / "x.npy", observations)
    program = f"""
import sys
import numpy as np
import etairl
policy = etairl.load({str(run)!r})
np.save({str(tmp_path / "y.npy")!r}, policy.predict(np.load({str(tmp_path / "x.npy")!r}))[0])
simulators = {{"envpool", "gymnasium", "mujoco", "matplotlib"}} & set(sys.modules)
assert not simulators, simulators
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env=dict(os.environ))
    assert np.array_equal(np.load(tmp_path / "y.npy"), result.policy(observations))


@pytest.mark.usefixtures("unchecked")
def test_one_row_many_lists_and_what_is_wrong(run):
    policy = etairl.load(run)
    action, state = policy.predict([1, 0, 0])
    assert (action.shape, state) == ((1,), None)
    both = policy.predict([[1, 0, 0], [1, 0, 0]])[0]
    assert both == pytest.approx(np.stack([action, action]), abs=1e-6)  # products of other shapes
    assert np.array_equal(policy.predict({"b": [0, 0], "a": 1.0})[0], action)
    assert policy.predict({"b": [[0, 0]] * 4, "a": [1.0] * 4})[0].shape == (4, 1)
    assert policy.predict(np.zeros((0, 3)))[0].shape == (0, 1)
    drawn = [policy.predict([1, 0, 0], deterministic=False)[0] for _ in range(3)]
    assert len({float(a[0]) for a in drawn}) == 3
    first = [etairl.load(run, seed=5).predict([1, 0, 0], deterministic=False) for _ in "ab"]
    assert first[0] == first[1]
    for wrong, words in (
        ([1, 0], r"Pendulum-v1 have 3 numbers each: give one of them, or rows; got the shape \(2,"),
        (np.zeros((4, 2)), r"got the shape \(4, 2\)"),
        ([[1, 0, 0], [1, np.nan, 0]], "must be finite, but row 1 has NaN"),
        ([1, 0, 1e300], "must be finite"),
        ([[1, 0, 0], [1, 0]], "must be rows of 3 numbers"),
        (["a", "b", "c"], "must be rows of 3 numbers"),
        ({"a": [1, 2], "b": [[1, 2, 3]]}, r"the parts do not make so many: a \(2,\), b"),
        ({}, "there are none"),
        (None, "must be rows of 3 numbers|must be finite|have 3 numbers"),
    ):
        with pytest.raises(InputError, match=words):
            policy.predict(wrong)


@pytest.mark.parametrize("discrete", [None, 4])
def test_a_pickled_policy_is_the_same_policy(discrete, rng):
    policy, x = made(discrete=discrete), rng.normal(size=(9, 5))
    policy.predict(x, deterministic=False)
    again = pickle.loads(pickle.dumps(policy))
    assert np.array_equal(again.predict(x)[0], policy.predict(x)[0])
    drawn = [p.predict(x, deterministic=False)[0] for p in (again, policy)]
    assert np.array_equal(*drawn)
    assert "Made-v0" in repr(again)
    if discrete:
        action, _ = again.predict(x[0])
        assert action == again.predict(x)[0][0]
        assert action.dtype == np.int64
        assert action.shape == ()
    else:
        action = again.predict(1e6 * x)[0]
        assert ((action >= [-1, 0]) & (action <= [3, 10])).all()


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_numpy_and_onnx_compute_the_same(kind, tmp_path, rng):
    """ONNX by a reader of ours, which knows the operators that we write."""
    policy = made(*kind)
    x = np.float32(3.0 * rng.normal(size=(50, 5)))
    expected = policy.predict(x)[0]
    half = 1.0 if kind[2] else layers_of(policy).action_half
    file = tmp_path / "policy.npz"
    file.write_bytes(numpy_bytes(policy))
    assert (np.abs(forward(file, x) - expected) / half).max() <= TOLERANCE
    assert forward(file, x).dtype == (np.int64 if kind[2] else np.float32)
    found = onnx_reader.run(onnx_bytes(policy), x)
    assert (np.abs(found - expected) / half).max() <= TOLERANCE


def test_names_are_readable_and_old_ones_are_read(run, tmp_path, observations):
    from safetensors.numpy import load_file

    names = set(load_file(run / "policy.safetensors"))
    layers = {f"actor.{i}.{part}" for i in range(3) for part in ("weight", "bias")}
    assert names == layers | {f"normaliser.{part}" for part in ("rows", "mean", "variance")}
    old = FIXTURES / "run-0.1-pendulum"
    assert load_learned(old / "policy.safetensors") is None
    loaded, result = etairl.load(old), etairl.Result(old)
    assert np.array_equal(loaded.predict(observations)[0], result.policy(observations))
    shutil.copy(old / "policy.safetensors", tmp_path / "alone.safetensors")
    with pytest.raises(InputError, match="does not say what its environment is like"):
        etairl.load(tmp_path / "alone.safetensors")
    shutil.copy(run / "policy.safetensors", tmp_path / "new.safetensors")
    alone = etairl.load(tmp_path / "new.safetensors")
    assert np.array_equal(alone.predict(observations)[0], etairl.load(run).predict(observations)[0])


def test_what_is_no_policy_is_said(run, tmp_path):
    with pytest.raises(
        InputError, match="nowhere is not a run directory: there is no such folder; name one"
    ):
        etairl.load(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is not a run directory"):
        etairl.load(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="is not finished yet; resume it"):
        etairl.load(tmp_path)
    data = (run / "policy.safetensors").read_bytes()
    for broken in (
        data[:100],
        b"",
        data.replace(b'\\"tanh\\"', b'\\"tang\\"').replace(b'\\"relu\\"', b'\\"rely\\"'),
        data.replace(b"actor.1.weight", b"actor.7.weight"),
        data.replace(b'\\"obs_dim\\": 3', b'\\"obs_dim\\": 4'),
        data.replace(b'\\"act_dim\\": 1', b'\\"act_dim\\": []'),
    ):
        (tmp_path / "broken.safetensors").write_bytes(broken)
        with pytest.raises(InputError, match=r"broken\.safetensors: "):
            etairl.load(tmp_path / "broken.safetensors")


def test_export_on_the_command_line(run, tmp_path, observations):
    expected = etairl.load(run).predict(observations)[0]
    said = programs.call("export", run, "-o", tmp_path / "p.npz")
    assert (said.returncode, said.stderr) == (0, "")
    assert "from an observation of 3 numbers to an action of 1 number (Pendulum-v1)" in said.stdout
    assert np.allclose(forward(tmp_path / "p.npz", observations), expected, atol=2 * TOLERANCE)
    assert programs.call("export", run, "--onnx", "-o", tmp_path / "p").returncode == 0
    found = onnx_reader.run((tmp_path / "p").read_bytes(), observations)
    assert np.allclose(found, expected, atol=2 * TOLERANCE)
    for words, sentence in (
        (("-o", tmp_path / "p.bin"), "say which kind of file"),
        (("--onnx", "--numpy", "-o", "p"), "one file has one kind"),
        (("--numpy", "-o", tmp_path), "is a folder; name a file in it"),
        (("-o", tmp_path / "p.pt"), "--torchscript needs PyTorch"),
    ):
        refused = programs.call("export", run, *words)
        assert refused.returncode == 2
        assert sentence in refused.stderr


def test_another_programs_libraries_compute_the_same(tmp_path, run, observations, rng):
    """ONNX Runtime and PyTorch, where ETAIRL_PEERS names a Python that has them."""
    python = os.environ.get("ETAIRL_PEERS")
    if python is None:
        pytest.skip("set ETAIRL_PEERS to a Python with onnx, onnxruntime, torch to compare")
    cases = {name: made(*kind) for name, kind in zip(IDS, KINDS, strict=True)}
    x = np.float32(3.0 * rng.normal(size=(50, 5)))
    for name, policy in cases.items():
        save_policy(tmp_path / f"{name}.safetensors", *_saved(policy))
        (tmp_path / f"{name}.onnx").write_bytes(onnx_bytes(policy))
        half = 1.0 if policy.spec.discrete_actions else layers_of(policy).action_half
        np.savez(tmp_path / f"{name}.npz", x=x, y=policy.predict(x)[0], half=half)
        (tmp_path / f"{name}-torch.npz").write_bytes((tmp_path / f"{name}.npz").read_bytes())
    (tmp_path / "run.onnx").write_bytes(onnx_bytes(etairl.load(run)))
    y = etairl.load(run).predict(observations)[0]
    np.savez(tmp_path / "run.npz", x=observations, y=y, half=2.0)
    packages = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    program = f"""
import sys
from pathlib import Path
import etairl
from etairl.solvers.exports import torchscript_bytes
sys.path.append({packages!r})  # behind our own libraries: for PyTorch alone
for file in Path({str(tmp_path)!r}).glob("*.safetensors"):
    target = file.with_name(file.stem + "-torch.pt")
    target.write_bytes(torchscript_bytes(etairl.load(file)))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)
    script = Path(__file__).parents[1] / "peers_of_policies.py"
    subprocess.run([python, str(script), str(tmp_path), str(TOLERANCE)], check=True)


def _saved(policy: LearnedPolicy):
    network = policy.network
    normaliser = network.normaliser or Normaliser.identity(policy.spec.obs_dim + policy.marked)
    solver = type("State", (), {"actor": network.actor, "normaliser": normaliser})
    return solver, network, policy.marked
