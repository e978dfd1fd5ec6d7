"""Is a binding of parameters to sizes kept, checked, written as instructions, and read from old protos?"""

from typing import Any

import pytest

from hlo import ArrayShape, HloModule, IllegalRewrite, InvalidInput, PrimitiveType
from hlo.bound_parameters import materialise, materialised
from hlo.canonical import structure
from hlo.interchange import bridge, export_proto, import_proto, read_text, write_text
from hlo.interchange.schema import HloModuleProto, serialize
from hlo.parameter_binding import NO_BINDING, DynamicDimension, DynamicParameterBinding, DynamicSizeParameter
from hlo.verify import verify

TEXT = """HloModule m
ENTRY e {
  x = f32[4,3] parameter(0)
  n = s32[] parameter(1)
  p = (f32[5], s32[]) parameter(2)
  q = f32[5] get-tuple-element(p), index=0
  y = f32[4,3] negate(x)
  ROOT r = (f32[4,3], f32[5], (f32[5], s32[])) tuple(y, q, p)
}
"""
ROWS = (DynamicSizeParameter(1), DynamicDimension(0, (), 0))
INSIDE = (DynamicSizeParameter(2, (1,)), DynamicDimension(2, (0,), 0))


def bound(*pairs: tuple[DynamicSizeParameter, DynamicDimension]) -> HloModule:
    module = read_text(TEXT)
    for size, dimension in pairs:
        module.dynamic_parameter_binding = module.dynamic_parameter_binding.bind(size, dimension)
    return module


def test_a_dimension_is_bound_once_and_found() -> None:
    binding = NO_BINDING.bind(*ROWS).bind(*INSIDE)
    assert binding.size_of(ROWS[1]) == ROWS[0]
    assert binding.size_of(DynamicDimension(0, (), 1)) is None
    assert len(NO_BINDING) == 0
    assert binding == NO_BINDING.bind(*INSIDE).bind(*ROWS)
    with pytest.raises(IllegalRewrite, match=r"dimension 0 at \[\] of parameter 0 is bound already"):
        binding.bind(INSIDE[0], ROWS[1])


def test_a_binding_goes_wherever_its_module_goes() -> None:
    module = bound(ROWS)
    copy = module.clone()
    assert copy.dynamic_parameter_binding == module.dynamic_parameter_binding != NO_BINDING
    other = HloModule("other")
    other.assign(copy)
    assert other.dynamic_parameter_binding == module.dynamic_parameter_binding
    assert copy.dynamic_parameter_binding == NO_BINDING


def test_modules_that_differ_in_a_binding_differ() -> None:
    assert structure(bound(ROWS)) == structure(bound(ROWS)) != structure(bound())
    assert structure(bound(ROWS)) != structure(bound(INSIDE))


def test_a_right_binding_is_no_violation() -> None:
    assert verify(bound(ROWS, INSIDE)) == []


@pytest.mark.parametrize(
    ("size", "dimension", "message"),
    [
        (DynamicSizeParameter(3), ROWS[1], "the size is nowhere, not s32[]"),
        (DynamicSizeParameter(2), ROWS[1], "the size is nowhere, not s32[]"),
        (DynamicSizeParameter(2, (0,)), ROWS[1], "the size is f32[5], not s32[]"),
        (ROWS[0], DynamicDimension(0, (), 2), "f32[4,3] has no such dimension"),
        (ROWS[0], DynamicDimension(0, (), -1), "f32[4,3] has no such dimension"),
        (ROWS[0], DynamicDimension(4, (), 0), "there is nothing, not an array"),
    ],
)
def test_a_wrong_binding_is_a_violation(
    size: DynamicSizeParameter, dimension: DynamicDimension, message: str
) -> None:
    (violation,) = verify(bound((size, dimension)))
    assert (violation.where, violation.rule) == ("m", "binding")
    assert violation.message == f"{dimension} is bound to {size}: {message}"


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (ArrayShape(PrimitiveType.F32, (2**31, 3)), "does not fit s32"),
        (ArrayShape(PrimitiveType.F32, (4, 3), (True, False)), "is not as large as its bound"),
    ],
)
def test_what_is_bound_is_as_large_as_a_bound_that_fits_s32(shape: ArrayShape, message: str) -> None:
    module = bound(ROWS)
    x, _, _ = module.entry_computation.parameters
    x.shape = shape
    assert any(v.rule == "binding" and message in v.message for v in verify(module))


def test_a_binding_becomes_the_setting_of_sizes() -> None:
    module = bound(ROWS, INSIDE)
    assert materialise(module)
    assert not materialise(module)
    assert module.dynamic_parameter_binding == NO_BINDING
    assert verify(module) == []
    assert str(module.entry_computation.root.shape) == "(f32[<=4,3], f32[<=5], (f32[<=5], s32[]))"
    found = [i for i in module.entry_computation.instructions if i.opcode == "set-dimension-size"]
    assert [(str(i.shape), i.dimensions) for i in found] == [("f32[<=4,3]", (0,)), ("f32[<=5]", (0,))]
    assert found[0].operands == module.entry_computation.parameters[:2]
    assert [operand.opcode for operand in found[1].operands] == ["get-tuple-element"] * 2
    assert [str(p.shape) for p in module.entry_computation.parameters] == [
        "f32[4,3]",
        "s32[]",
        "(f32[5], s32[])",
    ]


def test_a_module_without_a_binding_is_its_own_materialised_form() -> None:
    module = bound()
    assert materialised(module) is module


def test_what_is_written_says_the_sizes_as_instructions() -> None:
    module = bound(ROWS)
    again = read_text(write_text(module))
    assert again.dynamic_parameter_binding == NO_BINDING
    assert structure(again, names=False) == structure(
        read_text(write_text(materialised(module))), names=False
    )
    assert "set-dimension-size" in write_text(module)
    assert module.dynamic_parameter_binding  # writing left it alone


def old_proto() -> Any:
    """As of a time when the proto had the field, and flags in the shapes of bound parameters."""
    proto = HloModuleProto.FromString(bridge.text_to_proto(TEXT.replace("x = f32[4,3]", "x = f32[<=4,3]")))
    proto.dynamic_parameter_binding.entries.add(dynamic_param_num=1, target_param_num=0)
    entry = proto.dynamic_parameter_binding.entries.add(target_param_dim_num=0)
    entry.dynamic_param_num = entry.target_param_num = 2
    entry.dynamic_param_index.append(1)
    entry.target_param_index.append(0)
    return proto


def test_the_binding_of_an_old_proto_is_read() -> None:
    module = import_proto(serialize(old_proto()))
    expected = ((ROWS[1], ROWS[0]), (INSIDE[1], INSIDE[0]))
    assert module.dynamic_parameter_binding == DynamicParameterBinding(expected)
    assert str(module.entry_computation.parameters[0].shape) == "f32[4,3]"
    assert verify(module) == []
    written = HloModuleProto.FromString(export_proto(module))
    assert not written.HasField("dynamic_parameter_binding")
    assert "set-dimension-size" in {i.opcode for c in written.computations for i in c.instructions}


def test_an_old_proto_that_binds_a_dimension_twice_is_refused() -> None:
    proto = old_proto()
    proto.dynamic_parameter_binding.entries.add().CopyFrom(proto.dynamic_parameter_binding.entries[0])
    with pytest.raises(InvalidInput, match=r"^dynamic_parameter_binding: dimension 0 .* is bound already"):
        import_proto(serialize(proto))
