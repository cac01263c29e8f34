r"""The sampler of $\mu^\eta_\pi$, and $\rho_\pi$ and $P^\eta_\pi$ as special cases."""

from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
from jaxtyping import Float, Int

from etairl.eta import Dirac, Eta, check_discount
from etairl.measures import time_weights
from etairl.measures.index_laws import IndexLaw, Method, first_lag, index_law, table_of_lag
from etairl.measures.plan import EpisodeChoice, Plan
from etairl.types import FutureBatch, InputError, Trajectories, check_choice, offsets_of

_BLOCK = 16384  # draws per pass: temporaries stay in the cache, twice as fast as one long pass


Offsets = Int[np.ndarray, " episodes_and_one"]


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
    choice: EpisodeChoice = "by_weight"

    def __post_init__(self):
        check_discount(self.gamma_irl)
        check_choice("method", self.method, get_args(Method))
        check_choice("choice", self.choice, get_args(EpisodeChoice))

    def law(self, horizon: int) -> IndexLaw:
        """The law of the time index $n$ in an episode of `horizon` steps."""
        return index_law(self.eta, self.gamma_irl, self.method, horizon)

    def step_weights(self, lengths: Int[np.ndarray, " episodes"]) -> Float[np.ndarray, " steps"]:
        """How often each step of episodes of these lengths is drawn, up to a factor."""
        mass = np.cumsum(time_weights(self.eta, self.gamma_irl, int(lengths.max())))

        def of_episode(length: int) -> np.ndarray:
            if mass[length - 1] == 0.0:  # shorter than the weighting looks ahead: never drawn
                return np.zeros(length)
            return self.law(length) * (mass[length - 1] if self.choice == "by_weight" else 1.0)

        laws = {length: of_episode(length) for length in np.unique(lengths).tolist()}
        return np.concatenate([laws[length] for length in lengths.tolist()])

    def rows(self, rng: np.random.Generator, offsets: Offsets, n: int) -> Int[np.ndarray, " {n}"]:
        """Draw `n` rows of a flat array whose episode i is `offsets[i]` to `offsets[i + 1]`."""
        return self._draw(rng, offsets, n)[1]

    def from_start(self) -> "FutureSampler":
        r"""The sampler of $P^\eta_\pi(\cdot \mid s_0)$ with the same $\eta$."""
        return replace(self, gamma_irl=0.0, method="exact")

    def pairs(
        self, rng: np.random.Generator, offsets: Offsets, n: int
    ) -> tuple[Int[np.ndarray, " {n}"], Int[np.ndarray, " {n}"]]:
        r"""Draw rows of $s_t$ and of $s_{t+k}$ in the same episode: a state and its future."""
        starts, futures = self._draw(rng, offsets, n, with_starts=True)
        assert starts is not None
        return starts, futures

    def futures(
        self, rng: np.random.Generator, offsets: Offsets, starts: Int[np.ndarray, " n"]
    ) -> Int[np.ndarray, " n"]:
        r"""Draw a row of $s_{t+k}$ for each row of $s_t$, with $k \sim \eta$ in the episode."""
        episode = np.searchsorted(offsets, starts, side="right") - 1
        left = offsets[episode + 1] - starts
        if (left <= first_lag(self.eta, int(np.diff(offsets).max()))).any():
            raise InputError(f"{self.eta} looks beyond the end of the episode from some rows")
        lag = table_of_lag(self.eta, int(left.max())).find(rng.random(len(starts)), left)
        return starts + lag

    def __call__(self, rng: np.random.Generator, trajectories: Trajectories, n: int) -> FutureBatch:
        """Draw `n` state-action pairs."""
        t = trajectories
        rows = self.rows(rng, offsets_of(t.durations), n)
        if t.spans is not None:
            rows = t.row_of_step[rows]
        return FutureBatch(trajectories.observations[rows], trajectories.actions[rows], rows)

    def _draw(
        self, rng: np.random.Generator, offsets: np.ndarray, n: int, with_starts: bool = False
    ) -> tuple[np.ndarray | None, np.ndarray]:
        plan = Plan.of(self.eta, self.gamma_irl, self.method, self.choice, offsets)
        if plan.every_row_alike:
            rows = rng.integers(offsets[0], offsets[-1], size=n)
            return rows if with_starts else None, rows
        # Many draws from few rows pay for a table of all rows.
        table = plan.row_table() if n >= offsets[-1] - offsets[0] and not with_starts else None
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


def rho(gamma_irl: float = 1.0, choice: EpisodeChoice = "by_weight") -> FutureSampler:
    r"""Sampler of the occupancy measure $\rho_\pi$: what GAIL's discriminator sees."""
    return FutureSampler(Dirac(0), gamma_irl, "exact", choice)


def future(eta: Eta, choice: EpisodeChoice = "by_weight") -> FutureSampler:
    r"""Sampler of $P^\eta_\pi(\cdot \mid s_0)$: $\eta$ steps after the start of an episode."""
    return FutureSampler(eta, 0.0, "exact", choice)


def mu(
    eta: Eta,
    gamma_irl: float = 1.0,
    method: Method = "two_stage",
    choice: EpisodeChoice = "by_weight",
) -> FutureSampler:
    r"""Sampler of $\mu^\eta_\pi$: $\eta$ steps after a state of $\rho_\pi$; MEGAN's choice."""
    return FutureSampler(eta, gamma_irl, method, choice)
