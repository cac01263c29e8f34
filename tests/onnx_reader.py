"""Reads the ONNX files that we write, and runs them in NumPy: independent of what writes them."""

import struct
from typing import Any

import numpy as np


def fields(data: bytes) -> list[tuple[int, Any]]:
    """Numbers and values of the fields of a message."""
    found, at = [], 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            found.append((tag >> 3, number()))
        elif tag & 7 == 2:
            size = number()
            found.append((tag >> 3, data[at : at + size]))
            at += size
        elif tag & 7 == 5:
            found.append((tag >> 3, struct.unpack("<f", data[at : at + 4])[0]))
            at += 4
        else:
            raise ValueError(f"a field of the kind {tag & 7}")
    assert at == len(data)
    return found


def run(model: bytes, x: np.ndarray) -> np.ndarray:
    """What a model answers to the rows of `observation`."""
    (graph,) = [value for number, value in fields(model) if number == 7]
    parts = fields(graph)
    values = {"observation": x}
    for tensor in (fields(value) for number, value in parts if number == 5):
        named = {number: value for number, value in tensor}
        shape = [value for number, value in tensor if number == 1]
        assert named[2] == 1  # float32
        values[named[8].decode()] = np.frombuffer(named[9], "<f4").reshape(shape)
    operators = {
        "Sub": np.subtract,
        "Div": np.divide,
        "Mul": np.multiply,
        "Add": np.add,
        "MatMul": np.matmul,
        "Tanh": np.tanh,
        "Clip": np.clip,
        "Relu": lambda x: np.maximum(x, 0),
        "Elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
        "ArgMax": lambda x: x.argmax(axis=1),
    }
    for node in (fields(value) for number, value in parts if number == 1):
        inputs = [values[value.decode()] for number, value in node if number == 1]
        (output,) = [value.decode() for number, value in node if number == 2]
        (kind,) = [value.decode() for number, value in node if number == 4]
        values[output] = operators[kind](*inputs)
    return values["action"]
