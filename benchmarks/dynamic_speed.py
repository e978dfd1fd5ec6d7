"""How much longer does it take to judge a program of dynamic arrays than a static one of the same size?

    python benchmarks/dynamic_speed.py [--graphs N] [--warm-up N] [--seed S]

Each bounded-dynamic program is judged by the pipeline `dynamic`. What it is where all sizes are at their bounds
(`oracle.true_size.specialise`) is a static program of about as many instructions; that is judged too, by as many
passes that do work on static programs. Both ways take turns in one run, on one core, warm, and each is what
`hlofuzz run` does with a graph, drawing left out.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from dataclasses import dataclass, field

import jax
import numpy as np

from fuzz.campaign.judging import INPUT_SETS, case_of, judging_of
from fuzz.campaign.plan import Programs
from fuzz.campaign.source import for_each_program
from fuzz.campaign.worker import keep_out_of_garbage_collection
from fuzz.generators import Program
from fuzz.settings import read_settings
from hlo import ArrayShape, HloFuzzError, HloModule, Shape, TupleShape, Value
from hlo.bound_parameters import materialised
from oracle.demands import Use
from oracle.inputs import MIXED, draw_inputs
from oracle.reference import use_compilation_cache
from oracle.roles import roles_of
from oracle.true_size import specialise
from oracle.verdict import Agree
from passes import Pipeline, parse_pipeline

DYNAMIC = parse_pipeline("dynamic")
STATIC = parse_pipeline(
    "call-inliner,constant-folding,tuple-simplifier,dynamic-dimension-simplifier,dynamic-index-splitter,dce"
)
"""As many passes."""


def at_bounds(program: Program) -> HloModule:
    """The static program that `program` is where its arrays are as large as they can be. Raises HloFuzzError."""
    module = materialised(program.module).clone()
    for parameter in module.entry_computation.parameters:
        parameter.shape = _static(parameter.shape)
    sizes = {
        leaf: max(role.dimension for role in roles)
        for leaf, roles in roles_of(module).items()
        if any(role.use is Use.SIZE for role in roles)
    }
    (inputs,) = draw_inputs(module, program.input_seed, 1)
    given = tuple(_with_sizes(value, sizes, number, ()) for number, value in enumerate(inputs))
    return specialise(module, given).module


def _static(shape: Shape) -> Shape:
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(map(_static, shape.elements)))
    return shape.to_static() if isinstance(shape, ArrayShape) else shape


def _with_sizes(
    value: Value, sizes: dict[tuple[int, tuple[int, ...]], int], number: int, index: tuple[int, ...]
) -> Value:
    if isinstance(value, tuple):
        return tuple(_with_sizes(v, sizes, number, (*index, i)) for i, v in enumerate(value))
    if (number, index) in sizes and isinstance(value, np.ndarray):
        return np.full_like(value, sizes[number, index])
    return value


def _instructions(module: HloModule) -> int:
    return sum(len(computation.instructions) for computation in module.computations)


@dataclass
class Way:
    """Judges programs by one pipeline, and remembers how long that takes."""

    pipeline: Pipeline
    total: float = 0.0
    instructions: int = 0
    seconds: Counter[str] = field(default_factory=Counter[str])

    def judge(self, program: Program) -> tuple[float, Counter[str]] | None:
        """Seconds, in all and by stage; None unless it agrees."""
        start = time.process_time()
        case = case_of(program, self.pipeline, {})
        drawn = time.process_time() - start
        judgement = judging_of(case, {0: self.pipeline}).judgement(0)
        passed = time.process_time() - start
        if not isinstance(judgement.verdict, Agree):
            return None
        return passed, Counter({"inputs": drawn, **judgement.seconds})

    def add(self, measured: tuple[float, Counter[str]], module: HloModule) -> None:
        """Count a program."""
        self.total += measured[0]
        self.seconds.update(measured[1])
        self.instructions += _instructions(module)


class Pairs:
    """Judges each program both ways."""

    def __init__(self) -> None:
        self.dynamic, self.static = Way(DYNAMIC), Way(STATIC)
        self.graphs = 0

    def visit(self, _number: int, program: Program) -> None:
        try:
            module = at_bounds(program)
        except HloFuzzError:
            return
        twin = Program(module, program.input_seed, program.environment, program.features)
        ways = [(self.dynamic, program), (self.static, twin)]
        if self.graphs % 2:
            ways.reverse()
        measured = [way.judge(subject) for way, subject in ways]
        if any(one is None for one in measured):
            return
        for (way, subject), one in zip(ways, measured, strict=True):
            assert one is not None
            way.add(one, subject.module)
        self.graphs += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--graphs", type=int, default=250)
    parser.add_argument("--warm-up", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    jax.config.update("jax_platforms", "cpu")
    use_compilation_cache(str(read_settings().compilation_cache))
    for_each_program(options.seed, 0, options.warm_up, Pairs().visit, Programs.DYNAMIC)
    keep_out_of_garbage_collection()
    pairs = Pairs()
    for_each_program(options.seed, 1, options.graphs, pairs.visit, Programs.DYNAMIC)
    _print(pairs)


def _print(pairs: Pairs) -> None:
    graphs = pairs.graphs
    print(f"{graphs} programs, {INPUT_SETS} input sets each ({', '.join(map(str, MIXED))}), one core")
    for name, way in (("dynamic", pairs.dynamic), ("static", pairs.static)):
        print(
            f"{name}: {1e3 * way.total / graphs:7.2f} ms a graph of {way.instructions / graphs:.0f} instructions"
        )
        for stage, seconds in way.seconds.most_common():
            print(f"         {stage:10} {1e3 * seconds / graphs:6.2f} ms  {100 * seconds / way.total:5.1f} %")
    print(f"ratio: {pairs.dynamic.total / pairs.static.total:.2f}")


if __name__ == "__main__":
    main()
