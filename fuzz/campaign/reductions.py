"""Which findings of a campaign are the same, and how do they get small while it runs?

The first findings of each pipeline and verdict are reduced, one process each, one at a time beside the workers.
Findings of a pipeline with the same verdict whose reduced programs have the same opcodes are one bucket, which keeps
its smallest file.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from fuzz.campaign.children import END, START_LIMIT, Child, HarnessError
from fuzz.campaign.plan import Plan
from fuzz.isolate import death

_REDUCED_PER_VERDICT = 6


@dataclass(eq=False)
class Bucket:
    """Findings that are taken for the same. `opcodes` is empty, and `working` absent, until it is reduced.

    `pipeline` is the one that the campaign judged by; `suspect` says that engines disagree, and no pass is blamed.
    `working` counts the instructions of the reduced program beside parameters and constants; `reduced` the
    findings that were reduced to this bucket.
    """

    pipeline: str
    verdict: str
    headline: str
    path: Path
    suspect: bool = False
    opcodes: tuple[str, ...] = ()
    working: int | None = None
    reduced: int = 0
    note: str = ""

    @property
    def identity(self) -> tuple[str, str, tuple[str, ...]]:
        """What findings of one bucket have in common."""
        return (self.pipeline, self.verdict, self.opcodes)


@dataclass(eq=False)
class Reductions:
    """The findings of one campaign and what became of them."""

    plan: Plan
    queue: SimpleQueue[tuple[Child, dict[str, Any]]]
    logs: Path
    _waiting: deque[Bucket] = field(default_factory=deque[Bucket])
    _running: dict[Child, Bucket] = field(default_factory=dict[Child, Bucket])
    _kept: list[Bucket] = field(default_factory=list[Bucket])
    _started: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def add(self, pipeline: str, expect: str, path: str, headline: str, suspect: bool = False) -> None:
        """A saved finding: it will be reduced, or kept as it is where its verdict had its share already."""
        bucket = Bucket(pipeline, expect, headline, Path(path), suspect)
        self._started[pipeline, expect] += 1
        if self._started[pipeline, expect] > _REDUCED_PER_VERDICT:
            bucket.note = "not reduced: findings with this verdict were before it"
            self._kept.append(bucket)
        else:
            self._waiting.append(bucket)

    @property
    def waiting(self) -> int:
        """Findings that are or will be reduced."""
        return len(self._waiting) + len(self._running)

    @property
    def busy(self) -> bool:
        """Whether there is anything to wait for."""
        return bool(self.waiting)

    def go_on(self, *, beside_workers: bool) -> None:
        """Start reductions: one while workers need the processors, later as many as there were workers."""
        most = 1 if beside_workers else self.plan.workers
        while self._waiting and len(self._running) < most:
            bucket = self._waiting.popleft()
            arguments = (str(bucket.path), str(self.plan.reduce_seconds), str(self.plan.cache))
            log = self.logs / f"{bucket.path.stem}.log"
            self._running[Child((*self.plan.reducer_command, *arguments), self.queue, log)] = bucket
        self._watch()

    def take(self, child: Child, message: dict[str, Any]) -> None:
        """Hear of a reducer process. Raises HarnessError where it met an error of ours."""
        bucket = self._running.get(child)
        if bucket is None:
            return  # the end of one whose answer was taken
        if "error" in message:
            self._give_up(child, "not reduced: an error of the harness itself")
            raise HarnessError(f"reducing {bucket.path}: {message['error']}")
        if "reduced" in message:
            bucket.opcodes, bucket.working = tuple(message["opcodes"]), message["working"]
            bucket.headline = message["headline"]
            bucket.reduced = 1
            bucket.note = "" if message["complete"] else "time ran out before it was minimal"
            self._end(child)
            self._merge(bucket)
        else:  # it would not, or could not to the end; what was found stays
            self._give_up(child, message.get("refused") or f"reducing it: {death(message[END])}")

    def _watch(self) -> None:
        """End the reductions that an attempt holds up for ever."""
        limit = self.plan.reduce_seconds + self.plan.time_limit + START_LIMIT
        for child in [child for child in self._running if time.monotonic() - child.started > limit]:
            self._give_up(child, "not reduced: an attempt did not end")

    def _give_up(self, child: Child, note: str) -> None:
        bucket = self._end(child)
        bucket.note = note
        self._kept.append(bucket)

    def _end(self, child: Child) -> Bucket:
        child.kill()
        return self._running.pop(child)

    def _merge(self, new: Bucket) -> None:
        for i, old in enumerate(self._kept):
            if old.identity == new.identity:
                smaller, larger = sorted((old, new), key=lambda bucket: bucket.working or 0)
                smaller.reduced = old.reduced + new.reduced
                self._kept[i] = smaller
                if larger.path != smaller.path:
                    larger.path.unlink()
                return
        self._kept.append(new)

    def abandon(self) -> None:
        """Stop reducing; what was not reduced stays on disk as it was found."""
        for child in list(self._running):
            self._give_up(child, "not reduced: the campaign was stopped")
        for bucket in self._waiting:
            bucket.note = "not reduced: the campaign was stopped"
            self._kept.append(bucket)
        self._waiting.clear()

    def buckets(self) -> tuple[Bucket, ...]:
        """Every bucket, by verdict."""
        return tuple(
            sorted(
                self._kept,
                key=lambda bucket: (bucket.pipeline, bucket.verdict, bucket.working is None, bucket.path),
            )
        )
