"""Draws from tables of masses in constant time, a whole block at once."""

import numpy as np
from jaxtyping import Float, Int, Shaped

Block = Shaped[np.ndarray, " block"]


def split(u: Block, cells: Block | int) -> tuple[Block, Block]:
    """A uniform cell out of `cells`, and the fraction left over: a uniform again, independent."""
    u = u * cells
    cell = np.floor(u)
    u -= cell
    return cell, u


class Alias:
    """Draws from a table of masses in O(1): Walker's alias method, set up in array passes.

    Scale the masses to average 1. Cells below 1 (light) are filled up by cells above (heavy),
    both taken in order, so cumulative deficits and surpluses tell who fills whom.
    """

    def __init__(self, mass: Float[np.ndarray, " cells"]):
        share = mass * (len(mass) / mass.sum())
        below = share < 1.0
        below[np.argmax(share)] = False  # rounding may put even the heaviest below the average
        light, heavy = np.flatnonzero(below), np.flatnonzero(~below)
        deficit, surplus = np.cumsum(1.0 - share[light]), np.cumsum(share[heavy] - 1.0)
        keep, other = np.ones(len(mass)), np.arange(len(mass))
        if len(light):
            filled = np.concatenate([[0.0], deficit[:-1]])
            filler = np.searchsorted(surplus, filled, side="left")
            keep[light] = share[light]
            other[light] = heavy[np.minimum(filler, len(heavy) - 1)]
            # A heavy cell that gave too much is filled up by the next heavy one.
            last = np.searchsorted(deficit, surplus[:-1], side="right")
            given = deficit[np.minimum(last, len(light) - 1)]
            keep[heavy[:-1]] = np.clip(1.0 + surplus[:-1] - given, 0.0, 1.0)
            other[heavy[:-1]] = heavy[1:]
        self.keep = keep
        self.shift = (other - np.arange(len(mass))).astype(np.float64)
        # Second half: the cells that fill up. What is left of u starts at `begin`, is `width` long.
        self.cell = np.concatenate([np.arange(len(mass)), other])
        self.begin = np.concatenate([np.zeros(len(mass)), keep])
        width = np.concatenate([keep, 1.0 - keep])
        self.stretch = 1.0 / np.maximum(width, 2.0**-53)

    def find(self, u: Block) -> Block:
        """The cell at the uniform `u`, as a float."""
        cell, u = split(u, len(self.keep))
        index = cell.astype(np.intp)
        # Indices are in range by construction; saying so (clip) spares NumPy a look at each.
        fill = u >= self.keep.take(index, mode="clip")
        cell += self.shift.take(index, mode="clip") * fill
        return cell

    def find_with_rest(self, u: Block) -> tuple[Int[np.ndarray, " block"], Block]:
        """The cell at the uniform `u`, and what is left of `u`: a uniform again."""
        cell, u = split(u, len(self.keep))
        index = cell.astype(np.intp)
        index += len(self.keep) * (u >= self.keep.take(index, mode="clip"))
        rest = u - self.begin.take(index, mode="clip")
        rest *= self.stretch.take(index, mode="clip")
        return self.cell.take(index, mode="clip"), np.minimum(rest, 1.0 - 2.0**-53)


class Inverse:
    """Draws from the first cells of a table, however many, in O(1): inversion with a guide.

    All in logarithms: the first cells may hold next to nothing (Poisson 900, 10 steps left).
    """

    def __init__(self, log_mass: Float[np.ndarray, " cells"]):
        self.log_cumulative = np.logaddexp.accumulate(log_mass)
        self.low = self.log_cumulative[np.isfinite(self.log_cumulative)][0] - 1.0
        # Bucket b of the guide holds the first cell that a target in the bucket can fall into.
        # The margin keeps rounding from pointing past it; `find` only walks forward.
        buckets = 8 * len(log_mass)
        self.scale = (buckets - 1) / (self.log_cumulative[-1] - self.low)
        edges = self.low + (np.arange(buckets) - 1e-6) / self.scale
        self.guide = np.searchsorted(self.log_cumulative, edges, side="right")

    def find(self, u: Block, cells: Block | int) -> Block:
        """The cell at quantile `u` of the first `cells` cells; `cells` may differ per draw."""
        last = cells - 1 if isinstance(cells, int) else (cells - 1).astype(np.intp)
        target = np.log(np.maximum(u, 2.0**-60))
        target += self.log_cumulative.take(last, mode="clip")
        np.maximum(target, self.low, out=target)
        bucket = ((target - self.low) * self.scale).astype(np.intp)
        cell = self.guide.take(bucket, mode="clip")
        cell += self.log_cumulative.take(cell, mode="clip") <= target
        late = np.flatnonzero(self.log_cumulative.take(cell, mode="clip") <= target)
        if len(late):
            cell[late] = np.searchsorted(self.log_cumulative, target[late], side="right")
        return np.minimum(cell, last)
