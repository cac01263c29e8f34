"""Code of a user's own: environments and feature maps, by the module that they are in."""

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


def import_own(module: str) -> ModuleType:
    """Import a module; one that is found nowhere else may lie in the current folder."""
    if module not in sys.modules and not _is_installed(module):
        folder = os.getcwd()
        if folder not in sys.path:
            sys.path.append(folder)  # it stays: what it holds may be imported later, or elsewhere
    return import_module(module)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # also of a package around it
        return False
