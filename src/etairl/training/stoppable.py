"""What runs have in common while they are played: reports, checkpoints, and a stop at any time."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple

from etairl.runs import RunDirectory
from etairl.types import DivergedError, InputError


class Report(NamedTuple):
    """What a consumer sees of one cycle."""

    row: dict[str, Any]
    """as in metrics.jsonl"""
    transitions: int


class StoppableRun(ABC):
    """A run that is open; of its kind are what it plays and what it keeps."""

    directory: RunDirectory
    checkpoint_seconds: float

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to play."""
        return self.directory.finished

    @property
    @abstractmethod
    def transitions(self) -> int:
        """Made so far."""

    def play(self, tell: Callable[[str], object] = str) -> Generator[Report, None, None]:
        """Train to the end, yielding once per cycle, and write the result.

        Closing the generator stops the run after the current cycle, with a checkpoint.

        Args:
            tell: told what begins wherever it takes long before there is another report.
        """
        if self.finished:
            return
        self._begin(tell)
        last = time.monotonic()
        try:
            for report in self._reports(tell):
                yield report
                if time.monotonic() - last >= self.checkpoint_seconds:
                    last = time.monotonic()
                    self._checkpoint()
        except DivergedError:
            raise  # there is nothing to resume from in it; the checkpoint before stays
        except (GeneratorExit, InputError):
            # Where a simulator failed, what was learned up to the last cycle is whole.
            self._checkpoint()
            raise
        self.directory.finish(self._result(tell))

    @abstractmethod
    def _begin(self, tell: Callable[[str], object]) -> None:
        """Make what is played ready."""

    @abstractmethod
    def _reports(self, tell: Callable[[str], object]) -> Iterator[Report]:
        """Play; between two reports a checkpoint may be written."""

    @abstractmethod
    def _result(self, tell: Callable[[str], object]) -> dict[str, Any]:
        """What result.json says; weights are written."""

    @abstractmethod
    def _checkpoint(self) -> None:
        """Keep what came since the latest checkpoint, if anything did."""
