"""How does a campaign run? Workers judge graphs, findings are reduced beside them, and somebody is kept informed.

Each worker is a process. One that dies, or is at one graph for too long and is ended, loses nothing: its journal
says which graph it was at, and that graph is drawn again and saved as a finding.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Any

from fuzz.campaign.children import END, START_LIMIT, Child, HarnessError
from fuzz.campaign.journal import Stage, read_journal
from fuzz.campaign.plan import Job, Plan, Position
from fuzz.campaign.reductions import Bucket, Reductions
from fuzz.campaign.statistics import GRAPHS, Statistics, Table
from fuzz.case import AGREE
from fuzz.isolate import DIED, HUNG, death, failure_text

_TICK = 0.2
_STOP_LIMIT = 5.0  # seconds for a worker to finish its graph after "stop"
_MOST_DEATHS = 20  # a pass that always dies needs no more of them


@dataclass(frozen=True)
class Progress:
    """Where a running campaign is."""

    statistics: Statistics
    seconds: float
    reducing: int


@dataclass(frozen=True)
class Result:
    """What a campaign saw. `seconds` is the time in which graphs were judged, the start of workers included."""

    plan: Plan
    statistics: Statistics
    seconds: float
    buckets: tuple[Bucket, ...]
    interrupted: bool
    notes: tuple[str, ...]
    """What did not go as planned."""


@dataclass(eq=False)
class _Worker:
    job: Job
    child: Child
    answered: int = 0
    """Graphs of this process that are in the statistics."""
    hung: bool = False
    finished: bool = False


@dataclass(eq=False)
class Campaign:
    """One campaign; `run` it once. `listen` is told where it is several times a second."""

    plan: Plan
    listen: Callable[[Progress], None]
    statistics: Statistics = field(default_factory=Statistics)

    def __post_init__(self) -> None:
        self._queue: SimpleQueue[tuple[Child, dict[str, Any]]] = SimpleQueue()
        self._workers: dict[Child, _Worker] = {}
        self._deaths = 0
        self._lost_at: set[Position] = set()
        self._notes: list[str] = []
        self._started = self._ended = time.monotonic()
        self._running = self.plan.directory / "running"
        self._reductions = Reductions(self.plan, self._queue, self._running)

    def run(self) -> Result:
        """Run to the end, or until KeyboardInterrupt. Raises HarnessError for an error of ours in a worker."""
        interrupted = False
        try:
            for number in range(self.plan.workers):
                self._start(self._job(number))
            self._until_idle()
        except KeyboardInterrupt:
            interrupted = True
            self._stop_workers()
        finally:
            for worker in self._workers.values():
                worker.child.kill()
            self._reductions.abandon()
            shutil.rmtree(self._running, ignore_errors=True)
        return Result(
            plan=self.plan,
            statistics=self.statistics,
            seconds=self._ended - self._started,
            buckets=self._reductions.buckets(),
            interrupted=interrupted,
            notes=tuple(self._notes),
        )

    def _job(self, number: int) -> Job:
        plan = self.plan
        return Job(
            pipeline=str(plan.pipeline),
            environment=dict(plan.environment),
            seed=plan.seed,
            worker=number,
            workers=plan.workers,
            directory=str(plan.directory),
            cache=str(plan.cache),
            examples=plan.examples,
            deadline=self._started + plan.seconds if plan.seconds is not None else None,
            first=Position(number, 0),
            programs=plan.programs,
        )

    def _start(self, job: Job) -> None:
        job.journal.unlink(missing_ok=True)
        child = Child(self.plan.worker_command, self._queue, self._running / f"worker-{job.worker}.log")
        self._workers[child] = _Worker(job, child)
        child.tell(job.to_json())

    def _until_idle(self) -> None:
        while self._workers or self._reductions.busy:
            self._receive(_TICK)
            self._watch()
            self._reductions.go_on(beside_workers=bool(self._workers))
            if self._workers:
                self._ended = time.monotonic()
            self.listen(Progress(self.statistics, self._ended - self._started, self._reductions.waiting))

    def _receive(self, timeout: float) -> None:
        """Take in every message there is, waiting for the first."""
        try:
            child, message = self._queue.get(timeout=timeout)
            while True:
                self._take(child, message)
                child, message = self._queue.get_nowait()
        except Empty:
            pass

    def _take(self, child: Child, message: dict[str, Any]) -> None:
        worker = self._workers.get(child)
        if worker is None:
            self._reductions.take(child, message)
        elif "statistics" in message:
            self.statistics.add(message["statistics"])
            worker.answered = message["done"]
        elif "finding" in message:
            self._reductions.add(**message["finding"])
        elif "done" in message:
            worker.finished = True
        elif "error" in message:
            raise HarnessError(
                f"{message['error'].rstrip()}\n{self._save_current(worker, AGREE, _OUR_ERROR)}"
            )
        elif END in message:
            child.close()
            del self._workers[child]
            if not worker.finished:
                self._bury(worker, message[END])

    def _watch(self) -> None:
        """End the workers that are at one graph for too long."""
        now = time.monotonic()
        for worker in self._workers.values():
            entry = read_journal(worker.job.journal)
            if entry is None or entry.stage is Stage.STARTING:
                if now - worker.child.started > START_LIMIT:
                    raise HarnessError(f"a worker does not start:\n{worker.child.last_words()}")
            elif now - entry.since > self.plan.time_limit and not worker.hung:
                # read twice: the first reading may have met the writer half way
                worker.hung = entry == read_journal(worker.job.journal)
                if worker.hung:
                    worker.child.process.kill()

    def _bury(self, worker: _Worker, status: int) -> None:
        """Start another worker where one died, which is a finding if it was judging a graph."""
        how = f"no sign of life for {self.plan.time_limit:g} s" if worker.hung else death(status)
        entry = read_journal(worker.job.journal)
        if entry is None or entry.stage is Stage.STARTING:
            raise HarnessError(f"a worker ended before its first graph: {how}\n{worker.child.last_words()}")
        self.statistics[Table.TOTAL][GRAPHS] += entry.done - worker.answered
        first = entry.position
        if entry.stage is Stage.JUDGING:
            self._count_death(worker, failure_text(HUNG if worker.hung else DIED), how)
            first = Position(first.batch, first.number + 1)
            if self._deaths >= _MOST_DEATHS:
                self._notes.append(f"stopped early: {self._deaths} graphs ended a worker")
                return
        elif first in self._lost_at:
            raise HarnessError(f"drawing graph {first} ends a worker: {how}\n{worker.child.last_words()}")
        else:  # somebody else may have ended it, for want of memory for instance
            self._lost_at.add(first)
            self._notes.append(f"a worker ended while it drew graph {first}: {how}; another went on")
        self._start(replace(worker.job, first=first))

    def _count_death(self, worker: _Worker, expect: str, how: str) -> None:
        self._deaths += 1
        self.statistics[Table.TOTAL][GRAPHS] += 1
        self.statistics[Table.FINDINGS][expect] += 1
        self._reductions.add(expect, self._save_current(worker, expect, how), how)

    def _save_current(self, worker: _Worker, expect: str, why: str) -> str:
        """Have another process draw the graph again that `worker` was at, and save it. Returns the path."""
        entry = read_journal(worker.job.journal)
        if entry is None or entry.stage is not Stage.JUDGING:
            return "no graph was being judged"
        queue: SimpleQueue[tuple[Child, dict[str, Any]]] = SimpleQueue()
        child = Child(self.plan.worker_command, queue, self._running / "again.log")
        child.tell(replace(worker.job, first=entry.position, save_as=expect, why=why).to_json())
        try:
            message = queue.get(timeout=START_LIMIT + self.plan.time_limit)[1]
        except Empty:
            message = {}
        finally:
            child.kill()
        if "saved" not in message:
            raise HarnessError(
                f"graph {entry.position} cannot be drawn again: {message}\n{child.last_words()}"
            )
        return message["saved"]

    def _stop_workers(self) -> None:
        """Let the workers finish their graphs and send what they counted."""
        for worker in self._workers.values():
            worker.child.tell("stop")
        end = time.monotonic() + _STOP_LIMIT
        while time.monotonic() < end and not all(worker.finished for worker in self._workers.values()):
            self._receive(_TICK)
        self._ended = time.monotonic()


_OUR_ERROR = "judging this raised an error of the harness itself"
