"""How does a campaign run? Workers judge graphs, findings are reduced beside them, and somebody is kept informed.

Each worker is a process. One that dies, or is at one graph for too long and is ended, loses nothing: its journal
says which graph it was at and which pipeline judged it. That graph is drawn again and saved as a finding of this
pipeline, and another worker goes on with the next one.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Any

from fuzz.campaign.children import END, START_LIMIT, Child, HarnessError
from fuzz.campaign.journal import Entry, Stage, read_journal
from fuzz.campaign.plan import Job, Plan, Position
from fuzz.campaign.reductions import Bucket, Reductions
from fuzz.campaign.statistics import GRAPHS, Statistics, Table
from fuzz.case import AGREE
from fuzz.isolate import DIED, HUNG, death, failure_text

_TICK = 0.2
_STOP_LIMIT = 5.0  # seconds for a worker to finish its graph after "stop"
_DOING = {Stage.DRAWING: "drawing", Stage.PREPARING: "preparing"}
_MOST_DEATHS = 20  # of a pipeline; one that always dies needs no more of them


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
    found: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """Findings, by pipeline and verdict, that were saved and are not yet in the statistics."""
    error: str = ""
    """What of ours ended it."""
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
        self._pipelines = tuple(map(str, self.plan.pipelines))
        self._deaths: Counter[int] = Counter()
        self._lost_at: set[tuple[Stage, Position]] = set()
        self._notes: list[str] = []
        self._started = self._ended = time.monotonic()
        self._running = self.plan.directory / "running"
        self._reductions = Reductions(self.plan, self._queue, self._running)

    def run(self) -> Result:
        """Run to the end, or until KeyboardInterrupt. Raises HarnessError for an error of ours in a worker.

        Where there are many pipelines, such an error is a note: what is known of them is worth having.
        """
        interrupted = False
        try:
            for number in range(self.plan.workers):
                self._start(self._job(number))
            self._until_idle()
        except KeyboardInterrupt:
            interrupted = True
            self._stop_workers()
        except HarnessError as error:
            if not self._has_many:
                raise
            interrupted = True
            self._notes.append(f"an error of the harness itself, not of a pass, ended it: {error}")
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
            pipelines=self._pipelines,
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
            voted=plan.voted,
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
            if self.plan.reduce_beside or not self._workers:
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
            self._take_reduction(child, message)
        elif "statistics" in message:
            self.statistics.add(message["statistics"])
            worker.answered = message["done"]
            worker.found.clear()
        elif "finding" in message:
            found = message["finding"]
            self._reductions.add(**found)
            worker.found.update([] if found["suspect"] else [(found["pipeline"], found["expect"])])
        elif "done" in message:
            worker.finished = True
        elif "error" in message:
            worker.error = message["error"].rstrip()
            if not self._has_many or not self._is_judging(worker):
                raise HarnessError(f"{worker.error}\n{self._save_current(worker, AGREE, _OUR_ERROR)}")
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

    def _take_reduction(self, child: Child, message: dict[str, Any]) -> None:
        try:
            self._reductions.take(child, message)
        except HarnessError as error:
            if not self._has_many:
                raise
            self._notes.append(str(error))

    @property
    def _has_many(self) -> bool:
        """Whether there are other pipelines, of which much may be known, should one meet an error of ours."""
        return len(self._pipelines) > 1

    @staticmethod
    def _is_judging(worker: _Worker) -> bool:
        entry = read_journal(worker.job.journal)
        return entry is not None and entry.stage is Stage.JUDGING

    def _bury(self, worker: _Worker, status: int) -> None:
        """Start another worker where one died, which is a finding if a pipeline was judging a graph."""
        how = f"no sign of life for {self.plan.time_limit:g} s" if worker.hung else death(status)
        entry = read_journal(worker.job.journal)
        if entry is None or entry.stage is Stage.STARTING:
            raise HarnessError(f"a worker ended before its first graph: {how}\n{worker.child.last_words()}")
        self._count_untold(worker, entry)
        job = replace(worker.job, first=entry.position, alone=False)
        if entry.stage is Stage.JUDGING:
            job = self._behind_the_death(worker, job, how)
        elif (entry.stage, entry.position) not in self._lost_at:
            # somebody else may have ended it, for want of memory for instance
            self._lost_at.add((entry.stage, entry.position))
            self._notes.append(
                f"a worker ended while {_DOING[entry.stage]} graph {entry.position}: {how}; another went on"
            )
        elif entry.stage is Stage.PREPARING and not worker.job.alone:
            job = replace(job, alone=True)  # whichever pass it is will end a worker that names it
        else:
            what = f"{_DOING[entry.stage]} graph {entry.position} ends a worker: {how}"
            raise HarnessError(f"{what}\n{worker.child.last_words()}")
        if len(job.given_up) < len(self._pipelines):
            self._start(job)

    def _behind_the_death(self, worker: _Worker, job: Job, how: str) -> Job:
        """Count the death of a worker at the pipeline where `job` begins. Returns what to go on with."""
        number = job.first.pipeline
        pipeline = self._pipelines[number]
        self._deaths[number] += 1
        self.statistics[Table.JUDGED][pipeline] += 1
        if worker.error:
            self.statistics[Table.ERRORS][pipeline] += 1
            path = self._save_current(worker, AGREE, _OUR_ERROR)
            self._notes.append(f"an error of the harness itself, not of {pipeline}: {worker.error}\n{path}")
        else:
            expect = failure_text(HUNG if worker.hung else DIED)
            self.statistics.count_finding(pipeline, expect)
            self._reductions.add(pipeline, expect, self._save_current(worker, expect, how), how)
        job = replace(job, first=job.first._replace(pipeline=number + 1))
        if self._deaths[number] < _MOST_DEATHS:
            return job
        gone = f"{pipeline} was given up" if self._has_many else "stopped early"
        self._notes.append(f"{gone}: {self._deaths[number]} graphs ended a worker")
        return replace(job, given_up=(*job.given_up, number))

    def _count_untold(self, worker: _Worker, entry: Entry) -> None:
        """Count the graphs that a worker judged, and the findings that it saved, and did not live to tell of."""
        untold = entry.done - worker.answered
        self.statistics[Table.TOTAL][GRAPHS] += untold
        job, position = worker.job, entry.position
        begin = job.first.pipeline if position.graph == job.first.graph else 0
        judged = range(begin, position.pipeline) if entry.stage is Stage.JUDGING else range(0)
        # of the first graph it had only those pipelines to judge that are behind the death of another worker
        has_first = untold > 0 and worker.answered == 0
        for number, pipeline in enumerate(self._pipelines):
            if number not in job.given_up:
                done_before = has_first and number < job.first.pipeline
                self.statistics[Table.JUDGED][pipeline] += untold - done_before + (number in judged)
        for (pipeline, expect), count in worker.found.items():
            for _ in range(count):
                self.statistics.count_finding(pipeline, expect)

    def _save_current(self, worker: _Worker, expect: str, why: str) -> str:
        """Have another process draw the graph again that `worker` was at, and save it. Returns the path."""
        entry = read_journal(worker.job.journal)
        if entry is None or entry.stage not in (Stage.JUDGING, Stage.PREPARING):
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
