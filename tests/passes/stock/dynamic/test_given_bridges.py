"""Does a program that brings bridges of its own between static and dynamic arrays keep its meaning?"""

import numpy as np
import pytest

from hlo import HloModule, Opcode
from oracle import Agree, judge
from passes import Trace, parse_pipeline
from passes.stock import DynamicPadder
from passes.stock.dynamic_dimension_inference import DynamismRefused
from tests.passes.stock.dynamic.programs import ADD, array, program

CUT = 'd = s32[<=4] custom-call(x, n), custom_call_target="SliceToDynamic"'
PAD = 't = (s32[4], s32[]) custom-call({}), custom_call_target="PadToStatic"'


def agrees(module: HloModule, *sets: tuple[np.ndarray, ...]) -> None:
    for name in ("dynamic", "dynamic-upstream", "dynamic-padder"):
        assert judge(module, parse_pipeline(name), sets, {}).verdict == Agree(), name


def test_what_works_on_a_cut_array_gets_it_padded() -> None:
    module = program(
        f"""x = s32[4] parameter(0)
            n = s32[] parameter(1)
            {CUT}
            e = s32[<=4] negate(d)
            f = s32[2,<=2] reshape(e)
            zero = s32[] constant(0)
            sum = s32[] reduce(d, zero), dimensions={{0}}, to_apply=add
            size = s32[] get-dimension-size(d), dimensions={{0}}
            ROOT r = (s32[<=4], s32[2,<=2], s32[], s32[], s32[<=4]) tuple(e, f, sum, size, d)""",
        ADD,
    )
    agrees(module, *[(array([1, 2, 4, 8]), array(size)) for size in (0, 2, 4)])


def test_a_cut_array_that_is_only_returned_is_left_alone() -> None:
    module = program(f"x = s32[4] parameter(0)\n n = s32[] parameter(1)\n ROOT {CUT}")
    assert not DynamicPadder().run(module, Trace())


def test_a_given_pad_to_static_still_says_the_size_of_a_parameter_that_is_padded_for_others() -> None:
    module = program(
        f"""x = s32[<=4] parameter(0)
            other = s32[<=4] negate(x)
            {PAD.format("x")}
            size = s32[] get-tuple-element(t), index=1
            ROOT r = (s32[<=4], s32[]) tuple(other, size)"""
    )
    agrees(module, (array([5, 6, 7]),), (array([]),), (array([1, 2, 3, 4]),))


def test_a_given_pad_to_static_of_what_is_computed_says_its_size() -> None:
    module = program(
        f"""x = s32[4] parameter(0)
            n = s32[] parameter(1)
            e = s32[<=4] set-dimension-size(x, n), dimensions={{0}}
            y = s32[<=4] reverse(e), dimensions={{0}}
            {PAD.format("y")}
            data = s32[4] get-tuple-element(t), index=0
            size = s32[] get-tuple-element(t), index=1
            again = s32[<=4] set-dimension-size(data, size), dimensions={{0}}
            bound = s32[] get-dimension-size(data), dimensions={{0}}
            ROOT r = (s32[<=4], s32[], s32[]) tuple(again, size, bound)"""
    )
    agrees(module, *[(array([1, 2, 4, 8]), array(size)) for size in (0, 1, 3, 4)])


def test_bridges_that_undo_each_other_are_taken_away() -> None:
    module = program(
        f"""x = s32[<=4] parameter(0)
            y = s32[<=4] negate(x)
            {PAD.format("y")}
            size = s32[] get-tuple-element(t), index=1
            ROOT r = s32[] negate(size)"""
    )
    trace = Trace()
    parse_pipeline("dynamic").run(module, trace)
    assert trace.fired["there-and-back"]
    found = [i for i in module.entry_computation.instructions if i.opcode is Opcode.CUSTOM_CALL]
    assert [call.custom_call_target for call in found] == ["PadToStatic"]
    assert found[0].operand(0).opcode is Opcode.PARAMETER


@pytest.mark.parametrize("value", [-1, 5])
@pytest.mark.parametrize(
    ("giver", "operand"),
    [
        ("s32[<=4] set-dimension-size(x, n), dimensions={0}", 1),
        ("s32[<=4] dynamic-reshape(x, n)", 1),
        ('s32[<=4] custom-call(x, n), custom_call_target="SliceToDynamic"', 1),
    ],
)
def test_a_constant_that_is_no_size_is_refused(giver: str, operand: int, value: int) -> None:
    module = program(
        f"x = s32[4] parameter(0)\n n = s32[] constant({value})\n d = {giver}\n ROOT r = s32[<=4] negate(d)"
    )
    with pytest.raises(DynamismRefused, match=rf"the size {value} is not in \[0, 4\]") as refused:
        DynamicPadder().run(module, Trace())
    assert (refused.value.instruction, refused.value.operand, refused.value.dimension) == ("d", operand, 0)
