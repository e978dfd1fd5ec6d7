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

from fuzz.case import Case
from fuzz.generators import Program, programs
from fuzz.generators.graphs import graphs
from fuzz.report import render_text
from hlo import HloModule
from oracle.inputs import draw_inputs
from oracle.judge import judge
from oracle.verdict import Disagree, Judgement
from passes import Pipeline, parse_pipeline

__all__ = ["Program", "any_program", "assert_keeps_meaning"]


def any_program() -> SearchStrategy[Program]:
    """Valid HLO programs: graphs of all operations, and unrolled loops. The simplest come first."""
    return one_of(graphs(), programs())


def assert_keeps_meaning(
    passes: Pipeline | str, program: Program | HloModule, *, inputs: int = 4, use_jax: bool = True
) -> Judgement:
    """Judge `passes` on a program with `inputs` sets of inputs. Raises AssertionError with the report of a finding.

    What cannot be judged is no failure: the result says so in its `verdict`, and in `fired` whether the passes did
    anything. `use_jax`: JAX executes the original, too, which switches the process to 64-bit types. Raises
    InvalidInput for text that is no pipeline, and for a module that is not valid HLO.
    """
    pipeline = parse_pipeline(passes, allow_code=True) if isinstance(passes, str) else passes
    module, seed, environment = (
        (program, 0, {})
        if isinstance(program, HloModule)
        else (program.module, program.input_seed, program.environment)
    )
    sets = tuple(draw_inputs(module, seed, inputs))
    judgement = judge(module, pipeline, sets, environment, use_jax=use_jax)
    if isinstance(judgement.verdict, Disagree):
        raise AssertionError(
            render_text(judgement.verdict.finding, Case(module, pipeline, sets, environment))
        )
    return judgement
