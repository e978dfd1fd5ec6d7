from collections.abc import Callable

import pytest

from hlo.attributes import Attributes, Dimensions, PaddingConfig, Rotation

Infer = Callable[..., str]


def test_broadcast_returns_the_declared_shape(infer: Infer) -> None:
    assert infer("broadcast", "f32[]", attributes=Dimensions(()), declared="f32[2,3]") == "f32[2,3]"
    assert infer("broadcast", "f32[2,3]", attributes=Dimensions((1, 0)), declared="f32[3,2]") == "f32[3,2]"


@pytest.mark.parametrize(
    ("operand", "mapping", "declared", "message"),
    [
        ("f32[1]", (0,), "f32[2]", "dimension 0 of f32[2] is not 1"),  # size 1 is not stretched
        ("f32[2,2]", (0, 0), "f32[2,2]", "repeat"),
        ("f32[2]", (1,), "f32[2]", "dimension 1 is not in [0, 1)"),
        ("f32[2]", (-1,), "f32[2]", "dimension -1"),
        ("f32[2]", (), "f32[2]", "not one for each dimension"),
        ("f32[2]", (0,), "s32[2]", "element type"),
        ("f32[]", (), "(f32[2])", "expected an array"),
        ("f32[]", (), "f32[-1]", "negative"),
        ("f32[]", (), None, "declare"),
    ],
)
def test_broadcast_refuses(
    refusal: Infer, operand: str, mapping: tuple[int, ...], declared: str | None, message: str
) -> None:
    assert message in refusal("broadcast", operand, attributes=Dimensions(mapping), declared=declared)


def test_reshape_keeps_the_number_of_elements(infer: Infer, refusal: Infer) -> None:
    assert infer("reshape", "f32[2,3]", declared="f32[6,1]") == "f32[6,1]"
    assert infer("reshape", "f32[0,3]", declared="f32[5,0]") == "f32[5,0]"
    assert "f32[2,3] has 6 elements, f32[5] 5" in refusal("reshape", "f32[2,3]", declared="f32[5]")
    assert "element type" in refusal("reshape", "f32[2,3]", declared="s32[6]")


def test_bitcast_keeps_the_number_of_bits(infer: Infer, refusal: Infer) -> None:
    assert infer("bitcast", "f32[2,3]", declared="u8[24]") == "u8[24]"
    assert "192 bits" in refusal("bitcast", "f32[2,3]", declared="f32[5]")


def test_transpose_permutes_bounds_and_flags(infer: Infer, refusal: Infer) -> None:
    assert infer("transpose", "f32[2,<=3,4]", attributes=Dimensions((1, 2, 0))) == "f32[<=3,4,2]"
    assert infer("transpose", "f32[2,3]", attributes=Dimensions((1, 0))) == "f32[3,2]"
    for permutation in ((0, 1), (0, 0, 1), (0, 1, 3)):
        assert refusal("transpose", "f32[2,3,4]", attributes=Dimensions(permutation))


def test_reverse_keeps_the_shape(infer: Infer, refusal: Infer) -> None:
    assert infer("reverse", "f32[<=2,3]", attributes=Dimensions((1,))) == "f32[<=2,3]"
    assert "repeat" in refusal("reverse", "f32[2]", attributes=Dimensions((0, 0)))
    assert "dimension 2" in refusal("reverse", "f32[2]", attributes=Dimensions((2,)))


def test_concatenate_adds_up_bounds_and_merges_flags(infer: Infer) -> None:
    assert infer("concatenate", "f32[2,3]", "f32[2,0]", "f32[2,4]", attributes=Dimensions((1,))) == "f32[2,7]"
    assert infer("concatenate", "f32[2,<=3]", "f32[<=2,3]", attributes=Dimensions((0,))) == "f32[<=4,<=3]"


@pytest.mark.parametrize(
    ("operands", "dimensions"),
    [
        ((), (0,)),
        (("f32[2,3]", "f32[3,3]"), (1,)),
        (("f32[2,3]", "f32[2]"), (0,)),
        (("f32[2,3]", "f32[2]"), (1,)),
        (("f32[2,3]", "f32[2,4]"), (0,)),
        (("f32[2]", "f32[2,3]"), (0,)),
        (("f32[2]", "s32[2]"), (0,)),
        (("f32[2]", "f32[2]"), (1,)),
        (("f32[2]", "f32[2]"), (-1,)),
        (("f32[2]", "f32[2]"), ()),
        (("f32[2,2]", "f32[2,2]"), (0, 1)),
        (("f32[]", "f32[]"), (0,)),
    ],
)
def test_concatenate_refuses(refusal: Infer, operands: tuple[str, ...], dimensions: tuple[int, ...]) -> None:
    assert refusal("concatenate", *operands, attributes=Dimensions(dimensions))


@pytest.mark.parametrize(
    ("operand", "low", "high", "interior", "expected"),
    [
        ("f32[3]", 1, 2, 0, "f32[6]"),
        ("f32[3]", 0, 0, 2, "f32[7]"),
        ("f32[3]", -1, -1, 1, "f32[3]"),  # 3 + 2 gaps, then one cropped on each side
        ("f32[0]", 1, 0, 5, "f32[1]"),
        ("f32[3]", -3, 0, 0, "f32[0]"),
        ("f32[<=3]", 1, 0, 0, "f32[<=4]"),
    ],
)
def test_pad(infer: Infer, operand: str, low: int, high: int, interior: int, expected: str) -> None:
    padding = PaddingConfig((low,), (high,), (interior,))
    assert infer("pad", operand, "f32[]", attributes=padding) == expected


@pytest.mark.parametrize(
    ("operands", "padding"),
    [
        (("f32[3]", "f32[]"), PaddingConfig((-2,), (-2,), (0,))),
        (("f32[3]", "f32[]"), PaddingConfig((0,), (0,), (-1,))),
        (("f32[3]", "f32[]"), PaddingConfig((0, 0), (0, 0), (0, 0))),
        (("f32[3]", "f32[]"), PaddingConfig((0,), (0,), ())),
        (("f32[3]", "s32[]"), PaddingConfig((0,), (0,), (0,))),
        (("f32[3]", "f32[1]"), PaddingConfig((0,), (0,), (0,))),
    ],
)
def test_pad_refuses(refusal: Infer, operands: tuple[str, str], padding: Attributes) -> None:
    assert refusal("pad", *operands, attributes=padding)


def test_iota_counts_in_numbers_along_one_dimension(infer: Infer, refusal: Infer) -> None:
    assert infer("iota", attributes=Dimensions((1,)), declared="bf16[2,3]") == "bf16[2,3]"
    assert "pred" in refusal("iota", attributes=Dimensions((0,)), declared="pred[2]")
    assert "dimension 0 is not in [0, 0)" in refusal("iota", attributes=Dimensions((0,)), declared="s32[]")
    assert "exactly one" in refusal("iota", attributes=Dimensions((0, 1)), declared="s32[2,2]")


def test_a_shuffle_keeps_the_shape(infer: Infer, refusal: Infer) -> None:
    assert infer("shuffle", "f32[2,<=3]", attributes=Rotation((1, 0), (4, -1))) == "f32[2,<=3]"
    assert "dimension 2" in refusal("shuffle", "f32[2,3]", attributes=Rotation((2,), (1,)))
    assert "repeat" in refusal("shuffle", "f32[2,3]", attributes=Rotation((0, 0), (1, 1)))
    assert "1 shifts for 2 dimensions" in refusal("shuffle", "f32[2,3]", attributes=Rotation((0, 1), (1,)))
