"""How one collection of episodes is drawn from: everything a draw needs, prepared once."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from etairl.eta import Dirac, Eta, Geometric, Uniform
from etairl.measures.draw_tables import Alias, Block, split
from etairl.measures.index_laws import (
    Method,
    first_lag,
    table_of_index,
    table_of_lag,
    table_of_past,
    table_of_time,
    time_weights,
)
from etairl.types import InputError, ragged_rows

EpisodeChoice = Literal["by_weight", "uniform"]
_LONGEST_TABLE = 4096  # steps; the law of the staged draw takes quadratic time to tabulate
_SPARE = 2.0**33  # one 53-bit uniform serves all stages while 20 bits are left for the last one


@dataclass(frozen=True)
class Plan:
    """Everything one collection of episodes needs, so that a draw is a few array passes."""

    eta: Eta  # in its simplest spelling
    gamma: float
    method: Method
    choice: EpisodeChoice
    first_rows: np.ndarray  # as floats, like everything a draw computes with
    lengths: np.ndarray
    length: int | None  # the common length, where there is one
    longest: int
    first_lag: int  # the smallest k with eta(k) > 0
    weighted: Alias | None  # which episode, where not all count alike
    reuse: bool  # whether what is left of the first uniform is good enough for the lag

    @staticmethod
    def of(
        eta: Eta, gamma: float, method: Method, choice: EpisodeChoice, offsets: np.ndarray
    ) -> "Plan":
        """Prepare draws from the episodes `offsets[i]` to `offsets[i + 1]`."""
        lengths = np.diff(offsets)
        if len(lengths) == 0 or lengths.min() < 1:
            raise InputError("there is nothing to draw from: no episodes, or an empty one")
        eta, longest = eta.simplified(), int(lengths.max())
        lag = first_lag(eta, longest)
        equal = bool(lengths.min() == longest)
        weighted = None
        if choice == "by_weight" and not equal:
            weights = np.cumsum(time_weights(eta, gamma, longest))
            weighted = Alias(weights[lengths - 1])
        elif (lengths <= lag).any():
            weighted = Alias((lengths > lag).astype(np.float64))
        return Plan(
            eta=eta,
            gamma=gamma,
            method=method,
            choice=choice,
            first_rows=offsets[:-1].astype(np.float64),
            lengths=lengths.astype(np.float64),
            length=longest if equal else None,
            longest=longest,
            first_lag=lag,
            weighted=weighted,
            reuse=float(offsets[-1] - offsets[0]) * longest < _SPARE,
        )

    @property
    def every_row_alike(self) -> bool:
        """Whether all rows of all episodes are equally likely."""
        uniform_time = self.eta == Dirac(0) and self.gamma == 1.0
        return uniform_time and (self.length is not None or self.choice == "by_weight")

    @property
    def staged(self) -> bool:
        """Whether start and lag are drawn one after the other."""
        # For a Dirac mass the two methods are one law, and the staged draw is the faster one.
        return self.method == "two_stage" or isinstance(self.eta, Dirac)

    @property
    def triangular(self) -> bool:
        """Whether $w_n$ grows in proportion to n + 1, which needs no table."""
        return isinstance(self.eta, Uniform) and self.gamma == 1.0

    def row_table(self) -> Alias | None:
        """The law of all rows at once, where lengths differ and it has a closed form."""
        exact = self.method == "exact" or isinstance(self.eta, Dirac)  # for which both are one law
        if self.length is not None or not (self.triangular or exact):
            return None
        lengths = self.lengths.astype(np.int64)
        time = ragged_rows(np.zeros_like(lengths), lengths)
        weights = time_weights(self.eta, self.gamma, self.longest)
        episodes = np.cumsum(weights)[lengths - 1]
        if exact:
            law = weights[time] / np.repeat(np.maximum(episodes, 1e-300), lengths)
        else:
            harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, self.longest + 1))])
            length = np.repeat(lengths, lengths)
            law = (harmonic[length] - harmonic[length - 1 - time]) / length
        if self.choice == "by_weight":
            law *= np.repeat(episodes, lengths)
        return Alias(law)

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Block, Block]:
        """Row of the first step of the chosen episode, and time n in it."""
        tabled = self.length is not None and self.length <= _LONGEST_TABLE
        if self.staged and (self.triangular or not tabled):
            first, _, time = self.draw_pairs(rng, n)
            return first, time
        first, length, u = self._choose_episodes(rng.random(n))
        if self.triangular:
            # A triangle folded in half is a rectangle, drawn without a table.
            t, u = split(u, length)
            t += (length - 1 - 2 * t) * (u * (length + 1) >= t + 1)
            return first, t
        if tabled:
            return first, table_of_index(self.eta, self.gamma, self.method, self.longest).find(u)
        return first, table_of_time(self.eta, self.gamma, self.longest).find(u, length)

    def draw_pairs(self, rng: np.random.Generator, n: int) -> tuple[Block, Block, Block]:
        """Row of the first step of the chosen episode, starting time t, and time n = t + k."""
        eta, gamma = self.eta, self.gamma
        first, length, u = self._choose_episodes(rng.random(n))
        if not self.staged:
            time = table_of_time(eta, gamma, self.longest).find(u, length)
            if gamma == 0.0:
                return first, np.zeros(n), time
            lag = table_of_past(eta, gamma, self.longest).find(rng.random(n), time + 1)
            return first, time - lag, time
        if gamma == 1.0:
            t, u = split(u, length - self.first_lag)
        else:
            t = table_of_lag(Geometric(gamma), self.longest).find(u, length - self.first_lag)
            u = rng.random(n)
        if isinstance(eta, Dirac):
            return first, t, t + eta.k
        if not self.reuse:
            u = rng.random(n)
        if isinstance(eta, Uniform):
            return first, t, t + np.floor(u * (length - t))
        return first, t, t + table_of_lag(eta, self.longest).find(u, length - t)

    def _choose_episodes(self, u: Block) -> tuple[Block, Block | int, Block]:
        if self.weighted is not None:
            episode, u = self.weighted.find_with_rest(u)
        else:
            episode, u = split(u, len(self.lengths))
            if self.length is not None:
                return self.first_rows[0] + episode * self.length, self.length, u
            episode = episode.astype(np.intp)
        return self.first_rows[episode], self.lengths[episode], u
