"""The metrics of a run once more, for viewers of TensorBoard event files."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class EventLog:
    """A TensorBoard event file beside the metrics of a run.

    It holds times, so it is not the same in every repetition; nothing reads it but viewers. Every
    cycle is written at once: a full disk is an error here and now, not at exit, which is why this
    uses the file writer of tensorboardX without the thread of its `SummaryWriter`.
    """

    def __init__(self, folder: Path, step: int):
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto.event_pb2 import SessionLog  # pyright: ignore[reportAttributeAccessIssue]

        folder.mkdir(parents=True, exist_ok=True)
        self._writer = EventsWriter(str(folder / f"events-{time.time_ns()}"))
        if step:
            # What an interrupted run wrote after its checkpoint is made void.
            self._write(step=step, session_log=SessionLog(status=SessionLog.START))
        self._writer.flush()

    def add(self, row: Mapping[str, Any]) -> None:
        """One cycle, placed at its number of transitions."""
        from tensorboardX.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]

        values = [
            Summary.Value(tag=name, simple_value=value)
            for name, value in row.items()
            if name not in ("cycle", "transitions")
        ]
        self._write(step=row["transitions"], summary=Summary(value=values))

    def close(self) -> None:
        """No more cycles."""
        self._writer.close()

    def _write(self, **content: Any) -> None:
        from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]

        self._writer.write_event(Event(wall_time=time.time(), **content))
        self._writer.flush()
