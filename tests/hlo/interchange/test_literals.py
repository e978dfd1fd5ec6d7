"""Is every constant carried bit for bit, whatever its element type, its layout and its odd values?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import TOKEN, ArrayShape, HloModule, Literal, PrimitiveType, TokenShape, TupleShape, Value, same_bits
from hlo.errors import IllegalRewrite, InvalidInput
from hlo.interchange import bridge, export_proto, import_proto, read_text, write_text
from hlo.interchange.literals import literal_bytes, read_literal
from hlo.interchange.schema import HloModuleProto, LayoutProto, LiteralProto, serialize

KINDS = st.sampled_from(list(PrimitiveType))


@st.composite
def arrays_with_layout(draw: st.DrawFn) -> tuple[np.ndarray, ArrayShape]:
    """Any bits in any element type, and a shape with any layout for them."""
    kind = draw(KINDS)
    dimensions = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    count = int(np.prod(dimensions)) * kind.numpy.itemsize
    raw = np.frombuffer(draw(st.binary(min_size=count, max_size=count)), np.uint8)
    bits = raw & ((1 << kind.bit_width) - 1 if kind.bit_width < 8 else 255)
    if kind is PrimitiveType.PRED:
        bits = raw & 1
    order = draw(st.permutations(range(len(dimensions))))
    layout = serialize(LayoutProto(minor_to_major=order))
    return bits.view(kind.numpy).reshape(dimensions), ArrayShape(kind, dimensions, layout=layout)


@given(arrays_with_layout())
def test_a_literal_keeps_its_bits_in_every_layout(drawn: tuple[np.ndarray, ArrayShape]) -> None:
    value, shape = drawn
    proto = LiteralProto.FromString(literal_bytes(value, shape))
    assert same_bits(read_literal(proto), value)


def module_of(*constants: Value) -> HloModule:
    module = HloModule("constants")
    entry = module.add_computation("entry")
    entry.set_root(entry.add_tuple([entry.add_constant(constant) for constant in constants]))
    module.set_entry_computation(entry)
    return module


def through_jaxlib(module: HloModule) -> list[Value]:
    """The constants after jaxlib has read and written the proto."""
    text_proto = bridge.text_to_proto(write_text(module))
    return [i.literal.value for i in import_proto(text_proto).entry_computation.root.operands]


@pytest.mark.parametrize("kind", PrimitiveType, ids=lambda kind: kind.text)
def test_jaxlib_reads_the_elements_that_we_mean(kind: PrimitiveType) -> None:
    numbers = [0, 1, 1, 0, 1] if kind in (PrimitiveType.PRED, PrimitiveType.F8E8M0FNU) else [1, 0, 1, 1, 0]
    if kind.is_signed:
        numbers = [1, -2, 0, 1, -1]
    value = np.array(numbers).astype(kind.numpy).reshape(5, 1)
    (read,) = through_jaxlib(module_of(value))
    assert same_bits(read, value)


ODD = [-0.0, 0.0, np.inf, -np.inf, np.nan, -np.nan, 1 / 3, 5e-324, 1e-45, 6e-8]


@pytest.mark.parametrize("kind", [k for k in PrimitiveType if k.is_float], ids=lambda kind: kind.text)
def test_odd_floats_survive_text(kind: PrimitiveType) -> None:
    if kind is PrimitiveType.F8E8M0FNU:
        # It has neither a sign nor a zero, and jaxlib reads the smallest, 0, as the second smallest.
        value = np.arange(1, 256, dtype=np.uint8).view(kind.numpy)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            value = np.array(ODD).astype(kind.numpy)
    assert same_bits(through_jaxlib(module_of(value, value[0]))[0], value)
    assert same_bits(through_jaxlib(module_of(value, value[:1].reshape(())))[1], value[:1].reshape(()))


def test_a_sign_of_zero_survives_beside_text_that_looks_like_one() -> None:
    module = module_of(np.array([[-0.0, -1]], np.float32), (np.array(-0.0), np.array([-0.0j], np.complex64)))
    inst = module.entry_computation.root.operand(0)
    inst.frontend_attributes = {"key": "\n  %a = f32[] constant(-0)"}
    read = read_text(write_text(module)).entry_computation.root
    assert [c.literal for c in read.operands] == [c.literal for c in module.entry_computation.root.operands]
    assert read.operand(0).frontend_attributes == inst.frontend_attributes


def test_nan_payloads_survive_text() -> None:
    payloads = np.array([0x7FC00001, 0xFFC12345, 0x7F800001], np.uint32).view(np.float32)
    assert same_bits(through_jaxlib(module_of(payloads))[0], payloads)


def test_a_tuple_constant_holds_arrays_and_tokens() -> None:
    value: Value = (np.arange(3, dtype=np.int8), (np.array(True), TOKEN))
    shape = TupleShape(
        (ArrayShape(PrimitiveType.S8, (3,)), TupleShape((ArrayShape(PrimitiveType.PRED), TokenShape())))
    )
    assert same_bits(read_literal(LiteralProto.FromString(literal_bytes(value, shape))), value)


def test_a_constant_is_stored_in_the_order_of_its_layout() -> None:
    text = "HloModule m\nENTRY e {\n  ROOT c = s32[2,3]{0,1} constant({{1,2,3},{4,5,6}})\n}"
    module = read_text(text)
    assert module.entry_computation.root.literal == Literal(np.array([[1, 2, 3], [4, 5, 6]], np.int32))
    (computation,) = HloModuleProto.FromString(export_proto(module)).computations
    assert list(computation.instructions[0].literal.s32s) == [1, 4, 2, 5, 3, 6]


def test_the_bits_beside_a_small_integer_do_not_count() -> None:
    dirty = np.array([0xFF, 0xFE, 0xF8], np.uint8).view(PrimitiveType.S4.numpy)
    clean = np.array([15, 14, 8], np.uint8).view(PrimitiveType.S4.numpy)
    shape = ArrayShape(PrimitiveType.S4, (3,))
    assert literal_bytes(dirty, shape) == literal_bytes(clean, shape)
    proto = LiteralProto.FromString(literal_bytes(clean, shape))
    proto.s4s = b"\xff\xfe\xf8"
    assert same_bits(read_literal(proto), clean)


def test_a_large_constant_is_read_and_written_whole() -> None:
    value = np.arange(100_000, dtype=np.int64) * 40_503 - 2**40
    (read,) = import_proto(export_proto(module_of(value))).entry_computation.root.operands
    assert read.literal == Literal(value)


def test_values_that_are_read_cannot_be_written_to() -> None:
    (inst,) = import_proto(export_proto(module_of(np.arange(3)))).entry_computation.root.operands
    value = inst.literal.value
    assert isinstance(value, np.ndarray)
    assert not value.flags.writeable


@pytest.mark.parametrize("field", ["s32s", "preds"])
def test_a_literal_with_too_few_elements_is_refused(field: str) -> None:
    number = {"s32s": 4, "preds": 1}[field]
    proto = LiteralProto()
    proto.shape.element_type = number
    proto.shape.dimensions.append(3)
    getattr(proto, field).append(1)
    with pytest.raises(InvalidInput, match=r"with 1 elements"):
        read_literal(proto)


def test_a_constant_of_the_wrong_shape_is_the_fault_of_a_pass() -> None:
    module = module_of(np.arange(3))
    module.entry_computation.root.operand(0).shape = ArrayShape(PrimitiveType.S64, (4,))
    with pytest.raises(IllegalRewrite, match=r"constant of s64\[4\]"):
        export_proto(module)
