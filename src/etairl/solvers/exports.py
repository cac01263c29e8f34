r"""A learned policy for other programs: its most likely action as NumPy, ONNX or TorchScript.

All compute the same in float32: $x \leftarrow \text{clip}((x - m)/s)$, dense layers, then the
middle of the action bounds plus half their distance times $\tanh$; or the largest of the logits.
"""

from importlib import import_module
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from etairl.networks import LARGEST_INPUT
from etairl.solvers.learned import LearnedPolicy
from etairl.solvers.policy import ActionScaling
from etairl.types import InputError


class Layers(NamedTuple):
    """All numbers of a policy that does not draw."""

    weights: tuple[np.ndarray, ...]
    """of each layer, inputs times outputs"""
    biases: tuple[np.ndarray, ...]
    activation: str
    """between the layers"""
    mean: np.ndarray
    scale: np.ndarray
    clip: np.ndarray
    """how far standardised observations may go; infinite where nothing is standardised"""
    action_middle: np.ndarray
    action_half: np.ndarray
    discrete: bool

    @property
    def observations(self) -> int:
        """Numbers of an observation."""
        return len(self.mean)


def layers_of(policy: LearnedPolicy) -> Layers:
    """The numbers of a policy, without the spread of its actions and without marks."""
    network, spec = policy.network, policy.spec
    weights = [np.asarray(w, np.float32) for w in network.actor.weights]
    biases = [np.asarray(b, np.float32) for b in network.actor.biases]
    dims = spec.obs_dim + policy.marked
    mean, scale, clip = np.zeros(dims, np.float32), np.ones(dims, np.float32), np.inf
    if network.normaliser is not None:
        mean = np.asarray(network.normaliser.mean, np.float32)
        scale = np.sqrt(np.asarray(network.normaliser.variance, np.float32) + 1e-8)
        clip = LARGEST_INPUT
    if policy.marked:
        # The mark is always 0 in the world, so that what it adds is constant.
        mark = np.clip(-mean[-1] / scale[-1], -clip, clip)
        biases[0] = biases[0] + mark * weights[0][-1]
        weights[0], mean, scale = weights[0][:-1], mean[:-1], scale[:-1]
    discrete = spec.discrete_actions is not None
    if not discrete:  # the second half is the spread
        weights[-1], biases[-1] = weights[-1][:, : spec.act_dim], biases[-1][: spec.act_dim]
    scaling = ActionScaling(spec)
    return Layers(
        tuple(np.ascontiguousarray(w) for w in weights),
        tuple(biases),
        network.actor.activation,
        mean,
        scale,
        np.asarray(clip, np.float32),
        scaling.middle,
        scaling.half,
        discrete,
    )


def numpy_bytes(policy: LearnedPolicy) -> bytes:
    """An npz file with one array for each name; the docs have its forward pass in ten lines."""
    layers = layers_of(policy)
    arrays: dict[str, Any] = {}
    for i, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True)):
        arrays |= {f"weight_{i}": weight, f"bias_{i}": bias}
    names = ("activation", "mean", "scale", "clip", "action_middle", "action_half", "discrete")
    arrays |= {name: np.asarray(getattr(layers, name)) for name in names}
    arrays["layers"] = np.asarray(len(layers.weights))
    data = BytesIO()
    np.savez(data, **arrays)
    return data.getvalue()


def torchscript_bytes(policy: LearnedPolicy) -> bytes:
    """A TorchScript file, which `torch.jit.load` reads; it needs PyTorch to be made."""
    try:
        torch: Any = import_module("torch")
    except ImportError:
        raise InputError(
            "--torchscript needs PyTorch, which is not installed here: pip install torch; or take "
            "--onnx or --numpy, which need nothing"
        ) from None
    layers = layers_of(policy)
    tensors = {
        name: torch.tensor(getattr(layers, name))
        for name in ("mean", "scale", "clip", "action_middle", "action_half")
    }
    weights = [torch.tensor(w) for w in layers.weights]
    biases = [torch.tensor(b) for b in layers.biases]
    activation = {"tanh": torch.tanh, "relu": torch.relu, "elu": torch.nn.functional.elu}[
        layers.activation
    ]

    def forward(x: Any) -> Any:
        x = (x - tensors["mean"]) / tensors["scale"]
        x = torch.clamp(x, -tensors["clip"], tensors["clip"])
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            x = activation(x @ weight + bias)
        x = x @ weights[-1] + biases[-1]
        if layers.discrete:
            return x.argmax(dim=1)
        return tensors["action_middle"] + tensors["action_half"] * torch.tanh(x)

    data = BytesIO()
    example = torch.zeros(2, layers.observations)
    torch.jit.save(torch.jit.trace(forward, example, check_trace=False), data)
    return data.getvalue()
