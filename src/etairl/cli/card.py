"""`etairl card`: a finished run as a folder to share."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from etairl.cli.arguments import Trusted
from etairl.cli.console import out, parse, working


@dataclass(frozen=True)
class Config:
    """Write a finished run as a folder to share: weights, settings, scores and a model card.

    It has the layout of model hubs, and nothing of this machine: no paths, no names of users.
    `etairl.load`, evaluate, render, export and explain take it like a run.
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """a finished run of train"""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """where to write; `card` in the run directory if left out"""
    name: str | None = None
    """of the model; algorithm and environment if left out"""
    license: str | None = None
    """of the weights, in the short form of model hubs, for instance mit"""
    with_demonstrations: bool = False
    """put demonstrations of your own into the folder, too"""
    overwrite: bool = False
    """replace the card that is there"""
    trust: Trusted = False


def run(arguments: list[str]) -> int:
    """Write the folder and say what to do with it."""
    config = parse(Config, arguments, "card")
    folder = config.output or config.run / "card"
    with working("reading the run"):
        from etairl.training.result import Result

        result = Result(config.run, trust=config.trust)
        shared = config.with_demonstrations
        card = result.card(folder, config.name, config.license, shared, config.overwrite)
    out().print(f"card: {card}", soft_wrap=True)
    upload = f"hf upload USER/NAME {shlex.quote(str(folder))}"
    said = f"Read it before you share it; then, for instance: {upload}"
    out().print(said, soft_wrap=True)
    return 0
