"""Demonstrations: load, check, cut down, save; npz files and Minari datasets."""

from etairl.demos.dataset import Demos, Playing, Selection, Standardiser
from etairl.demos.noise import Noise
from etairl.demos.recordings import Importing
from etairl.demos.sources import bundled_demos, find_demos, load_demos, save_demos
from etairl.demos.synthetic import limit_cycle

__all__ = [
    "Demos",
    "Importing",
    "Noise",
    "Playing",
    "Selection",
    "Standardiser",
    "bundled_demos",
    "find_demos",
    "limit_cycle",
    "load_demos",
    "save_demos",
]
