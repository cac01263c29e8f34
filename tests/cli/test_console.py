"""How commands print: progress where there is no terminal."""

import time

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
