"""`etairl demo`: the main job on what is in the box."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from etairl.cli.console import out, parse
from etairl.cli.evaluate import print_verdicts
from etairl.cli.running import follow
from etairl.figures.learning import learning_figure
from etairl.figures.save import save_figure
from etairl.runs import RunDirectory, read_metrics
from etairl.training.presets import preset
from etairl.training.result import Result
from etairl.types import InputError


@dataclass(frozen=True)
class Config:
    """Learn to run like the cheetah in the box, and say how well it matches. About five minutes.

    Run it again to go on after a stop, or to see the table of a finished run once more.
    """

    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = Path("etairl-demo")
    """the run directory"""
    transitions: int = 1_000_000
    """how long to learn"""
    episodes: int = 25
    """episodes of each policy in the table"""

    def __post_init__(self):
        if self.episodes < 2:
            raise InputError(f"episodes must be at least 2, got {self.episodes}")


def run(arguments: list[str]) -> int:
    """The command."""
    config = parse(Config, arguments, "demo")
    settings = preset("default")
    settings = replace(settings, girl=replace(settings.girl, transitions=config.transitions))
    directory = RunDirectory(config.output)
    console = out()
    command = f"etairl train -o {config.output} --transitions {config.transitions}"
    console.print(f"$ {command}", style="bold", markup=False)
    if not directory.finished:
        directory.check_versions()
    directory.open(settings)  # refuses a folder with another run
    if not directory.finished:
        follow(settings, directory, checkpoint_seconds=30.0, threads=None)
    command = f"etairl evaluate {config.output} --episodes {config.episodes}"
    console.print(f"\n$ {command}", style="bold", markup=False)
    show(config.output, config.episodes)
    return 0


def show(path: Path, episodes: int) -> None:
    """The table and the learning curves of a finished run."""
    result = Result(path)
    with Console(stderr=True).status("loading") as status:
        verdicts = result.evaluate(episodes, say=status.update)
    print_verdicts(verdicts, result)
    figure = path / "figures" / "learning.png"
    metrics = json.loads((path / "result.json").read_text())
    title = f"{result.config.algorithm} with {result.config.eta} on {result.config.env}"
    save_figure(learning_figure(read_metrics(path), metrics, title), figure)
    out().print(f"\nlearning curves: {figure}\nrun directory:   {path}", markup=False)
