"""How commands print: tables and progress in terminals of 80 and 100 columns, and without one."""

import time

import pytest
from programs import call
from rich.text import Text

from etairl.algorithms.registry import ALGORITHMS
from etairl.cli import console, evaluate
from etairl.evaluation.matching import Distance
from etairl.evaluation.timeline import Quarter, Timeline
from etairl.training.behaviour import Behaviour


@pytest.fixture(params=[80, 100])
def width(request, monkeypatch) -> int:
    """A terminal of so many columns."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", str(request.param))
    monkeypatch.setenv("NO_COLOR", "1")
    return request.param


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in Text.from_ansi(text.replace("\r", "\n")).plain.split("\n")]


def test_a_wide_table_keeps_the_names_of_its_rows(width, capsys):
    columns = ["", "return", "length", "success", "MMD² rho", "MMD² mu", "score", "interval of it"]
    numbers = ["-120.7 ± 2.4", "200", "0.93", "0.00123 (0.0011)", "0.0102", "0.97", "[0.91, 1.02]"]
    console.table(columns, [["learner", *numbers], ["demonstrations", *numbers]])
    shown = lines(capsys.readouterr().out)
    assert shown[1].startswith("learner ")
    assert shown[2].startswith("demonstrations ")
    assert all(len(line) <= width for line in shown)
    assert "-120.7" in shown[1]


def test_the_tables_of_evaluate_have_a_line_a_row(width, capsys):
    """The longest names that there are, beside numbers as long as they get."""
    names = ["behaviour cloning, greedy", "expert, held out", "random"]
    columns = ["", "return", "steps", "score", "MMD² rho", "floor", "MMD² mu", "floor"]
    numbers = ["-6696.5 ± 8201.7", "1000", "0.990", "0.00962*", "0.01754", "0.01104*", "0.00895"]
    console.table(columns, [[name, *numbers] for name in names])
    begins = [line.split("  ")[0] for line in lines(capsys.readouterr().out)]
    assert begins[:-1] == ["", *names] * (2 if width == 80 else 1)


def test_quarters_are_one_table(width, capsys):
    d = Distance(-0.04, -0.05, 0.02, 0.01, "episodes", 0.01, 0.0)
    begins = (0, 250, 500, 750)
    quarters = [Quarter(begin, begin + 250, 1.0, -1.0, -0.123, d, d) for begin in begins]
    timeline = Timeline(1000, 0.0, [1.0] * 21, quarters)
    clone = Behaviour(
        *("behaviour cloning", "greedy", "demonstrations", 20, -1.0, 0.1, 1000.0, 0.5),
        *(d, d, d, d, timeline),
    )
    evaluate.print_quarters([clone])
    shown = lines(capsys.readouterr().out)
    assert all(len(line) <= width for line in shown)
    at = shown.index(clone.title)
    assert " ".join(shown[at - 1].split()) == "from 0 from 250 from 500 from 750 to end"
    assert [line.split()[0] for line in shown[at + 1 : -1]] == ["score", "MMD²", "alive"]
    assert shown[-2].split() == ["alive", *["100", "%"] * 5]


def test_the_table_of_algorithms_keeps_their_names(width):
    shown = lines(call("algorithms").stdout)
    assert all(len(line) <= width for line in shown)
    assert {line.split()[0] for line in shown if line} >= set(ALGORITHMS)


def test_a_long_first_column_wraps_at_words(width, capsys):
    console.table(["name", "number"], [["some words " * 20, "1.25"]])
    shown = lines(capsys.readouterr().out)
    assert len(shown) > 3
    assert all(len(line) <= width for line in shown)
    assert shown[1].endswith("1.25")
    assert all(line.split()[-1] in ("some", "words", "1.25") for line in shown[1:] if line)


def test_a_bar_shows_percentage_and_time_left_beside_a_long_note(width, capsys):
    with console.Meter("training on HalfCheetah-v5", 1000) as meter:
        meter.update(250, "return -949.5 ± 445.9, MMD² of mu 0.0123, accuracy 0.87 and much more")
    shown = [line for line in lines(capsys.readouterr().err) if "25%" in line]
    assert "training on HalfCheetah-v5 ━" in shown[-1].replace("HalfCheetah-v…", "HalfCheetah-v5")
    assert ":--" in shown[-1]
    assert "return -" in shown[-1]
    assert len(shown[-1]) <= width


def test_progress_that_was_begun_is_finished(monkeypatch, capsys):
    """A slow step is reported; the quick ones after it are not, but the last is."""
    monkeypatch.setattr(console, "_SECONDS_BETWEEN_LINES", 0.1)
    for item in console.track([1, 2, 3], "checking"):
        time.sleep(0.2 if item == 1 else 0.0)
    assert capsys.readouterr().err.split("\n") == ["checking: 1 of 3", "checking: 3 of 3", ""]


def test_progress_that_takes_no_time_says_nothing(capsys):
    assert list(console.track([1, 2, 3], "checking")) == [1, 2, 3]
    assert capsys.readouterr().err == ""


def test_a_bar_without_a_clock_leaves_the_time_to_its_note(width, capsys):
    """A study says itself how long the rest takes: there are not two times left."""
    with console.Meter("figure1", 12, clock=False) as meter:
        meter.update(3, "3 done, 2 running, about 40 min left")
    shown = [line for line in lines(capsys.readouterr().err) if "25%" in line]
    assert "about 40 min left" in shown[-1]
    assert ":" not in shown[-1]
    assert len(shown[-1]) <= width


def test_a_stage_says_for_how_long_it_has_been_there(width, capsys, monkeypatch):
    with console.Meter("megan on Pendulum-v1", 12) as meter:
        meter.stage("first episodes, compiling and more")
    shown = [line for line in lines(capsys.readouterr().err) if "first" in line]
    assert "first episodes, compiling" in shown[-1]
    assert ("compiling and more 0 s" in shown[-1]) == (width == 100)
    assert shown[-1].endswith(" 0 s")
    assert ":" not in shown[-1]  # no time left where it is not known
    assert len(shown[-1]) <= width


def test_the_last_stage_has_no_time_left(width, capsys):
    """All transitions are made, and there is more to do: 0:00:00 would be wrong."""
    with console.Meter("megan on Pendulum-v1", 12) as meter:
        meter.update(12)
        meter.stage("playing fresh episodes")
    shown = [line for line in lines(capsys.readouterr().err) if "fresh" in line]
    assert "100%" in shown[-1]
    assert "0:00:00" not in shown[-1]
    assert shown[-1].endswith("playing fresh episodes 0 s")


def test_a_quiet_bar_says_only_what_is_said(capsys):
    with console.Meter("megan on Pendulum-v1", 12, quiet=True) as meter:
        meter.stage("first episodes")
        meter.update(12, "done")
        meter.say("a warning")
    assert capsys.readouterr().err == "a warning\n"


def test_prose_wraps_at_words_on_a_terminal_and_is_one_line_elsewhere(width, monkeypatch, capsys):
    text = "a sentence of some words " * 10
    console.prose(text)
    shown = lines(capsys.readouterr().out)
    assert all(len(line) <= width for line in shown)
    assert {word for line in shown for word in line.split()} == set(text.split())
    monkeypatch.delenv("TTY_COMPATIBLE")
    console.prose(text)
    assert capsys.readouterr().out.count("\n") == 1
