"""Does the mover take out what it may, leave what it must, and keep every value?"""

import inspect
import re

import numpy as np
import pytest

from hlo import HloModule, Opcode, same_bits
from hlo.attributes import SliceBounds
from hlo.canonical import structure
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from hlo.verify import verify
from passes import Trace
from passes.neuron import DynamicSliceMover, NeuronDusDsIndexSimplifier, slice_motion
from tests.passes.neuron.programs import ONE_BODY_TWICE, body_once

X = np.arange(10, 18, dtype=np.int32)


def move(text: str, *, tag: bool = True, **options: bool) -> tuple[HloModule, Trace]:
    """Run both passes, hold the result against the verifier and the value against the original's."""
    module, trace = read_text(text), Trace()
    original = module.clone()
    if tag:
        NeuronDusDsIndexSimplifier().run(module, Trace())
    before = structure(module)
    mover = DynamicSliceMover(**options)
    changed = mover.run(module, trace)
    assert changed == (structure(module) != before)
    assert verify(module) == []
    inputs = [X] * len(original.entry_computation.parameters)
    assert same_bits(evaluate(original, inputs), evaluate(module, inputs))
    assert not mover.run(module.clone(), Trace())
    return module, trace


def opcodes(module: HloModule, *, entry: bool) -> list[Opcode]:
    return [i.opcode for c in module.computations if c.is_entry is entry for i in c.instructions]


def slice_bounds(module: HloModule) -> list[tuple[int, ...]]:
    attributes = [i.attributes for i in module.entry_computation.instructions]
    return [a.starts for a in attributes if isinstance(a, SliceBounds)]


def test_a_resolved_slice_becomes_static_in_the_caller() -> None:
    module, trace = move(body_once("twice"))
    assert slice_bounds(module) == [(6,)]
    assert Opcode.DYNAMIC_SLICE not in opcodes(module, entry=False)
    assert trace.fired["move-static"] == 1


def test_the_moved_slice_keeps_its_tokens() -> None:
    module, _ = move(body_once("twice"))
    (moved,) = (i for i in module.entry_computation.instructions if i.opcode is Opcode.SLICE)
    assert moved.metadata.op_name == "dsidxnow=6,iterationidx=6"


@pytest.mark.parametrize(("start", "clamped"), [(-5, 0), (7, 6), (2**31 - 1, 6), (-(2**31), 0)])
def test_a_start_out_of_bounds_is_clamped_as_the_slice_would(start: int, clamped: int) -> None:
    module, trace = move(body_once("i").replace("constant(3)", f"constant({start})"))
    assert slice_bounds(module) == [(clamped,)]
    assert trace.declined["clamp_starts"] == 1


def test_a_huge_unsigned_start_clamps_to_the_end() -> None:
    text = body_once("big").replace(
        "  twice = s32[] multiply(i, two)\n", "  big = u64[] constant(18446744073709551615)\n"
    )
    assert slice_bounds(move(text)[0]) == [(6,)]


def test_without_clamp_starts_the_token_is_taken_as_it_is() -> None:
    module = read_text(body_once("i").replace("constant(3)", "constant(7)"))
    NeuronDusDsIndexSimplifier().run(module, Trace())
    DynamicSliceMover(clamp_starts=False).run(module, Trace())
    assert verify(module) != []


def test_an_unresolved_slice_moves_as_it_is_when_the_caller_has_its_start() -> None:
    text = body_once("i").replace("three = s32[] constant(3)", "three = s32[] parameter(1)")
    module = read_text(text)
    trace = Trace()
    DynamicSliceMover().run(module, trace)
    assert trace.fired["move-dynamic"] == 1
    assert Opcode.DYNAMIC_SLICE in opcodes(module, entry=True)


def test_a_start_computed_in_the_body_keeps_the_slice_there() -> None:
    text = body_once("twice").replace("three = s32[] constant(3)", "three = s32[] parameter(1)")
    trace = Trace()
    DynamicSliceMover().run(read_text(text), trace)
    assert trace.declined["starts-not-available"] == 1
    assert not trace.fired


def test_a_shared_body_is_copied_before_it_is_narrowed() -> None:
    text = ONE_BODY_TWICE.replace("dynamic-slice(x, start)", "dynamic-slice(x, i)")
    module, trace = move(text)
    assert trace.fired["clone-body"] == 1
    assert trace.fired["move-dynamic"] == 2
    assert len(module.computations) == 3


def test_readers_of_an_element_that_passes_through_get_the_full_value() -> None:
    module, trace = move(body_once("twice", root="window x"))
    assert trace.declined["pass_through"] == 1
    assert slice_bounds(module) == [(6,)]


def test_a_body_that_returns_its_element_passes_through_too() -> None:
    text = body_once("twice", root="x", extra="")
    module, _ = move(text)
    assert str(module.entry_computation.root.shape) == "s32[8]"


def test_another_reader_of_the_element_keeps_the_slice_in() -> None:
    _, trace = move(body_once("twice", extra="  y = s32[8] negate(x)\n", root="window y"))
    assert not trace.fired
    assert trace.declined == {"gte-other-users": 1}
    assert trace.messages[:2] == [
        "Dynamic slice input GTE has users that are not dynamic-slice, root tuple, or NeuronBoundaryMarker-End",
        "y which is not a dynamic-slice, root, or output tuple",
    ]


def test_two_slices_of_one_element_stay_in() -> None:
    other = "  y = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}\n"
    text = body_once("twice", extra=other, root="window y").replace("(s32[2], s32[8])", "(s32[2], s32[2])")
    _, trace = move(text)
    assert not trace.fired
    assert trace.declined == {"several-slices": 2}
    assert trace.messages[:2] == [
        "Cannot move dynamic slice outside call: GTE x",
        "2 dynamic-slice users for GTE x",
    ]


def test_a_second_reader_of_the_same_element_keeps_the_slice_in() -> None:
    other = "  x2 = s32[8] get-tuple-element(p), index=1\n  y = s32[8] negate(x2)\n"
    _, trace = move(body_once("twice", extra=other, root="window y"))
    assert not trace.fired
    assert trace.declined == {"whole_parameter": 1}


def test_a_parameter_read_whole_keeps_the_slice_in() -> None:
    other = "  q = (s32[], s32[8]) opt-barrier(p)\n  y = s32[8] get-tuple-element(q), index=1\n"
    _, trace = move(body_once("twice", extra=other, root="window y"))
    assert not trace.fired
    assert trace.declined == {"whole_parameter": 1}


def test_a_call_whose_operand_is_no_tuple_instruction_is_left_alone() -> None:
    text = body_once("twice").replace("call(state)", "call(barrier)")
    text = text.replace("  ROOT done", "  barrier = (s32[], s32[8]) opt-barrier(state)\n  ROOT done")
    _, trace = move(text)
    assert trace.declined["call-operand-not-tuple"] == 1
    assert "Call operand is not a tuple" in trace.messages


def test_a_slice_of_something_computed_in_the_body_is_left_alone() -> None:
    text = body_once("twice").replace("dynamic-slice(x,", "dynamic-slice(y,")
    text = text.replace("  ROOT window", "  y = s32[8] negate(x)\n  ROOT window")
    _, trace = move(text)
    assert trace.declined["input-not-gte"] == 1
    assert "Dynamic slice inside call doesn't use GTE as input" in trace.messages


def test_the_kill_switch_keeps_slices_of_entry_parameters() -> None:
    _, trace = move(body_once("twice"), disable_movement_of_slice_from_param=True)
    assert trace.messages[:3] == [
        "NOTICING NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM=1",
        "NOT MOVING DYNAMIC-SLICE FROM PRARAMS AS NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM IS ENABLED.",
        "NOT MOVING ds= window",
    ]
    assert not trace.fired["move-static"]


def test_the_kill_switch_lets_slices_of_computed_values_go() -> None:
    text = body_once("twice", caller="").replace("tuple(three, x)", "tuple(three, y)")
    text = text.replace("  state =", "  y = s32[8] negate(x)\n  state =")
    _, trace = move(text, disable_movement_of_slice_from_param=True)
    assert trace.fired["move-static"] == 1


def test_no_id_and_no_marker_is_left() -> None:
    text = body_once("twice").replace("dynamic-slice(x,", "dynamic-slice(m,")
    text = text.replace(
        "  ROOT window",
        '  m = s32[8] custom-call(x), custom_call_target="NeuronBoundaryMarker-Start"\n  ROOT window',
    )
    module, trace = move(text, tag=False)
    everything = [i for c in module.computations for i in c.instructions]
    assert not any(i.frontend_attributes or i.opcode is Opcode.CUSTOM_CALL for i in everything)
    assert trace.fired["strip-marker"] + trace.fired["trace-source"] >= 1


def test_a_slice_two_calls_deep_reaches_the_entry() -> None:
    text = body_once("twice").replace(
        "ENTRY main",
        "outer {\n  q = (s32[], s32[8]) parameter(0)\n  j = s32[] get-tuple-element(q), index=0\n"
        "  y = s32[8] get-tuple-element(q), index=1\n  again = (s32[], s32[8]) tuple(j, y)\n"
        "  ROOT inner = s32[2] call(again), to_apply=body\n}\nENTRY main",
    )
    text = text.replace("call(state), to_apply=body", "call(state), to_apply=outer")
    module, trace = move(text)
    assert slice_bounds(module) == [(6,)]
    assert (trace.fired["make-static"], trace.fired["move-static"]) == (1, 2)


def test_a_slice_of_an_element_that_the_body_packed_again_moves_too() -> None:
    """As a body has it into which a call was inlined: the true source is the caller's, the way to it goes on here."""
    packing = "packed = (s32[8]) tuple(x)\n  again = s32[8] get-tuple-element(packed), index=0\n"
    window = "ROOT window = s32[2] dynamic-slice("
    text = body_once("twice").replace(f"{window}x", f"{packing}  {window}again")
    assert "dynamic-slice(again, twice)" in text
    module, trace = move(text)
    assert slice_bounds(module) == [(6,)]
    assert trace.fired["trace-source"] == 1


def test_a_value_of_an_earlier_call_of_the_same_body_is_not_taken_for_this_ones() -> None:
    """The second call reads what the first one computed in the same body: the same instruction, another run of it."""
    text = """
HloModule chained
body {
  p = (s32[], s32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = s32[8] get-tuple-element(p), index=1
  y = s32[8] multiply(x, x)
  window = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}
  ROOT out = (s32[], s32[8], s32[2]) tuple(i, y, window)
}
ENTRY main {
  x = s32[8] parameter(0)
  one = s32[] constant(1)
  first = (s32[], s32[8]) tuple(one, x)
  a = (s32[], s32[8], s32[2]) call(first), to_apply=body
  y = s32[8] get-tuple-element(a), index=1
  second = (s32[], s32[8]) tuple(one, y)
  b = (s32[], s32[8], s32[2]) call(second), to_apply=body
  ROOT w = s32[2] get-tuple-element(b), index=2
}
"""
    _, trace = move(text)
    assert trace.fired["trace-source"] == 0


def test_fewer_tokens_than_dimensions_are_not_enough() -> None:
    text = body_once("i, i", metadata=', metadata={op_name="iterationidx=1"}')
    text = (
        text.replace("s32[8]", "s32[8,8]").replace("s32[2]", "s32[2,2]").replace("sizes={2}", "sizes={2,2}")
    )
    trace = Trace()
    DynamicSliceMover().run(read_text(text), trace)
    assert trace.declined["not-enough-indices"] == 1
    assert "Not enough indices for instruction=window" in trace.messages


def test_a_slice_in_a_call_that_must_not_be_inlined_has_no_equivalent() -> None:
    text = body_once("twice").replace(
        "to_apply=body", 'to_apply=body, frontend_attributes={inlineable="false"}'
    )
    _, trace = move(text, tag=False)
    assert trace.declined["starts-not-available"] == 1
    text = text.replace("dynamic-slice(x, twice)", "dynamic-slice(x, i)")
    _, trace = move(text, tag=False)
    assert trace.declined["no-equivalent"] == 1
    assert "Did Not Get equivalent ds instruction=windowinside simplified module." in trace.messages


def test_every_rule_that_declines_is_named() -> None:
    source = inspect.getsource(slice_motion)
    named = set(
        re.findall(r"(?:_refuse|decline)\(\s*(?:c\.slice,\s*c\.call,|inst,\s*call,)?\s*\"([\w-]+)\"", source)
    )
    assert named == {*DynamicSliceMover.legality, *DynamicSliceMover.guards}
