"""What is settled before anything heavy is imported: short help, device, a word that it loads.

The libraries take seconds to load. Nothing of this module imports them.
"""

import itertools
import os
import sys
import threading
from collections.abc import Sequence

from etairl import COMPILED_FOR

_SECONDS_BETWEEN_SIGNS = 0.2
_TRAIN_HELP = """\
usage: etairl train --env ENV --demos DEMOS -o FOLDER [options]

Learn a policy and a cost from demonstrations.

  -o, --output FOLDER   the run directory; it must not exist yet
  --env TEXT            Name-v0, or module:Name-v0 (default: {env})
  --demos TEXT          a .npz file, minari:DATASET, or a name from etairl demos
                        ls (default: {demos})
  --demonstrations INT  use the first N; none for all (default: {demonstrations})
  --algorithm TEXT      see etairl algorithms (default: {algorithm})
  --eta TEXT            weighting of the future, such as dirac:0, poisson:25,
                        uniform (default: {eta})
  --transitions INT     steps in the environment (default: {transitions})
  --horizon INT         steps of an episode (default: as demonstrated, at most
                        the time limit of the environment)
  --seed INT            random seed (default: {seed})
  --preset NAME         where all settings start from: default, off-policy, …
  --config FILE         settings from a TOML file; what is given here wins
  --dry-run             check everything, print the settings as TOML
  --quiet, --json       say only warnings; print the result as JSON
  --device {{cpu,gpu,tpu}}  where to compute (default: the fastest there is)

etairl train --help-all has all settings."""
TRAIN_DEFAULTS = {
    "env": "HalfCheetah-v5",
    "demos": "HalfCheetah-v5-25x500",
    "demonstrations": 10,
    "algorithm": "megan",
    "eta": "geometric:0.99",
    "transitions": 2_000_000,
    "seed": 0,
}
"""of the preset `default`, which a test compares: the help must not import what knows them"""


def short_help(command: str, arguments: Sequence[str]) -> str | None:
    """The help of `train` that fits on one screen, where that was asked for."""
    if command != "train" or {"-h", "--help"}.isdisjoint(arguments):
        return None
    return _TRAIN_HELP.format(**TRAIN_DEFAULTS)


def choose_device(arguments: Sequence[str]) -> None:
    """Keep to the processor where `--device cpu` says so; any other device is found by itself.

    The numerical library reads this when it is imported, and for how many cores to compile.
    """
    os.environ.setdefault("NPROC", COMPILED_FOR)
    words = [part for word in arguments for part in word.split("=", 1)]
    if "--device" not in words[:-1]:
        return
    wanted = words[words.index("--device") + 1]
    os.environ["JAX_PLATFORMS"] = "cpu" if wanted == "cpu" else ""


class Waiting:
    """Says on a terminal what is under way, with a sign that moves; elsewhere it says nothing."""

    def __init__(self, what: str, shown: bool = True):
        self._what, self._stream = what, sys.stderr
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._turn, daemon=True)
        self._shown = shown and self._stream.isatty()

    def __enter__(self) -> "Waiting":
        if self._shown:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take it away; whatever comes next has the line for itself."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _turn(self) -> None:
        signs = "⠋⠙⠸⠴⠦⠇" if "utf" in (self._stream.encoding or "").lower() else "|/-\\"
        for sign in itertools.cycle(signs):
            self._stream.write(f"\r{sign} {self._what}")
            self._stream.flush()
            if self._over.wait(_SECONDS_BETWEEN_SIGNS):
                break
        # Without codes of the terminal, which not all know.
        self._stream.write("\r" + " " * (len(self._what) + 2) + "\r")
        self._stream.flush()
