"""Compares exported policies in ONNX Runtime and PyTorch: run by a Python that has those.

PYTHON peers_of_policies.py FOLDER TOLERANCE
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch

folder, tolerance = Path(sys.argv[1]), float(sys.argv[2])
compared = 0
for file in sorted([*folder.glob("*.onnx"), *folder.glob("*.pt")]):
    expected = np.load(file.with_suffix(".npz"))
    if file.suffix == ".onnx":
        onnx.checker.check_model(onnx.load(file), full_check=True)
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        (found,) = session.run(["action"], {"observation": expected["x"]})
        (one,) = session.run(["action"], {"observation": expected["x"][:1]})
    else:
        network = torch.jit.load(file)
        found = network(torch.tensor(expected["x"])).numpy()
        one = network(torch.tensor(expected["x"][:1])).numpy()
    assert found.dtype == expected["y"].dtype, file
    assert found.shape == expected["y"].shape, file
    error = np.abs(found - expected["y"]) / expected["half"]
    assert error.max() <= tolerance, (file, error.max())
    assert (np.abs(one - found[:1]) / expected["half"]).max() <= tolerance, file
    compared += 1
    print(f"{file.name}: {error.max():.1e}")
assert compared
