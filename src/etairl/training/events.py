"""The metrics of a run once more, for viewers of TensorBoard event files."""

import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class EventLog:
    """The metrics once more, as a TensorBoard event file.

    It holds times, so it is not the same in every repetition; nothing reads it but viewers. Records
    are written at once and unbuffered: a full disk is an error here and now, not at exit.
    """

    def __init__(self, folder: Path, step: int):
        from tensorboardX.proto.event_pb2 import Event, SessionLog  # pyright: ignore[reportAttributeAccessIssue]

        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}"
        self._file = (folder / name).open("xb", buffering=0)
        self._write(Event(wall_time=time.time(), file_version="brain.Event:2"))
        if step:
            # What an interrupted run wrote after its checkpoint is made void.
            void = SessionLog(status=SessionLog.SessionStatus.Value("START"))
            self._write(Event(wall_time=time.time(), step=step, session_log=void))

    def add(self, row: Mapping[str, Any]) -> None:
        """One cycle, placed at its number of transitions."""
        from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
        from tensorboardX.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]

        values = [
            Summary.Value(tag=name, simple_value=value)
            for name, value in row.items()
            if name not in ("cycle", "transitions")
        ]
        step, summary = row["transitions"], Summary(value=values)
        self._write(Event(wall_time=time.time(), step=step, summary=summary))

    def close(self) -> None:
        """No more cycles."""
        self._file.close()

    def _write(self, event: Any) -> None:
        from tensorboardX.record_writer import masked_crc32c

        data = event.SerializeToString()
        size = struct.pack("<Q", len(data))
        checks = [struct.pack("<I", masked_crc32c(part)) for part in (size, data)]
        self._file.write(size + checks[0] + data + checks[1])
