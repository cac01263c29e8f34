"""`etairl explain`: a page about what a run learned to pay for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from etairl.cli.arguments import KeptPolicy, RunFolder, Trusted
from etairl.cli.console import out, parse, working
from etairl.storage import write_atomic
from etairl.types import InputError, check_range, check_seed


@dataclass(frozen=True)
class ExplainConfig:
    """One self-contained HTML page: what did a run learn to pay for, and is it more than noise?

    Costs along episodes, the moments that differ most, the columns that matter there, the weights
    of frames, MMD² by quarter, maps of two-dimensional worlds.
    """

    run: RunFolder
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE")] = None
    """the page (.html); explanation.html in the run directory if left out"""
    policy: KeptPolicy = "final"
    episodes: int = 20
    """episodes of the learner to compare with the demonstrations"""
    seed: int = 0
    """random seed of the episodes and of all draws"""
    no_pictures: bool = False
    """draw no frames of the clip"""
    trust: Trusted = False

    def __post_init__(self):
        check_seed(self.seed)
        check_range(self, "[2, inf)", "episodes")
        if self.output is not None and self.output.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"{self.output}: the name of a page ends in .html")


def run(arguments: list[str]) -> int:
    """Write the page and print its verdicts."""
    config = parse(ExplainConfig, arguments, "explain")
    with working("loading"):
        from etairl.figures.page.explained import explanation_page
        from etairl.training.explained_data import explanation_data
        from etairl.training.filming import Film, film, with_others
        from etairl.training.result import Result

        result = Result(config.run, config.policy, config.trust)
    filmed = Film()
    if not config.no_pictures:
        with working("drawing frames"):
            filmed = film(result, config.seed)
    with working("explaining"):
        explanation = result.explain(config.episodes, config.seed, filmed.episode)
    if not config.no_pictures:
        with working("drawing frames of other episodes"):
            filmed = with_others(result, explanation, filmed)
    data = explanation_data(result, explanation, filmed)
    page = config.output or config.run / "explanation.html"
    write_atomic(page, explanation_page(data).encode())
    for verdict in data["verdicts"]:
        out().print(f"{verdict['title']}: {verdict['text']}")
    for note in filmed.notes:
        out().print(note)
    out().print(f"\npage: {page}", soft_wrap=True)
    return 0
