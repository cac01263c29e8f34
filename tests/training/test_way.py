"""How far it is from the words of a command to the result of a run."""

import sys
from itertools import groupby
from pathlib import Path

from programs import call

import etairl

SOURCE = f"{Path(etairl.__file__).parent}/"
STATIONS = {
    "training/flat.py:configure",
    "training/session.py:open_run",
    "training/preparation.py:prepare",
    "algorithms/girl.py:girl",
    "training/measuring.py:measure",
    "runs.py:finish",
}
"""what a reader of a run looks for"""
MOST_HOPS = 15
WORDS = (
    *("--env", "Pendulum-v1", "--demos", "Pendulum-v1-25x200", "--demonstrations", 4),
    *("--transitions", 100, "--episodes", 2, "--horizon", 50, "--solver", "sac", "--hidden", 8),
    *("--solver-updates", 4, "--solver-batch", 16, "--cost-updates", 2, "--cost-batch", 16),
    *("--hidden-d", 8, "--quiet"),
)


def walked(*words: object) -> list[list[str]]:
    """The ways to the stations of a command: functions of the package, `file:name`."""
    ways = []

    def look(frame, event, _):
        if event != "call" or place(frame) not in STATIONS:
            return
        way = []
        while frame is not None:
            if frame.f_code.co_filename.startswith(SOURCE):
                way.append(place(frame))
            frame = frame.f_back
        ways.append(way[::-1])

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        assert call(*words).returncode == 0
    finally:
        sys.setprofile(before)
    return ways


def place(frame) -> str:
    return f"{frame.f_code.co_filename.removeprefix(SOURCE)}:{frame.f_code.co_name}"


def test_from_a_command_to_its_result_it_is_not_far(tmp_path):
    ways = walked("train", "-o", tmp_path / "run", *WORDS)
    assert {way[-1] for way in ways} == STATIONS
    hops = dict.fromkeys(hop for way in ways for hop in way)
    assert len(hops) <= MOST_HOPS, list(hops)
    for way in ways:
        files = [file for file, _ in groupby(hop.partition(":")[0] for hop in way)]
        assert len(files) == len(set(files)), f"goes back to a file: {way}"
