"""`etairl algorithms`: what `etairl train --algorithm` can run, and what each one is."""

from collections.abc import Sequence
from dataclasses import dataclass

from etairl.algorithms.registry import ALGORITHMS
from etairl.cli.console import out, parse, print_json, table
from etairl.costs.family import CostConfig, Players
from etairl.regularisers import REGULARISERS, Entropy
from etairl.solvers.players import SOLVERS
from etairl.types import InputError


@dataclass(frozen=True)
class Config:
    """The algorithms, each a choice of penalty psi, regulariser Omega, weighting eta and costs."""

    json: bool = False
    """print JSON"""


def run(arguments: list[str]) -> int:
    """Print the table."""
    config = parse(Config, arguments, "algorithms")
    rows = [
        {
            "name": entry.name,
            "psi": entry.psi,
            "omega": _omegas(entry.cost),
            "eta": entry.eta,
            "any_eta": entry.any_eta,
            "cost": entry.costs,
            "solver": [name for name in _solvers(entry.cost) if entry.goes_with(name)],
            "title": entry.title,
            "assumes": entry.assumes,
        }
        for entry in ALGORITHMS.values()
    ]
    if config.json:
        print_json(rows)
        return 0
    columns = ("algorithm", "psi", "Omega", "eta", "cost", "solver")
    table(
        columns,
        [
            (
                row["name"],
                row["psi"],
                _regularisers(row["omega"]),
                f"{row['eta']} {'or any' if row['any_eta'] else 'only'}",
                row["cost"],
                ", ".join(row["solver"]),
            )
            for row in rows
        ],
    )
    out().print()
    for row in rows:
        out().print(f"{row['name']} assumes {row['assumes']}.", highlight=False)
    out().print("\nOther Omega: tsallis:Q, kl, none. etairl train --algorithm NAME runs one.")
    return 0


def _regularisers(names: Sequence[str]) -> str:
    if len(names) > 2:
        return f"{names[0]} or other"
    return " or ".join(names) if len(names) == 2 else f"{names[0]} only"


def _omegas(cost: CostConfig) -> list[str]:
    """Regularisers that a family of costs goes with, by asking it."""
    price = cost.temperature
    return [n for n, o in REGULARISERS.items() if _goes(cost, Players(o, price, False))]


def _solvers(cost: CostConfig) -> list[str]:
    """Solvers that a family of costs goes with, by asking it."""
    times = {name: settings().weighs_time for name, settings in SOLVERS.items()}
    players = {n: Players(Entropy(), cost.temperature, t) for n, t in times.items()}
    return [name for name in SOLVERS if _goes(cost, players[name])]


def _goes(cost: CostConfig, players: Players) -> bool:
    try:
        cost.check(players)
    except InputError:
        return False
    return True
