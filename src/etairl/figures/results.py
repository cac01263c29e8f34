"""What a study is drawn from: settings and runs, in the order and the words of the paper."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from etairl.arms import is_base

SettingStats = Mapping[str, Any]
FEW_SEEDS = 10
"""with fewer, an interval alone says too little: single runs are drawn too"""
CELL = ("env", "arm", "eta")
"""what a setting is known by"""
_SYMBOLS = {"geometric": "κ", "poisson": "λ"}


@dataclass(frozen=True)
class Weighting:
    """An η: where it stands on an axis, and in which words."""

    family: str
    """only weightings of one family are joined by a line"""
    parameter: float
    label: str

    @property
    def words(self) -> str:
        """As in a sentence, for instance κ = 0.5."""
        symbol = _SYMBOLS.get(self.family)
        return self.label if symbol is None else f"{symbol} = {self.parameter:g}"

    @property
    def is_gail(self) -> bool:
        """All weight on the present: GAIL."""
        return (self.family, self.parameter) == ("geometric", 0.0)


def weighting(eta: str) -> Weighting:
    """What a weighting's text says; `dirac:0` and `uniform` are the ends of the geometric ones."""
    name, _, rest = eta.partition(":")
    if eta == "dirac:0":
        return Weighting("geometric", 0.0, eta)
    if eta == "uniform":
        return Weighting("geometric", 1.0, eta)
    try:
        parameter = float(rest)
    except ValueError:  # a table stands alone
        return Weighting(eta, 0.0, eta)
    label = f"{_SYMBOLS[name]}={rest}" if name in _SYMBOLS else eta
    return Weighting(name, parameter, label)


def in_order(etas: Iterable[str]) -> list[str]:
    """Each weighting once: κ from 0 to 1, then λ, then whatever else there is."""
    families = list(_SYMBOLS)

    def key(eta: str) -> tuple[int, str, float, str]:
        w = weighting(eta)
        known = w.family in families
        rank = families.index(w.family) if known else len(families)
        return rank, w.family, w.parameter, eta

    return sorted(set(etas), key=key)


def same_players(arm: str) -> bool:
    """Does this arm differ from that of the others in nothing but the discount of the solver?"""
    return is_base(arm) or (arm.startswith("gamma_rl=") and "," not in arm)


@dataclass(frozen=True)
class Results:
    """Statistics per setting and rows per run, as `etairl report` has them."""

    settings: Sequence[SettingStats]
    rows: Sequence[SettingStats]

    def envs(self, arm: str | None = None) -> list[str]:
        """Environments in the order they were asked for."""
        return list(dict.fromkeys(e["env"] for e in self.settings if arm in (None, e["arm"])))

    def arms(self) -> list[str]:
        """Arms in the order they were asked for, the one that others stand beside first."""
        arms = dict.fromkeys(e["arm"] for e in self.settings)
        return sorted(arms, key=lambda arm: not is_base(arm))

    def of(self, env: str, arm: str, metric: str | None = None) -> list[SettingStats]:
        """Settings of one environment and arm, sorted by their weighting."""
        mine = {e["eta"]: e for e in self.settings if (e["env"], e["arm"]) == (env, arm)}
        every = [mine[eta] for eta in in_order(mine)]
        return [e for e in every if metric is None or e.get(metric)]

    def runs(self, entry: SettingStats, metric: str) -> list[Any]:
        """One value per run of a setting."""
        return [r[metric] for r in self.rows_of(entry) if r.get(metric) is not None]

    def gamma(self, entry: SettingStats) -> float:
        """The discount of the solver."""
        return float(next(r["gamma_rl"] for r in self.rows_of(entry)))

    def floor(self, env: str, metric: str) -> float | None:
        """The expert against itself, the mean over all runs that know it."""
        floors = [r.get(f"{metric}_floor") for r in self.rows if r["env"] == env]
        known = [x for x in floors if x is not None]
        return sum(known) / len(known) if known else None

    def gail(self, env: str) -> list[tuple[float, SettingStats]]:
        """GAIL's settings by their discount: pairs of discount and setting."""
        by_discount: dict[float, SettingStats] = {}
        for entry in self._same_players(env):
            if weighting(entry["eta"]).is_gail:
                by_discount.setdefault(self.gamma(entry), entry)
        return sorted(by_discount.items(), key=lambda pair: pair[0])

    def megan(self, env: str) -> list[SettingStats]:
        """All other weightings of the same players, the smallest MMD² of μ first."""
        others = [e for e in self._same_players(env) if not weighting(e["eta"]).is_gail]
        return sorted(others, key=lambda entry: entry["mmd2_mu"]["mean"]["value"])

    def _same_players(self, env: str) -> list[SettingStats]:
        arms = filter(same_players, self.arms())
        return [entry for arm in arms for entry in self.of(env, arm, "mmd2_mu")]

    def rows_of(self, entry: SettingStats) -> list[SettingStats]:
        """The runs of a setting."""
        return [r for r in self.rows if all(r[key] == entry[key] for key in CELL)]
