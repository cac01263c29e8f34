"""The fixtures of tests that need neither runs nor JAX, without what `conftest.py` imports."""

import numpy as np
import pytest

from etairl.demos import Demos, limit_cycle


@pytest.fixture
def rng() -> np.random.Generator:
    """As in `conftest.py`."""
    return np.random.default_rng(0)


@pytest.fixture
def demos() -> Demos:
    """As in `conftest.py`."""
    return limit_cycle(np.random.default_rng(1), episodes=8, length=60, period=15.0)


@pytest.fixture
def unchecked() -> None:
    """Nothing is checked anyway: types are the business of the usual test run."""
