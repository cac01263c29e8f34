"""A learned policy as an ONNX file, written field by field: a protocol buffer needs no library.

Numbers of fields are those of `onnx.proto` (IR version 8, operators of version 13), which never
change. The graph: rows `observation` in, rows `action` out.
"""

from collections.abc import Iterable

import numpy as np

from etairl.solvers.exports import Layers, layers_of
from etairl.solvers.learned import LearnedPolicy

_IR_VERSION, _OPERATORS = 8, 13
_FLOAT, _INT64 = 1, 7
_KINDS = {np.dtype(np.float32): _FLOAT, np.dtype(np.int64): _INT64}
_ATTRIBUTE_INT = 2
_ACTIVATIONS = {"tanh": "Tanh", "relu": "Relu", "elu": "Elu"}


def onnx_bytes(policy: LearnedPolicy) -> bytes:
    """An ONNX model: rows of observations in float32 in, actions of the environment out."""
    layers = layers_of(policy)
    nodes, constants = _graph(layers)
    columns = [] if layers.discrete else [len(layers.action_half)]
    graph = b"".join(
        [
            *(_field(1, node) for node in nodes),
            _field(2, "policy"),
            *(_field(5, _tensor(name, value)) for name, value in constants.items()),
            _field(11, _value("observation", _FLOAT, [layers.observations])),
            _field(12, _value("action", _INT64 if layers.discrete else _FLOAT, columns)),
        ]
    )
    return b"".join(
        [
            _field(1, _IR_VERSION),
            _field(2, "etairl"),
            _field(7, graph),
            _field(8, _field(1, "") + _field(2, _OPERATORS)),
        ]
    )


def _graph(layers: Layers) -> tuple[list[bytes], dict[str, np.ndarray]]:
    """Its nodes, in order, and its constants."""
    constants = {"mean": layers.mean, "scale": layers.scale}
    nodes = [
        _node("Sub", ["observation", "mean"], "centred"),
        _node("Div", ["centred", "scale"], "standardised"),
    ]
    x = "standardised"
    if np.isfinite(layers.clip):
        constants |= {"least": np.asarray(-layers.clip), "most": np.asarray(layers.clip)}
        nodes.append(_node("Clip", [x, "least", "most"], "clipped"))
        x = "clipped"
    last = len(layers.weights) - 1
    for i, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True)):
        constants |= {f"actor.{i}.weight": weight, f"actor.{i}.bias": bias}
        nodes.append(_node("MatMul", [x, f"actor.{i}.weight"], f"product.{i}"))
        nodes.append(_node("Add", [f"product.{i}", f"actor.{i}.bias"], f"sum.{i}"))
        x = f"sum.{i}"
        if i < last:
            nodes.append(_node(_ACTIVATIONS[layers.activation], [x], f"hidden.{i}"))
            x = f"hidden.{i}"
    if layers.discrete:
        return [*nodes, _node("ArgMax", [x], "action", axis=1, keepdims=0)], constants
    constants |= {"action_middle": layers.action_middle, "action_half": layers.action_half}
    nodes += [
        _node("Tanh", [x], "squashed"),
        _node("Mul", ["action_half", "squashed"], "scaled"),
        _node("Add", ["action_middle", "scaled"], "action"),
    ]
    return nodes, constants


def _varint(number: int) -> bytes:
    """Seven bits in each byte, the lowest first."""
    digits = []
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])


def _field(number: int, value: int | str | bytes) -> bytes:
    """A whole number, or something with a length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _node(kind: str, inputs: Iterable[str], output: str, **attributes: int) -> bytes:
    parts = [*(_field(1, name) for name in inputs), _field(2, output), _field(4, kind)]
    for name, value in attributes.items():
        attribute = _field(1, name) + _field(3, value) + _field(20, _ATTRIBUTE_INT)
        parts.append(_field(5, attribute))
    return b"".join([*parts, _field(3, output)])


def _tensor(name: str, value: np.ndarray) -> bytes:
    shape = b"".join(_field(1, length) for length in value.shape)
    little = value.astype(value.dtype.newbyteorder("<"))
    return shape + _field(2, _KINDS[value.dtype]) + _field(8, name) + _field(9, little.tobytes())


def _value(name: str, kind: int, columns: list[int]) -> bytes:
    """Name and type of an input or an output; the first dimension is open."""
    sizes = [_field(2, "batch"), *(_field(1, column) for column in columns)]
    shape = b"".join(_field(1, size) for size in sizes)
    tensor = _field(1, kind) + _field(2, shape)
    return _field(1, name) + _field(2, _field(1, tensor))
