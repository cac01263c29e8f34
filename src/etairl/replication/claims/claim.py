"""What a checked claim looks like, and how its verdict follows from numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from etairl.eta import Geometric
from etairl.tabular.generators import random_mdp
from etairl.tabular.mdp import MDP

ClaimVerdict = Literal["true", "false as stated", "misprint", "undecided"]
HALF = Geometric(0.5)
ROUNDING = 1e-9
"""violations below this are rounding"""


@dataclass(frozen=True)
class Claim:
    """One row of `etairl theory`."""

    id: str
    """its letter in the errata"""
    claim: str
    verdict: ClaimVerdict
    evidence: str
    """the worst violation or the counterexample, with its numbers"""
    trials: int
    """random MDPs, pairs of measures or lengths that both statements were tried on, where the
    evidence does not name a fixture or a count of its own"""
    corrected: str
    corrected_evidence: str


def verdict_of(
    printed: bool | np.bool_,
    corrected: bool | np.bool_,
    otherwise: Literal["false as stated", "misprint"],
) -> ClaimVerdict:
    """True if the printed claim held, `otherwise` if not; undecided if the corrected one failed."""
    if not corrected:
        return "undecided"
    return "true" if printed else otherwise


def worlds(
    seed: int, count: int, states: int = 3, actions: int = 2, gamma: float = 0.5
) -> Iterator[tuple[np.random.Generator, MDP]]:
    """Random MDPs, each with a random generator of its own; the same ones in every run."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        yield rng, random_mdp(rng, states, actions, gamma)
