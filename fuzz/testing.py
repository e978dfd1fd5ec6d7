"""How does somebody's own test suite hold a pass to the meaning of random programs?

    from hypothesis import given
    from fuzz.testing import Program, any_program, assert_keeps_meaning

    @given(any_program())
    def test_my_pass_keeps_the_meaning(program: Program) -> None:
        assert_keeps_meaning("py:my_passes:fold_slices", program)

Hypothesis shrinks what it drew, and the failure shows the report that `hlofuzz report` would.
"""

from __future__ import annotations

from hypothesis.strategies import SearchStrategy, one_of

from fuzz.case import case_for
from fuzz.generators import Program, programs
from fuzz.generators.graphs import graphs
from fuzz.generators.stablehlo import SymbolicProgram, symbolics
from fuzz.judging import judge_any
from fuzz.report import render_text
from hlo import HloModule
from hlo.stablehlo import StableHloModule
from oracle.inputs import draw_inputs
from oracle.symbolic import draw_sized_inputs, largest_size
from oracle.verdict import Disagree, Judgement
from passes import AnyProgram, Pipeline, parse_pipeline

__all__ = ["Program", "SymbolicProgram", "any_program", "any_stablehlo_program", "assert_keeps_meaning"]


def any_program() -> SearchStrategy[Program]:
    """Valid HLO programs: graphs of all operations, and unrolled loops. The simplest come first."""
    return one_of(graphs(), programs())


def any_stablehlo_program() -> SearchStrategy[SymbolicProgram]:
    """Valid StableHLO programs whose sizes are unknown, or seem to be, for passes over StableHLO."""
    return symbolics()


def assert_keeps_meaning(
    passes: Pipeline | str,
    program: Program | SymbolicProgram | AnyProgram,
    *,
    inputs: int = 4,
    use_jax: bool = True,
) -> Judgement:
    """Judge `passes` on a program with `inputs` sets of inputs. Raises AssertionError with the report of a finding.

    What cannot be judged is no failure: the result says so in its `verdict`, and in `fired` whether the passes did
    anything. `use_jax`: JAX executes the original, too, which switches the process to 64-bit types. Raises
    InvalidInput for text that is no pipeline, and for a module that is not valid HLO.
    """
    pipeline = parse_pipeline(passes, allow_code=True) if isinstance(passes, str) else passes
    module, seed, environment = (
        (program, 0, {})
        if isinstance(program, HloModule | StableHloModule)
        else (program.module, program.input_seed, program.environment)
    )
    if isinstance(module, HloModule):
        sets = draw_inputs(module, seed, inputs)
    else:
        assignments = program.assignments if isinstance(program, SymbolicProgram) else ()
        most = largest_size(pipeline)
        sets, _ = draw_sized_inputs(module, seed, inputs, assignments=assignments, most=most)
    case = case_for(module, pipeline, tuple(sets), environment)
    judgement = judge_any(case, use_jax=use_jax)
    if isinstance(judgement.verdict, Disagree):
        raise AssertionError(render_text(judgement.verdict.finding, case))
    return judgement
