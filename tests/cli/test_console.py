"""How commands print: progress where there is no terminal."""

import time

import pytest

from etairl.cli import console


def test_progress_that_was_begun_is_finished(monkeypatch, capsys):
    """A slow step is told of; the quick ones after it are not, but the last is."""
    monkeypatch.setattr(console, "_SECONDS_BETWEEN_LINES", 0.1)
    for item in console.track([1, 2, 3], "checking"):
        time.sleep(0.2 if item == 1 else 0.0)
    assert capsys.readouterr().err.split("\n") == ["checking: 1 of 3", "checking: 3 of 3", ""]


def test_progress_that_takes_no_time_says_nothing(capsys):
    assert list(console.track([1, 2, 3], "checking")) == [1, 2, 3]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("word", "number"), [("1e6", 10**6), ("1.5e3", 1500), ("1_000", 1000), ("-2", -2), ("3E0", 3)]
)
def test_whole_numbers_have_several_spellings(word, number):
    assert console.whole(word) == number


@pytest.mark.parametrize("word", ["1.5", "1.25e1", "12e-1", "1e400", "many", ""])
def test_what_is_no_whole_number_is_said(word):
    with pytest.raises(ValueError, match="is no whole number"):
        console.whole(word)


def test_large_powers_are_exact():
    assert console.whole("1e99") == 10**99
