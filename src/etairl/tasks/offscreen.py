"""Drawing without a screen: which OpenGL library works here, and what to install if none does.

MuJoCo reads `MUJOCO_GL` once, and a broken driver can end the process that tries it. So a library
is tried in a process of its own, before anything is drawn in this one.
`python -m etairl.tasks.offscreen` says which one works; exit code 1 if none does.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec

from etairl.types import InputError

BACKENDS = ("egl", "osmesa")
_REMEDY = "Debian: apt-get install libosmesa6 for osmesa, or libegl1 for egl"
_SECONDS = 60.0
_TRIAL = """
import mujoco
context = mujoco.GLContext(16, 16)
context.make_current()
mujoco.MjrContext(mujoco.MjModel.from_xml_string("<mujoco/>"), mujoco.mjtFontScale.mjFONTSCALE_100)
"""


def need(package: str, what: str) -> None:
    """Stop with a remedy if a package that drawing needs is not installed."""
    if find_spec(package) is None:
        name = {"PIL": "pillow", "pygame": "pygame-ce"}.get(package, package.replace("_", "-"))
        raise InputError(
            f"{what} needs the package {name}; install it: pip install 'etairl[render]'"
        )


@cache
def can_draw(backend: str) -> bool:
    """Can MuJoCo draw with this library? Asked in a child process, once."""
    environment = {k: v for k, v in os.environ.items() if k != "PYOPENGL_PLATFORM"}
    try:
        trial = subprocess.run(
            [sys.executable, "-c", _TRIAL],
            env=environment | {"MUJOCO_GL": backend},
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return trial.returncode == 0


def choose_backend(candidates: Sequence[str] = BACKENDS) -> str:
    """The library that `MUJOCO_GL` names, else the first that works; InputError if none does."""
    need("mujoco", "drawing a MuJoCo environment")
    wanted = os.environ.get("MUJOCO_GL")
    if wanted and not can_draw(wanted):
        raise InputError(
            f"MUJOCO_GL={wanted} does not work here; unset it to let etairl choose, or install "
            f"what it needs ({_REMEDY})"
        )
    if wanted:
        return wanted
    for backend in candidates:
        if can_draw(backend):
            return backend
    raise InputError(
        "nothing here draws without a screen: neither EGL nor OSMesa works; install one of them "
        f"({_REMEDY})"
    )


def prepare_offscreen() -> None:
    """Let MuJoCo draw with the library that works."""
    os.environ["MUJOCO_GL"] = choose_backend()


if __name__ == "__main__":
    try:
        print(choose_backend())
    except InputError as error:
        sys.exit(str(error))
