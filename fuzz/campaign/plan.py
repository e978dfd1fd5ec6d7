"""Which graphs does a campaign look at, and who looks at which?

Graphs come in batches. A batch is drawn from the campaign's seed and its number alone, so that the same seed
gives the same graphs however many workers share them, and any graph can be drawn again from its position.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from fuzz.isolate import TIME_LIMIT
from passes import Pipeline

WORKER = (sys.executable, "-m", "fuzz.campaign.worker")
REDUCER = (sys.executable, "-m", "fuzz.campaign.reducer")

_BATCH = 250
_SMALLEST_BATCH = 25
_SHARES = 8  # a small campaign is cut into about as many batches, so that workers can share it


class Programs(StrEnum):
    """Which kind of programs a campaign draws."""

    LOOPS = "loops"  # unrolled loops, where slice passes go wrong
    GRAPHS = "graphs"  # operations of all families
    ALL = "all"


@dataclass(frozen=True)
class Plan:
    """What to run. `examples` and `seconds` may be absent, not both; `environment` overrides what graphs draw."""

    pipeline: Pipeline
    environment: Mapping[str, str]
    seed: int
    workers: int
    directory: Path
    cache: Path
    examples: int | None = None
    seconds: float | None = None
    time_limit: float = TIME_LIMIT
    """Seconds for one graph."""
    reduce_seconds: float = 60.0
    """Seconds to reduce one finding."""
    programs: Programs = Programs.LOOPS
    worker_command: Sequence[str] = WORKER
    reducer_command: Sequence[str] = REDUCER


class Position(NamedTuple):
    """A graph: the number of its batch and its own number in it, both from 0."""

    batch: int
    number: int

    def __str__(self) -> str:
        return f"{self.number} of batch {self.batch}"


_FIRST = Position(0, 0)


@dataclass(frozen=True)
class Job:
    """What one worker does: every `workers`-th batch, from `first` on. Handed over as JSON.

    `examples` counts over all workers; `deadline`, of `time.monotonic`, ends the drawing of new graphs; either
    may be absent. `environment` overrides what a program draws.
    """

    pipeline: str
    environment: Mapping[str, str]
    seed: int
    worker: int
    workers: int
    directory: str
    cache: str
    examples: int | None = None
    deadline: float | None = None
    first: Position = _FIRST
    programs: Programs = Programs.LOOPS
    save_as: str = ""
    """Judge nothing: save the graph at `first` as a case that is expected to get this verdict …"""
    why: str = ""
    """… for this reason."""

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """The job of a line of `to_json`."""
        data: dict[str, Any] = json.loads(text)
        first = Position(*data.pop("first"))
        programs = Programs(data.pop("programs"))
        return cls(first=first, programs=programs, **data)

    @property
    def batch_size(self) -> int:
        """Graphs in a full batch."""
        if self.examples is None:
            return _BATCH
        return min(_BATCH, max(_SMALLEST_BATCH, -(-self.examples // _SHARES)))

    def size_of(self, batch: int) -> int:
        """Graphs in `batch`: fewer in the last one, none behind it."""
        if self.examples is None:
            return self.batch_size
        return max(0, min(self.batch_size, self.examples - batch * self.batch_size))

    def batches(self) -> Iterator[int]:
        """This worker's batches, in order; without end where only time limits the campaign."""
        batch = self.first.batch
        while self.size_of(batch):
            yield batch
            batch += self.workers

    @property
    def running(self) -> Path:
        """The folder for what only matters while the campaign runs."""
        return Path(self.directory) / "running"

    @property
    def journal(self) -> Path:
        """Where this worker notes what it is at."""
        return self.running / f"worker-{self.worker}.position"
