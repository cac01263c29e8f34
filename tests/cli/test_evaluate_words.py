"""What `evaluate` says beside its tables: why cells are empty, and that it is at work."""

import io
import sys
import time

import pytest

from etairl.cli import evaluate
from etairl.cli.evaluate import no_rewards
from etairl.types import InputError


class Terminal(io.StringIO):
    """Text that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("scores", "ending"), [([None, None], "there are no scores."), ([0.9, None], "beside them.")]
)
def test_demonstrations_without_rewards_are_said_to_have_none(scores, ending):
    said = no_rewards(scores)
    assert said.startswith("The demonstrations have no rewards")
    assert said.endswith(ending)


def test_nothing_is_loaded_in_silence(monkeypatch, tmp_path):
    """The simulator and the demonstrations take seconds; a terminal says so before."""
    screen, shown = Terminal(), []

    def slow(*_: object) -> None:
        deadline = time.monotonic() + 10  # it is drawn by a thread
        while "loading" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        shown.append(screen.getvalue())
        raise InputError("enough")

    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(evaluate, "Result", slow)
    with pytest.raises(InputError, match="enough"):
        evaluate.run([str(tmp_path)])
    assert "loading the run and its simulator" in shown[0]
