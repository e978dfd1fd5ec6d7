"""Does a case of unknown sizes get small, and stay the failure that it was?"""

import numpy as np
import pytest

from fuzz.case import SymbolicCase, verdict_text
from fuzz.judging import judge_any
from fuzz.reduce import reduce_symbolic, smallest_sizes, working_instructions
from fuzz.reduce.symbolic import (
    TRANSFORMATIONS,
    earlier_result,
    fewer_parameters,
    fewer_passes,
    fewer_results,
    inlined,
    simpler_operations,
    smaller_sizes,
    symbolic_cost,
)
from hlo.stablehlo import StableHloModule
from oracle.symbolic import draw_sized_inputs
from oracle.verdict import Disagree
from passes import parse_pipeline

FOLDING = "canonicalize-for-tensorizer{static_dims_only=false}"
PROGRAM = """module {
  func.func @main(%x: tensor<?x3xf32>, %n: tensor<2xi32>, %y: tensor<?xi32>)
      -> (tensor<?x3xf32>, tensor<i32>, tensor<?xi32>) {
    %a = stablehlo.negate %x : tensor<?x3xf32>
    %b = func.call @twice(%a) : (tensor<?x3xf32>) -> tensor<?x3xf32>
    %rows = stablehlo.get_dimension_size %b, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
    %wide = stablehlo.convert %rows : (tensor<i32>) -> tensor<i64>
    %narrow = stablehlo.convert %wide : (tensor<i64>) -> tensor<i32>
    %z = stablehlo.add %y, %y : tensor<?xi32>
    return %b, %narrow, %z : tensor<?x3xf32>, tensor<i32>, tensor<?xi32>
  }
  func.func private @twice(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
    %a = stablehlo.add %x, %x : tensor<?x3xf32>
    return %a : tensor<?x3xf32>
  }
}"""


def case(passes: str = FOLDING, sets: int = 3) -> SymbolicCase:
    module = StableHloModule.read(PROGRAM)
    inputs, _ = draw_sized_inputs(module, 0, sets)
    return SymbolicCase(module, parse_pipeline(passes), tuple(inputs), {})


def fails(other: SymbolicCase) -> bool:
    verdict = judge_any(other, use_jax=False).verdict
    return (
        isinstance(verdict, Disagree)
        and verdict_text(verdict) == "disagree values/value canonicalize-for-tensorizer"
    )


def test_what_the_failure_does_not_need_goes() -> None:
    reduction = reduce_symbolic(case(f"canonicalize-dynamism,{FOLDING},canonicalize-dynamism"), fails)
    small = reduction.case
    assert reduction.complete
    assert fails(small)
    assert str(small.pipeline) == FOLDING
    assert [op.name for op in small.module.operations() if len(op.results)] == [
        "stablehlo.get_dimension_size"
    ]
    assert len(small.module.parameters) == 1
    assert working_instructions(small.module) == 1
    ((array,),) = small.inputs
    assert np.asarray(array).shape == (1, 3)
    assert not np.asarray(array).any()


def test_sizes_get_small_and_nothing_else_does() -> None:
    big = case()
    small = smallest_sizes(big, fails)
    assert small.module.text == big.module.text
    (inputs,) = small.inputs
    assert sum(np.asarray(inputs[0]).shape) == 4
    assert np.asarray(inputs[2]).shape == (0,)


@pytest.mark.parametrize(
    "transformation",
    [
        fewer_passes,
        fewer_results,
        inlined,
        earlier_result,
        simpler_operations,
        fewer_parameters,
        smaller_sizes,
    ],
)
def test_each_transformation_finds_something_cheaper_and_leaves_the_case_alone(transformation) -> None:
    big = case("canonicalize-dynamism,canonicalize-for-tensorizer", sets=1)
    before, cost = big.module.text, symbolic_cost(big)
    edited = [edit() for edit in transformation(big)]
    valid = [found for found in edited if found is not None and not found.module.violations()]
    assert any(symbolic_cost(found) < cost for found in valid)
    assert big.module.text == before


def test_every_transformation_is_applied() -> None:
    ours = {
        fewer_passes,
        fewer_results,
        inlined,
        earlier_result,
        simpler_operations,
        fewer_parameters,
        smaller_sizes,
    }
    assert ours <= set(TRANSFORMATIONS)


def test_an_operation_becomes_a_parameter_that_holds_what_it_gave() -> None:
    small = case(sets=2)
    program = small.module
    for edit in simpler_operations(small):
        found = edit()
        if found is not None and len(found.module.parameters) == 4:
            before = judge_any(SymbolicCase(program, parse_pipeline(""), small.inputs, {}), use_jax=False)
            after = judge_any(SymbolicCase(found.module, parse_pipeline(""), found.inputs, {}), use_jax=False)
            assert verdict_text(before.verdict) == verdict_text(after.verdict) == "agree"
            return
    pytest.fail("no operation became a parameter")
