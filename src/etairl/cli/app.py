"""The program `etairl`: finds the command, and turns every failure into one sentence.

Exit codes: 0 done, 1 the answer is no, 2 bad input, 130 interrupted.
"""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module

from etairl import __version__
from etairl.cli.early import Waiting, choose_device, short_help

# Imported only when asked for: `etairl --help` answers at once.
COMMANDS = {
    "demo": "the main job on bundled demonstrations",
    "train": "learn a policy and a cost from demonstrations",
    "resume": "continue a run where it stopped, bit for bit",
    "evaluate": "how well does a run match its demonstrations?",
    "study": "many runs side by side: figures of the paper, or a grid of your own",
    "report": "one page about a study or some runs, and its figures",
    "explain": "a page about what a run learned to pay for",
    "export": "the policy of a run for other programs: NumPy, ONNX, TorchScript",
    "card": "a finished run as a folder to share, with a model card",
    "plot": "learning curves of runs side by side",
    "render": "a clip of the learner beside a demonstration",
    "algorithms": "what can be trained: psi, Omega, eta, costs and solver of each",
    "eta": "show what a weighting does to the frames a discriminator sees",
    "demos": "demonstrations: ls, info, import, export",
    "idle": "learn to generate futures of demonstrated states, and judge them",
    "expert": "train an expert on the true cost and record demonstrations",
    "theory": "check every claim of the paper on exact MDPs",
    "bench": "the speed table, as ratios within one run",
    "completion": "commands and options completed by the Tab key",
}


_LESS = (
    "ask for less: a shorter --horizon, fewer --episodes, narrower --hidden, a smaller --capacity"
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    is_program = arguments is None  # else whoever calls this goes on afterwards
    arguments = sys.argv[1:] if arguments is None else arguments
    _prepare_streams()
    code: int | None = None
    if is_program:
        # Last in, first out: after whatever the libraries do. Taking them apart takes seconds.
        atexit.register(lambda: None if code is None else _leave(code))
    try:
        answer = _dispatch(arguments)
        sys.stdout.flush()
        # Whatever the libraries still do at the exit is not worth a traceback: last in, first out.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
        code = answer
        return answer
    except KeyboardInterrupt as stop:
        print("; ".join(["\netairl: interrupted", *map(str, stop.args)]), file=sys.stderr)
        if is_program:
            atexit.register(_leave, 130)
        return 130
    except BrokenPipeError:
        # The reader (head, less) has gone; give the interpreter somewhere to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError as error:
        why = f" ({error})" if str(error) else ""
        print(f"etairl: there is not enough memory{why}; {_LESS}", file=sys.stderr)
        return 2
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"etairl: {where}{error.strerror or error}", file=sys.stderr)
        return 2


def _leave(code: int) -> None:
    """End the process as it is.

    After an interrupt that comes first of all that is done at the exit, where simulators and
    compilers that were interrupted at any point may crash. Whatever a run has to keep is on disk by
    now.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # its reader may have gone
            stream.flush()
    os._exit(code)


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no Greek


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["help"] and len(arguments) > 1:
        arguments = [arguments[1], "--help"]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_help())
        return 0 if arguments else 2
    if arguments[0] in ("-V", "--version"):
        print(f"etairl {__version__}")
        return 0
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        from etairl.types import did_you_mean  # not for what needs no hint: it takes a moment

        hint = did_you_mean(name, COMMANDS, f"choose from {', '.join(COMMANDS)}")
        print(f"etairl: unknown command '{name}'; {hint}", file=sys.stderr)
        return 2
    if (text := short_help(name, rest)) is not None:
        print(text)
        return 0
    choose_device(rest)
    with _held_interrupt(), Waiting("loading"):
        module = import_module(f"etairl.cli.{name}")
        from etairl.storage import UnreadableError
        from etairl.types import InputError

    try:
        return module.run(rest)
    except UnreadableError as error:
        hint = "copy the folder again from where it is whole, or make it anew"
        print(f"etairl {name}: {error}; {hint}", file=sys.stderr)
        return 2
    except InputError as error:
        print(f"etairl {name}: {error}", file=sys.stderr)
        return 2


@contextmanager
def _held_interrupt() -> Iterator[None]:
    """Ctrl-C takes effect afterwards: in the middle of an import it comes out as other errors."""
    asked = False

    def ask(*_: object) -> None:
        nonlocal asked
        asked = True

    if threading.current_thread() is not threading.main_thread():
        yield  # signals do not come here
        return
    before = signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked:
        raise KeyboardInterrupt


def _help() -> str:
    """All commands, on one screen of 80 columns."""
    rows = "\n".join(f"  {name:<10} {summary}" for name, summary in COMMANDS.items())
    return (
        "usage: etairl COMMAND [options]\n\n"
        "Generalised inverse reinforcement learning: learn a policy and a cost from\n"
        "demonstrations, and say with numbers how well the behaviours match.\n\n"
        f"commands:\n{rows}\n\n"
        "  etairl COMMAND --help tells more; etairl --version tells the version."
    )
