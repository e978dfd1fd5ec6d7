"""What is a worker at, readable also after it died?

A few bytes in a shared mapping: writing them costs a microsecond.
"""

from __future__ import annotations

import mmap
import struct
import time
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from fuzz.campaign.plan import Position

_RECORD = struct.Struct("<qqqqqd")


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
        path.write_bytes(bytes(_RECORD.size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _RECORD.size)

    def note(self, stage: Stage, position: Position, done: int) -> None:
        """From now on the worker is at this."""
        # not pack_into, which clears the memory first: for a reader the worker would be starting again
        self._memory[:] = _RECORD.pack(stage, *position, done, time.monotonic())


def read_journal(path: Path) -> Entry | None:
    """What the worker was at last; None while it has not begun."""
    try:
        data, again = path.read_bytes(), path.read_bytes()
        while data != again:  # it was being written
            data, again = again, path.read_bytes()
    except FileNotFoundError:
        return None
    if len(data) != _RECORD.size:
        return None  # just being made
    stage, batch, number, pipeline, done, since = _RECORD.unpack(data)
    return Entry(Stage(stage), Position(batch, number, pipeline), done, since)
