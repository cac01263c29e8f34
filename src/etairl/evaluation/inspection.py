"""What a set of demonstrations holds, what may go wrong with it, and which weighting suits it."""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from etairl.demos import Demos, Playing
from etairl.demos.action_kind import playing_of
from etairl.eta import Eta, Geometric, Poisson
from etairl.evaluation.cycle import MovementCycle, Rhythm, rhythm
from etairl.evaluation.mmd import Floor, floor
from etairl.evaluation.where import eta_map
from etairl.measures import FutureSampler, summarise_law
from etairl.types import InputError, Trajectories, check_seed, constant_columns

_FLOOR_POINTS = 10_000
_FREQUENCIES = 256  # for a sentence; `etairl eta --where` takes more of them


@dataclass(frozen=True)
class Range:
    """Smallest, mean, largest, and the population standard deviation."""

    low: float
    mean: float
    high: float
    std: float

    @staticmethod
    def of(values: np.ndarray) -> "Range":
        """Of the values given."""
        wide = np.asarray(values, dtype=np.float64)
        return Range(float(wide.min()), float(wide.mean()), float(wide.max()), float(wide.std()))


@dataclass(frozen=True)
class Advice:
    """A weighting and the reason for it."""

    eta: str
    reason: str


@dataclass(frozen=True)
class Inspection:
    """Everything `etairl demos info` reports."""

    name: str
    environment: str | None
    episodes: int
    steps: int
    thinned_from: int | None
    """steps that these stand for, where others were dropped; None where all are there"""
    obs_dim: int
    act_dim: int
    discrete_actions: int | None
    """how many there are to choose from; None where actions are vectors"""
    task_dim: int | None
    length: Range
    returns: Range | None
    action: Range | None
    """None where actions are not known"""
    playing: Playing | None
    """whether the actions were drawn, or are the most likely ones; None where nobody can tell"""
    playing_guessed: bool
    """whether that is a guess from the data: the source does not say it"""
    actions_clipped: int
    constant_observations: list[int]
    constant_actions: list[int]
    non_finite: int
    """always 0: demonstrations with NaN or infinite values are refused when loaded"""
    terminated: int
    """episodes that the environment ended"""
    ended_early: int
    """episodes shorter than the longest one"""
    final_observations: bool
    floor_raw: Floor | None
    floor_standardised: Floor | None
    cycle: MovementCycle | None
    mixing_time: float | None
    advice: Advice
    where: str | None
    """whether a weighting would matter here; None where there are too few steps to say"""
    warnings: list[str]


def inspect(demos: Demos, seed: int = 0) -> Inspection:
    """Inspect demonstrations before learning from them.

    Args:
        demos: the demonstrations.
        seed: random seed of the splits and surrogates.

    Returns:
        Counts, ranges, the expert-vs-expert MMD² floor, the movement cycle, a suggested weighting
        and warnings.
    """
    check_seed(seed)
    t = demos.trajectories
    playing, guessed = playing_of(demos)
    measured = rhythm(np.random.default_rng(seed), t)
    raw, standardised = _floors(np.random.default_rng(seed), demos)
    return Inspection(
        name=demos.name,
        environment=demos.spec.environment,
        episodes=len(t),
        steps=t.steps,
        thinned_from=None if t.spans is None else int(t.durations.sum()),
        obs_dim=t.obs_dim,
        act_dim=t.act_dim,
        discrete_actions=demos.spec.discrete_actions,
        task_dim=None if t.tasks is None else t.tasks.shape[1],
        length=Range.of(t.durations),
        returns=None if t.returns is None else Range.of(t.returns),
        action=Range.of(t.actions) if t.act_dim else None,
        playing=playing,
        playing_guessed=guessed,
        actions_clipped=demos.clipped,
        constant_observations=_constant(t.observations),
        constant_actions=_constant(t.actions),
        non_finite=0,
        terminated=int(t.terminated.sum()),
        ended_early=int((t.durations < t.durations.max()).sum()),
        final_observations=t.final_observations is not None,
        floor_raw=raw,
        floor_standardised=standardised,
        cycle=measured.cycle,
        mixing_time=measured.mixing_time,
        advice=_advice(measured, t),
        where=_where(demos, measured),
        warnings=_warnings(demos),
    )


def _constant(rows: np.ndarray) -> list[int]:
    return np.flatnonzero(constant_columns(rows.astype(np.float64))).tolist()


def _floors(rng: np.random.Generator, demos: Demos) -> tuple[Floor | None, Floor | None]:
    t = demos.trajectories
    if len(t) < 4:
        return None, None
    # Evenly spread steps, each once: repeated points would bias the MMD upwards.
    rows = np.unique(np.linspace(0, t.steps - 1, min(t.steps, _FLOOR_POINTS)).astype(np.int64))
    groups = t.episode_numbers[rows]
    pairs = t.pairs(rows)
    return floor(rng, pairs, groups), floor(rng, demos.standardiser(pairs), groups)


def _advice(measured: Rhythm, t: Trajectories) -> Advice:
    cycle, mixing_time = measured.cycle, measured.mixing_time
    if cycle is not None:
        eta = Poisson(float(cycle.length))
        why = (
            f"the movement repeats every {cycle.length} steps ({cycle.confidence} confidence), and "
            "looking one cycle ahead compares whole cycles"
        )
    elif mixing_time is not None:
        eta = Geometric(round(mixing_time / (1.0 + mixing_time), 4))
        why = (
            f"no cycle was found; observations stay correlated for about {mixing_time:.0f} steps, "
            "and this looks that far ahead on average"
        )
    else:
        thinned = "steps were dropped, so that no rhythm can be measured"
        short = "episodes are too short to measure a rhythm"
        why = short if t.spans is None else thinned
        return Advice("geometric:0.99", f"{why}; a common default")
    return Advice(str(eta), f"{why}; {_effect(eta, int(np.median(t.durations)))}")


def _where(demos: Demos, measured: Rhythm) -> str | None:
    try:
        return eta_map(demos, frequencies=_FREQUENCIES, measured=measured).advice
    except InputError:
        return None


def _effect(eta: Eta, horizon: int) -> str:
    law = FutureSampler(eta, method="exact").law(horizon)
    distance = summarise_law(law)["tv_from_uniform"]
    piled = FutureSampler(eta).law(horizon)[-1] * horizon
    text = f"with the exact sampler {100 * distance:.1f} % of the frames differ from GAIL's"
    if piled > 3.0:
        text += f" (the two_stage sampler would weigh the last frame {piled:.0f} times over)"
    return text


def _warnings(demos: Demos) -> list[str]:
    t, warnings = demos.trajectories, []
    if len(t) < 4:
        warnings.append(f"only {len(t)} episodes: too few to split, so there is no MMD floor")
    if demos.clipped:
        warnings.append(
            f"{demos.clipped} of {t.steps} actions lay outside the bounds and were clipped to them"
        )
    if t.act_dim == 0:
        warnings.append(
            "there are no actions: train with --inputs state_next_state, or --inputs state"
        )
    unbounded = (
        t.act_dim > 0 and demos.spec.action_low is None and demos.spec.discrete_actions is None
    )
    indices = maybe_indices(demos)
    if indices is not None:
        warnings.append(indices)
    elif unbounded and t.actions.dtype.kind == "f" and np.abs(t.actions).max() > 1.0:
        warnings.append(
            "actions leave [-1, 1] and the file names no bounds; if the simulator clamps them, "
            "import with --bounds, or a discriminator will tell expert from learner by range alone"
        )
    if (t.durations != t.durations[0]).any():
        span = f"{t.durations.min()} to {t.durations.max()}"
        warnings.append(
            f"episode lengths differ ({span}): length alone can "
            "give the expert away, choose the horizon mode with care"
        )
    if t.terminated.any() and t.final_observations is None:
        warnings.append("episodes end early but their final observations are unknown")
    copies = len(t) - len(_distinct(t))
    if copies:
        warnings.append(f"{copies} episodes are exact copies of others")
    return warnings


def maybe_indices(demos: Demos) -> str | None:
    """What to say of actions that may be indices without the file's saying so."""
    actions, spec = demos.trajectories.actions, demos.spec
    known = spec.act_dim == 0 or spec.discrete_actions is not None or spec.action_low is not None
    if known or not _are_indices(actions):
        return None
    many = int(min(actions.max(), 1e9)) + 1
    return (
        "actions are whole numbers in one column; if they are indices, import with --discrete "
        f"{many} (or as many as the environment has)"
    )


def _are_indices(actions: np.ndarray) -> bool:
    """Could actions be numbers of discrete ones: one column of 0, 1, 2, …?"""
    whole = bool((actions == np.floor(actions)).all())
    return whole and actions.shape[1] == 1 and bool(actions.min() >= 0 and actions.max() >= 1)


def _distinct(t: Trajectories) -> set[bytes]:
    ends = zip(t.offsets[:-1].tolist(), t.offsets[1:].tolist(), strict=True)
    return {
        sha256(t.observations[a:b].tobytes() + t.actions[a:b].tobytes()).digest() for a, b in ends
    }
