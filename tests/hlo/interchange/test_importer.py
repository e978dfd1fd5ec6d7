"""Is a proto taken in whole, and a wrong one refused with the place?"""

from collections.abc import Callable
from typing import Any

import pytest

from hlo import ArrayShape, HloInstruction, HloModule, Opcode, PrimitiveType, TupleShape
from hlo.attributes import ConvolutionDimensions, CustomCallTarget, Window, WindowDimension
from hlo.canonical import structure
from hlo.errors import InvalidInput, UnsupportedOpcode
from hlo.interchange import bridge, export_proto, import_proto, read_text
from hlo.interchange.schema import HloModuleProto, serialize
from hlo.interchange.wire import tagged

TEXT = """\
HloModule m
sum {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b), backend_config="x"
}
ENTRY e {
  x = s32[4,2]{0,1} parameter(0), sharding={replicated}, frontend_attributes={k="v"}
  y = s32[] constant(7)
  z = s32[2] reduce(x, y), dimensions={0}, to_apply=sum, metadata={op_name="n" op_type="t" source_line=3}
  d = s32[<=2] set-dimension-size(z, y), dimensions={0}, control-predecessors={x}
  ROOT t = (s32[2], s32[<=2]) tuple(z, d)
}"""
PROTO = bridge.text_to_proto(TEXT)


def named(module: HloModule, name: str) -> HloInstruction:
    found = module.find_instruction(name)
    assert found is not None
    return found


def test_what_the_ir_models_is_read() -> None:
    entry = import_proto(PROTO).entry_computation
    x, y, z, d, root = (next(i for i in entry.instructions if i.name == name) for name in "xyzdt")
    assert (z.operands, z.called_computations[0].name, z.dimensions) == ((x, y), "sum", (0,))
    assert (z.metadata.op_name, z.metadata.op_type) == ("n", "t")
    assert (x.parameter_number, dict(x.frontend_attributes), y.literal.value) == (0, {"k": "v"}, 7)
    assert (d.shape, d.control_predecessors) == (ArrayShape(PrimitiveType.S32, (2,), (True,)), (x,))
    assert root.shape == TupleShape((ArrayShape(PrimitiveType.S32, (2,)), d.array_shape))
    assert entry.root is root


def test_what_the_ir_does_not_model_is_carried() -> None:
    module = import_proto(PROTO)
    x, c = named(module, "x"), named(module, "c")
    assert (x.array_shape.layout, c.array_shape.layout) == (b"\n\x02\x00\x01\x80\x01\x01", None)
    assert x.carried  # the sharding
    assert b"x" in c.carried
    assert named(module, "y").carried == b""


def test_frontend_attributes_come_in_the_order_of_their_names() -> None:
    names = [f"k{number}" for number in range(9)]
    proto = HloModuleProto.FromString(PROTO)
    instruction(proto, "c").frontend_attributes.map.update(dict.fromkeys(reversed(names), "v"))
    assert list(named(import_proto(serialize(proto)), "c").frontend_attributes) == names


def test_unknown_fields_are_carried_wherever_they_are() -> None:
    proto = HloModuleProto.FromString(PROTO + tagged(900, b"module"))
    proto.computations[0].MergeFromString(tagged(900, b"computation"))
    proto.computations[0].instructions[2].MergeFromString(tagged(900, b"instruction"))
    proto.computations[0].instructions[2].metadata.MergeFromString(tagged(900, b"metadata"))
    exported = export_proto(import_proto(serialize(proto)))
    assert all(tagged(900, w) in exported for w in (b"module", b"computation", b"instruction", b"metadata"))


def test_reading_twice_gives_equal_modules() -> None:
    assert structure(read_text(TEXT)) == structure(read_text(TEXT))  # jaxlib numbers the modules it makes


def test_an_hlo_proto_is_unwrapped() -> None:
    assert structure(import_proto(tagged(1, PROTO) + tagged(3, b""))) == structure(import_proto(PROTO))


def test_a_snapshot_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"^an HloSnapshot"):
        import_proto(tagged(1, tagged(1, PROTO)) + tagged(2, b""))


@pytest.mark.parametrize("data", [b"", b"\x00\xff" * 20, PROTO[: len(PROTO) // 2], b"name: 'text'"], ids=len)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"^not an HLO module proto"):
        import_proto(data)


def test_an_opcode_that_we_do_not_have_is_named() -> None:
    with pytest.raises(UnsupportedOpcode) as caught:
        import_proto(PROTO.replace(b"\x12\x03add", b"\x12\x03foo"))
    assert caught.value.opcode == "foo"


def test_every_opcode_name_has_a_reader() -> None:
    for opcode in Opcode:
        name = str(opcode)
        proto = HloModuleProto.FromString(PROTO)
        proto.computations[0].instructions[2].opcode = name
        if opcode in (Opcode.SORT, Opcode.SCAN):
            proto.computations[0].instructions[2].dimensions.append(0)  # it must have one
        if opcode is Opcode.SHUFFLE:
            proto.computations[0].instructions[
                2
            ].shuffle_mode.rotate.SetInParent()  # the one mode that is known
        if opcode is not Opcode.CONSTANT:  # which must have a value
            assert named(import_proto(serialize(proto)), "c").opcode is opcode


def test_a_shuffle_in_another_mode_is_unsupported() -> None:
    proto = HloModuleProto.FromString(PROTO)
    proto.computations[0].instructions[2].opcode = "shuffle"
    with pytest.raises(UnsupportedOpcode, match="no rotation"):
        import_proto(serialize(proto))


def instruction(proto: Any, name: str) -> Any:
    return next(i for c in proto.computations for i in c.instructions if i.name == name)


MISTAKES: dict[str, tuple[Callable[[Any], object], str]] = {
    "two computations with one id": (
        lambda m: m.computations.add().CopyFrom(m.computations[0]),
        "two computations have id 0",
    ),
    "no such entry": (lambda m: setattr(m, "entry_computation_id", 9), "no entry computation"),
    "no such root": (lambda m: setattr(m.computations[0], "root_id", 99), "sum: no root"),
    "one id twice": (lambda m: setattr(instruction(m, "b"), "id", 0), "sum: b: id 0 is taken"),
    "no such operand": (
        lambda m: instruction(m, "c").operand_ids.append(99),
        "sum: c: no operand or computation with id 99",
    ),
    "an operand after its user": (
        lambda m: instruction(m, "a").operand_ids.append(2),
        "sum: a: no operand or computation with id 2",
    ),
    "no such callee": (
        lambda m: instruction(m, "z").called_computation_ids.append(42),
        "e: z: no operand or computation with id 42",
    ),
    "no such control predecessor": (
        lambda m: instruction(m, "c").control_predecessor_ids.append(99),
        "sum: c: control predecessor 99",
    ),
    "no shape": (lambda m: instruction(m, "a").ClearField("shape"), "sum: a: a shape is missing"),
    "an unknown element type": (
        lambda m: setattr(instruction(m, "a").shape, "element_type", 30),
        "sum: a: a shape of unknown element type 30",
    ),
    "a negative dimension": (
        lambda m: instruction(m, "a").shape.dimensions.append(-1),
        "sum: a: Invalid dimension size -1, is_dynamic=false$",
    ),
    "a negative bound": (
        lambda m: (
            instruction(m, "a").shape.dimensions.append(-1),
            instruction(m, "a").shape.is_dynamic_dimension.append(True),
        ),
        "sum: a: Invalid dimension size -1, is_dynamic=true: "
        "dynamic dimension must have size == kUnboundedSize or >= 0.$",
    ),
    "no bound of a static dimension": (
        lambda m: instruction(m, "a").shape.dimensions.append(-(2**63)),
        "sum: a: Invalid dimension size -9223372036854775808, is_dynamic=false$",
    ),
    "too many dynamic flags": (
        lambda m: instruction(m, "a").shape.is_dynamic_dimension.append(True),
        r"sum: a: Malformed shape proto: number of is_dynamic_dimension fields \(1\) does not match number of "
        r"dimension fields \(0\)$",
    ),
    "a layout of too many dimensions": (
        lambda m: instruction(m, "a").shape.layout.minor_to_major.append(0),
        r"sum: a: a layout of \[0\] for 0 dimensions",
    ),
    "no value": (lambda m: instruction(m, "y").ClearField("literal"), "e: y: a constant without its value"),
    "a value of another type": (
        lambda m: setattr(instruction(m, "y").shape, "element_type", 5),
        r"e: y: a constant of s64\[\] with a value of another shape",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_inconsistent_proto_is_refused_with_the_place(mistake: str) -> None:
    break_it, message = MISTAKES[mistake]
    proto = HloModuleProto.FromString(PROTO)
    break_it(proto)
    with pytest.raises(InvalidInput, match=f"^{message}"):
        import_proto(serialize(proto))


CALLS = """HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY e {
  x = f32[<=6] parameter(0)
  z = f32[] constant(0)
  i = f32[2,<=5,5,3] parameter(1)
  k = f32[3,3,3,4] parameter(2)
  w = f32[<=3] custom-call(x, z), window={size=2 stride=2}, to_apply=add, custom_call_target="W"
  v = f32[2,<=5,5,4] custom-call(i, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f,
    feature_group_count=3, padding_type=PADDING_SAME, custom_call_target="V"
  g = f32[6] custom-call(), batch_group_count=2, padding_type=PADDING_VALID, custom_call_target="G"
  ROOT t = (f32[<=3], f32[2,<=5,5,4], f32[6]) tuple(w, v, g)
}"""


def test_what_a_custom_call_says_of_windows_and_convolutions_is_read_and_written() -> None:
    proto = bridge.text_to_proto(CALLS)
    module = import_proto(proto)
    w, v, g = (named(module, name) for name in "wvg")
    assert w.attributes == CustomCallTarget("W", window=Window((WindowDimension(2, stride=2),)))
    assert w.called_computations[0].name == "add"
    assert g.attributes == CustomCallTarget("G", batch_group_count=2, padding_type="VALID")
    row = WindowDimension(3, padding_low=1, padding_high=1)
    assert isinstance(v.attributes, CustomCallTarget)
    assert v.attributes.padding_type == "SAME"
    assert v.attributes.convolution == ConvolutionDimensions(
        (row, row), 0, 3, (1, 2), 2, 3, (0, 1), 0, 3, (1, 2), feature_group_count=3
    )
    assert [inst.carried for inst in (w, v, g)] == [b"", b"", b""]
    assert bridge.proto_to_text(export_proto(module)) == bridge.proto_to_text(proto)


def test_an_unknown_padding_type_is_refused() -> None:
    proto = HloModuleProto.FromString(bridge.text_to_proto(CALLS))
    instruction(proto, "v").padding_type = 3
    with pytest.raises(InvalidInput, match=r"^e: v: 3 stands for none of VALID, SAME"):
        import_proto(serialize(proto))
