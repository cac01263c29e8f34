"""`etairl theory --eta-matters`: where a weighting matters, in exact worlds."""

from dataclasses import asdict

from etairl.cli.console import facts, out, print_json, table, track
from etairl.replication.eta_matters.answers import (
    GAMMAS,
    KAPPAS,
    OUTCOMES,
    SAMPLES,
    Entry,
    Price,
    entries,
    prices,
)
from etairl.replication.eta_matters.worlds import GAMMA, HORIZON, small_worlds

_MARKS = {"better": " <", "worse": " >", "no difference": " =", "GAIL": ""}


def run(json: bool) -> int:
    """Compute and print the whole table."""
    every = entries(track=lambda all_worlds: track(all_worlds, "imitating in exact worlds"))
    paid = prices()
    if json:
        rows = [
            asdict(e) | {"verdicts": {name: e.verdict(name) for name in OUTCOMES}} for e in every
        ]
        stories = {world.name: world.story for world in small_worlds()}
        print_json({"worlds": stories, "prices": paid, "entries": rows})
        return 0
    facts(
        f"Four worlds of {HORIZON} steps; imitators minimise the divergence of their measure",
        [(world.name, world.story) for world in small_worlds()],
    )
    out().print(
        f"\ngap: mean cost of a step, every step alike, beside the expert's; {SAMPLES} sets of "
        "demonstrations.\n< better, > worse than kappa 0 with the same gamma_irl on the same "
        "demonstrations, by more than 3 standard errors and 1 %; = neither",
    )
    for capacity, title in (
        ("full", "the class can match the expert"),
        ("tied", "the class cannot: it takes two kinds of states for one"),
    ):
        _print_gaps([e for e in every if e.capacity == capacity], title)
    _print_prices(paid)
    for sentence in _conclusions(every):
        out().print(f"• {sentence}")
    return 0


def _print_gaps(found: list[Entry], title: str) -> None:
    out().print(f"\n{title}", style="bold")
    columns = ["world, demonstrations", *(f"γ {g:g} κ {k:g}" for g in GAMMAS for k in KAPPAS)]
    rows: dict[str, list[str]] = {}
    for entry in found:
        many = "all" if entry.demonstrations is None else str(entry.demonstrations)
        row = rows.setdefault(f"{entry.world}, {many}", [])
        row.append(f"{entry.gap['cost']:.4f}{_MARKS[entry.verdict()]}")
    table(columns, [[name, *row] for name, row in rows.items()])


def _print_prices(paid: list[Price]) -> None:
    out().print(
        "\nprice in variance of what is read off the measure (1 is the least)", style="bold"
    )
    columns = ["world, kind of state", *(f"γ {g:g} κ {k:g}" for g in GAMMAS for k in KAPPAS)]
    rows: dict[str, list[str]] = {}
    for entry in paid:
        rows.setdefault(f"{entry.world}, {entry.kind}", []).append(f"{entry.price:.2f}")
    table(columns, [[name, *row] for name, row in rows.items()])
    out().print()


def _conclusions(found: list[Entry]) -> list[str]:
    """One sentence per class and discount: counts of worlds and of numbers of demonstrations."""
    sentences = []
    for capacity, words in (("full", "where it can match"), ("tied", "where it cannot match")):
        for gamma in GAMMAS:
            told = [
                e for e in found if (e.capacity, e.gamma_irl) == (capacity, gamma) and e.kappa == 1
            ]
            verdicts = {
                kind: [e for e in told if e.verdict() == kind]
                for kind in ("better", "worse", "no difference")
            }
            counts = ", ".join(f"{len(many)} {kind}" for kind, many in verdicts.items())
            names = ", ".join(dict.fromkeys(e.world for e in verdicts["better"])) or "no world"
            sentences.append(
                f"{words}, gamma_irl {gamma:g}: κ = 1 beside GAIL is {counts} of {len(told)} "
                f"cells; better in: {names}"
            )
    sentences.append(
        f"the exact weights do not change if γ and κ change places: κ = 1 with γ = {GAMMA:g} is "
        f"κ = {GAMMA:g} with γ = 1"
    )
    return sentences
