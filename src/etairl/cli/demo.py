"""`etairl demo`: the main job on bundled demonstrations."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from etairl.cli.console import out, parse
from etairl.cli.evaluate import print_behaviours
from etairl.cli.running import RunOptions, follow
from etairl.figures.run_curves import Curves, runs_figure
from etairl.figures.save import save_figure
from etairl.runs import read_metrics
from etairl.training.flat import configure
from etairl.training.result import Result
from etairl.types import check_range


@dataclass(frozen=True)
class Config:
    """Learn to run like the bundled cheetah, and say how well it matches. About five minutes.

    Run it again to resume after a stop, or to see the table of a finished run once more.
    """

    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = Path("etairl-demo")
    """the run directory"""
    transitions: int = 2_000_000
    """how long to learn"""
    episodes: int = 25
    """episodes of each policy in the table"""

    def __post_init__(self):
        check_range(self, "[2, inf)", "episodes")


def run(arguments: list[str]) -> int:
    """Train, or resume; then print the table and draw the learning curves."""
    config = parse(Config, arguments, "demo")
    console = out()
    command = f"etairl train -o {config.output} --transitions {config.transitions}"
    console.print(f"$ {command}", style="bold")
    settings = configure("default", transitions=config.transitions)
    follow(settings, config.output, RunOptions(checkpoint_seconds=30.0), resume=True)
    command = f"etairl evaluate {config.output} --episodes {config.episodes}"
    console.print(f"\n$ {command}", style="bold")
    show(config.output, config.episodes)
    return 0


def show(path: Path, episodes: int) -> None:
    """The table and the learning curves of a finished run."""
    result = Result(path)
    with Console(stderr=True).status("loading") as status:
        behaviours = result.evaluate(episodes, say=status.update)
    print_behaviours(behaviours, result)
    figure = path / "figures" / "learning.png"
    title = f"{result.config.algorithm} with {result.config.eta} on {result.config.env}"
    expert, floor = result.metrics["expert_return"], result.metrics["remaining"]["mmd2_mu"]
    curves = [Curves("learner", [read_metrics(path)])]
    save_figure(runs_figure(curves, title, expert, floor), figure)
    out().print(f"\nlearning curves: {figure}\nrun directory:   {path}")
