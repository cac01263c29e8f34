"""Every claim of the paper, checked on exact objects, with its documented verdict (errata)."""

from collections.abc import Callable

from etairl.replication.claims.claim import Claim, ClaimVerdict
from etairl.replication.claims.cost_players import gan_objective, idle_game, inner_maxima, recovery
from etairl.replication.claims.occupancies import bijection, duality, entropy, tower
from etairl.replication.claims.planning import (
    operators,
    optimality,
    performance_difference,
    policy_gradient,
)
from etairl.replication.claims.samples import experiments, index_sampling, mmd

__all__ = ["CHECKS", "DOCUMENTED", "Claim"]

CHECKS: dict[str, Callable[[], Claim]] = {
    "a": optimality,
    "b": duality,
    "c": entropy,
    "d": bijection,
    "e": tower,
    "f": policy_gradient,
    "g": performance_difference,
    "h": inner_maxima,
    "i": gan_objective,
    "j": idle_game,
    "k": mmd,
    "l": index_sampling,
    "m": operators,
    "n": experiments,
    "o": recovery,
}
_VERDICTS: dict[ClaimVerdict, str] = {
    "true": "cdeo",
    "false as stated": "abfglmn",
    "misprint": "hijk",
}
DOCUMENTED: dict[str, ClaimVerdict] = {
    letter: verdict for letter in CHECKS for verdict, of in _VERDICTS.items() if letter in of
}
"""what `docs/errata.md` says"""
