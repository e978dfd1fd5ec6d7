"""How many graphs does a core judge in a second, and how many the naive way?

    python benchmarks/throughput.py [--graphs N] [--warm-up N] [--seed S]

Both ways meet the same graphs in the same run, on one core, warm. Ours is what `hlofuzz run` does with a graph. The
naive way compiles the original and the result with XLA's CPU compiler, runs both on the same inputs and compares.
Graphs with custom-calls, which XLA cannot compile, are left out of both.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter

import jax

from fuzz.campaign.judging import case_of
from fuzz.campaign.source import for_each_program
from fuzz.campaign.worker import keep_out_of_garbage_collection
from fuzz.case import Case
from fuzz.generators import Program
from fuzz.settings import read_settings
from hlo import HloModule, Opcode, UnsupportedOpcode
from oracle.compare import compare
from oracle.engines.compiled import CompiledModule
from oracle.judge import judge
from oracle.reference import use_compilation_cache
from oracle.tolerance import tolerance_of
from oracle.verdict import Agree
from passes import DEFAULT_PIPELINE, parse_pipeline

PIPELINE = parse_pipeline(DEFAULT_PIPELINE)


class Ours:
    """Judges each program it is given, and remembers those that both ways can do."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.judged: list[tuple[Case, HloModule]] = []
        self.total = 0.0
        self._since = time.perf_counter()

    def visit(self, index: int, program: Program) -> None:
        case = case_of(program, PIPELINE, {})
        generated = time.perf_counter() - self._since
        judgement = judge(case.module, case.pipeline, case.inputs, case.environment)
        total = time.perf_counter() - self._since
        if (
            isinstance(judgement.verdict, Agree)
            and judgement.result is not None
            and not _has_custom_call(case.module)
        ):
            self.judged.append((case, judgement.result))
            self.seconds.update({"generate": generated, **judgement.seconds})
            self.total += total
        self._since = time.perf_counter()


def _has_custom_call(module: HloModule) -> bool:
    return any(i.opcode is Opcode.CUSTOM_CALL for c in module.computations for i in c.instructions)


def naively(case: Case, result: HloModule) -> bool:
    """Whether original and result agree, compiled; False where XLA does not compile them."""
    try:
        original, rewritten = CompiledModule(case.module), CompiledModule(result)
    except UnsupportedOpcode:
        return False
    tolerance = tolerance_of(case.module)
    for inputs in case.inputs:
        compare(
            original.run(inputs), rewritten.run(inputs), tolerance=tolerance, left="original", right="result"
        )
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=int, default=250)
    parser.add_argument("--warm-up", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(
            0, {min(os.sched_getaffinity(0))}
        )  # XLA compiles in many threads: one core for both
    jax.config.update("jax_platforms", "cpu")
    use_compilation_cache(str(read_settings().compilation_cache))

    for_each_program(options.seed, 0, options.warm_up, Ours().visit)
    keep_out_of_garbage_collection()
    ours = Ours()
    for_each_program(options.seed, 1, options.graphs, ours.visit)

    graphs, naive_seconds = 0, 0.0
    for case, result in ours.judged:
        start = time.perf_counter()
        graphs += naively(case, result)
        naive_seconds += time.perf_counter() - start
    _print(ours, graphs, naive_seconds)


def _print(ours: Ours, naive_graphs: int, naive_seconds: float) -> None:
    graphs = len(ours.judged)
    ours_rate, naive_rate = graphs / ours.total, naive_graphs / naive_seconds
    print(f"{graphs} graphs, pipeline {PIPELINE}, one core")
    print(f"ours:  {ours_rate:7.1f} graphs/s  {1e3 * ours.total / graphs:6.2f} ms a graph")
    for stage, seconds in ours.seconds.most_common():
        print(f"         {stage:10} {1e3 * seconds / graphs:6.2f} ms  {100 * seconds / ours.total:5.1f} %")
    print(f"naive: {naive_rate:7.1f} graphs/s  {1e3 * naive_seconds / naive_graphs:6.2f} ms a graph")
    print(f"ratio: {ours_rate / naive_rate:7.1f}")


if __name__ == "__main__":
    main()
