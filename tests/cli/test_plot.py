"""`etairl plot`, the end of a run, and Ctrl-C behind it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from programs import call
from rich.text import Text
from tiny import TINY

from etairl.cli.ending import print_result
from etairl.decoding import encode
from etairl.storage import write_json
from etairl.training.flat import configure

PENDULUM = {"env": "Pendulum-v1", "demos": "Pendulum-v1-25x200"}


def distance(value: float) -> dict[str, object]:
    return {"value": value, "low": 0.0, "high": 0.1, "floor": 0.01, "floor_by": "episodes"}


def made(folder: Path, rows: int = 30, finished: bool = True, **settings) -> Path:
    """The files of a run that nobody made."""
    config = configure(TINY, **settings)
    write_json(folder / "config.json", encode(config))
    rng = np.random.default_rng(config.seed)
    lines = [
        {"cycle": n, "transitions": 1000 * n, "return": -1000 / n + rng.normal(), "return_std": 1.0}
        | ({"mmd2_mu": 1 / n} if n % 2 else {})
        for n in range(1, rows + 1)
    ]
    (folder / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    if finished:
        fresh = [
            {
                "name": name,
                "playing": playing,
                "beside": "the expert, drawn" if playing == "drawn" else "demonstrations",
                "episodes": 10,
                "return_mean": mean,
                "return_std": 60.0,
                "score": score,
                "success": None,
                "mmd2_mu": distance(0.02),
            }
            for name, playing, mean, score in (
                ("learner", "greedy", -150.0, 0.97),
                ("learner", "drawn", -160.0, 0.96),
                ("behaviour cloning", "greedy", -140.0, 0.99),
                ("expert", "greedy", -120.0, 1.0),
                ("random", None, -1200.0, 0.0),
            )
        ]
        last = {"cycles": min(rows, 4), "return": -949.5, "return_std": 445.9, "score": 0.2}
        last |= {"mmd2_mu": distance(0.3), "mmd2_rho": distance(0.2), "beside": "demonstrations"}
        result = {"cycles": rows, "transitions": 1000 * rows, "remaining": last}
        result |= {"expert_return": -140.0, "best": {"cycle": 7, "mmd2_mu": 0.1}, "fresh": fresh}
        result |= {"stopped": {"why": "transitions", "message": "all transitions were made"}}
        result |= {"kept": {"policy": "best", "cycle": 7, "why": "it was near"}}
        write_json(folder / "result.json", result | {"collapsed_share": None, "diagnostics": []})
    return folder


def test_runs_side_by_side(tmp_path):
    runs = [made(tmp_path / f"a{seed}", seed=seed) for seed in range(3)]
    runs.append(made(tmp_path / "b", algorithm="gail"))
    runs.append(made(tmp_path / "c", rows=1, finished=False, transitions=9_000))
    said = call("plot", *runs, "-o", tmp_path / "figures" / "curves.png")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.endswith("curves.png: 5 runs on Pendulum-v1\n")
    with Image.open(tmp_path / "figures" / "curves.png") as picture:
        colours = {c for _, c in picture.convert("RGB").getcolors(1 << 24) or ()}
    assert {(0, 114, 178), (213, 94, 0), (0, 158, 115)} <= colours
    assert call("plot", *runs, "-o", tmp_path / "curves.svg").returncode == 0
    drawn = (tmp_path / "curves.svg").read_text()
    for words in ("algorithm megan", ", 3 seeds", "algorithm gail", "expert against itself"):
        assert f"<!-- {words}" in drawn or words in drawn


def test_runs_of_several_experts_have_each_its_own_line(tmp_path):
    """Of episodes of two lengths, say; a floor that is not theirs is left out."""
    one, other = made(tmp_path / "a"), made(tmp_path / "b", horizon=100)
    result = json.loads((other / "result.json").read_text())
    write_json(other / "result.json", result | {"expert_return": -70.0})
    assert call("plot", one, other, "-o", tmp_path / "curves.svg").returncode == 0
    drawn = (tmp_path / "curves.svg").read_text()
    for words in ("expert of horizon 50", "expert of horizon 100"):
        assert f"<!-- {words}" in drawn or words in drawn
    assert "expert against itself" not in drawn


def test_what_cannot_be_drawn_is_said(tmp_path):
    run, other = made(tmp_path / "a"), made(tmp_path / "b", env="CartPole-v1")
    fresh = made(tmp_path / "fresh", rows=0)
    many = [made(tmp_path / f"{n}", rows=1, transitions=1000 + n) for n in range(7)]
    for words, sentence in (
        ((run, other), "several environments (Pendulum-v1, CartPole-v1)"),
        ((fresh,), "has no metrics yet"),
        ((tmp_path,), "is not a run directory"),
        ((tmp_path / "nowhere",), "is not a run directory"),
        (many, "have 7 different settings, and a figure takes 6"),
        ((), "name at least one run"),
    ):
        said = call("plot", *words, "-o", tmp_path / "x.png")
        assert said.returncode == 2
        assert sentence in said.stderr
        assert said.stderr.count("\n") == 1
    assert "ends in .png" in call("plot", run, "-o", tmp_path / "x.gif").stderr


@pytest.mark.parametrize("columns", [80, 100])
def test_the_end_of_a_run_begins_with_what_the_policy_does(columns, tmp_path, monkeypatch, capsys):
    for name, value in (("TTY_COMPATIBLE", "1"), ("COLUMNS", str(columns)), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    run = made(tmp_path / "run")
    print_result(run)
    said = Text.from_ansi(capsys.readouterr().out).plain
    lines = [line.rstrip() for line in said.splitlines()]
    assert lines[0] == f"finished {run}"
    order = ["learner, greedy", "learner, drawn", "behaviour cloning", "expert", "random", "10 fre"]
    at = [next(n for n, line in enumerate(lines) if line.startswith(word)) for word in order]
    assert at == sorted(at)
    assert lines[at[0]].split()[-5:] == ["-150.0", "±", "60.0", "0.97", "0.0200"]
    words = " ".join(said.split())
    assert (
        "(the policy of cycle 7); a score of 0 is random, 1 the expert; MMD² is the distance from"
        in words
    )
    assert words.index("-150.0") < words.index("all transitions were made") < words.index("-949.5")
    assert f"etairl evaluate {run} # more episodes" in words
    assert f"etairl explain {run} # a page" in words
    assert all(len(line) <= columns for line in lines if str(run) not in line)


def test_commands_can_be_copied_where_a_folder_has_a_space(tmp_path, capsys):
    print_result(made(tmp_path / "my run"))
    assert f"etairl explain '{tmp_path}/my run'   #" in capsys.readouterr().out


def test_one_cycle_is_one_cycle(tmp_path, capsys):
    print_result(made(tmp_path / "run", rows=1))
    said = capsys.readouterr().out
    assert "1,000 in 1 cycle\n" in said
    assert "last 1 cycle, learning" in said


def test_ctrl_c_while_the_program_exits_says_nothing():
    program = """
import atexit, os, signal, sys, time
def slow():
    print("exiting", flush=True)
    time.sleep(1.0)
atexit.register(slow)  # as libraries do
from etairl.cli.app import main
sys.exit(main(["eta", "dirac:0", "--horizon", "5"]))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    assert process.stdout is not None
    while "exiting" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
