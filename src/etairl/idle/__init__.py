"""Idle: generate futures of demonstrated states, beside those that were recorded."""

from etairl.idle.files import has_generator, load_generator, save_generator
from etairl.idle.generator import Generator, IdleConfig, Mend, Units
from etairl.idle.learning import IdleInfo, IdleProgress, IdleState, generator_loss, idle
from etairl.idle.quality import (
    HELD_OUT,
    Paths,
    Trained,
    Watch,
    check_quality,
    follow_paths,
    judge_generator,
    nearest_possible,
    split,
    train_generator,
)

__all__ = [
    "HELD_OUT",
    "Generator",
    "IdleConfig",
    "IdleInfo",
    "IdleProgress",
    "IdleState",
    "Mend",
    "Paths",
    "Trained",
    "Units",
    "Watch",
    "check_quality",
    "follow_paths",
    "generator_loss",
    "has_generator",
    "idle",
    "judge_generator",
    "load_generator",
    "nearest_possible",
    "save_generator",
    "split",
    "train_generator",
]
