"""Generalised inverse reinforcement learning: imitate, explain the cost, measure the match."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etairl.demos import Demos, Selection, load_demos, save_demos
    from etairl.eta import parse_eta
    from etairl.evaluation.inspection import inspect
    from etairl.evaluation.mmd import mmd2
    from etairl.measures import FutureSampler
    from etairl.solvers.learned import LearnedPolicy
    from etairl.training.cost_wrapper import CostWrapper
    from etairl.training.experts import load_expert
    from etairl.training.flat import configure
    from etairl.training.loading import load
    from etairl.training.presets import preset
    from etairl.training.result import Result, train
    from etairl.training.settings import TrainConfig
    from etairl.types import InputError, Spec, Trajectories

__all__ = [
    "CostWrapper",
    "Demos",
    "FutureSampler",
    "InputError",
    "LearnedPolicy",
    "Result",
    "Selection",
    "Spec",
    "TrainConfig",
    "Trajectories",
    "configure",
    "inspect",
    "load",
    "load_demos",
    "load_expert",
    "mmd2",
    "parse_eta",
    "preset",
    "save_demos",
    "train",
]
__version__ = "0.4.0"
COMPILED_FOR = "2"
"""cores for which XLA makes the programs of commands (`NPROC`), however many there are: it shares
sums out among them, and other shares have other last bits"""

_HOMES = {
    "CostWrapper": "etairl.training.cost_wrapper",
    "Demos": "etairl.demos",
    "FutureSampler": "etairl.measures",
    "InputError": "etairl.types",
    "LearnedPolicy": "etairl.solvers.learned",
    "Result": "etairl.training.result",
    "Selection": "etairl.demos",
    "Spec": "etairl.types",
    "TrainConfig": "etairl.training.settings",
    "Trajectories": "etairl.types",
    "configure": "etairl.training.flat",
    "inspect": "etairl.evaluation.inspection",
    "load": "etairl.training.loading",
    "load_demos": "etairl.demos",
    "load_expert": "etairl.training.experts",
    "mmd2": "etairl.evaluation.mmd",
    "parse_eta": "etairl.eta",
    "preset": "etairl.training.presets",
    "save_demos": "etairl.demos",
    "train": "etairl.training.result",
}


def __getattr__(name: str) -> Any:
    # NumPy and SciPy cost a quarter of a second; `etairl --help` must not wait for them.
    if name not in _HOMES:
        raise AttributeError(f"module 'etairl' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
