"""Do our protobuf messages agree with the ones inside jaxlib, and lose nothing?"""

from pathlib import Path

from google.protobuf import descriptor_pool

from hlo.interchange import bridge, schema

TEXT = """\
HloModule m, frontend_attributes={b="2",a="1"}
ENTRY e {
  p = s32[8,4] parameter(0), metadata={op_name="x" source_line=3}
  ROOT s = s32[2,4] slice(p), slice={[1:5:2], [0:4]}
}"""


def test_fields_carry_jaxlibs_values() -> None:
    module = schema.HloModuleProto.FromString(bridge.text_to_proto(TEXT))
    parameter, root = module.computations[0].instructions
    assert module.name == "m"
    assert dict(module.frontend_attributes.map) == {"a": "1", "b": "2"}
    assert parameter.opcode == "parameter"
    assert (parameter.metadata.op_name, parameter.metadata.source_line) == ("x", 3)
    assert [(d.start, d.limit, d.stride) for d in root.slice_dimensions] == [(1, 5, 2), (0, 4, 1)]
    assert list(root.operand_ids) == [parameter.id]
    assert list(root.shape.dimensions) == [2, 4]


def test_every_shared_module_survives_our_messages(shared_data: Path) -> None:
    files = sorted((shared_data / "enzyme_hlo").glob("*.hlo"))
    assert files
    for file in files:
        proto = bridge.text_to_proto(file.read_text())
        copy = schema.HloModuleProto()
        copy.CopyFrom(schema.HloModuleProto.FromString(proto))
        assert bridge.proto_to_text(schema.serialize(copy)) == bridge.proto_to_text(proto), file.name


def test_unknown_fields_survive_copying_and_merging() -> None:
    unknown = b"\xfa\x3f\x03new"  # field 1023, length delimited
    instruction = schema.HloInstructionProto.FromString(b"\x0a\x01x" + unknown)
    merged = schema.HloComputationProto()
    merged.instructions.add().CopyFrom(instruction)
    outer = schema.HloComputationProto()
    outer.MergeFrom(merged)
    assert unknown in schema.serialize(outer)


def test_maps_are_written_in_key_order() -> None:
    forwards, backwards = schema.FrontendAttributes(), schema.FrontendAttributes()
    for key in "abcdefgh":
        forwards.map[key] = "1"
    for key in "hgfedcba":
        backwards.map[key] = "1"
    assert schema.serialize(forwards) == schema.serialize(backwards)


def test_the_messages_stay_out_of_the_default_pool() -> None:
    assert schema.HloModuleProto.DESCRIPTOR.file.pool is not descriptor_pool.Default()


def test_every_message_of_the_table_is_an_attribute() -> None:
    messages = schema.HloModuleProto.DESCRIPTOR.file.message_types_by_name
    assert [name for name in messages if not hasattr(schema, name)] == []
