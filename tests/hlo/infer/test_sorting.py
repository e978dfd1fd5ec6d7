from collections.abc import Callable

import pytest

from hlo.attributes import SortDimension, TopKOptions

Infer = Callable[..., str]

LESS = "(f32[], f32[]) -> pred[]"
BOTH = "(f32[], f32[], s32[], s32[]) -> pred[]"


def test_a_sort_gives_its_operands(infer: Infer) -> None:
    assert infer("sort", "f32[2,<=3]", attributes=SortDimension(1), called=[LESS]) == "f32[2,<=3]"
    gives = infer("sort", "f32[2]", "s32[2]", attributes=SortDimension(0), called=[BOTH])
    assert gives == "(f32[2], s32[2])"


@pytest.mark.parametrize(
    ("operands", "dimension", "comparator", "message"),
    [
        ((), 0, LESS, "at least one operand"),
        (("f32[2]",), 1, LESS, "dimension 1"),
        (("f32[2]",), -1, LESS, "dimension -1"),
        (("f32[]",), 0, LESS, "dimension 0"),
        (("f32[2]", "s32[3]"), 0, BOTH, "differ in dimensions"),
        (("f32[2]", "s32[2]"), 0, LESS, "expected (f32[], f32[], s32[], s32[])"),
        (("s32[2]", "f32[2]"), 0, BOTH, "expected (s32[], s32[], f32[], f32[])"),
        (("f32[2]",), 0, "(f32[], f32[]) -> f32[]", "gives f32[], not pred[]"),
        (("f32[2]",), 0, "(f32[], f32[]) -> pred[1]", "gives pred[1], not pred[]"),
    ],
)
def test_a_sort_that_does_not_fit_is_refused(
    refusal: Infer, operands: tuple[str, ...], dimension: int, comparator: str, message: str
) -> None:
    assert message in refusal("sort", *operands, attributes=SortDimension(dimension), called=[comparator])


def test_topk_gives_values_and_where_they_were(infer: Infer, refusal: Infer) -> None:
    gives = infer("topk", "bf16[<=2,<=5]", attributes=TopKOptions(3))
    assert gives == "(bf16[<=2,3], s32[<=2,3])"
    assert infer("topk", "f32[5]", attributes=TopKOptions(5)) == "(f32[5], s32[5])"
    for operand, k in (("f32[5]", 6), ("f32[5]", -1), ("f32[]", 0)):
        assert refusal("topk", operand, attributes=TopKOptions(k))
