"""What a run learned to pay for: costs along episodes, the moments that differ, what differs there.

The demonstrations are those that the cost was learned from: a cost player may know them by heart,
which lowers their cost.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from etairl.costs.family import Points
from etairl.demos.action_kind import playing_of
from etairl.evaluation.explanation import FeatureGap
from etairl.evaluation.moments import (
    USUAL,
    Check,
    excess,
    peaks,
    relabelled,
    top_rows,
    window_of,
)
from etairl.evaluation.timeline import Expert, Quarter, timeline
from etairl.rollouts import UniformPolicy
from etairl.training.attribution import Attribution
from etairl.training.cost_curves import Costs, Explained, explained
from etairl.training.multitask import Role
from etairl.training.playing import play_again
from etairl.training.preparation import Prepared
from etairl.types import InputError, Policy, Trajectories, check_seed, constant_columns, joined

MOMENTS = 6
_ROWS = 5  # of a moment, over which the shares of its columns are means
_WHOLE = 1000  # and of all episodes of a side together
_BESIDE = 24  # demonstrations whose shares at a step are looked at
PlayedGaps = Callable[[Trajectories], list[FeatureGap] | None]


@dataclass(frozen=True, eq=False)
class Moment:
    """A part of an episode of the learner that costs much more than demonstrations do then."""

    episode: int
    step: int
    """its middle"""
    cost: float
    """mean over the moment"""
    usual_cost: float
    """mean of the demonstrations at that step; over all steps where fewer than four are as long"""
    shares: Float[np.ndarray, " columns"]
    """of each column in what the moment costs more than the demonstrations do then"""
    deviations: Float[np.ndarray, " columns"]
    """from the mean of the demonstrations then, in units of their spread over all steps"""
    usual: Bool[np.ndarray, " columns"] = field(default_factory=lambda: np.zeros(0, bool))
    """the share lies between those of the costliest moments of the demonstrations"""


@dataclass(frozen=True)
class ColumnShare:
    """What a column adds to the cost: the learner's mean less that of the demonstrations.

    The checks are for all columns together.
    """

    name: str
    share: Check
    """at the costliest moment of each episode"""
    deviation: float
    """mean of the learner there, in units of the demonstrations' spread, from their mean then"""
    whole: Check
    """over whole episodes"""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The learned cost of a run, looked at from both sides."""

    names: tuple[str, ...]
    """of the columns"""
    window: int
    """steps that a moment lasts"""
    demonstrations: Costs
    learner: Costs
    overall: Check
    """mean costs of episodes: the learner's less the demonstrations'"""
    costliest: Check
    """the same of what the costliest moment of each episode costs more than is usual then"""
    moments: list[Moment]
    """of the learner, those first that cost most beside the demonstrations at the same step"""
    columns: list[ColumnShare]
    """the largest share over whole episodes first"""


@dataclass(frozen=True, eq=False)
class RunExplanation(Explanation):
    """With what only a run knows."""

    law: Float[np.ndarray, " horizon"]
    """the weight that the run's sampler gives each step of a whole episode"""
    quarters: list[Quarter]
    """MMD² of the learner's episodes in each quarter of the horizon"""
    features: list[FeatureGap] | None
    """of a cost that is linear in features: weights and gaps, the heaviest first"""


def explain_cost(
    rng: np.random.Generator, given: Explained, shown: Trajectories, played: Trajectories
) -> Explanation:
    """Compare two sides by a cost: demonstrations, and episodes of a learner."""
    own, expert = (given.costs(given.known(t)) for t in (played, shown))
    look = _Look(rng, given, expert)
    t, usual = own.trajectories, expert.trajectories
    above, usual_cost = excess(t, own.smooth, usual, expert.smooth)
    others_above, _ = excess(usual, expert.smooth, usual, expert.smooth, apart=True)
    highest, others_highest = peaks(t, above), peaks(usual, others_above)
    own_shares, deviations = look.beside(own, highest)
    others_shares, _ = look.beside(expert, others_highest)
    rows = top_rows(t, above, MOMENTS, max(1, given.horizon // 10))
    moments = [
        Moment(int(t.episode_numbers[row]), int(t.times[row]), float(own.smooth[row]), *parts)
        for row, *parts in zip(
            rows, usual_cost[rows].tolist(), *look.beside(own, np.array(rows)), strict=True
        )
    ]
    checks = (
        relabelled(rng, own_shares, others_shares),
        relabelled(rng, look.whole(own), look.whole(expert)),
    )
    columns = [
        ColumnShare(*parts)
        for parts in zip(look.names, checks[0], deviations.mean(axis=0), checks[1], strict=True)
    ]
    tops = above[highest][:, None], others_above[others_highest][:, None]
    return Explanation(
        names=look.names,
        window=look.window,
        demonstrations=expert,
        learner=own,
        overall=relabelled(rng, _episode_means(own), _episode_means(expert))[0],
        costliest=relabelled(rng, *tops)[0],
        moments=[replace(m, usual=_between(m.shares, others_shares)) for m in moments],
        columns=sorted(columns, key=lambda column: -abs(column.whole.gap)),
    )


def _between(x: Float[np.ndarray, " columns"], rows: Float[np.ndarray, "rows columns"]) -> Any:
    return (x >= rows.min(axis=0)) & (x <= rows.max(axis=0))


class _Look:
    """At the columns of rows: their shares in the cost, and how far they deviate."""

    def __init__(self, rng: np.random.Generator, given: Explained, expert: Costs):
        self._given, self._expert, self.window = given, expert, window_of(given.horizon)
        points = given.points(expert.trajectories)
        self._shares = Attribution(rng, given.cost, given.spec, given.needs_next, points)
        self.names = self._shares.names(*given.columns)
        x = self._columns(points)
        self._mean = x.mean(axis=0)
        self._scale = np.where(constant_columns(x), 1.0, x.std(axis=0))

    def __call__(self, side: Costs, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shares and deviations, as means over the moments around some rows."""
        return self._means(
            side, [_around(side.trajectories, row, self.window) for row in rows.tolist()]
        )

    def beside(self, side: Costs, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same, less those of the demonstrations at the same step.

        So the shares of a moment add up to what it costs more than they do then. A demonstration
        is compared with the others; where too few are as long, with the mean over all steps.
        """
        shown, t = self._expert.trajectories, side.trajectories
        times, held = shown.repeated().times, shown.row_of_step
        alike = [held[times == time] for time in t.times[rows]]
        others = [
            among if side is not self._expert else among[among != row]
            for row, among in zip(rows, alike, strict=True)
        ]
        some = [
            rest[_spread(0, len(rest) - 1, _BESIDE)] if len(among) >= USUAL else rest[:0]
            for rest, among in zip(others, alike, strict=True)
        ]
        needed = np.unique(np.concatenate(some))
        both = self(side, rows)
        if not len(needed):
            return both
        usual = self(self._expert, needed)
        for number, places in enumerate(np.searchsorted(needed, part) for part in some):
            if len(places):
                for values, means in zip(both, usual, strict=True):
                    values[number] -= means[places].mean(axis=0)
        return both

    def whole(self, side: Costs) -> np.ndarray:
        """Shares, as means over each episode."""
        t = side.trajectories
        each = int(np.clip(_WHOLE // len(t), 4, 24))
        ends = zip(t.offsets[:-1], t.offsets[1:] - 1, strict=True)
        return self._means(side, [_spread(int(a), int(b), each) for a, b in ends])[0]

    def _means(self, side: Costs, parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        rows = np.concatenate(parts)
        seen = Points(*(a[rows] for a in self._given.points(side.trajectories)))
        far = (self._columns(seen) - self._mean) / self._scale
        lengths = np.array([len(part) for part in parts])
        starts = np.cumsum(lengths) - lengths
        shares, far = (
            np.add.reduceat(x, starts, axis=0) / lengths[:, None] for x in (self._shares(seen), far)
        )
        return shares, far

    def _columns(self, points: Points) -> np.ndarray:
        following = [points.next_obs] if self._given.needs_next else []
        parts = [points.obs, points.act, *following]
        return np.concatenate([np.asarray(part, np.float64) for part in parts], axis=1)


def _around(t: Trajectories, row: int, window: int) -> np.ndarray:
    """A few rows of the moment around a row, all of one episode."""
    episode = int(np.searchsorted(t.offsets, row, side="right")) - 1
    low = max(row - (window - 1) // 2, int(t.offsets[episode]))
    high = min(row + window // 2, int(t.offsets[episode + 1]) - 1)
    return _spread(low, high, _ROWS)


def _spread(low: int, high: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(low, high, min(most, high - low + 1)).round().astype(int))


def _episode_means(side: Costs) -> Float[np.ndarray, "episodes one"]:
    t = side.trajectories
    spans = np.ones(t.steps) if t.spans is None else t.spans
    sums = np.add.reduceat(side.costs * spans, t.offsets[:-1])
    return (sums / t.durations)[:, None]


def explain_run(
    prepared: Prepared,
    policy: Policy,
    gaps: PlayedGaps,
    episodes: int,
    seed: int,
    filmed: Trajectories | None = None,
) -> RunExplanation:
    """What a finished run learned to pay for.

    Args:
        prepared: the run, with its learned cost.
        policy: the learner.
        gaps: of the features of a linear cost.
        episodes: of the learner, acting as the demonstrations do, drawn or greedy.
        seed: of the episodes and of all draws.
        filmed: an episode of the learner to look at before them.
    """
    check_seed(seed)
    if episodes < 2:
        raise InputError(f"episodes must be at least 2, got {episodes}")
    config, demos = prepared.config, prepared.demos
    roles = [Role(policy, playing_of(demos)[0] != "greedy"), Role(UniformPolicy(prepared.task))]
    played, chance = play_again(prepared, roles, episodes, seed)
    shown = demos.trajectories
    expert = Expert("demonstrations", shown, demos.standardiser, chance, config.horizon)
    rng = np.random.default_rng([config.seed, seed, 17])
    quarters = timeline(rng, played, expert).quarters
    features = gaps(played)
    if filmed is not None:
        played = joined([filmed, replace(played)])
    explanation = explain_cost(rng, explained(prepared), shown, played)
    law = config.future.law(config.horizon)
    return RunExplanation(**vars(explanation), law=law, quarters=quarters, features=features)
