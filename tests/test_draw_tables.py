import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from etairl.measures.draw_tables import Alias, Inverse, split


def test_split_gives_a_cell_and_a_fresh_uniform():
    cell, rest = split(np.array([0.0, 0.49, 0.999]), 10)
    assert cell.tolist() == [0, 4, 9]
    assert rest == pytest.approx([0.0, 0.9, 0.99])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40).filter(lambda m: sum(m) > 1e-3))
@example([0.0, 2.0, 1.0, 0.0, 277870.0, 277871.0])  # deficits that meet a surplus exactly
@example([824509.734375])
def test_alias_tables_hold_the_masses_exactly(masses):
    mass = np.array(masses)
    table = Alias(mass)
    cells = len(mass)
    held = table.keep.copy()
    np.add.at(held, table.cell[cells:], 1.0 - table.keep)
    assert held / cells == pytest.approx(mass / mass.sum(), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-800, 50), min_size=1, max_size=60), st.integers(0, 2**32))
def test_guided_inversion_is_a_binary_search(logs, seed):
    log_mass = np.array(logs)
    rng = np.random.default_rng(seed)
    u = rng.random(500)
    cells = rng.integers(1, len(logs) + 1, 500)
    found = Inverse(log_mass).find(u, cells)
    cumulative = np.logaddexp.accumulate(log_mass)
    target = np.log(u) + cumulative[cells - 1]
    expected = np.minimum(np.searchsorted(cumulative, target, side="right"), cells - 1)
    assert found.tolist() == expected.tolist()


@given(st.lists(st.floats(0.01, 10), min_size=2, max_size=20), st.integers(0, 2**32))
def test_the_rest_of_an_alias_draw_is_uniform_in_its_cell(masses, seed):
    """Drawing on a fine grid of u: the rest fills [0, 1) evenly whatever the cell."""
    table = Alias(np.array(masses))
    u = (np.arange(20_000) + np.random.default_rng(seed).random()) / 20_000
    cell, rest = table.find_with_rest(u)
    assert cell.tolist() == table.find(u).astype(int).tolist()
    # A cell is up to 20 intervals of u; each end of one misses the mean by a grid step at most.
    heavy = np.bincount(cell, minlength=len(masses)).argmax()
    assert rest[cell == heavy].mean() == pytest.approx(0.5, abs=0.05)
    assert 0.0 <= rest.min() <= rest.max() < 1.0
