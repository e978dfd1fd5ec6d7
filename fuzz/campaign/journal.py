"""What is a worker at, readable also after it died?

A few bytes in a shared mapping: writing them costs a microsecond.
"""

from __future__ import annotations

import mmap
import struct
import time
import zlib
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from fuzz.campaign.plan import Position

_RECORD = struct.Struct("<qqqqqd")
_SUM = struct.Struct("<I")
_SIZE = _RECORD.size + _SUM.size
_TRIES = 1000


def _sum_of(record: bytes) -> bytes:
    """What follows a record that is whole."""
    return _SUM.pack(zlib.crc32(record))


class Stage(IntEnum):
    """What a worker can be at."""

    STARTING = 0
    DRAWING = 1
    PREPARING = 2  # what all pipelines share is worked out
    JUDGING = 3


@dataclass(frozen=True)
class Entry:
    """`position` is the graph that is drawn or judged since `since` (of `time.monotonic`); `done` were judged.

    While it is judged, the position names the pipeline.
    """

    stage: Stage
    position: Position
    done: int
    since: float


class JournalWriter:
    """The worker's side."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(_SIZE))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _SIZE)

    def note(self, stage: Stage, position: Position, done: int) -> None:
        """From now on the worker is at this."""
        record = _RECORD.pack(stage, *position, done, time.monotonic())
        self._memory[:] = record + _sum_of(record)  # a reader may come in between


def read_journal(path: Path) -> Entry | None:
    """What the worker was at last; None while it has not begun."""
    for _ in range(_TRIES):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        record = data[: _RECORD.size]
        if not any(data):
            return None  # just being made
        if data[_RECORD.size :] == _sum_of(record):
            break
        time.sleep(0.001)  # half written
    else:
        return None
    stage, batch, number, pipeline, done, since = _RECORD.unpack(record)
    return Entry(Stage(stage), Position(batch, number, pipeline), done, since)
