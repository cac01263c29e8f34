"""Idle: generate futures of demonstrated states, beside those that were recorded."""

from etairl.idle.files import has_generator, load_generator, save_generator
from etairl.idle.generator import Generator, IdleConfig, Units
from etairl.idle.learning import IdleProgress, IdleState, generator_loss, idle
from etairl.idle.quality import (
    Paths,
    Trained,
    Watch,
    check_quality,
    check_shown,
    follow_paths,
    hold_out,
    judge_generator,
    nearest_possible,
    train_generator,
)

__all__ = [
    "Generator",
    "IdleConfig",
    "IdleProgress",
    "IdleState",
    "Paths",
    "Trained",
    "Units",
    "Watch",
    "check_quality",
    "check_shown",
    "follow_paths",
    "generator_loss",
    "has_generator",
    "hold_out",
    "idle",
    "judge_generator",
    "load_generator",
    "nearest_possible",
    "save_generator",
    "train_generator",
]
