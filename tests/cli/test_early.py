"""Before anything heavy is imported: the short help, the device, a word on the terminal."""

import io
import os
import pty
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from programs import call

from etairl.cli import app, early
from etairl.training.flat import flatten, known
from etairl.training.presets import preset

ETAIRL = Path(sys.executable).with_name("etairl")


class Terminal(io.StringIO):
    """Text that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_the_short_help_fits_on_a_screen_and_knows_the_defaults():
    done = call("train", "--help")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) <= 24  # a terminal of old, with the prompt below
    assert max(map(len, lines)) <= 80
    defaults = flatten(preset("default"))
    assert {name: defaults[name] for name in early.TRAIN_DEFAULTS} == early.TRAIN_DEFAULTS
    own = {"output", "preset", "config", "dry_run", "quiet", "json", "device", "help_all"}
    options = {word[2:].replace("-", "_") for word in re.findall(r"--[a-z-]+", done.stdout)}
    assert options <= {*known(), *own}
    for name, value in early.TRAIN_DEFAULTS.items():
        assert re.search(rf"--{name} .*?\(default: {value}\)", done.stdout, re.DOTALL)


def test_all_options_are_one_word_away():
    done = call("train", "--help-all")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) > 150
    for option in ("--gradient-penalty", "--checkpoint-seconds", "--track", "--config", "--device"):
        assert option in done.stdout


def test_the_short_help_imports_nothing_heavy():
    program = (
        "import sys; from etairl.cli.app import main; main(['train', '--help']);"
        "print(sorted({'numpy', 'jax', 'rich', 'tyro'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("words", "platforms"),
    [
        (["--device", "cpu"], "cpu"),
        (["-o", "x", "--device=cpu"], "cpu"),
        (["--device", "gpu"], ""),
        (["--device"], "before"),
        (["--env", "cpu"], "before"),
    ],
)
def test_the_device_is_asked_for_before_the_import(words, platforms, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "before")
    early.choose_device(words)
    assert os.environ["JAX_PLATFORMS"] == platforms


def test_a_device_that_is_not_there_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    done = call("train", "-o", tmp_path / "run", "--device", "tpu")
    assert done.returncode == 2
    assert "--device tpu: none was found, only cpu; leave --device out" in done.stderr
    assert not (tmp_path / "run").exists()


def test_waiting_is_shown_on_a_terminal_alone_and_goes_away(monkeypatch):
    screen, file = Terminal(), io.StringIO()
    for stream, shown in ((screen, True), (file, True), (Terminal(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with early.Waiting("loading", shown):
            deadline = time.monotonic() + 10
            while stream is screen and not screen.getvalue() and time.monotonic() < deadline:
                threading.Event().wait(0.01)
        assert stream is screen or not stream.getvalue()
    assert screen.getvalue().startswith("\r⠋ loading")
    assert screen.getvalue().endswith("\r" + " " * len("⠋ loading") + "\r")


def test_a_terminal_gets_a_word_before_anything_is_loaded():
    """The libraries take a second or more; the word is there when `numpy` is not yet."""
    ours, theirs = pty.openpty()
    program = (
        "import sys; from etairl.cli import app, early; begin = early.Waiting.__enter__\n"
        "def enter(self):\n    print(self._what, 'numpy' in sys.modules, file=sys.stdout)\n"
        "    return begin(self)\n"
        "early.Waiting.__enter__ = enter\n"
        "app.main(['eta', 'dirac:0', '--json', '--horizon', '1'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=theirs, text=True
    )
    os.close(theirs)
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    assert done.stdout.startswith("loading False\n")
    assert "loading" in shown


FEW = ("train", "evaluate", "demos", "study", "completion")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_commands_actions_and_options(shell, monkeypatch):
    monkeypatch.setattr(app, "COMMANDS", {name: app.COMMANDS[name] for name in FEW})
    done = call("completion", shell)
    assert done.returncode == 0
    if shell == "fish":
        lines = done.stdout.splitlines()
        assert "complete -c etairl -n '__fish_seen_subcommand_from demos' -a import" in lines
        assert "complete -c etairl -n '__fish_seen_subcommand_from train' -l help-all" in lines
    if shell != "bash":
        return
    ask = f"{done.stdout}\nCOMP_WORDS=(etairl $1); COMP_CWORD=$2; _etairl; echo ${{COMPREPLY[*]}}"
    for words, at, found in (
        ("ev", "1", "evaluate"),
        ("train --gradient-p", "2", "--gradient-penalty"),
        ("train --help-", "2", "--help-all"),
        ("demos im", "2", "import"),
        ("demos import --ev", "3", "--every"),
        ("study --worke", "2", "--workers"),
        ("evaluate --env", "2", ""),  # it is only named in a description
    ):
        said = subprocess.run(
            ["bash", "-c", ask, "bash", words, at], capture_output=True, text=True, check=True
        )
        assert said.stdout.strip() == found


def test_a_shell_that_is_not_known_is_refused():
    done = call("completion", "csh")
    assert done.returncode == 2
    assert "'csh'; choose from 'bash', 'fish', 'zsh'" in done.stderr


def test_ctrl_c_while_the_program_exits_leaves_no_traceback():
    """What libraries have registered for the exit is interrupted there."""
    program = (
        "import atexit, os, signal; from etairl.cli.app import main\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "raise SystemExit(main(['--version']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("words", "code"), [("--version", 0), ("nothing", 2)])
def test_nothing_is_taken_apart_after_the_last_word(words, code):
    """What libraries have registered for the exit is done; what they built is left to the system.

    That of a compiler takes seconds, in which nothing is said.
    """
    program = (
        "import atexit, sys; from etairl.cli import app\n"
        "class Built:\n"
        "    def __del__(self): print('taken apart')\n"
        "built = Built(); built.itself = built\n"
        "command = app._dispatch\n"
        "def loaded(words): atexit.register(print, 'library'); return command(words)\n"
        "app._dispatch = loaded\n"
        f"sys.argv[1:] = ['{words}']\n"
        "sys.exit(app.main())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == "library"


def test_what_was_interrupted_does_not_crash_while_it_exits():
    """A simulator or a compiler that was stopped in the middle may; the exit code says why."""
    program = (
        "import atexit, os, signal, sys; from etairl.cli import app\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGSEGV))\n"
        "def stopped(_): raise KeyboardInterrupt('a run is kept')\n"
        "app._dispatch = stopped\n"
        "raise SystemExit(app.main())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "\netairl: interrupted; a run is kept\n")


def test_whoever_calls_it_goes_on_after_an_interrupt():
    """Only the program itself is ended."""
    program = (
        "import sys; from etairl.cli import app\n"
        "def stopped(_): raise KeyboardInterrupt\n"
        "app._dispatch = stopped\n"
        "print(app.main(['train']))\n"
        "raise SystemExit(5)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (5, "130\n")
