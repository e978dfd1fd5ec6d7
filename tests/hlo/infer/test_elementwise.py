from collections.abc import Callable

import pytest

from hlo.attributes import UNMODELLED, Comparison, Dimensions, ReducedPrecision
from hlo.infer import ShapeError
from hlo.opcode import ELEMENTWISE_BINARY, ELEMENTWISE_UNARY, Opcode

Infer = Callable[..., str]

# which of these element types an opcode takes, in this order; a dot where it takes none
KINDS = {"p": "pred", "s": "s32", "u": "u8", "f": "bf16", "F": "f32", "c": "c64"}

TAKES = {
    Opcode.ABS: ".s.fFc",
    Opcode.CEIL: "...fF.",
    Opcode.CLZ: ".su...",
    Opcode.COMPLEX: "....F.",
    Opcode.ERF: "...fF.",
    Opcode.FLOOR: "...fF.",
    Opcode.IMAG: "...fFc",
    Opcode.IS_FINITE: "...fF.",
    Opcode.NEGATE: ".sufFc",
    Opcode.NOT: "psu...",
    Opcode.POPULATION_COUNT: ".su...",
    Opcode.REAL: "...fFc",
    Opcode.ROUND_NEAREST_AFZ: "...fF.",
    Opcode.ROUND_NEAREST_EVEN: "...fF.",
    Opcode.SIGN: ".s.fFc",
    Opcode.ADD: "psufFc",
    Opcode.MAXIMUM: "psufFc",
    Opcode.MINIMUM: "psufFc",
    Opcode.MULTIPLY: "psufFc",
    Opcode.AND: "psu...",
    Opcode.OR: "psu...",
    Opcode.XOR: "psu...",
    Opcode.ATAN2: "...fFc",
    Opcode.DIVIDE: ".sufFc",
    Opcode.POWER: ".sufFc",
    Opcode.REMAINDER: ".sufFc",
    Opcode.SUBTRACT: ".sufFc",
    Opcode.MULHI: ".su...",
    Opcode.SHIFT_LEFT: ".su...",
    Opcode.SHIFT_RIGHT_ARITHMETIC: ".su...",
    Opcode.SHIFT_RIGHT_LOGICAL: ".su...",
}
GIVES = {
    (Opcode.ABS, "c64"): "f32",
    (Opcode.REAL, "c64"): "f32",
    (Opcode.IMAG, "c64"): "f32",
    (Opcode.COMPLEX, "f32"): "c64",
    (Opcode.IS_FINITE, "bf16"): "pred",
    (Opcode.IS_FINITE, "f32"): "pred",
}


@pytest.mark.parametrize("opcode", ELEMENTWISE_UNARY + ELEMENTWISE_BINARY)
def test_each_opcode_takes_its_element_types_and_no_others(infer: Infer, opcode: Opcode) -> None:
    operands = 1 if opcode in ELEMENTWISE_UNARY else 2
    takes = TAKES.get(opcode, "...fFc")
    for kind, element_type in KINDS.items():
        if kind in takes:
            gives = GIVES.get((opcode, element_type), element_type)
            assert infer(opcode, *[f"{element_type}[2,3]"] * operands) == f"{gives}[2,3]"
        else:
            with pytest.raises(ShapeError):
                infer(opcode, *[f"{element_type}[2,3]"] * operands)


def test_f64_composes_to_c128_and_decomposes(infer: Infer) -> None:
    assert infer("complex", "f64[]", "f64[]") == "c128[]"
    assert infer("abs", "c128[]") == "f64[]"


@pytest.mark.parametrize("other", ["f32[3]", "f32[1]", "f32[]", "f32[2,1]", "f16[2]", "(f32[2])", "token[]"])
def test_binary_operands_must_be_alike(refusal: Infer, other: str) -> None:
    assert "f32[2]" in refusal("add", "f32[2]", other) or "expected an array" in refusal(
        "add", "f32[2]", other
    )


def test_dynamic_flags_of_binary_operands_are_merged(infer: Infer) -> None:
    assert infer("add", "f32[<=2,3,4]", "f32[2,<=3,4]") == "f32[<=2,<=3,4]"
    assert infer("compare", "f32[2]", "f32[<=2]", attributes=Comparison("LT")) == "pred[<=2]"
    assert infer("negate", "f32[<=2,3]") == "f32[<=2,3]"


@pytest.mark.parametrize(
    ("element_type", "direction", "kind"),
    [
        ("f32", "LT", ""),
        ("f32", "LT", "TOTALORDER"),
        ("s8", "GE", "SIGNED"),
        ("u8", "GE", "UNSIGNED"),
        ("pred", "GT", "UNSIGNED"),
        ("c64", "NE", "FLOAT"),
    ],
)
def test_compare_gives_pred(infer: Infer, element_type: str, direction: str, kind: str) -> None:
    operand = f"{element_type}[2]"
    assert infer("compare", operand, operand, attributes=Comparison(direction, kind)) == "pred[2]"


@pytest.mark.parametrize(
    ("element_type", "direction", "kind"),
    [("f32", "", ""), ("f32", "lt", ""), ("c64", "LT", ""), ("f32", "LT", "SIGNED"), ("u8", "LT", "SIGNED")],
)
def test_compare_refuses(refusal: Infer, element_type: str, direction: str, kind: str) -> None:
    operand = f"{element_type}[2]"
    message = refusal("compare", operand, operand, attributes=Comparison(direction, kind))
    assert f"does not compare {element_type}" in message


def test_select_takes_a_predicate_for_each_element_or_for_all(infer: Infer) -> None:
    assert infer("select", "pred[2]", "f32[2]", "f32[2]") == "f32[2]"
    assert infer("select", "pred[]", "f32[2]", "f32[2]") == "f32[2]"
    assert infer("select", "pred[<=2]", "f32[2]", "f32[2]") == "f32[<=2]"


@pytest.mark.parametrize(
    "operands",
    [("s32[2]", "f32[2]", "f32[2]"), ("pred[1]", "f32[2]", "f32[2]"), ("pred[2]", "f32[2]", "s32[2]")],
)
def test_select_refuses(refusal: Infer, operands: tuple[str, ...]) -> None:
    assert refusal("select", *operands)


def test_clamp_takes_scalar_and_full_bounds(infer: Infer) -> None:
    assert infer("clamp", "f32[]", "f32[<=2]", "f32[2]") == "f32[<=2]"


@pytest.mark.parametrize("bound", ["f32[1]", "f16[]", "f32[3]"])
def test_clamp_refuses_other_bounds(refusal: Infer, bound: str) -> None:
    assert "neither a scalar nor" in refusal("clamp", bound, "f32[2]", "f32[]")
    assert "neither a scalar nor" in refusal("clamp", "f32[]", "f32[2]", bound)


def test_convert_takes_the_declared_element_type_only(infer: Infer, refusal: Infer) -> None:
    assert infer("convert", "f32[<=2,3]", declared="s8[7]") == "s8[<=2,3]"
    assert "declare" in refusal("convert", "f32[2]")


@pytest.mark.parametrize(
    ("operand", "to", "expected"),
    [
        ("f32[2,<=3]", "s32[]", "s32[2,<=3]"),
        ("f32[<=2]", "u8[]", "u8[<=2,4]"),
        ("u8[<=2,4]", "f32[]", "f32[<=2]"),
        ("s4[2]", "u8[]", "u8[]"),
        ("s4[3,2]", "u8[]", "u8[3]"),
        ("u8[4]", "s4[]", "s4[4,2]"),
        ("c128[2]", "c64[]", "c64[2,2]"),
    ],
)
def test_bitcast_convert_trades_the_last_dimension_for_width(
    infer: Infer, operand: str, to: str, expected: str
) -> None:
    assert infer("bitcast-convert", operand, declared=to) == expected


@pytest.mark.parametrize(
    ("operand", "to"), [("u8[4,2]", "f32[]"), ("u8[]", "f32[]"), ("u8[<=4]", "f32[]"), ("c64[2]", "f64[]")]
)
def test_bitcast_convert_refuses(refusal: Infer, operand: str, to: str) -> None:
    assert refusal("bitcast-convert", operand, declared=to)


def test_copy_takes_tuples(infer: Infer) -> None:
    assert infer("copy", "(f32[2], token[])") == "(f32[2], token[])"


def test_map_gives_what_its_callee_gives(infer: Infer) -> None:
    gives = infer(
        "map", "f32[2,<=3]", "s32[2,3]", attributes=Dimensions((0, 1)), called=["(f32[], s32[]) -> pred[]"]
    )
    assert gives == "pred[2,<=3]"


@pytest.mark.parametrize(
    ("operands", "dimensions", "callee"),
    [
        ((), (), "() -> f32[]"),
        (("f32[2]", "f32[3]"), (0,), "(f32[], f32[]) -> f32[]"),
        (("f32[2,2]",), (1, 0), "(f32[]) -> f32[]"),
        (("f32[2,2]",), (0,), "(f32[]) -> f32[]"),
        (("f32[2]",), (0,), "(s32[]) -> f32[]"),
        (("f32[2]",), (0,), "(f32[], f32[]) -> f32[]"),
        (("f32[2]",), (0,), "(f32[]) -> f32[2]"),
    ],
)
def test_map_refuses(
    refusal: Infer, operands: tuple[str, ...], dimensions: tuple[int, ...], callee: str
) -> None:
    assert refusal("map", *operands, attributes=Dimensions(dimensions), called=[callee])


def test_a_reduced_precision_is_a_format_of_floats(infer: Infer, refusal: Infer) -> None:
    assert infer("reduce-precision", "bf16[<=2]", attributes=ReducedPrecision(1, 0)) == "bf16[<=2]"
    for operand, exponent, mantissa in (("s32[2]", 5, 10), ("f32[2]", 0, 10), ("f32[2]", 5, -1)):
        assert refusal("reduce-precision", operand, attributes=ReducedPrecision(exponent, mantissa))


def test_a_stochastic_conversion_takes_as_many_random_bits(infer: Infer, refusal: Infer) -> None:
    def convert(*operands: str, declared: str) -> str:
        return infer("stochastic-convert", *operands, attributes=UNMODELLED, declared=declared)

    assert convert("f32[2]", "u32[2]", declared="s8[2]") == "s8[2]"
    assert convert("bf16[2]", "u16[2]", declared="f16[9]") == "f16[2]"
    for value, bits, declared in (
        ("s32[2]", "u32[2]", "s8[2]"),
        ("f32[2]", "s32[2]", "s8[2]"),
        ("f32[2]", "u16[2]", "s8[2]"),
        ("f32[2]", "u32[3]", "s8[2]"),
        ("f32[2]", "u32[2]", "u8[2]"),
    ):
        assert refusal("stochastic-convert", value, bits, attributes=UNMODELLED, declared=declared)


def test_a_pred_has_no_bits_to_read(infer: Infer, refusal: Infer) -> None:
    assert infer("bitcast-convert", "pred[2]", declared="pred[2]") == "pred[2]"
    assert "pred" in refusal("bitcast-convert", "u8[2]", declared="pred[2]")
    assert "pred" in refusal("bitcast-convert", "pred[2,4]", declared="f32[2]")
