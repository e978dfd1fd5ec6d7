"""What does one worker process of a campaign do? It draws graphs, judges them, saves findings and sends counts.

Run as a module: the job is the first line of standard input; answers are lines of JSON on standard output,
`{"statistics": …}`, `{"finding": …}`, at last `{"done": true}`. "stop" on standard input ends it after the
graph at hand; the end of standard input, which the death of the parent brings, ends it at once.
"""

from __future__ import annotations

import gc
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from fuzz.campaign.journal import JournalWriter, Stage
from fuzz.campaign.plan import Job, Position
from fuzz.campaign.source import StopDrawing, for_each_program
from fuzz.campaign.statistics import Statistics
from fuzz.case import Case, verdict_text
from fuzz.findings import save_finding, save_unseen
from fuzz.generators import Program
from fuzz.isolate import answer, live_with_parent, parent_lines, report_errors_as_json
from fuzz.report import headline
from oracle.inputs import draw_inputs
from oracle.judge import judge
from oracle.reference import use_compilation_cache
from oracle.verdict import Disagree
from passes import Pipeline, parse_pipeline

INPUT_SETS = 3
"""Sets of inputs that each graph is judged with."""

_SAVED_PER_VERDICT = 3  # later findings of a worker that fail alike are counted only
_SECONDS_BETWEEN_ANSWERS = 0.5
_WARM = 20  # graphs after which what is imported and cached has mostly come


class Worker:
    """Judges the graphs of one job."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._pipeline = parse_pipeline(job.pipeline, allow_code=True)  # somebody typed it
        self._journal = JournalWriter(job.journal)
        self._statistics = Statistics()
        self._saved: Counter[str] = Counter()
        self._done = 0
        self._batch = job.first.batch
        self._stop = threading.Event()
        self._last_answer = self._drawing_since = time.monotonic()

    def run(self) -> None:
        """Judge graphs until the job is done, time is up or somebody says stop."""
        for batch in self._job.batches():
            self._batch = batch
            self._note(Stage.DRAWING, 0)
            for_each_program(self._job.seed, batch, self._job.size_of(batch), self._visit, self._job.programs)
            if self._is_over():
                break
        self._answer()
        answer({"done": True})

    def stop(self) -> None:
        """End after the graph at hand. May be called from another thread."""
        self._stop.set()

    def _visit(self, number: int, program: Program) -> None:
        if self._is_over():
            raise StopDrawing
        position = Position(self._batch, number)
        if position >= self._job.first:  # those before it were judged by a worker that died
            self._statistics.spend("generate", time.monotonic() - self._drawing_since)
            self._note(Stage.JUDGING, number)
            self._judge(program)
            self._done += 1
            if self._done == _WARM:
                keep_out_of_garbage_collection()
        self._note(Stage.DRAWING, number + 1)
        if time.monotonic() - self._last_answer > _SECONDS_BETWEEN_ANSWERS:
            self._answer()
        self._drawing_since = time.monotonic()

    def _judge(self, program: Program) -> None:
        started = time.monotonic()
        case = case_of(program, self._pipeline, self._job.environment)
        self._statistics.spend("generate", time.monotonic() - started)
        judgement = judge(case.module, case.pipeline, case.inputs, case.environment)
        self._statistics.count(program, case.environment, judgement)
        if not isinstance(judgement.verdict, Disagree):
            return
        expect = verdict_text(judgement.verdict)
        self._saved[expect] += 1
        if self._saved[expect] <= _SAVED_PER_VERDICT:
            finding = judgement.verdict.finding
            path = save_finding(Path(self._job.directory), case, finding, expect)
            answer({"finding": {"expect": expect, "path": str(path), "headline": headline(finding)}})

    def _is_over(self) -> bool:
        deadline = self._job.deadline
        return self._stop.is_set() or (deadline is not None and time.monotonic() >= deadline)

    def _note(self, stage: Stage, number: int) -> None:
        self._journal.note(stage, Position(self._batch, number), self._done)

    def _answer(self) -> None:
        answer({"statistics": self._statistics.take(), "done": self._done})
        self._last_answer = time.monotonic()


def keep_out_of_garbage_collection() -> None:
    """Spare the garbage collector what has come to stay: JAX, mostly. A graph then takes a tenth less time."""
    gc.collect()
    gc.freeze()


def case_of(program: Program, pipeline: Pipeline, environment: Mapping[str, str]) -> Case:
    """The case that a drawn program is for a pipeline; `environment` overrides what was drawn."""
    inputs = draw_inputs(program.module, program.input_seed, INPUT_SETS)
    return Case(program.module, pipeline, tuple(inputs), {**program.environment, **environment})


def save_only(job: Job) -> None:
    """Draw the graph at `job.first` again and save it: the worker that judged it is gone."""

    def visit(number: int, program: Program) -> None:
        if number == job.first.number:
            case = case_of(program, parse_pipeline(job.pipeline, allow_code=True), job.environment)
            answer({"saved": str(save_unseen(Path(job.directory), case, job.save_as, job.why))})
            raise StopDrawing

    for_each_program(job.seed, job.first.batch, job.size_of(job.first.batch), visit, job.programs)


def main() -> None:
    """Do the job on standard input."""
    report_errors_as_json()
    orders = parent_lines()
    job = Job.from_json(next(orders))
    if job.save_as:
        save_only(job)
        return
    use_compilation_cache(job.cache)
    worker = Worker(job)

    def obey(order: str) -> None:
        if order == "stop":
            worker.stop()

    live_with_parent(orders, obey)
    worker.run()


if __name__ == "__main__":
    main()
