from collections.abc import Callable

import pytest

from hlo.attributes import SliceBounds, SliceSizes

Infer = Callable[..., str]


@pytest.mark.parametrize(
    ("operand", "start", "limit", "stride", "expected"),
    [
        ("f32[8]", 1, 8, 3, "f32[3]"),
        ("f32[8]", 1, 7, 3, "f32[2]"),
        ("f32[8]", 8, 8, 1, "f32[0]"),
        ("f32[0]", 0, 0, 1, "f32[0]"),
        ("f32[<=8]", 0, 8, 1, "f32[<=8]"),
        ("f32[<=8]", 2, 4, 1, "f32[<=2]"),
        ("f32[<=8]", 2, 3, 1, "f32[1]"),  # one element: static
        ("f32[<=8]", 2, 2, 1, "f32[<=0]"),
    ],
)
def test_slice(infer: Infer, operand: str, start: int, limit: int, stride: int, expected: str) -> None:
    assert infer("slice", operand, attributes=SliceBounds((start,), (limit,), (stride,))) == expected


def test_static_dimensions_stay_static(infer: Infer) -> None:
    bounds = SliceBounds((0, 0), (8, 3), (1, 1))
    assert infer("slice", "f32[<=8,4]", attributes=bounds) == "f32[<=8,3]"
    sizes = SliceSizes((8, 4))
    assert infer("dynamic-slice", "f32[<=8,4]", "s32[]", "s32[]", attributes=sizes) == "f32[<=8,4]"
    assert infer("dynamic-update-slice", "f32[8,4]", "f32[<=8,4]", "s32[]", "s32[]") == "f32[<=8,4]"


@pytest.mark.parametrize(
    ("start", "limit", "stride"), [(-1, 2, 1), (2, 1, 1), (0, 9, 1), (0, 8, 0), (0, 8, -1), (9, 9, 1)]
)
def test_slice_must_lie_inside(refusal: Infer, start: int, limit: int, stride: int) -> None:
    message = refusal("slice", "f32[8]", attributes=SliceBounds((start,), (limit,), (stride,)))
    assert f"[{start}:{limit}:{stride}] does not slice a dimension of 8" in message


def test_slice_needs_every_dimension(refusal: Infer) -> None:
    assert "one for each" in refusal("slice", "f32[8,8]", attributes=SliceBounds((0,), (1,), (1,)))
    assert "one for each" in refusal("slice", "f32[8]", attributes=SliceBounds((0,), (1,), ()))


@pytest.mark.parametrize("index", ["s8[]", "u8[]", "s32[]", "u32[]", "s64[]", "u64[]"])
def test_a_start_index_is_an_integral_scalar(infer: Infer, index: str) -> None:
    assert infer("dynamic-slice", "f32[4,4]", index, index, attributes=SliceSizes((4, 0))) == "f32[4,0]"
    assert infer("dynamic-update-slice", "f32[4,4]", "f32[1,4]", index, index) == "f32[4,4]"


def test_start_indices_may_be_one_vector(infer: Infer) -> None:
    assert infer("dynamic-slice", "f32[4,4]", "s32[2]", attributes=SliceSizes((1, 2))) == "f32[1,2]"
    assert infer("dynamic-slice", "f32[4]", "s32[1]", attributes=SliceSizes((1,))) == "f32[1]"
    assert infer("dynamic-slice", "f32[]", "s32[0]", attributes=SliceSizes(())) == "f32[]"
    assert infer("dynamic-update-slice", "f32[4,4]", "f32[1,4]", "s32[2]") == "f32[4,4]"


def test_a_scalar_has_no_start_indices(infer: Infer, refusal: Infer) -> None:
    assert infer("dynamic-slice", "f32[]", attributes=SliceSizes(())) == "f32[]"
    assert infer("dynamic-update-slice", "f32[]", "f32[]") == "f32[]"
    assert refusal("dynamic-slice", "f32[]", "s32[]", attributes=SliceSizes(()))


@pytest.mark.parametrize(
    "starts",
    [
        (),
        ("s32[]",),
        ("s32[]", "s32[]", "s32[]"),
        ("s32[]", "s64[]"),
        ("f32[]", "f32[]"),
        ("pred[]", "pred[]"),
        ("s32[]", "s32[1]"),
        ("s32[1]", "s32[1]"),
        ("s32[3]",),
        ("f32[2]",),
        ("(s32[])", "s32[]"),
        ("s32[]", "token[]"),
    ],
)
def test_other_start_indices_are_refused(refusal: Infer, starts: tuple[str, ...]) -> None:
    assert refusal("dynamic-slice", "f32[4,4]", *starts, attributes=SliceSizes((1, 1)))
    assert refusal("dynamic-update-slice", "f32[4,4]", "f32[1,1]", *starts)


@pytest.mark.parametrize("sizes", [(5, 1), (-1, 1), (1,), (1, 1, 1)])
def test_the_window_must_fit(refusal: Infer, sizes: tuple[int, ...]) -> None:
    assert refusal("dynamic-slice", "f32[4,4]", "s32[]", "s32[]", attributes=SliceSizes(sizes))
    update = f"f32[{','.join(map(str, sizes))}]"
    assert refusal("dynamic-update-slice", "f32[4,4]", update, "s32[]", "s32[]")


def test_an_update_is_of_the_operands_element_type(refusal: Infer) -> None:
    assert "element type" in refusal("dynamic-update-slice", "f32[4]", "s32[1]", "s32[]")
    assert refusal("dynamic-update-slice", "f32[4]")
    assert refusal("dynamic-slice", attributes=SliceSizes(()))


@pytest.mark.parametrize(("size", "expected"), [(1, "f32[1]"), (3, "f32[3]"), (4, "f32[<=4]")])
def test_a_dynamic_slice_stays_dynamic_only_where_it_takes_all(
    infer: Infer, size: int, expected: str
) -> None:
    assert infer("dynamic-slice", "f32[<=4]", "s32[]", attributes=SliceSizes((size,))) == expected


def test_a_dynamic_slice_of_a_dynamic_one_is_static(infer: Infer) -> None:
    assert infer("dynamic-slice", "f32[<=1]", "s32[]", attributes=SliceSizes((1,))) == "f32[1]"


@pytest.mark.parametrize(
    ("operand", "update", "expected"),
    [
        ("f32[<=4]", "f32[2]", "f32[<=4]"),
        ("f32[4]", "f32[<=4]", "f32[<=4]"),
        ("f32[4]", "f32[<=2]", "f32[4]"),
        ("f32[<=4]", "f32[<=2]", "f32[<=4]"),
    ],
)
def test_a_full_dynamic_update_makes_the_result_dynamic(
    infer: Infer, operand: str, update: str, expected: str
) -> None:
    assert infer("dynamic-update-slice", operand, update, "s32[]") == expected
