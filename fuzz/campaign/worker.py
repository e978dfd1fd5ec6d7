"""What does one worker process of a campaign do? It draws graphs, judges them, saves findings and sends counts.

Run as a module: the job is the first line of standard input; answers are lines of JSON on standard output,
`{"statistics": …}`, `{"finding": …}`, at last `{"done": true}`. "stop" on standard input ends it after the
graph at hand; the end of standard input, which the death of the parent brings, ends it at once.
"""

from __future__ import annotations

import gc
import threading
import time
from dataclasses import replace
from pathlib import Path

from fuzz.campaign.ahead import Ahead
from fuzz.campaign.journal import JournalWriter, Stage
from fuzz.campaign.judging import case_of, judging_of
from fuzz.campaign.keeping import Keeper
from fuzz.campaign.plan import Job, Position
from fuzz.campaign.source import StopDrawing, for_each_program
from fuzz.campaign.statistics import VOTED, Statistics, Table
from fuzz.case import AnyCase
from fuzz.findings import save_unseen
from fuzz.generators.stablehlo import AnyDrawn
from fuzz.isolate import answer, live_with_parent, parent_lines, report_errors_as_json
from fuzz.judging import static_form
from oracle.checks.engines import seen_alike
from oracle.engines import ENGINES
from oracle.reference import use_compilation_cache
from oracle.verdict import Agree, Disagree, Judgement
from oracle.vote import is_sampled
from passes import parse_pipeline

_SECONDS_BETWEEN_ANSWERS = 0.5
_WARM = 20  # graphs after which what is imported and cached has mostly come


class Worker:
    """Judges the graphs of one job."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._pipelines = {
            number: parse_pipeline(text, allow_code=True)  # somebody typed it
            for number, text in enumerate(job.pipelines)
            if number not in job.given_up
        }
        self._journal = JournalWriter(job.journal)
        self._ahead = Ahead()
        self._keeper = Keeper(Path(job.directory))
        self._statistics = Statistics()
        self._done = 0
        self._batch = job.first.batch
        self._stop = threading.Event()
        self._last_answer = self._drawing_since = time.monotonic()

    def run(self) -> None:
        """Judge graphs until the job is done, time is up or somebody says stop."""
        for batch in self._job.batches():
            self._batch = batch
            self._note(Stage.DRAWING, Position(batch, 0))
            for_each_program(self._job.seed, batch, self._job.size_of(batch), self._visit, self._job.programs)
            if self._is_over():
                break
        self._answer()
        answer({"done": True})

    def stop(self) -> None:
        """End after the graph at hand. May be called from another thread."""
        self._stop.set()

    def _visit(self, number: int, program: AnyDrawn) -> None:
        if self._is_over():
            raise StopDrawing
        position = Position(self._batch, number)
        if position >= self._job.first.graph:  # those before it were judged by a worker that died
            self._statistics.spend("generate", time.monotonic() - self._drawing_since)
            self._judge(program, position)
            self._done += 1
            if self._done == _WARM:
                keep_out_of_garbage_collection()
        self._note(Stage.DRAWING, Position(self._batch, number + 1))
        if time.monotonic() - self._last_answer > _SECONDS_BETWEEN_ANSWERS:
            self._answer()
        self._drawing_since = time.monotonic()

    def _judge(self, program: AnyDrawn, position: Position) -> None:
        """Judge a graph by every pipeline; where a worker died at it, by those behind the one at which it died."""
        is_first = position == self._job.first.graph
        begin = self._job.first.pipeline if is_first else 0
        pipelines = {number: pipeline for number, pipeline in self._pipelines.items() if number >= begin}
        self._note(Stage.PREPARING, position._replace(pipeline=begin))
        started = time.monotonic()
        case = case_of(program, next(iter(self._pipelines.values())), self._job.environment)
        self._statistics.spend("generate", time.monotonic() - started)
        judging = judging_of(case, pipelines)
        if not (is_first and self._job.alone):
            for stage, seconds in judging.prepare(self._ahead).items():
                self._statistics.spend(stage, seconds)
        for number, pipeline in pipelines.items():
            self._note(Stage.JUDGING, position._replace(pipeline=number))
            judgement = judging.judgement(number)
            if isinstance(judgement.verdict, Agree) and is_sampled(
                self._job.seed_of(position), self._job.voted
            ):
                judgement = self._voted(case, judgement)
            self._statistics.count(self._job.pipelines[number], case.environment, judgement)
            self._keeper.take(replace(case, pipeline=pipeline), judgement.verdict, position.graph)
        self._statistics.count_graph(program, case.environment)

    def _voted(self, case: AnyCase, judgement: Judgement) -> Judgement:
        """The judgement of a graph on which all engines had their say."""
        self._statistics[Table.TOTAL][VOTED] += 1
        started = time.monotonic()
        finding = seen_alike(static_form(case, case.inputs[0]), case.inputs[:1], ENGINES)
        self._statistics.spend("vote", time.monotonic() - started)
        return judgement if finding is None else replace(judgement, verdict=Disagree(finding))

    def _is_over(self) -> bool:
        deadline = self._job.deadline
        return self._stop.is_set() or (deadline is not None and time.monotonic() >= deadline)

    def _note(self, stage: Stage, position: Position) -> None:
        self._journal.note(stage, position, self._done)

    def _answer(self) -> None:
        answer({"statistics": self._statistics.take(), "done": self._done})
        self._last_answer = time.monotonic()


def keep_out_of_garbage_collection() -> None:
    """Spare the garbage collector what has come to stay: JAX, mostly. A graph then takes a tenth less time."""
    gc.collect()
    gc.freeze()


def save_only(job: Job) -> None:
    """Draw the graph at `job.first` again and save it: the worker that judged it is gone."""

    def visit(number: int, program: AnyDrawn) -> None:
        if number == job.first.number:
            pipeline = parse_pipeline(job.pipelines[job.first.pipeline], allow_code=True)
            case = case_of(program, pipeline, job.environment)
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
