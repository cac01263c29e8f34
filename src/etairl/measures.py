r"""Samplers of $\rho_\pi$, $P^\eta_\pi$ and $\mu^\eta_\pi$ from episodes of unequal length.

All three draw a time index $n = t + k$ in an episode of length $T$, with $t$ discounted by
`gamma_irl` and $k \sim \eta$, both within the episode. Two ways, chosen by name (errata (l)):

* `two_stage`, as the paper: $t \sim \gamma^t$ on $[0, T)$, then $k \sim \eta$ truncated to
  $[0, T - t)$:  $P(n) = \sum_{t \le n} p_T(t)\,\eta(n-t)/\eta([0, T-t))$;
* `exact`, the truncated $\mu$:  $P(n) = w_n / \sum_{m<T} w_m$.

$\rho$ is $\mu$ with $\eta = \delta_0$, and $P^\eta(\cdot \mid s_0)$ is $\mu$ with $\gamma = 0$.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int

from etairl.draws import Alias, Block, Inverse, split
from etairl.eta import (
    Dirac,
    Eta,
    Geometric,
    Uniform,
    check_discount,
    check_horizon,
    discounted_sum,
)
from etairl.types import FutureBatch, InputError, Trajectories, ragged_rows

Method = Literal["two_stage", "exact"]
Choice = Literal["by_weight", "uniform"]
Law = Float[np.ndarray, " horizon"]

_BLOCK = 16384  # draws per pass: temporaries stay in the cache, twice as fast as one long pass
_LONGEST_TABLE = 4096  # steps; the law of the staged draw takes quadratic time to tabulate
_SPARE = 2.0**33  # one 53-bit uniform serves all stages while 20 bits are left for the last one


@dataclass(frozen=True)
class FutureSampler:
    r"""Draws $(s_+, a_+) \sim \mu^\eta_\pi$ from episodes of $\pi$.

    With `choice="by_weight"` an episode is chosen in proportion to $\sum_{n<T_i} w_n$, as the
    unnormalised measure asks; with `"uniform"` every episode counts alike. They agree when all
    lengths are equal.
    """

    eta: Eta = Dirac(0)
    gamma_irl: float = 1.0
    """Discount of the starting time; 1 is uniform in time, 0 always starts at the first step."""
    method: Method = "two_stage"
    choice: Choice = "by_weight"

    def __post_init__(self):
        check_discount(self.gamma_irl)
        for name, value, allowed in (
            ("method", self.method, get_args(Method)),
            ("choice", self.choice, get_args(Choice)),
        ):
            if value not in allowed:
                raise InputError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
        # One spelling per law, so that equal weightings take the same path and draw the same bits.
        if self.eta == Geometric(0.0):
            object.__setattr__(self, "eta", Dirac(0))
        elif self.eta == Geometric(1.0):
            object.__setattr__(self, "eta", Uniform())

    def law(self, horizon: int) -> Law:
        """The law of the time index $n$ in an episode of `horizon` steps."""
        check_horizon(horizon)
        if self.method == "exact":
            weights = time_weights(self.eta, self.gamma_irl, horizon)
            return weights / weights.sum()
        return _two_stage_law(self.eta, self.gamma_irl, horizon)

    def rows(
        self, rng: np.random.Generator, offsets: Int[np.ndarray, " episodes_and_one"], n: int
    ) -> Int[np.ndarray, " {n}"]:
        """Draw `n` rows of a flat array whose episode i is `offsets[i]` to `offsets[i + 1]`."""
        return self._draw(rng, offsets, n)[1]

    def pairs(
        self, rng: np.random.Generator, offsets: Int[np.ndarray, " episodes_and_one"], n: int
    ) -> tuple[Int[np.ndarray, " {n}"], Int[np.ndarray, " {n}"]]:
        r"""Draw rows of $s_t$ and of $s_{t+k}$ in the same episode: a state and its future."""
        starts, futures = self._draw(rng, offsets, n, with_starts=True)
        assert starts is not None
        return starts, futures

    def futures(
        self,
        rng: np.random.Generator,
        offsets: Int[np.ndarray, " episodes_and_one"],
        starts: Int[np.ndarray, " n"],
    ) -> Int[np.ndarray, " n"]:
        r"""Draw a row of $s_{t+k}$ for each row of $s_t$, with $k \sim \eta$ in the episode."""
        episode = np.searchsorted(offsets, starts, side="right") - 1
        left = offsets[episode + 1] - starts
        if (left <= _first_lag(self.eta, int(np.diff(offsets).max()))).any():
            raise InputError(f"{self.eta} looks beyond the end of the episode from some rows")
        lag = _law_of_lag(self.eta, int(left.max())).find(rng.random(len(starts)), left)
        return starts + lag

    def __call__(self, rng: np.random.Generator, trajectories: Trajectories, n: int) -> FutureBatch:
        """Draw `n` state-action pairs."""
        rows = self.rows(rng, trajectories.offsets, n)
        return FutureBatch(trajectories.observations[rows], trajectories.actions[rows], rows)

    def _draw(
        self, rng: np.random.Generator, offsets: np.ndarray, n: int, with_starts: bool = False
    ) -> tuple[np.ndarray | None, np.ndarray]:
        plan = _Plan.of(self, offsets)
        if plan.every_row_alike:
            rows = rng.integers(offsets[0], offsets[-1], size=n)
            return rows if with_starts else None, rows
        # Many draws from few rows pay for a table of all rows.
        table = plan.row_table() if n >= plan.rows and not with_starts else None
        futures = np.empty(n, dtype=np.int64)
        starts = np.empty(n, dtype=np.int64) if with_starts else None
        for begin in range(0, n, _BLOCK):
            block = slice(begin, min(begin + _BLOCK, n))
            many = block.stop - begin
            if table is not None:
                futures[block] = offsets[0] + table.find(rng.random(many))
            elif starts is None:
                first, time = plan.draw(rng, many)
                futures[block] = first + time
            else:
                first, t, time = plan.draw_pairs(rng, many)
                starts[block], futures[block] = first + t, first + time
        return starts, futures


def rho(gamma_irl: float = 1.0, choice: Choice = "by_weight") -> FutureSampler:
    r"""Sampler of the occupancy measure $\rho_\pi$: what GAIL's discriminator sees."""
    return FutureSampler(Dirac(0), gamma_irl, "exact", choice)


def future(eta: Eta, choice: Choice = "by_weight") -> FutureSampler:
    r"""Sampler of $P^\eta_\pi(\cdot \mid s_0)$: $\eta$ steps after the start of an episode."""
    return FutureSampler(eta, 0.0, "exact", choice)


def mu(
    eta: Eta,
    gamma_irl: float = 1.0,
    method: Method = "two_stage",
    choice: Choice = "by_weight",
) -> FutureSampler:
    r"""Sampler of $\mu^\eta_\pi$: $\eta$ steps after a state of $\rho_\pi$; MEGAN's choice."""
    return FutureSampler(eta, gamma_irl, method, choice)


def summarise_law(law: Law) -> dict[str, float]:
    """What a law of time indices does to an episode, next to the uniform law."""
    horizon = len(law)
    return {
        "tv_from_uniform": float(0.5 * np.abs(law - 1.0 / horizon).sum()),
        "mean_index": float(np.arange(horizon) @ law),
        "last_quarter": float(_shares(law, 4)[-1]),
        "last_frame_factor": float(law[-1] * horizon),
    }


def shares_of_tenths(law: Law) -> Float[np.ndarray, " 10"]:
    """Weight of each tenth of the episode."""
    return _shares(law, 10)


def _shares(law: Law, parts: int) -> Float[np.ndarray, " {parts}"]:
    """Weight of equal parts of the episode; a step that straddles two parts is shared."""
    cumulative = np.concatenate([[0.0], np.cumsum(law)])
    edges = np.linspace(0, len(law), parts + 1)
    return np.diff(np.interp(edges, np.arange(len(law) + 1), cumulative))


@dataclass(frozen=True)
class _Plan:
    """Everything one collection of episodes needs, so that a draw is a few array passes."""

    sampler: FutureSampler
    first_rows: np.ndarray  # as floats, like everything a draw computes with
    lengths: np.ndarray
    length: int | None  # the common length, where there is one
    longest: int
    first_lag: int  # the smallest k with eta(k) > 0
    weighted: "Alias | None"  # which episode, where not all count alike
    reuse: bool  # whether what is left of the first uniform is good enough for the lag

    @staticmethod
    def of(sampler: FutureSampler, offsets: np.ndarray) -> "_Plan":
        lengths = np.diff(offsets)
        if len(lengths) == 0 or lengths.min() < 1:
            raise InputError("there is nothing to draw from: no episodes, or an empty one")
        longest = int(lengths.max())
        first_lag = _first_lag(sampler.eta, longest)
        equal = bool(lengths.min() == longest)
        weighted = None
        if sampler.choice == "by_weight" and not equal:
            weights = np.cumsum(time_weights(sampler.eta, sampler.gamma_irl, longest))
            weighted = Alias(weights[lengths - 1])
        elif (lengths <= first_lag).any():
            weighted = Alias((lengths > first_lag).astype(np.float64))
        return _Plan(
            sampler=sampler,
            first_rows=offsets[:-1].astype(np.float64),
            lengths=lengths.astype(np.float64),
            length=longest if equal else None,
            longest=longest,
            first_lag=first_lag,
            weighted=weighted,
            reuse=float(offsets[-1] - offsets[0]) * longest < _SPARE,
        )

    @property
    def every_row_alike(self) -> bool:
        uniform_time = self.sampler.eta == Dirac(0) and self.sampler.gamma_irl == 1.0
        return uniform_time and (self.length is not None or self.sampler.choice == "by_weight")

    @property
    def rows(self) -> int:
        return int(self.lengths.sum())

    @property
    def staged(self) -> bool:
        # For a Dirac mass the two methods are one law, and the staged draw is the faster one.
        return self.sampler.method == "two_stage" or isinstance(self.sampler.eta, Dirac)

    def row_table(self) -> "Alias | None":
        """The law of all rows at once, where lengths differ and it has a closed form."""
        eta, gamma = self.sampler.eta, self.sampler.gamma_irl
        flat = isinstance(eta, Uniform) and gamma == 1.0
        if self.length is not None or not (flat or self.sampler.method == "exact"):
            return None
        lengths = self.lengths.astype(np.int64)
        time = ragged_rows(np.zeros_like(lengths), lengths)
        weights = time_weights(eta, gamma, self.longest)
        episodes = np.cumsum(weights)[lengths - 1]
        if self.sampler.method == "exact":
            law = weights[time] / np.repeat(np.maximum(episodes, 1e-300), lengths)
        else:
            harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, self.longest + 1))])
            length = np.repeat(lengths, lengths)
            law = (harmonic[length] - harmonic[length - 1 - time]) / length
        if self.sampler.choice == "by_weight":
            law *= np.repeat(episodes, lengths)
        return Alias(law)

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Block, Block]:
        """Row of the first step of the chosen episode, and time n in it."""
        eta, gamma = self.sampler.eta, self.sampler.gamma_irl
        flat = isinstance(eta, Uniform) and gamma == 1.0
        tabled = self.length is not None and self.length <= _LONGEST_TABLE
        if self.staged and (flat or not tabled):
            first, _, time = self.draw_pairs(rng, n)
            return first, time
        first, length, u = self._choose_episodes(rng.random(n))
        if flat:
            # w_n ~ n + 1 is a triangle; folded in half it is a rectangle, drawn without a table.
            t, u = split(u, length)
            t += (length - 1 - 2 * t) * (u * (length + 1) >= t + 1)
            return first, t
        if tabled:
            return first, _law_of_index(self.sampler, self.longest).find(u)
        return first, _law_of_time(eta, gamma, self.longest).find(u, length)

    def draw_pairs(self, rng: np.random.Generator, n: int) -> tuple[Block, Block, Block]:
        """Row of the first step of the chosen episode, starting time t, and time n = t + k."""
        eta, gamma = self.sampler.eta, self.sampler.gamma_irl
        first, length, u = self._choose_episodes(rng.random(n))
        if not self.staged:
            time = _law_of_time(eta, gamma, self.longest).find(u, length)
            if gamma == 0.0:
                return first, np.zeros(n), time
            lag = _law_of_past(eta, gamma, self.longest).find(rng.random(n), time + 1)
            return first, time - lag, time
        if gamma == 1.0:
            t, u = split(u, length - self.first_lag)
        else:
            t = _law_of_start(gamma, self.longest).find(u, length - self.first_lag)
            u = rng.random(n)
        if isinstance(eta, Dirac):
            return first, t, t + eta.k
        if not self.reuse:
            u = rng.random(n)
        if isinstance(eta, Uniform):
            return first, t, t + np.floor(u * (length - t))
        return first, t, t + _law_of_lag(eta, self.longest).find(u, length - t)

    def _choose_episodes(self, u: Block) -> tuple[Block, Block | int, Block]:
        if self.weighted is not None:
            episode, u = self.weighted.find_with_rest(u)
        else:
            episode, u = split(u, len(self.lengths))
            if self.length is not None:
                return self.first_rows[0] + episode * self.length, self.length, u
            episode = episode.astype(np.intp)
        return self.first_rows[episode], self.lengths[episode], u


def _first_lag(eta: Eta, longest: int) -> int:
    possible = np.isfinite(eta.log_pmf(longest))
    if not possible.any():
        raise InputError(
            f"{eta} looks further ahead than the longest episode has steps ({longest}); "
            "use longer episodes or a shorter weighting"
        )
    return int(np.argmax(possible))


def time_weights(eta: Eta, gamma: float, horizon: int) -> Law:
    """$w_n$ up to a factor, which keeps the weights of a far-looking eta from underflowing."""
    _first_lag(eta, horizon)
    log_pmf = eta.log_pmf(horizon)
    return discounted_sum(np.exp(log_pmf - log_pmf.max()), gamma)


def _two_stage_law(eta: Eta, gamma: float, horizon: int) -> Law:
    log_pmf = eta.log_pmf(horizon)
    log_mass = np.logaddexp.accumulate(log_pmf)
    starts = horizon - _first_lag(eta, horizon)
    log_start = Geometric(gamma).log_pmf(starts)
    log_start = log_start - np.logaddexp.reduce(log_start)
    law = np.zeros(horizon)
    for t in range(starts):
        law[t:] += np.exp(log_pmf[: horizon - t] + (log_start[t] - log_mass[horizon - t - 1]))
    return law


@lru_cache(maxsize=64)
def _law_of_index(sampler: FutureSampler, length: int) -> Alias:
    return Alias(sampler.law(length))


@lru_cache(maxsize=64)
def _law_of_time(eta: Eta, gamma: float, longest: int) -> Inverse:
    with np.errstate(divide="ignore"):
        return Inverse(np.log(time_weights(eta, gamma, longest)))


@lru_cache(maxsize=64)
def _law_of_start(gamma: float, longest: int) -> Inverse:
    return Inverse(Geometric(gamma).log_pmf(longest))


@lru_cache(maxsize=64)
def _law_of_lag(eta: Eta, longest: int) -> Inverse:
    return Inverse(eta.log_pmf(longest))


@lru_cache(maxsize=64)
def _law_of_past(eta: Eta, gamma: float, longest: int) -> Inverse:
    r"""The lag given where it leads: $P(k \mid n) \propto \eta(k)\gamma^{n-k}$ for $k \le n$."""
    return Inverse(eta.log_pmf(longest) - np.arange(longest) * np.log(gamma))
