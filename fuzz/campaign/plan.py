"""Which graphs does a campaign look at, by which pipelines is each judged, and who looks at which?

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
    WHILES = "whiles"  # loops that are not unrolled yet
    GRAPHS = "graphs"  # operations of all families
    ALL = "all"  # of these
    DYNAMIC = "dynamic"  # arrays whose sizes are known at run time only
    SYMBOLIC = "symbolic"  # StableHLO whose sizes are unknown, or seem to be
    WRONG_COUNTS = "wrong-counts"
    """WHILES of which some say that they run another number of times than they do. An attack on passes that must count
    for themselves; XLA believes what is said, so passes and engines of XLA are not to be judged by it."""
    SIZES_OUTSIDE = "sizes-outside"
    """DYNAMIC of which each gives some array a size that it cannot have. No pass can be judged by such a program, and
    each must be skipped for just that: what XLA does with it is undefined."""


@dataclass(frozen=True)
class Plan:
    """What to run. `examples` and `seconds` may be absent, not both; `environment` overrides what graphs draw.

    Each graph is judged by every one of the `pipelines`, which must differ from one another.
    """

    pipelines: tuple[Pipeline, ...]
    environment: Mapping[str, str]
    seed: int
    workers: int
    directory: Path
    cache: Path
    examples: int | None = None
    seconds: float | None = None
    time_limit: float = TIME_LIMIT
    """Seconds for one graph and one pipeline."""
    reduce_seconds: float = 60.0
    """Seconds to reduce one finding."""
    reduce_beside: bool = True
    """Whether findings are reduced while workers still judge graphs, not afterwards."""
    programs: Programs = Programs.LOOPS
    voted: float = 0.003
    """The share of agreeing graphs, 0 to 1, on which all engines vote."""
    worker_command: Sequence[str] = WORKER
    reducer_command: Sequence[str] = REDUCER


class Position(NamedTuple):
    """A graph: the number of its batch and its own number in it, both from 0; and a pipeline that judges it."""

    batch: int
    number: int
    pipeline: int = 0

    def __str__(self) -> str:
        return f"{self.number} of batch {self.batch}"

    @property
    def graph(self) -> Position:
        """The graph, whatever the pipeline."""
        return Position(self.batch, self.number)


_FIRST = Position(0, 0)


@dataclass(frozen=True)
class Job:
    """What one worker does: every `workers`-th batch, from `first` on. Handed over as JSON.

    `examples` counts over all workers; `deadline`, of `time.monotonic`, ends the drawing of new graphs; either
    may be absent. `environment` overrides what a program draws.
    """

    pipelines: tuple[str, ...]
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
    voted: float = 0.0
    """The share of agreeing graphs on which all engines vote."""
    given_up: tuple[int, ...] = ()
    """The pipelines, by number, that judge no more graphs."""
    alone: bool = False
    """Whether no pass runs ahead on the graph at `first`: a worker did not survive it."""
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
        data["first"] = Position(*data["first"])
        data["programs"] = Programs(data["programs"])
        for field in ("pipelines", "given_up"):
            data[field] = tuple(data[field])
        return cls(**data)

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

    def seed_of(self, position: Position) -> int:
        """A number that is another for each graph and each campaign's seed."""
        return (self.seed << 64) + (position.batch << 32) + position.number

    @property
    def running(self) -> Path:
        """The folder for what only matters while the campaign runs."""
        return Path(self.directory) / "running"

    @property
    def journal(self) -> Path:
        """Where this worker notes what it is at."""
        return self.running / f"worker-{self.worker}.position"
