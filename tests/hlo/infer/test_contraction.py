from collections.abc import Callable

import pytest

from hlo.attributes import DotDimensions

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
