"""Does the simplifier tag exactly the starts that are constant in every execution, and touch nothing else?"""

import pytest

from hlo import HloInstruction, HloModule, Opcode
from hlo.canonical import structure
from hlo.interchange import read_text
from passes import PassError, Trace
from passes.neuron import NeuronDusDsIndexSimplifier
from tests.passes.neuron.programs import ONE_BODY_TWICE, body_once


def tag(text: str, **options: bool) -> tuple[HloModule, Trace]:
    module, trace = read_text(text), Trace()
    before = structure(module)
    changed = NeuronDusDsIndexSimplifier(**options).run(module, trace)
    assert changed == (structure(module) != before)
    return module, trace


def find(module: HloModule, opcode: Opcode) -> HloInstruction:
    (found,) = (i for c in module.computations for i in c.instructions if i.opcode is opcode)
    return found


def op_name(module: HloModule, opcode: Opcode = Opcode.DYNAMIC_SLICE) -> str:
    return find(module, opcode).metadata.op_name


def entry(body: str) -> str:
    return f"HloModule m\nENTRY main {{\n  x = s32[8,4] parameter(0)\n  i = s32[] parameter(1)\n{body}\n}}\n"


def two_dimensional(starts: str, metadata: str = "") -> str:
    constants = "  c3 = s32[] constant(3)\n  c0 = s32[] constant(0)\n"
    ds = f"  ROOT w = s32[2,4] dynamic-slice(x, {starts}), dynamic_slice_sizes={{2,4}}{metadata}"
    return entry(constants + ds)


def named(text: str) -> str:
    return f', metadata={{op_name="{text}"}}'


def test_constant_starts_are_written_one_entry_a_dimension() -> None:
    module, trace = tag(two_dimensional("c3, c0", named("jit(f)/slice")))
    assert op_name(module) == "jit(f)/slice,dsidxnow=3,dsidxnow=0,iterationidx=3,iterationidx=0"
    assert trace.fired == {"tag-ds": 1}


def test_an_empty_field_starts_with_a_bare_entry() -> None:
    assert op_name(tag(two_dimensional("c0, c0"))[0]).startswith("dsidxnow=0,")


def test_one_start_that_is_not_constant_leaves_the_field_alone() -> None:
    module, trace = tag(two_dimensional("c3, i", named("jit(f)/slice")))
    assert op_name(module) == "jit(f)/slice"
    assert trace.declined["non-constant-start"] == 1


def test_an_update_gets_its_own_key() -> None:
    module, trace = tag(
        entry(
            "  u = s32[2,4] parameter(2)\n  c3 = s32[] constant(3)\n"
            "  ROOT w = s32[8,4] dynamic-update-slice(x, u, c3, c3)"
        )
    )
    expected = "dusidxnow=3,dusidxnow=3,iterationidx=3,iterationidx=3"
    assert op_name(module, Opcode.DYNAMIC_UPDATE_SLICE) == expected
    assert trace.fired == {"tag-dus": 1}


def test_a_start_may_become_constant_through_the_call_and_arithmetic() -> None:
    assert op_name(tag(body_once("twice"))[0]) == "dsidxnow=6,iterationidx=6"


def test_the_raw_start_is_written_before_clamping() -> None:
    text = body_once("twice").replace("constant(3)", "constant(-50)")
    assert op_name(tag(text)[0]) == "dsidxnow=-100,iterationidx=-100"


def test_an_unsigned_start_of_two_to_the_63_widens_to_a_negative_number() -> None:
    text = body_once("big", extra="").replace(
        "  twice = s32[] multiply(i, two)\n", "  big = u64[] constant(18446744073709551615)\n"
    )
    assert op_name(tag(text)[0]) == "dsidxnow=-1,iterationidx=-1"


def test_a_slice_that_folds_away_altogether_is_tagged_too() -> None:
    text = body_once("twice").replace(
        "  x = s32[8] parameter(0)\n  three", "  x = s32[8] constant({1,2,3,4,5,6,7,8})\n  three"
    )
    assert op_name(tag(text)[0]) == "dsidxnow=6,iterationidx=6"


def test_a_body_with_two_starts_gets_no_token() -> None:
    module, trace = tag(ONE_BODY_TWICE)
    assert op_name(module) == ""
    assert trace.declined["unanimous"] >= 1


def test_without_unanimous_the_first_call_speaks_for_all() -> None:
    assert op_name(tag(ONE_BODY_TWICE, unanimous=False)[0]) == "dsidxnow=0,iterationidx=0"


def test_two_slices_with_one_op_name_get_each_their_own_start() -> None:
    shared = named("while/body/dynamic_slice")
    body = (
        "  a = s32[] constant(1)\n  b = s32[] constant(5)\n  z = s32[] constant(0)\n"
        f"  v = s32[2,4] dynamic-slice(x, a, z), dynamic_slice_sizes={{2,4}}{shared}\n"
        f"  w = s32[2,4] dynamic-slice(x, b, z), dynamic_slice_sizes={{2,4}}{shared}\n"
        "  ROOT r = s32[2,4] add(v, w)"
    )
    names = {
        inst.name: inst.metadata.op_name.partition(",")[2]
        for inst in tag(entry(body))[0].entry_computation.instructions
    }
    assert names["v"].startswith("dsidxnow=1,")
    assert names["w"].startswith("dsidxnow=5,")
    confused = tag(entry(body), unanimous=False)[0]
    assert all(
        "dsidxnow=1," in inst.metadata.op_name
        for inst in confused.entry_computation.instructions
        if inst.opcode is Opcode.DYNAMIC_SLICE
    )


def test_stale_tokens_are_replaced_or_removed() -> None:
    stale = named("a,dsidxnow=7,iterationidx=7")
    assert op_name(tag(body_once("twice", metadata=stale))[0]) == "a,dsidxnow=6,iterationidx=6"
    module, trace = tag(two_dimensional("c3, i", stale))
    assert op_name(module) == "a"
    assert trace.fired == {"drop-stale-token": 1}


def test_without_fresh_tokens_what_is_found_is_believed() -> None:
    stale = named("a,dsidxnow=7,iterationidx=7")
    module, _ = tag(body_once("twice", metadata=stale), fresh_tokens=False)
    assert op_name(module) == "a,dsidxnow=7,iterationidx=7"


def test_text_in_the_middle_of_a_name_is_not_a_token() -> None:
    lookalike = named("my_dsidxnow=9")
    module, trace = tag(body_once("twice", metadata=lookalike))
    assert op_name(module) == "my_dsidxnow=9,dsidxnow=6,iterationidx=6"
    assert trace.declined["anchored_keys"] == 1
    loose, _ = tag(body_once("twice", metadata=lookalike), anchored_keys=False)
    assert op_name(loose) == "my_,dsidxnow=6,iterationidx=6"


def test_an_element_that_is_one_constant_everywhere_is_spliced() -> None:
    module, trace = tag(body_once("i"))
    start = find(module, Opcode.DYNAMIC_SLICE).operand(1)
    assert start.opcode is Opcode.CONSTANT
    assert trace.fired["splice-gte"] == 1


def test_an_element_that_differs_between_calls_stays() -> None:
    module, _ = tag(ONE_BODY_TWICE)
    (body,) = (c for c in module.computations if not c.is_entry)
    assert sum(i.opcode is Opcode.GET_TUPLE_ELEMENT for i in body.instructions) == 2


def test_an_element_that_something_waits_for_stays() -> None:
    text = body_once("twice").replace("multiply(i, two)", "multiply(i, two), control-predecessors={i}")
    module, trace = tag(text)
    assert trace.declined["control-dependencies"] == 1
    assert not NeuronDusDsIndexSimplifier().run(module, Trace())


def test_markers_are_stripped_around_arrays_and_tuples() -> None:
    marked = entry(
        '  m = s32[8,4] custom-call(x), custom_call_target="NeuronBoundaryMarker-Start"\n'
        "  t = (s32[8,4], s32[]) tuple(m, i)\n"
        '  ROOT e = (s32[8,4], s32[]) custom-call(t), custom_call_target="NeuronBoundaryMarker-End"'
    )
    module, trace = tag(marked)
    assert [i.opcode for i in module.entry_computation.make_instruction_post_order()] == [
        Opcode.PARAMETER,
        Opcode.PARAMETER,
        Opcode.TUPLE,
    ]
    assert trace.fired == {"strip-marker": 2}


def test_a_marker_with_two_operands_is_refused_with_the_pages_message() -> None:
    marked = entry('  ROOT m = s32[8,4] custom-call(x, i), custom_call_target="NeuronBoundaryMarker-Start"')
    with pytest.raises(PassError) as caught:
        tag(marked)
    assert caught.value.message == "NeuronBoundaryMarker-Start expected to have 1 operand but has 2"


def test_a_marker_of_another_type_than_its_operand_is_refused() -> None:
    marked = entry('  ROOT m = s32[4,8] custom-call(x), custom_call_target="NeuronBoundaryMarker-End"')
    with pytest.raises(PassError, match="Failed to replace uses of NeuronBoundaryMarker: "):
        tag(marked)


@pytest.mark.parametrize("text", [ONE_BODY_TWICE, body_once("twice"), body_once("i")])
def test_a_second_run_changes_nothing(text: str) -> None:
    module, _ = tag(text)
    assert not NeuronDusDsIndexSimplifier().run(module, Trace())
