"""`etairl algorithms`: what `etairl train --algorithm` can run, and what each one is."""

from dataclasses import dataclass

from etairl.algorithms.registry import ALGORITHMS
from etairl.cli.console import out, parse, print_json, table


@dataclass(frozen=True)
class Config:
    """The algorithms, each a choice of penalty psi, regulariser Omega, weighting eta and costs."""

    json: bool = False
    """print JSON"""


def run(arguments: list[str]) -> int:
    """The command."""
    config = parse(Config, arguments, "algorithms")
    rows = [
        {
            "name": entry.name,
            "psi": entry.psi,
            "omega": list(entry.omegas),
            "eta": entry.eta,
            "any_eta": entry.any_eta,
            "cost": entry.cost,
            "solver": list(entry.solvers),
            "title": entry.title,
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
                row["omega"][0] + (" or other" if len(row["omega"]) > 1 else " only"),
                f"{row['eta']} {'or any' if row['any_eta'] else 'only'}",
                row["cost"],
                ", ".join(row["solver"]),
            )
            for row in rows
        ],
    )
    out().print("\nOther Omega: tsallis:Q, kl, none. etairl train --algorithm NAME runs one.")
    return 0
