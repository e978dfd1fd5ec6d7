"""Is a module that passes have edited written so that jaxlib accepts it, and what is stale left out?"""

import numpy as np
import pytest

from hlo import ArrayShape, HloComputation, HloModule, Opcode, PrimitiveType, TupleShape
from hlo.attributes import CustomCallTarget, Dimensions, SliceBounds
from hlo.canonical import structure
from hlo.errors import IllegalRewrite
from hlo.interchange import bridge, export_proto, import_proto, read_text, write_text
from hlo.interchange.schema import HloModuleProto, serialize

NUMBER = ArrayShape(PrimitiveType.F32)
SCHEDULED = """\
HloModule m, is_scheduled=true, entry_computation_layout={(f32[2,3]{0,1})->f32[3,2]{1,0}}
ENTRY e {
  x = f32[2,3]{1,0} parameter(0)
  y = f32[2,3]{1,0} negate(x)
  unused = f32[2,3]{1,0} abs(x)
  ROOT z = f32[3,2]{1,0} transpose(y), dimensions={1,0}
}"""


def ids(module: HloModule) -> dict[str, int]:
    proto = HloModuleProto.FromString(export_proto(module))
    return {i.name: i.id for c in proto.computations for i in c.instructions}


def native(*parameters: ArrayShape) -> tuple[HloModule, HloComputation]:
    module = HloModule("m")
    entry = module.add_computation("e")
    module.set_entry_computation(entry)
    for number, shape in enumerate(parameters):
        entry.add_parameter(number, shape)
    return module, entry


def test_ids_of_the_original_are_kept_and_new_ones_are_fresh() -> None:
    module = read_text(SCHEDULED)
    before = ids(module)
    entry = module.entry_computation
    entry.set_root(entry.add(Opcode.NEGATE, entry.root.shape, (entry.root,), name="new"))
    after = ids(module)
    assert after.pop("new") not in before.values()
    assert after == before


def test_ids_are_unique_in_the_module() -> None:
    module = read_text("HloModule m\nf {\n ROOT a = s32[] parameter(0)\n}\nENTRY e {\n a = s32[] parameter(0)\n"
                       " ROOT b = s32[] call(a), to_apply=f\n}")  # fmt: skip
    for computation in module.computations:
        computation.add(Opcode.NEGATE, computation.root.shape, (computation.root,))
    callee = module.add_computation("f")
    callee.set_root(callee.add_parameter(0, NUMBER))
    numbers = ids(module)
    assert len(set(numbers.values())) == len(numbers) == module.instruction_count


def test_an_id_that_is_taken_is_not_given_twice() -> None:
    module, entry = native(NUMBER, NUMBER)
    for parameter in entry.parameters:
        parameter.unique_id = 5
    entry.set_root(entry.add_tuple(entry.parameters))
    assert len(set(ids(module).values())) == 3
    bridge.validate(export_proto(module))


def test_a_schedule_is_kept_while_it_holds() -> None:
    assert write_text(read_text(SCHEDULED)) == bridge.proto_to_text(bridge.text_to_proto(SCHEDULED))
    assert "is_scheduled=true" in write_text(read_text(SCHEDULED))


def test_a_schedule_is_dropped_when_an_instruction_is_gone() -> None:
    module = read_text(SCHEDULED)
    unused = module.find_instruction("unused")
    assert unused is not None
    module.entry_computation.remove_instruction(unused)
    assert "is_scheduled" not in write_text(module)


def test_a_schedule_is_dropped_when_an_instruction_is_new() -> None:
    module = read_text(SCHEDULED)
    module.entry_computation.add(Opcode.NEGATE, NUMBER, (module.entry_computation.root,))
    assert "is_scheduled" not in write_text(module)


def test_a_schedule_is_dropped_when_a_computation_is_new() -> None:
    module = read_text(SCHEDULED)
    callee = module.add_computation("new")
    callee.set_root(callee.add_parameter(0, NUMBER))
    assert "is_scheduled" not in write_text(module)


def test_the_entry_layout_is_kept_while_the_signature_is_the_same() -> None:
    assert "entry_computation_layout={(f32[2,3]{0,1})->f32[3,2]{1,0}}" in write_text(read_text(SCHEDULED))


def test_the_entry_layout_follows_a_changed_signature() -> None:
    module = read_text(SCHEDULED)
    entry = module.entry_computation
    entry.set_root(entry.add_tuple([entry.root]), accept_different_shape=True)
    assert "entry_computation_layout={(f32[2,3]{1,0})->(f32[3,2]{1,0})}" in write_text(module)


def test_operands_come_first_whatever_the_order_in_the_computation() -> None:
    module, entry = native(NUMBER)
    early = entry.add(Opcode.NEGATE, NUMBER, entry.parameters)
    late = entry.add(Opcode.ABS, NUMBER, entry.parameters)
    entry.replace_operand(early, 0, late)
    entry.set_root(early)
    assert structure(read_text(write_text(module))) == structure(module)


def test_a_control_predecessor_comes_first() -> None:
    module, entry = native(NUMBER)
    first = entry.add(Opcode.NEGATE, NUMBER, entry.parameters)
    second = entry.add(Opcode.ABS, NUMBER, entry.parameters)
    entry.add_control_dependency(second, first)
    entry.set_root(first)
    assert structure(read_text(write_text(module))) == structure(module)


def test_callees_come_first_whatever_the_order_in_the_module() -> None:
    module, entry = native(NUMBER)
    outer, inner = module.add_computation("outer"), module.add_computation("inner")
    inner.set_root(inner.add_parameter(0, NUMBER))
    outer.set_root(
        outer.add(Opcode.CALL, NUMBER, [outer.add_parameter(0, NUMBER)], called_computations=[inner])
    )
    entry.set_root(entry.add(Opcode.CALL, NUMBER, entry.parameters, called_computations=[outer]))
    proto = HloModuleProto.FromString(export_proto(module))
    assert [c.name for c in proto.computations] == ["inner", "outer", "e"]
    assert structure(read_text(write_text(module))) == structure(module)


def test_carried_fields_of_another_opcode_do_not_mix_with_the_attributes() -> None:
    module = read_text("HloModule m\nENTRY e {\n  x = f32[2,3] parameter(0)\n"
                       "  ROOT y = f32[3,2] reshape(x), inferred_dimension=1, sharding={replicated}\n}")  # fmt: skip
    entry = module.entry_computation
    reshape = entry.root
    assert "inferred_dimension=1, sharding={replicated}" in write_text(module)
    new = entry.add(Opcode.TRANSPOSE, reshape.shape, reshape.operands, Dimensions((1, 0)), like=reshape)
    entry.replace_instruction(reshape, new)
    assert "dimensions={1,0}, sharding={replicated}" in write_text(module)


@pytest.mark.parametrize("version", range(5))
def test_the_api_version_of_a_custom_call_is_kept(version: int) -> None:
    text = 'HloModule m\nENTRY e {\n  ROOT c = f32[] custom-call(), custom_call_target="t"\n}'
    proto = HloModuleProto.FromString(bridge.text_to_proto(text))
    proto.computations[0].instructions[0].custom_call_api_version = version
    module = import_proto(serialize(proto))
    assert bridge.proto_to_text(export_proto(module)) == bridge.proto_to_text(serialize(proto))
    read_text(write_text(module))  # 0, unspecified, is printed by jaxlib but not read


def test_a_scheduled_fusion_keeps_its_schedule() -> None:
    text = """\
HloModule m, is_scheduled=true
f {
  ROOT p = f32[] parameter(0)
}
ENTRY e {
  x = f32[] parameter(0)
  ROOT y = f32[] fusion(x), kind=kLoop, calls=f
}"""
    assert "is_scheduled=true" in write_text(read_text(text))


def test_a_dynamic_dimension_and_a_custom_layout_are_written() -> None:
    module, entry = native(
        ArrayShape(PrimitiveType.F32, (2, 3), (False, True)),
        ArrayShape(PrimitiveType.F32, (2, 3), layout=b"\n\x02\x00\x01\x80\x01\x01"),
        ArrayShape(PrimitiveType.F32, (2,), layout=b""),
    )
    entry.set_root(entry.add_tuple(entry.parameters))
    assert "(f32[2,<=3]{1,0}, f32[2,3]{0,1}, f32[2])" in write_text(module)
    assert structure(import_proto(export_proto(module))) == structure(module)


def test_exporting_leaves_the_module_as_it_is() -> None:
    module = read_text(SCHEDULED)
    before = structure(module)
    assert export_proto(module) == export_proto(module)
    assert structure(module) == before


def broken() -> dict[str, HloModule]:
    """Modules that a pass left in a state that no proto can express."""
    no_entry = HloModule("m")
    no_root, _ = native(NUMBER)
    cyclic, entry = native(NUMBER)
    first = entry.add(Opcode.NEGATE, NUMBER, entry.parameters)
    second = entry.add(Opcode.ABS, NUMBER, [first])
    entry.replace_operand(first, 0, second)
    entry.set_root(second)
    recursive, entry = native(NUMBER)
    entry.set_root(entry.add(Opcode.CALL, NUMBER, entry.parameters, called_computations=[entry]))
    foreign_callee, entry = native(NUMBER)
    entry.set_root(
        entry.add(Opcode.CALL, NUMBER, entry.parameters, called_computations=[cyclic.entry_computation])
    )
    foreign_operand, entry = native()
    entry.set_root(entry.add(Opcode.ABS, NUMBER, native(NUMBER)[1].parameters))
    bad_tuple, entry = native()
    entry.set_root(entry.add_constant((np.array(1.0), np.array(2.0))))
    entry.root.shape = TupleShape()
    beyond_int64, entry = native(NUMBER)
    bounds = SliceBounds((2**63,), (2**63 + 1,), (1,))
    entry.set_root(entry.add(Opcode.SLICE, NUMBER, entry.parameters, bounds))
    return {
        "cannot be written: Value out of range": beyond_int64,
        "nullptr != entry_computation_": no_entry,
        "computation e has no root": no_root,
        "cycle through": cyclic,
        "computation e, called by e, is recursive": recursive,
        "computation e, called by e, is not in the module": foreign_callee,
        "p0 is used in e but not in it": foreign_operand,
        r"a constant of \(\) with a value of another shape": bad_tuple,
    }


@pytest.mark.parametrize("message", broken())
def test_a_broken_module_is_the_fault_of_a_pass(message: str) -> None:
    with pytest.raises(IllegalRewrite, match=message):
        export_proto(broken()[message])


def test_a_custom_call_needs_no_carried_fields() -> None:
    module, entry = native()
    entry.set_root(entry.add(Opcode.CUSTOM_CALL, NUMBER, (), CustomCallTarget("AwsNeuronTest")))
    assert 'custom-call(), custom_call_target="AwsNeuronTest"\n' in write_text(module)
