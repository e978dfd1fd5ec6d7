"""What does the padder leave to a back end that runs some operations on arrays in their own size?

Scenarios: DynamicLowering, its variants, and WhileLoopCarriesRequiredDynamicShape of `stock_passes.md` section 5.19;
InfersCustomOp of section 4.14.
"""

import pytest

from hlo import HloInstruction, HloModule, Opcode
from hlo.verify import verify
from passes import Trace
from passes.stock import DynamicPadder
from passes.stock.dynamic_dimension_inference import (
    DynamicSizes,
    DynamismRefused,
    Support,
    infer_dynamic_dimensions,
)
from tests.passes.stock.dynamic.programs import program

MINE = "OpWithDynamicLowering"


def wants_dynamic_arrays(inst: HloInstruction) -> Support:
    mine = inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target == MINE
    return Support.REQUIRED if mine else Support.NONE


def padded(module: HloModule) -> dict[str, list[HloInstruction]]:
    """The custom-calls of the entry, by target, after padding."""
    DynamicPadder().pad(module, Trace(), supports=wants_dynamic_arrays)
    assert verify(module) == []
    calls: dict[str, list[HloInstruction]] = {}
    for inst in module.entry_computation.make_instruction_post_order():
        if inst.opcode is Opcode.CUSTOM_CALL:
            calls.setdefault(inst.custom_call_target, []).append(inst)
    return calls


SIZED = """x = s32[5] parameter(0)
    three = s32[] constant(3)
    d = s32[<=5] set-dimension-size(x, three), dimensions={0}
    """


def test_what_wants_an_array_in_its_own_size_gets_it() -> None:
    module = program(
        f"""{SIZED}
            first = s32[<=5] custom-call(d), custom_call_target="{MINE}"
            second = s32[<=5] custom-call(first), custom_call_target="{MINE}"
            ROOT r = s32[<=5] negate(second)"""
    )
    calls = padded(module)
    first, second = calls[MINE]
    assert first.operand(0).custom_call_target == "SliceToDynamic"
    assert not second.operand(0).shape.is_static
    root = module.entry_computation.root
    assert root.custom_call_target == "SliceToDynamic"
    negate = root.operand(0)
    assert (negate.opcode, str(negate.shape)) == (Opcode.NEGATE, "s32[5]")
    pad = negate.operand(0).operand(0)
    assert (pad.custom_call_target, pad.operand(0)) == ("PadToStatic", second)


def test_a_constant_beside_a_dynamic_array_stays() -> None:
    module = program(
        f"""{SIZED}
            one = s32[1] constant({{1}})
            t = (s32[<=5], s32[1]) tuple(d, one)
            u = (s32[<=5], s32[1]) custom-call(t), custom_call_target="{MINE}"
            a = s32[<=5] get-tuple-element(u), index=0
            ROOT n = s32[] get-dimension-size(a), dimensions={{0}}"""
    )
    calls = padded(module)
    (mine,) = calls[MINE]
    data, other = mine.operand(0).operands
    assert data.custom_call_target == "SliceToDynamic"
    assert other.operand(0).operand(other.tuple_index).opcode is Opcode.CONSTANT
    root = module.entry_computation.root
    assert root.operand(0).custom_call_target == "PadToStatic"


def test_nested_tuples_come_out_with_their_sizes() -> None:
    module = program(
        f"""{SIZED}
            u = (s32[<=5], (s32[<=5])) custom-call(d), custom_call_target="{MINE}"
            a = s32[<=5] get-tuple-element(u), index=0
            b = (s32[<=5]) get-tuple-element(u), index=1
            c = s32[<=5] get-tuple-element(b), index=0
            ROOT r = s32[<=5] add(a, c)"""
    )
    calls = padded(module)
    assert len(calls["PadToStatic"]) == 2
    root = module.entry_computation.root
    assert root.custom_call_target == "SliceToDynamic"
    assert str(root.shape) == "s32[<=5]"


def test_a_loop_of_such_operations_has_no_bridge_inside() -> None:
    state = "(s32[], s32[<=5])"
    module = program(
        f"""x = s32[<=5] parameter(0)
            zero = s32[] constant(0)
            t = {state} tuple(zero, x)
            ROOT w = {state} while(t), condition=condition, body=body""",
        f"""body {{ s = {state} parameter(0)
          i = s32[] get-tuple-element(s), index=0
          x = s32[<=5] get-tuple-element(s), index=1
          y = s32[<=5] custom-call(x), custom_call_target="{MINE}"
          one = s32[] constant(1)
          k = s32[] add(i, one)
          ROOT r = {state} tuple(k, y) }}
        """,
        f"""condition {{ s = {state} parameter(0)
          i = s32[] get-tuple-element(s), index=0
          two = s32[] constant(2)
          ROOT r = pred[] compare(i, two), direction=LT }}
        """,
    )
    padded(module)
    targets = [
        inst.custom_call_target
        for computation in module.make_computation_post_order()
        for inst in computation.instructions
        if inst.opcode is Opcode.CUSTOM_CALL
    ]
    assert targets == [MINE]


def test_custom_calls_of_others_are_inferred_by_whoever_knows_them() -> None:
    text = """x.0 = f32[5,7] parameter(0)
        n = s32[] parameter(1)
        x = f32[<=5,7] set-dimension-size(x.0, n), dimensions={0}
        ROOT r = f32[1,1] custom-call(x), custom_call_target="MyCustomOp" """
    asked: list[str] = []

    def handle(inst: HloInstruction, _: DynamicSizes) -> None:
        asked.append(inst.custom_call_target)

    infer_dynamic_dimensions(program(text), Trace(), custom_call=handle)
    assert asked == ["MyCustomOp"]
    with pytest.raises(DynamismRefused, match="custom-call MyCustomOp cannot have a dynamic dimension"):
        infer_dynamic_dimensions(program(text), Trace())
