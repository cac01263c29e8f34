r"""Where does $\eta$ matter? How far each weighting moves what an expert is seen to do.

An imitator under $(\eta, \gamma_{IRL})$ aims at the expert's own measure $\mu^\eta$; under GAIL it
aims at $\rho$. If the two are as near as two halves of the demonstrations are, no learner can be
told apart by which one it was given: the weighting carries no signal. All of it is read off the
demonstrations, before any training.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from etairl.demos import Demos
from etairl.eta import Dirac, Eta, Geometric, Poisson, Uniform
from etairl.evaluation.contrasts import Contrast, WeightedGroups
from etairl.evaluation.cycle import Rhythm, rhythm
from etairl.evaluation.floors import FEWEST
from etairl.evaluation.kernel import OnProgress
from etairl.measures import FutureSampler, Method
from etairl.types import InputError, Trajectories

_GAMMAS = (1.0, 0.99)
_KAPPAS = (0.75, 0.9, 0.99, 0.999)
_BLOCKS = 20  # of time, in an episode
_FREQUENCIES = 1024
_ROWS = 60_000  # beyond, so much the fewer frequencies
_ALIKE = 0.02  # of the frames: below, the other sampler is not looked at


@dataclass(frozen=True)
class MapCell:
    """A weighting beside GAIL with the same discount, and beside every frame alike."""

    eta: str
    gamma_irl: float
    sampler: Method
    other_frames: float
    """share of the frames, in the longest episode, that are others than GAIL's"""
    gail: Contrast | None
    """None where it is GAIL itself"""
    uniform: Contrast | None
    """None where it is that itself"""

    @property
    def signal(self) -> bool:
        """Beside GAIL with the same discount; of GAIL itself beside every frame alike."""
        beside = self.gail or self.uniform
        return beside is not None and beside.signal

    @property
    def verdict(self) -> str:
        """In words."""
        return "carries signal" if self.signal else "no signal"


@dataclass(frozen=True)
class EtaMap:
    """How much signal each weighting carries, for one set of demonstrations."""

    demos: str
    environment: str | None
    episodes: int
    steps: int
    by: Literal["episodes", "blocks of time"]
    """what floors and p-values resample"""
    sizes: tuple[int, int]
    """groups on either side of a floor"""
    hint: bool
    """whether they are blocks of time: neighbours are alike, and a floor may be too low"""
    frequencies: int
    compared: Literal["pairs", "states"]
    cycle: int | None
    early_late: Contrast
    """the first against the last quarter of every episode: a scale for the others"""
    cells: list[MapCell]

    @property
    def advice(self) -> str:
        """What to do, in a sentence."""
        return advise(self)

    def as_json(self) -> dict[str, Any]:
        """With what follows from the numbers."""
        cells = [asdict(cell) | {"verdict": cell.verdict} for cell in self.cells]
        return asdict(self) | {"cells": cells, "advice": self.advice}


def eta_map(
    demos: Demos,
    extra: Sequence[Eta] = (),
    frequencies: int = _FREQUENCIES,
    measured: Rhythm | None = None,
    progress: OnProgress | None = None,
) -> EtaMap:
    """Compare the expert's measures under a small grid of weightings, GAIL's among them.

    Args:
        demos: the demonstrations; with a single one, blocks of time stand for episodes.
        extra: more weightings than those of the grid.
        frequencies: random features; fewer where there are many steps.
        measured: the rhythm of the demonstrations, where it is known already.
        progress: called with the finished fraction now and then.

    Returns:
        A cell for each weighting, with floors, p-values and a sentence of advice.
    """
    t = demos.trajectories.repeated()
    longest = int(t.lengths.max())
    if t.steps < 2 * _BLOCKS:
        raise InputError(
            f"{demos.name}: {t.steps} steps are too few for a map of weightings; use more of them"
        )
    if measured is None:
        measured = rhythm(np.random.default_rng(0), demos.trajectories)
    cycle = measured.cycle
    shown = _grid(longest, None if cycle is None else cycle.length, extra)
    shares = (s.step_weights(t.lengths) for s in shown)
    weights = np.stack([*(share / share.sum() for share in shares), *_quarters(t)])
    frequencies = max(128, min(frequencies, frequencies * _ROWS // t.steps))
    points = demos.standardiser(demos.trajectories.pairs())[demos.trajectories.row_of_step]
    blocked = len(t) < FEWEST
    groups = _groups(t, blocked)
    resampled = WeightedGroups.of(points, groups, weights, frequencies, progress)
    valued = resampled
    if blocked and len(t) > 1:
        valued = WeightedGroups.of(points, t.episode_numbers, weights, frequencies)
    floors = [resampled.floor(law, neighbours=blocked) for law in range(len(weights))]

    def beside(a: int, b: int) -> Contrast:
        value, error = valued.mmd2(a, b)
        return Contrast(value, error, max(floors[a], floors[b]), resampled.p_value(a, b))

    half = resampled.many // 2
    return EtaMap(
        demos=demos.name,
        environment=demos.spec.environment,
        episodes=len(t),
        steps=t.steps,
        by="blocks of time" if blocked else "episodes",
        sizes=(half, resampled.many - half),
        hint=blocked,
        frequencies=frequencies,
        compared="pairs" if t.act_dim else "states",
        cycle=None if cycle is None else cycle.length,
        early_late=beside(len(shown), len(shown) + 1),
        cells=[_cell(shown, number, longest, beside) for number in range(1, len(shown))],
    )


def _cell(shown: list[FutureSampler], number: int, longest: int, beside: Any) -> MapCell:
    own, plain = shown[number], _GAMMAS.index(shown[number].gamma_irl)
    gail = shown.index(FutureSampler(Dirac(0), _GAMMAS[plain], "exact"))
    frames = 0.5 * np.abs(own.law(longest) - shown[gail].law(longest)).sum()
    return MapCell(
        eta="geometric:1" if own.eta == Uniform() else str(own.eta),
        gamma_irl=own.gamma_irl,
        sampler=own.method,
        other_frames=float(frames),
        gail=None if number == gail else beside(number, gail),
        uniform=beside(number, 0),
    )


def _grid(longest: int, cycle: int | None, extra: Sequence[Eta]) -> list[FutureSampler]:
    """GAIL first; then every weighting, by the paper's sampler too where that is another law."""
    etas: list[Eta] = [*(Geometric(kappa) for kappa in _KAPPAS), Uniform()]
    if cycle is not None and cycle < longest:
        etas.append(Poisson(float(cycle)))
    known = {Dirac(0), *etas}
    etas += [eta for eta in dict.fromkeys(e.simplified() for e in extra) if eta not in known]
    samplers = []
    for gamma in _GAMMAS:
        samplers.append(FutureSampler(Dirac(0), gamma, "exact"))
        for eta in etas:
            methods: tuple[Method, ...] = ("exact", "two_stage")
            exact, paper = (FutureSampler(eta, gamma, method) for method in methods)
            samplers.append(exact)
            if 0.5 * np.abs(exact.law(longest) - paper.law(longest)).sum() > _ALIKE:
                samplers.append(paper)
    return samplers


def _quarters(t: Trajectories) -> list[Float[np.ndarray, " steps"]]:
    """Every frame of the first, and of the last, quarter of each episode."""
    length = np.repeat(t.lengths, t.lengths)
    sides = (4 * t.times < length), (4 * (t.times + 1) > 3 * length)
    return [side / side.sum() for side in sides]


def _groups(t: Trajectories, blocked: bool) -> np.ndarray:
    if not blocked:
        return t.episode_numbers
    length = np.repeat(t.lengths, t.lengths)
    return t.episode_numbers * _BLOCKS + t.times * _BLOCKS // length


def advise(found: EtaMap) -> str:
    """One sentence: does the choice of a weighting matter here, and which would?"""
    told = [(c, c.gail) for c in found.cells if c.gail is not None]
    signals = [(c, g) for c, g in told if g.signal]
    flat = [(c, g) for c, g in signals if c.gamma_irl == 1.0]
    hint = " (a hint: blocks of time of few episodes)" if found.hint else ""
    if flat:
        cell, gail = max(flat, key=_in_floors)
        least = min(flat, key=lambda both: both[0].other_frames)[0].eta
        return (
            f"η can matter here: {cell.eta} ({cell.sampler}) moves the target by {gail.mmd2:.2g}, "
            f"{_times(gail)}; with gamma_irl 1 the least weighting that does is {least}{hint}"
        )
    if signals:
        cell, gail = max(signals, key=_in_floors)
        return (
            "η matters here only with a discount: with gamma_irl 1 no weighting moves the target "
            f"by more than halves of the demonstrations differ; with {cell.gamma_irl:g} "
            f"{cell.eta} does, by {gail.mmd2:.2g}, {_times(gail)}{hint}"
        )
    cell, gail = max(told, key=_in_floors)
    start = "nothing says that η matters here" if found.hint else "η will not matter here"
    return (
        f"{start}: the most, {cell.eta} with gamma_irl {cell.gamma_irl:g}, moves the target by "
        f"{gail.mmd2:.2g}, and halves of the demonstrations differ by {gail.floor:.2g}; "
        f"keep dirac:0{hint}"
    )


def _in_floors(told: tuple[MapCell, Contrast]) -> float:
    return told[1].mmd2 / max(told[1].floor, 1e-12)


def _times(gail: Contrast) -> str:
    share = gail.mmd2 / gail.floor if gail.floor > 0.0 else np.inf
    number = f"{share:.1f}" if share < 10.0 else f"{share:.0f}"
    return f"{number} times what halves of the demonstrations differ by"
