"""`etairl evaluate`: how well does a run match its demonstrations?"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from etairl.cli.arguments import KeptPolicy, RunFolder, Trusted
from etairl.cli.console import out, parse, print_json, prose, table
from etairl.evaluation.explanation import FeatureGap
from etairl.evaluation.matching import EXACT, Distance
from etairl.training.behaviour import Behaviour
from etairl.training.config_files import read_config
from etairl.training.heat_maps import check_mapped, cost_maps
from etairl.training.judging import DEMONSTRATIONS
from etairl.training.result import Result
from etairl.types import check_range, check_seed


@dataclass(frozen=True)
class Config:
    """How well a run matches its expert: return, score and MMD², drawn and greedy."""

    run: RunFolder
    policy: KeptPolicy = "final"
    episodes: int = 50
    """episodes of each policy, drawn and greedy"""
    seed: int = 0
    """random seed of the episodes"""
    no_cloning: bool = False
    """leave behaviour cloning out"""
    figures: bool = False
    """also play twice the horizon, and draw where in the episode the behaviours differ: into
    episodes.png of the run directory"""
    json: bool = False
    """print JSON"""
    trust: Trusted = False
    map: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """of a run of etairl/Navigation-v0: draw its learned cost as heat maps, one for each of five
    targets, into this file (.png, .svg or .pdf)"""

    def __post_init__(self):
        check_seed(self.seed)
        check_range(self, "[2, inf)", "episodes")


def run(arguments: list[str]) -> int:
    """Play fresh episodes and print the table."""
    config = parse(Config, arguments, "evaluate")
    if config.map is not None:
        check_map(config.run, config.map, config.trust)
    with Console(stderr=True).status("loading the run and its simulator") as status:
        result = Result(config.run, config.policy, config.trust)
        if config.map is not None:
            draw_map(result, config.map)
        behaviours = result.evaluate(
            config.episodes, config.seed, not config.no_cloning, config.figures, status.update
        )
    figure = config.run / "episodes.png"
    if config.figures:
        draw_episodes(behaviours, figure)
    if config.json:
        print_json(behaviours)
        return 0
    print_behaviours(behaviours, result)
    if result.demonstrations.rewards is None:
        prose(f"\n{no_rewards([v.score for v in behaviours])}")
    print_quarters(behaviours)
    if config.figures:
        print_quarters(behaviours, longer=True)
    print_tasks(behaviours)
    print_features(behaviours)
    if config.figures:
        out().print(f"\nwhere in the episode → {figure}")
    if config.map is not None:
        out().print(f"\nlearned cost of five targets → {config.map}")
    return 0


def check_map(run: Path, file: Path, trust: bool) -> None:
    """Before anything slow: is the run one of navigation, and the file a figure?"""
    from etairl.figures.save import check_name

    check_mapped(read_config(run, trust))
    check_name(file)


def draw_map(result: Result, file: Path) -> None:
    """The learned cost from above."""
    from etairl.figures.cost_maps import cost_maps_figure
    from etairl.figures.save import save_figure

    maps = cost_maps(result)
    save_figure(cost_maps_figure(maps.targets, maps.costs, maps.title), file)


def draw_episodes(behaviours: list[Behaviour], file: Path) -> None:
    """Survival, and score and MMD² by quarters."""
    from etairl.figures.save import save_figure
    from etairl.figures.timelines import timelines_figure

    shown = [v for v in behaviours if v.playing in (behaviours[0].playing, None)]
    longer = {v.title: v.longer for v in shown if v.longer is not None}
    lines = {v.title: v.timeline for v in shown if v.timeline is not None}
    save_figure(timelines_figure(lines, longer), file)


def print_behaviours(behaviours: list[Behaviour], result: Result) -> None:
    """The tables, and what their columns mean."""
    rows = [
        (
            v.title,
            "" if v.return_mean is None else f"{v.return_mean:z.1f} ± {v.return_std:z.1f}",
            f"{v.length:.0f}",
            _number(v.score),
            *_distance(v.mmd2_rho),
            *_distance(v.mmd2_mu),
        )
        for v in behaviours
    ]
    of = ", states" if behaviours[0].compared == "states" else ""
    columns = (f"MMD² rho{of}", "floor", f"MMD² mu{of}", "floor")
    table(("", "return", "steps", "score", *columns), rows)
    raw = [(v.title, *_distance(v.mmd2_rho_raw), *_distance(v.mmd2_mu_raw)) for v in behaviours]
    what = "states" if of else "observations and actions"
    out().print(f"\nMMD² of plain {what}, whatever their units")
    table(("", *columns), raw)
    errors = [d.error for v in behaviours for d in (v.mmd2_rho, v.mmd2_mu)]
    plain = max(d.error for v in behaviours for d in (v.mmd2_rho_raw, v.mmd2_mu_raw))
    features = (
        f" By random features, that of more than {EXACT:,} steps with standard errors up to "
        f"{max(errors):.5f}, the plain one up to {plain:.5f}."
        if max(errors) > 0.0
        else f" The plain one by random features: standard errors up to {plain:.5f}."
    )
    floor = behaviours[0].mmd2_mu.floor_by
    prose(
        f"\n{_beside(behaviours, result)} score: 0 is "
        "random, 1 whom a row stands beside. MMD² above in units of the demonstrations' spread; "
        "* where p < 0.05 that episodes of one law differ as much. floor: 95 % of comparisons of "
        "the expert with itself, at the same sizes, are below; in the first row by "
        f"{floor or 'nothing: too few steps'}.{features}",
    )


def no_rewards(scores: list[float | None]) -> str:
    """Why cells are empty."""
    text = "The demonstrations have no rewards: what their expert earned is unknown"
    if all(score is None for score in scores):
        return f"{text}, so that there are no scores."
    return f"{text}, so that there are no scores beside them."


def _beside(behaviours: list[Behaviour], result: Result) -> str:
    """Whom the rows stand beside, and what of them is compared."""
    playing, guessed = result.playing
    alone = "They have no actions: MMD² compares states alone, and behaviour cloning is left out."
    alone = alone if behaviours[0].compared == "states" else ""
    if playing is None:
        return f"It is not known whether the demonstrations are drawn or greedy. {alone}"
    said = "look" if guessed else "are"
    how = f"{playing} (a guess from the data)" if guessed else playing
    other = next(v for v in behaviours if v.playing != playing)
    unlike = other.beside.startswith(DEMONSTRATIONS) and other.playing is not None
    others = f"{other.playing} rows beside {other.beside}" + (
        ", since the policy of the expert is not known" if unlike else ""
    )
    text = f"The demonstrations {said} {how}: {playing} rows beside them; {others}. {alone}"
    return text.rstrip()


def print_quarters(behaviours: list[Behaviour], longer: bool = False) -> None:
    """Where in the episode everyone who acts like the demonstrations differs from the expert."""
    rows, edges = [], []
    for v in behaviours:
        shown = v.longer if longer else v.timeline
        if v.playing not in (behaviours[0].playing, None) or shown is None:
            continue
        quarters = shown.quarters
        edges = [q.begin for q in quarters] + [shown.horizon]
        rows += [
            (v.title, *("" for _ in quarters), ""),
            ("  score", *(_number(q.score) for q in quarters), ""),
            ("  MMD² mu", *(_short(q.mmd2_mu) for q in quarters), ""),
            (
                "  alive",
                *(f"{100 * q.alive:.0f} %" for q in quarters),
                f"{100 * (1 - shown.ended_early):.0f} %",
            ),
        ]
    if rows:
        out().print(f"\nby quarters of the {edges[-1]} steps of an episode")
        table(("", *(f"from {step}" for step in edges[:-1]), "to end"), rows)


def _number(score: float | None) -> str:
    return "" if score is None else f"{score:z.3f}"


def _short(d: Distance | None) -> str:
    return "" if d is None else _distance(d)[0]


def print_tasks(behaviours: list[Behaviour]) -> None:
    """Tasks solved: those of the demonstrations, and all of them."""
    shown = [(v, v.success) for v in behaviours if v.success is not None]
    if not shown:
        return
    rows = []
    for v, success in shown:
        wide = v.generalisation
        rows.append(
            (
                v.title,
                f"{100 * success:.0f} %",
                _number(v.score),
                "" if wide is None else f"{100 * wide.success:.0f} %",
                _number(None if wide is None else wide.score),
                "" if wide is None else f"{wide.return_mean:z.1f} ± {wide.return_std:z.1f}",
            )
        )
    out().print("\ntasks solved at the end of an episode")
    table(("", "learned", "score", "all tasks", "score", "return"), rows)
    wide = behaviours[0].generalisation
    longer = "" if wide is None else f" of {wide.horizon} steps"
    prose(
        "\nlearned: the tasks of the demonstrations, for as long as they were trained. all tasks: "
        f"drawn from everything there is, in episodes{longer}; there, 1 is the planned expert.",
    )


def print_features(behaviours: list[Behaviour]) -> None:
    """The heaviest features of a linear cost, and where each behaviour stands in them."""
    alike = [v for v in behaviours if v.playing in (behaviours[0].playing, None)]
    shown = {v.title: {g.name: g for g in v.features or ()} for v in alike}
    features = behaviours[0].features or []
    least = abs(features[-1].weight) if features else 0.0
    # What two or more share is what is left of the weight that all had at the start.
    shared = sum(abs(f.weight) == least for f in features) > 1
    heaviest = [f for f in features if abs(f.weight) > least or not shared][:10]
    if not heaviest:
        return
    rows = [
        (
            first.name,
            f"{first.weight:+.3f}",
            *(_gap(g) for g in _row(shown, first.name)),
        )
        for first in heaviest
    ]
    out().print("\nfeatures that explain the expert, by weight")
    table(("feature", "weight", *shown), rows)
    prose(
        f"\n{len(heaviest)} of {len(features)} features. Gaps from the demonstrations in units of "
        "their spread, with standard errors over episodes. A weight above 0 makes more of the "
        "feature cost more: the expert has less of it than the learner had.",
    )


def _gap(g: FeatureGap) -> str:
    """Of a single episode there is no standard error."""
    known = math.isfinite(g.standard_error)
    return f"{g.gap:+.3f} ± {g.standard_error:.3f}" if known else f"{g.gap:+.3f}"


def _row(shown: dict[str, dict[str, FeatureGap]], name: str) -> list[FeatureGap]:
    return [gaps[name] for gaps in shown.values()]


def _distance(d: Distance) -> tuple[str, str]:
    mark = "*" if d.p < 0.05 else ""
    hint = " (hint)" if d.hinted else ""
    return f"{d.value:z.5f}{mark}", "" if d.floor is None else f"{d.floor:.5f}{hint}"
