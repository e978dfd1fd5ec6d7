"""Is a program compared rightly with what it became when its unknown sizes got bounds?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from hlo.evaluator import evaluate
from hlo.stablehlo import StableHloModule
from oracle.running import POISONS, evaluated
from oracle.symbolic import Assignment, draw_sized_inputs, judge_symbolic, largest_size, specialise
from oracle.symbolic.boundary import Boundary
from oracle.verdict import Agree, Disagree, Finding, Kind
from passes import Pipeline, Trace, parse_pipeline
from passes.neuron import BoundDynamicDimensions

GROWN = """module { func.func @main(%x: tensor<?x2xi32>, %y: tensor<?xi32>) -> (tensor<?x2xi32>, tensor<i32>) {
  %z = stablehlo.add %x, %x : tensor<?x2xi32>
  %n = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xi32>) -> tensor<i32>
  return %z, %n : tensor<?x2xi32>, tensor<i32> } }"""
X, Y = np.array([[1, 2], [3, 4], [5, 6]], np.int32), np.array([7], np.int32)
SIZES = Assignment(((3, 2), (1,)))
PIPELINE = parse_pipeline(
    "bound-dynamic-dimensions{bound=4},dynamic-parameter-binding,call-inliner,dynamic-padder"
)


def bounded() -> tuple[StableHloModule, StableHloModule, Boundary]:
    before = StableHloModule.read(GROWN)
    after = before.clone()
    BoundDynamicDimensions(bound=4).rewrite(after, Trace())
    boundary = Boundary.of(before, after)
    assert boundary is not None
    return before, after, boundary


@pytest.mark.parametrize("fill", POISONS)
def test_both_sides_take_the_arrays_and_give_the_same(fill) -> None:
    before, after, boundary = bounded()
    expected = evaluate(boundary.filled_up(specialise(before, SIZES)), (X, Y))
    given = evaluated(boundary.cut(after.to_hlo(), SIZES, fill), (X, Y))
    assert isinstance(expected, tuple)
    assert isinstance(given, tuple)
    for one, other in zip(expected, given, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
    np.testing.assert_array_equal(expected[0], [[2, 4], [6, 8], [10, 12], [0, 0]])
    assert [int(np.asarray(size)) for size in expected[1:]] == [1, 3]


def test_an_entry_that_is_not_as_it_was_to_become_is_none() -> None:
    before, after, _ = bounded()
    assert Boundary.of(before, before) is None
    assert Boundary.of(StableHloModule.read(GROWN.replace("?x2xi32", "?x3xi32")), after) is None


def test_no_size_is_drawn_above_the_bound() -> None:
    assert largest_size(PIPELINE) == 4
    assert largest_size(parse_pipeline("dce")) is None


def found(pipeline: Pipeline) -> Finding:
    program = StableHloModule.read(GROWN)
    inputs, _ = draw_sized_inputs(program, 0, 4, most=4)
    verdict = judge_symbolic(program, pipeline, inputs, {}).verdict
    assert isinstance(verdict, Disagree)
    return verdict.finding


def test_what_bounds_and_pads_a_program_is_judged_all_the_way() -> None:
    program = StableHloModule.read(GROWN)
    inputs, _ = draw_sized_inputs(program, 0, 4, most=4)
    judgement = judge_symbolic(program, PIPELINE, inputs, {})
    assert isinstance(judgement.verdict, Agree)
    assert judgement.result is not None
    assert judgement.result.entry_computation.root.shape.is_static


def test_sizes_beyond_the_bound_are_left_out() -> None:
    program = StableHloModule.read(GROWN)
    inputs, _ = draw_sized_inputs(program, 0, 2, assignments=[SIZES, Assignment(((5, 2), (1,)))])
    judgement = judge_symbolic(program, PIPELINE, inputs, {})
    assert isinstance(judgement.verdict, Agree)
    assert any(message.startswith("left out: [5,2]") for message in judgement.messages)


@dataclass(frozen=True)
class Spoiled(BoundDynamicDimensions):
    """Bounds, and then replaces some text of the program."""

    old: str = ""
    new: str = ""

    name: ClassVar[str] = "spoiled"

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        changed = super().rewrite(program, trace)
        if changed:
            assert self.old in program.text, program.text
            program.assign(StableHloModule.read(program.text.replace(self.old, self.new, 1)))
        return changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("compare LT", "compare LE"),  # padding beside the result
        ("return %9, %3, %4#1", "return %9, %3, %arg3"),  # the size of another array
        ("set_dimension_size %arg0, %arg2", "set_dimension_size %arg0, %arg3"),  # too little
    ],
)
def test_padding_and_sizes_that_are_wrong_are_found(old: str, new: str) -> None:
    finding = found(Pipeline((Spoiled(bound=4, old=old, new=new),)))
    assert finding.identity == ("values", Kind.VALUE, "spoiled")
    assert finding.around is not None
    assert "tensor<?x2xi32>" in str(finding.around.before)


def test_an_entry_with_other_results_is_found() -> None:
    @dataclass(frozen=True)
    class Forgets(BoundDynamicDimensions):
        """Gives no sizes."""

        name: ClassVar[str] = "forgets"

        def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
            program.assign(
                StableHloModule.read(
                    "module { func.func @main(%x: tensor<4x2xi32>) -> tensor<4x2xi32> { return %x : tensor<4x2xi32> } }"
                )
            )
            return True

    assert found(Pipeline((Forgets(),))).identity == ("contracts", Kind.RESULT_SHAPE, "forgets")
