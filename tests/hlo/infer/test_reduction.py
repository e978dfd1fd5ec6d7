from collections.abc import Callable

import pytest

from hlo.attributes import Dimensions

Infer = Callable[..., str]

ADD = "(f32[], f32[]) -> f32[]"
ARGMAX = "(f32[], s32[], f32[], s32[]) -> (f32[], s32[])"


@pytest.mark.parametrize(
    ("operand", "dimensions", "expected"),
    [
        ("f32[2,3,4]", (0, 2), "f32[3]"),
        ("f32[2,3,4]", (2, 0), "f32[3]"),
        ("f32[2,3]", (), "f32[2,3]"),
        ("f32[2]", (0,), "f32[]"),
        ("f32[<=2,<=3]", (0,), "f32[<=3]"),
        ("f32[<=2,3]", (0,), "f32[3]"),
    ],
)
def test_reduce_drops_its_dimensions(
    infer: Infer, operand: str, dimensions: tuple[int, ...], expected: str
) -> None:
    assert infer("reduce", operand, "f32[]", attributes=Dimensions(dimensions), called=[ADD]) == expected


def test_a_variadic_reduce_gives_a_tuple_with_merged_flags(infer: Infer) -> None:
    gives = infer(
        "reduce", "f32[2,<=3]", "s32[2,3]", "f32[]", "s32[]", attributes=Dimensions((0,)), called=[ARGMAX]
    )
    assert gives == "(f32[<=3], s32[<=3])"


def test_a_reducer_may_accumulate_in_another_precision(infer: Infer) -> None:
    gives = infer("reduce", "bf16[2]", "f32[]", attributes=Dimensions((0,)), called=[ADD])
    assert gives == "f32[]"


def test_a_reducer_of_one_input_may_give_a_tuple_of_one(infer: Infer) -> None:
    tupled = "(f32[], f32[]) -> (f32[])"
    assert infer("reduce", "f32[2]", "f32[]", attributes=Dimensions((0,)), called=[tupled]) == "(f32[])"


@pytest.mark.parametrize(
    ("operands", "dimensions", "reducer"),
    [
        ((), (0,), ADD),
        (("f32[2]",), (0,), ADD),
        (("f32[2]", "f32[]", "f32[]"), (0,), ADD),
        (("s32[2]", "f32[]"), (0,), ADD),
        (("f32[2]", "f32[]"), (0,), "(f32[2], f32[]) -> f32[2]"),
        (("f32[2]", "f32[]"), (0,), "(s32[], f32[]) -> f32[]"),
        (("f32[2]", "f32[1]"), (0,), ADD),
        (("f32[2]", "s32[]"), (0,), ADD),
        (("s32[2]", "s32[]"), (0,), ADD),
        (("f32[2]", "f32[]"), (1,), ADD),
        (("f32[2]", "f32[]"), (0, 0), ADD),
        (("f32[2]", "f32[]"), (0,), "(f32[]) -> f32[]"),
        (("f32[2]", "f32[]"), (0,), "(f32[], f32[]) -> s32[]"),
        (("f32[2]", "f32[]"), (0,), "(f32[], s32[]) -> f32[]"),
        (("f32[2]", "f32[]"), (0,), "(f32[], f32[2]) -> f32[]"),
        (("f32[2]", "f32[]"), (0,), "(f32[2], f32[2]) -> f32[2]"),
        (("f32[2]", "f32[]"), (0,), "(f32[], f32[]) -> token[]"),
        (("f32[2]", "f32[3]", "f32[]", "f32[]"), (0,), "(f32[], f32[], f32[], f32[]) -> (f32[], f32[])"),
        (("f32[2]", "s32[2]", "f32[]", "s32[]"), (0,), "(f32[], s32[], f32[], s32[]) -> f32[]"),
        (("f32[2]", "s32[2]", "f32[]", "s32[]"), (0,), "(f32[], s32[], s32[], f32[]) -> (f32[], s32[])"),
    ],
)
def test_reduce_refuses(
    refusal: Infer, operands: tuple[str, ...], dimensions: tuple[int, ...], reducer: str
) -> None:
    assert refusal("reduce", *operands, attributes=Dimensions(dimensions), called=[reducer])
