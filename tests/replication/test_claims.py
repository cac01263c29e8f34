"""`etairl theory`: every letter of the errata, its verdict, its JSON, and what a surprise does."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from etairl.cli.app import main
from etairl.measures import FutureSampler
from etairl.penalties import Ball, Simplex
from etairl.replication.claims import (
    CHECKS,
    DOCUMENTED,
    Claim,
    cost_players,
    occupancies,
    planning,
    samples,
)
from etairl.replication.claims.claim import verdict_of
from etairl.tabular.columns import generate
from etairl.tabular.mdp import product_mdp
from etairl.tabular.operators import evaluate

ERRATA = (Path(__file__).parents[2] / "docs" / "errata.md").read_text()
KEYS = ["id", "claim", "verdict", "evidence", "trials", "corrected", "corrected_evidence"]


@pytest.mark.parametrize("letter", [letter for letter in CHECKS if letter != "o"])
def test_every_claim_has_its_documented_verdict(letter):
    """With the run-time checker, so (a) and (b) on fewer MDPs and (o) below, as a user runs it."""
    claim = CHECKS[letter]() if letter not in "ab" else CHECKS[letter](2)
    assert claim.id == letter
    assert claim.verdict == DOCUMENTED[letter]
    assert claim.trials > 0
    assert all(isinstance(getattr(claim, key), int if key == "trials" else str) for key in KEYS)


def test_the_documented_verdicts_are_those_of_the_errata():
    """The summary table has one row per letter; its words contain the verdict."""
    rows = dict(re.findall(r"^\| \[\((\w)\)\]\(#\w\) \| [^|]* \| ([^|]*) \|", ERRATA, re.M))
    assert list(rows) == list(CHECKS) == list(DOCUMENTED)
    words = {"true": "true", "misprint": "misprint", "false as stated": "false"}
    for letter, verdict in DOCUMENTED.items():
        if letter not in "lno":  # described, not judged, in one word
            assert words[verdict] in rows[letter].lower(), letter


def test_a_verdict_follows_from_both_checks():
    assert verdict_of(True, True, "misprint") == "true"
    assert verdict_of(False, True, "misprint") == "misprint"
    assert verdict_of(False, True, "false as stated") == "false as stated"
    assert verdict_of(True, False, "misprint") == "undecided"


def scaled(module, name, factor=1.001):
    """A library that is wrong by a thousandth: what `name` returns, or the first of a pair."""
    original = getattr(module, name)

    def wrong(*arguments, **options):
        found = original(*arguments, **options)
        return (factor * found[0], *found[1:]) if isinstance(found, tuple) else factor * found

    return module, name, wrong


def other_law(worlds, law):
    """Tasks drawn alike, whatever the law says."""
    return product_mdp(worlds)


def uniform_rows(sampler, rng, offsets, n):
    """A sampler that knows no weights."""
    return rng.integers(offsets[-1], size=n)


def raised(game):
    """A solver of games whose value is a thousandth too high, on both sides."""
    found = generate(game)
    return found._replace(primal=found.primal + 1e-3, dual=found.dual + 1e-3)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("letter", "mistake"),
    [
        ("b", (occupancies, "generate", raised)),
        ("e", (occupancies, "evaluate", lambda mdp, policy: 1.001 * evaluate(mdp, policy))),
        ("f", scaled(planning, "gradient")),
        ("h", scaled(Simplex, "maximum")),
        ("h", scaled(Ball, "maximum")),
        ("j", scaled(cost_players, "jensen_shannon")),
        ("l", scaled(FutureSampler, "law")),
        ("l", (FutureSampler, "rows", uniform_rows)),
        ("n", (samples, "product_mdp", other_law)),
    ],
)
def test_a_mistake_in_the_laboratory_is_found(letter, mistake, monkeypatch):
    """The corrected statement is compared with something that does not contain the mistake."""
    monkeypatch.setattr(*mistake)
    assert CHECKS[letter](3).verdict != DOCUMENTED[letter]


@pytest.fixture(scope="module")
def done() -> subprocess.CompletedProcess:
    """The command as a user runs it, in a process of its own; ten seconds on an idle machine."""
    command = [sys.executable, "-m", "etairl", "theory"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def section(text: str, letter: str, start: str, end: str) -> str:
    """What belongs to one letter, without line breaks."""
    found = re.search(start.format(letter) + f"(.*?)(?:{end})", text, re.DOTALL)
    return " ".join(found[1].split())


@pytest.mark.parametrize(
    ("letter", "numbers"),
    [
        ("a", ["26 of 200"]),
        ("f", ["3% (median)", "11%"]),
        ("g", ["3.0%"]),
        ("k", ["0.3325", "-2.3e-04"]),
        ("m", ["195 of 200"]),
        ("o", ["entropy .05 leaves up to 0.031"]),
    ],
)
def test_the_errata_have_the_numbers_of_the_command(done, letter, numbers):
    """Counts and errors over random draws depend on the draws; these are the seeded ones."""
    printed = section("\n" + done.stdout, letter, r"\n\({}\) ", r"\ntrials")
    written = section(ERRATA, letter, r'<a id="{}"></a>', r'<a id="\w"></a>|\Z')
    for number in numbers:
        assert number in printed
        assert number in written


def test_recovery_is_as_exact_as_the_errata_say(done):
    printed = section("\n" + done.stdout, "o", r"\n\({}\) ", r"\ntrials")
    exact, published = re.search(r"off by at most (\S+); .* 20 steps\): (\S+);", printed).groups()
    assert float(exact) < 3e-15
    assert float(published) < 2e-15
    assert "p = 0.800000000" in printed


def test_the_command_prints_what_the_documentation_shows(done):
    assert done.returncode == 0, done.stderr
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    shown = re.search(r"^\$ etairl theory\n(.*?)^```", page, re.M | re.DOTALL)[1]
    lines = [line for line in shown.splitlines() if line != "…"]
    assert len(lines) == 5
    for line in lines:
        assert line in done.stdout


def quick(verdict):
    return lambda: Claim("c", "a claim", verdict, "seen at κ = ½", 3, "put right", "seen too")


def test_json_and_exit_code(monkeypatch, capsys):
    monkeypatch.setattr("etairl.replication.claims.CHECKS", {"c": quick("true")})
    assert main(["theory", "--json"]) == 0
    printed = capsys.readouterr().out
    found = json.loads(printed)
    assert "κ = ½" in printed  # as it is, not \\u03ba
    assert [list(row) for row in found] == [KEYS]
    assert found[0]["verdict"] == "true"
    assert main(["theory"]) == 0
    assert "1 claims: 1 true; every verdict is the documented one" in capsys.readouterr().out


def test_a_surprise_ends_with_one(monkeypatch, capsys):
    monkeypatch.setattr("etairl.replication.claims.CHECKS", {"c": quick("undecided")})
    assert main(["theory"]) == 1
    assert "not as documented: c" in capsys.readouterr().out
    assert main(["theory", "--json"]) == 1
