from collections.abc import Callable

import pytest

from hlo.attributes import DotDimensions, RaggedDotDimensions

Infer = Callable[..., str]

MATMUL = DotDimensions((1,), (0,))


def test_dot_gives_batch_then_left_then_right(infer: Infer) -> None:
    numbers = DotDimensions((3,), (0,), (1,), (2,))
    assert infer("dot", "f32[2,3,4,5]", "f32[5,6,3]", attributes=numbers) == "f32[3,2,4,6]"
    assert infer("dot", "f32[5]", "f32[5]", attributes=DotDimensions((0,), (0,))) == "f32[]"
    assert infer("dot", "f32[2]", "f32[3]", attributes=DotDimensions()) == "f32[2,3]"


def test_dot_keeps_the_flags_of_what_stays(infer: Infer) -> None:
    assert infer("dot", "f32[<=2,3]", "f32[3,<=4]", attributes=MATMUL) == "f32[<=2,<=4]"
    assert infer("dot", "f32[<=2,3]", "f32[3,4]", attributes=MATMUL) == "f32[<=2,4]"
    assert infer("dot", "f32[2,3]", "f32[3,<=4]", attributes=MATMUL) == "f32[2,<=4]"
    assert infer("dot", "f32[2,<=3]", "f32[<=3,4]", attributes=MATMUL) == "f32[2,4]"


@pytest.mark.parametrize(
    ("left", "right", "declared", "expected"),
    [
        ("bf16", "bf16", None, "bf16"),
        ("bf16", "bf16", "f32", "f32"),
        ("bf16", "f32", None, "f32"),
        ("f32", "f32", "bf16", "bf16"),
        ("s8", "s8", "s32", "s32"),
        ("s8", "u8", "s32", "s32"),
    ],
)
def test_dot_may_declare_its_element_type(
    infer: Infer, left: str, right: str, declared: str | None, expected: str
) -> None:
    shape = declared and f"{declared}[2,2]"
    assert (
        infer("dot", f"{left}[2,2]", f"{right}[2,2]", attributes=MATMUL, declared=shape) == f"{expected}[2,2]"
    )


@pytest.mark.parametrize(
    ("left", "right", "numbers"),
    [
        ("f32[2,3]", "f32[2,3]", MATMUL),
        ("f32[2,3]", "f32[3]", DotDimensions((1,), ())),
        ("f32[2,3]", "f32[2,3]", DotDimensions((0,), (0,), (0,), (0,))),
        ("f32[2,3]", "f32[2,3]", DotDimensions((2,), (0,))),
        ("f32[2,3]", "f32[4,3]", DotDimensions((), (), (0,), (0,))),
        ("f32[2,2]", "s32[2,2]", MATMUL),
        ("s32[2,2]", "(s32[2,2])", MATMUL),
    ],
)
def test_dot_refuses(refusal: Infer, left: str, right: str, numbers: DotDimensions) -> None:
    assert refusal("dot", left, right, attributes=numbers)


def test_only_integers_mix_and_then_the_result_is_declared(refusal: Infer) -> None:
    assert "differ in element type" in refusal("dot", "s8[2,2]", "u8[2,2]", attributes=MATMUL)
    for left, right in (("f32[2,2]", "s32[2,2]"), ("s32[2,2]", "f32[2,2]")):
        assert refusal("dot", left, right, attributes=MATMUL, declared="f32[2,2]")


def test_an_integral_dot_does_not_narrow(refusal: Infer) -> None:
    assert "narrower" in refusal("dot", "s32[2,2]", "s32[2,2]", attributes=MATMUL, declared="s8[2,2]")


def test_dot_takes_two_operands(refusal: Infer) -> None:
    assert "two operands" in refusal("dot", "f32[2,2]", "f32[2,2]", "u16[2,2]", attributes=MATMUL)


ROWS = RaggedDotDimensions(DotDimensions((2,), (2,), (0,), (1,)), (1,), (0,))
DEPTH = RaggedDotDimensions(DotDimensions((1,), (0,)), (1,))


def test_a_ragged_dot_has_a_shape_for_each_kind_of_dimension(infer: Infer) -> None:
    assert infer("ragged-dot", "f32[2,9,3]", "f32[4,2,3,5]", "s32[4]", attributes=ROWS) == "f32[2,9,5]"
    assert infer("ragged-dot", "f32[2,9,3]", "f32[4,2,3,5]", "s32[2,4]", attributes=ROWS) == "f32[2,9,5]"
    assert infer("ragged-dot", "bf16[2,9]", "bf16[9,3]", "u8[4]", attributes=DEPTH) == "bf16[4,2,3]"
    batch = RaggedDotDimensions(DotDimensions((2,), (1,), (0,), (0,)), (0,))
    declared = "f32[2,3,5]"
    assert (
        infer("ragged-dot", "f16[2,3,4]", "f16[2,4,5]", "s64[7]", attributes=batch, declared=declared)
        == declared
    )


@pytest.mark.parametrize(
    ("left", "right", "sizes", "numbers", "message"),
    [
        ("f32[2,9,3]", "f32[4,2,3,5]", "s32[5]", ROWS, "has no element for each"),
        ("f32[2,9,3]", "f32[4,2,3,5]", "f32[4]", ROWS, "does not list the sizes"),
        ("f32[2,9,3]", "f32[4,2,3,5]", "s32[]", ROWS, "does not list the sizes"),
        ("f32[2,9,3]", "f32[4,2,3,5]", "s32[3,4]", ROWS, "for each of [2]"),
        ("f32[2,9]", "f32[9,3]", "s32[2]", RaggedDotDimensions(DEPTH.dot, (0, 1)), "one ragged dimension"),
        ("f32[2,9]", "f32[9,3]", "s32[2]", RaggedDotDimensions(DEPTH.dot, (2,)), "dimension 2"),
        ("f32[2,9]", "f32[9,3]", "s32[2]", RaggedDotDimensions(DEPTH.dot, (1,), (1,)), "expected 0 group"),
        ("f32[2,9]", "f32[9,3]", "s32[2]", RaggedDotDimensions(DEPTH.dot, (0,)), "expected 1 group"),
        ("f32[2,9]", "f32[9,3]", "s32[3]", RaggedDotDimensions(DEPTH.dot, (0,), (0,)), "repeat one"),
        ("f32[2,9]", "f32[8,3]", "s32[3]", DEPTH, "contracting dimensions"),
    ],
)
def test_a_ragged_dot_that_does_not_fit_is_refused(
    refusal: Infer, left: str, right: str, sizes: str, numbers: RaggedDotDimensions, message: str
) -> None:
    assert message in refusal("ragged-dot", left, right, sizes, attributes=numbers)


def test_a_scaled_dot_has_the_shape_of_the_dot(infer: Infer) -> None:
    operands = ("f8e4m3fn[4,6]", "f8e5m2[6,3]", "f8e8m0fnu[2,3]", "f8e8m0fnu[6,1]")
    assert infer("scaled-dot", *operands, attributes=MATMUL, declared="bf16[4,3]") == "bf16[4,3]"
    assert infer("scaled-dot", "bf16[4,6]", "bf16[6,3]", "f32[]", "f32[]", attributes=MATMUL) == "bf16[4,3]"


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ("f8e8m0fnu[4,4]", "does not divide"),
        ("f8e8m0fnu[4]", "does not divide"),
        ("f8e8m0fnu[8,6]", "does not divide"),
        ("f8e8m0fnu[0,6]", "does not divide"),
        ("s8[4,6]", "not floats"),
    ],
)
def test_a_scale_that_does_not_divide_its_operand_is_refused(
    refusal: Infer, scale: str, message: str
) -> None:
    operands = ("f8e4m3fn[4,6]", "f8e5m2[6,3]", scale, "f8e8m0fnu[1,1]")
    assert message in refusal("scaled-dot", *operands, attributes=MATMUL)
