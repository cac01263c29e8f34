"""`etairl export`: the policy of a run for other programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from etairl.cli.console import out, parse, working
from etairl.solvers.learned import LearnedPolicy
from etairl.storage import write_atomic
from etairl.training.loading import Which, load
from etairl.types import InputError, counted

_SUFFIXES = {".npz": "numpy", ".onnx": "onnx", ".pt": "torchscript"}


@dataclass(frozen=True)
class Config:
    """Write the policy of a finished run as one file for programs without etairl.

    It computes the most likely action, in the units of the environment and in float32. The page
    "A policy elsewhere" of the documentation shows how to call each kind.
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """a finished run of train or expert"""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FILE")]
    """the file; its ending says the kind (.npz, .onnx, .pt) where no option does"""
    numpy: bool = False
    """an npz file of plain arrays"""
    onnx: bool = False
    """for ONNX Runtime and others, in any language"""
    torchscript: bool = False
    """for PyTorch and LibTorch; PyTorch must be installed"""
    which: Which = "final"
    """the policy that the run kept, or the best by its own measurements"""
    trust: bool = False
    """import code that a run before 0.4 names: an environment of its own"""


def run(arguments: list[str]) -> int:
    """Load the policy and write it."""
    config = parse(Config, arguments, "export")
    kind = _kind(config)
    if config.output.is_dir():
        raise InputError(f"{config.output} is a folder; name a file in it")
    with working("reading the policy"):
        policy = load(config.run, config.which, trust=config.trust)
        write_atomic(config.output, _bytes(policy, kind))
    spec = policy.spec
    actions = (
        f"one of {spec.discrete_actions} actions"
        if spec.discrete_actions is not None
        else f"an action of {counted(spec.act_dim, 'number')}"
    )
    seen = counted(spec.obs_dim, "number")
    text = f"{config.output}: from an observation of {seen} to {actions}"
    out().print(f"{text} ({spec.environment})")
    return 0


def _kind(config: Config) -> str:
    asked = [name for name in _SUFFIXES.values() if getattr(config, name)]
    if len(asked) > 1:
        raise InputError(f"one file has one kind: give one of {', '.join(f'--{a}' for a in asked)}")
    kind = asked[0] if asked else _SUFFIXES.get(config.output.suffix.lower())
    if kind is None:
        raise InputError(
            f"{config.output}: say which kind of file: --numpy, --onnx or --torchscript, or a name "
            f"that ends in {', '.join(_SUFFIXES)}"
        )
    return kind


def _bytes(policy: LearnedPolicy, kind: str) -> bytes:
    from etairl.solvers.exports import numpy_bytes, torchscript_bytes
    from etairl.solvers.onnx_file import onnx_bytes

    makers = {"numpy": numpy_bytes, "onnx": onnx_bytes, "torchscript": torchscript_bytes}
    return makers[kind](policy)
