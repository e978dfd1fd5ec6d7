"""The pipeline is the page's checklist, and takes a program of any size to what the Tensorizer accepts."""

import pytest

from hlo import HloModule, Opcode
from hlo.stablehlo import StableHloModule
from passes import AnyProgram, PassError, Trace, named_passes, parse_pipeline, run_on_program

CHECKLIST = [
    "dynamic-parameter-binding",
    "dynamic-padder",  # with the inference in it
    "dynamic-dimension-simplifier",
    "dynamic-index-splitter",
    "dynamic-shape-removing-visitor",
    "canonicalize-dynamism",
    "canonicalize-for-tensorizer",
    "tensorizer-guard",
]

WRITES = """module { func.func @main(%x: tensor<?x4xf32>, %row: tensor<1x4xf32>, %at: tensor<i32>) -> tensor<?x4xf32> {
 %zero = stablehlo.constant dense<0> : tensor<i32>
 %r = stablehlo.dynamic_update_slice %x, %row, %at, %zero
   : (tensor<?x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<?x4xf32>
 return %r : tensor<?x4xf32> } }"""


def test_the_steps_of_the_page_come_in_their_order_behind_what_gives_sizes_their_bounds() -> None:
    names = [pass_.name for pass_ in named_passes("front-end")]
    assert names[:2] == ["canonicalize-dynamism", "bound-dynamic-dimensions"]
    assert [name for name in names[2:] if name != "call-inliner"] == CHECKLIST


def test_what_comes_out_is_static_but_for_starts() -> None:
    program: AnyProgram = StableHloModule.read(WRITES)
    for pass_ in named_passes("front-end"):
        program, _ = run_on_program(pass_, program, Trace())
    assert isinstance(program, HloModule)
    reached = [i for c in program.make_computation_post_order() for i in c.instructions]
    assert all(inst.shape.is_static for inst in reached)
    updates = [inst for inst in reached if inst.opcode is Opcode.DYNAMIC_UPDATE_SLICE]
    assert updates
    assert all(start.opcode is not Opcode.CONSTANT for inst in updates for start in inst.index_operands[:1])


def test_without_the_padder_the_guard_has_the_last_word() -> None:
    program = StableHloModule.read(WRITES)
    bounding, guard = parse_pipeline("bound-dynamic-dimensions,tensorizer-guard").passes
    bounded, _ = run_on_program(bounding, program, Trace())
    with pytest.raises(PassError, match=r"guard: Input tensor set-dimension-size\S* has dynamic shape"):
        run_on_program(guard, bounded, Trace())
