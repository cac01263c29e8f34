"""`etairl theory`: every claim of the paper, checked on exact MDPs."""

from collections import Counter
from dataclasses import dataclass

from etairl.cli.console import facts, out, parse, print_json, track


@dataclass(frozen=True)
class TheoryConfig:
    """Check every claim of the paper on exact finite MDPs, with fixed seeds.

    Each claim is tried on a counterexample and on random MDPs; so is its corrected statement. The
    letters are those of the errata. Exit code 1 if a verdict differs from the documented one.

    With --eta-matters instead: in four exact worlds, does matching another measure than GAIL's
    make a better imitator, with how many demonstrations, and if the policy class cannot match?
    """

    eta_matters: bool = False
    """where a weighting matters, in exact worlds; half a minute"""
    json: bool = False
    """print JSON: a list of {id, claim, verdict, evidence, trials, corrected,
    corrected_evidence}; with --eta-matters {worlds, prices, entries}"""


def run(arguments: list[str]) -> int:
    """Check all claims and print what came out."""
    config = parse(TheoryConfig, arguments, "theory")
    if config.eta_matters:
        from etairl.cli import eta_matters

        return eta_matters.run(config.json)
    from etairl.replication.claims import CHECKS, DOCUMENTED

    claims = [check() for check in track(list(CHECKS.values()), "checking claims")]
    different = [claim.id for claim in claims if claim.verdict != DOCUMENTED[claim.id]]
    if config.json:
        print_json(claims)
    else:
        for claim in claims:
            rows = [
                ("verdict", claim.verdict),
                ("evidence", claim.evidence),
                ("corrected", claim.corrected),
                ("evidence", claim.corrected_evidence),
                ("trials", str(claim.trials)),
            ]
            facts(f"({claim.id}) {claim.claim}", rows)
            out().print()
        counts = Counter(claim.verdict for claim in claims)
        summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        agreement = (
            f"not as documented: {', '.join(different)}"
            if different
            else "every verdict is the documented one"
        )
        out().print(f"{len(claims)} claims: {summary}; {agreement}")
    return 1 if different else 0
