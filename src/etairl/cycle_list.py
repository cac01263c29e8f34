"""Which episodes a replay holds, cycle by cycle, at a cost that does not grow with their number."""

import numpy as np

_ROWS, _STEPS = 0, 1
_FIRST, _END, _LAP, _TOTAL = range(4)


class CycleList:
    """Cycles of episodes in the order in which they came, each with the rows that it takes."""

    def __init__(self):
        # Of episodes: first row, length. Of cycles: first episode, the one after its last, the lap
        # around the buffer in which it was written, and how many rows it takes.
        self._episodes, self._cycles = _Window(2), _Window(4)

    def __len__(self) -> int:
        return len(self._cycles.rows)

    @property
    def end(self) -> int:
        """The row after the newest cycle; 0 where there is none."""
        episodes = self._episodes.rows
        return int(episodes[-1].sum()) + 1 if len(episodes) else 0

    def append(self, starts: np.ndarray, lengths: np.ndarray, lap: int) -> None:
        """A new cycle; each of its episodes takes one row more than it has steps."""
        first = self._episodes.end
        self._episodes.append(np.stack([starts, lengths], axis=1))
        total = int(lengths.sum()) + len(lengths)
        self._cycles.append(np.array([[first, first + len(starts), lap, total]]))

    def forget(self, begin: int, end: int, lap: int) -> None:
        """Remove the cycles of earlier laps that have any of these rows.

        They are the oldest, apart from some at the end of the buffer that the laps since then did
        not reach.
        """
        cycles, looked, kept = self._cycles.rows, 0, []
        while looked < len(cycles) and cycles[looked, _LAP] < lap:
            low, high = self._span(cycles[looked])
            if low < end and high > begin:
                pass  # its rows are written again
            elif cycles[looked, _LAP] == lap - 1 and low >= end:
                break  # and so do all that follow
            else:
                kept.append(looked)
            looked += 1
        if looked == len(kept):
            return
        left = [self._of(cycle) for cycle in cycles[kept]]
        many = sum(map(len, left))
        first = int(cycles[looked, _FIRST]) if looked < len(cycles) else self._episodes.end
        moved, at = cycles[kept].copy(), first - many
        for cycle, part in zip(moved, left, strict=True):
            cycle[[_FIRST, _END]] = at, at + len(part)
            at += len(part)
        self._episodes.replace_front(first, np.concatenate(left) if left else None)
        self._cycles.replace_front(self._cycles.begin + looked, moved)

    def _of(self, cycle: np.ndarray) -> np.ndarray:
        """The episodes of a cycle."""
        return self._episodes.part(int(cycle[_FIRST]), int(cycle[_END]))

    def _span(self, cycle: np.ndarray) -> tuple[int, int]:
        """The first row of a cycle, and the one after its last."""
        episodes = self._of(cycle)
        return int(episodes[0, _ROWS]), int(episodes[-1].sum()) + 1

    def newest(
        self, cycles: int | None, rows: int | None, first: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Starts and lengths of the episodes of the newest cycles.

        Args:
            cycles: how many; all that are there if left out.
            rows: how many rows they may have together.
            first: only the first so many episodes of each cycle.
        """
        chosen = self._cycles.rows if cycles is None else self._cycles.rows[-cycles:]
        if first is not None:
            bounds = chosen[:, [_FIRST, _END]].tolist()
            parts = [self._episodes.part(low, min(high, low + first)) for low, high in bounds]
            if rows is not None:
                totals = np.cumsum([part[:, _STEPS].sum() + len(part) for part in parts[::-1]])
                parts = parts[-max(1, int((totals <= rows).sum())) :]
            episodes = np.concatenate(parts)
        else:
            if rows is not None:
                totals = np.cumsum(chosen[::-1, _TOTAL])
                chosen = chosen[-max(1, int((totals <= rows).sum())) :]
            episodes = self._episodes.part(int(chosen[0, _FIRST]), int(chosen[-1, _END]))
        return episodes[:, _ROWS].copy(), episodes[:, _STEPS].copy()


class _Window:
    """Rows that are added at the end and leave at the front, numbered from the first ever."""

    def __init__(self, width: int):
        self._store = np.zeros((16, width), np.int64)
        self._low, self._high = 0, 0  # places in the store
        self.begin = 0
        """number of the first row that is there"""

    @property
    def rows(self) -> np.ndarray:
        """All that are there."""
        return self._store[self._low : self._high]

    @property
    def end(self) -> int:
        """The number that the next row will have."""
        return self.begin + self._high - self._low

    def part(self, begin: int, end: int) -> np.ndarray:
        """Rows by their numbers."""
        shift = self._low - self.begin
        return self._store[begin + shift : end + shift]

    def append(self, rows: np.ndarray) -> None:
        """Add rows at the end; the store doubles, or moves to its beginning, when it is full."""
        if self._high + len(rows) > len(self._store):
            held = self.rows
            store = np.zeros((2 * (len(held) + len(rows)), held.shape[1]), np.int64)
            store[: len(held)] = held
            self._store, self._low, self._high = store, 0, len(held)
        self._store[self._high : self._high + len(rows)] = rows
        self._high += len(rows)

    def replace_front(self, until: int, rows: np.ndarray | None) -> None:
        """Put fewer rows in the place of all before number `until`; later numbers stay."""
        many = 0 if rows is None else len(rows)
        self._low += until - self.begin - many
        self.begin = until - many
        if rows is not None:
            self._store[self._low : self._low + many] = rows
