from collections.abc import Callable

import pytest

from hlo import ArrayShape, PrimitiveType
from hlo.attributes import Dimensions
from hlo.infer import ShapeError, reshape_flags
from hlo.infer.dynamic import common_factors

Infer = Callable[..., str]


def test_the_size_of_a_dimension_is_an_s32(infer: Infer, refusal: Infer) -> None:
    assert infer("get-dimension-size", "f32[2,<=3]", attributes=Dimensions((1,))) == "s32[]"
    assert "dimension 2" in refusal("get-dimension-size", "f32[2,3]", attributes=Dimensions((2,)))
    assert "exactly one" in refusal("get-dimension-size", "f32[2,3]", attributes=Dimensions((0, 1)))
    assert "does not fit s32" in refusal("get-dimension-size", f"f32[{2**31}]", attributes=Dimensions((0,)))


def test_setting_a_size_makes_the_dimension_dynamic(infer: Infer, refusal: Infer) -> None:
    gives = infer("set-dimension-size", "f32[2,<=3]", "s32[]", attributes=Dimensions((0,)))
    assert gives == "f32[<=2,<=3]"
    for size in ("s64[]", "s32[1]", "u32[]", "(s32[])"):
        assert refusal("set-dimension-size", "f32[2,3]", size, attributes=Dimensions((0,)))


def test_a_dynamic_reshape_takes_a_size_for_each_dimension(infer: Infer, refusal: Infer) -> None:
    assert infer("dynamic-reshape", "f32[6]", "s32[]", "s32[]", declared="f32[<=2,3]") == "f32[<=2,3]"
    assert refusal("dynamic-reshape", "f32[6]", "s32[]", declared="f32[<=2,3]")
    assert refusal("dynamic-reshape", "f32[6]", "s64[]", declared="f32[<=6]")
    assert refusal("dynamic-reshape", "f32[6]", "s32[3]", declared="f32[<=6]")
    assert refusal("dynamic-reshape", "f32[6]", "s32[]", declared="f32[<=5]")
    assert refusal("dynamic-reshape", "s32[6]", "s32[]", declared="f32[<=6]")
    assert refusal("dynamic-reshape", declared="f32[<=5]")


@pytest.mark.parametrize(
    ("left", "right", "cuts"),
    [
        ((2, 3), (2, 3), [(0, 0), (1, 1), (2, 2)]),
        ((), (), [(0, 0)]),
        ((5,), (1, 5), [(0, 0), (0, 1), (1, 2)]),
        ((5,), (5, 1), [(0, 0), (1, 1), (1, 2)]),
        ((1, 5), (5,), [(0, 0), (1, 0), (2, 1)]),
        ((6, 2), (2, 3, 2), [(0, 0), (1, 2), (2, 3)]),
        ((2, 3, 2), (6, 2), [(0, 0), (2, 1), (3, 2)]),
        ((6,), (2, 3), [(0, 0), (1, 2)]),
        ((4, 6), (2, 2, 6), [(0, 0), (1, 2), (2, 3)]),
        ((4, 6), (6, 4), [(0, 0), (2, 2)]),
        ((2, 0, 3), (2, 0), [(0, 0), (3, 2)]),  # what is left after the common prefix differs
        ((2, 0, 3), (2, 3, 0), [(0, 0), (1, 1), (3, 3)]),
        ((0, 2), (3, 0), [(0, 0), (2, 2)]),
        ((1, 1), (), [(0, 0), (1, 0), (2, 0)]),
    ],
)
def test_common_factors(left: tuple[int, ...], right: tuple[int, ...], cuts: list[tuple[int, int]]) -> None:
    assert common_factors(left, right) == cuts


@pytest.mark.parametrize(
    ("dimensions", "dynamic", "to", "flags"),
    [
        ((4, 6), (True, False), (4, 2, 3), (True, False, False)),
        ((4, 6), (False, True), (4, 1, 6, 1), (False, False, True, False)),
        ((4, 6), (True, False), (24,), (True,)),
        ((4, 6), (False, True), (24,), (True,)),
        ((4, 6), (False, True), (4, 2, 3), (False, False, False)),  # split: upstream forgets
        ((6,), (True,), (1, 6), (False, True)),
        ((1, 6), (True, False), (6, 1), (True, False)),
        ((6, 1), (False, True), (1, 6), (False, True)),
        ((1,), (True,), (1, 1), (False, True)),
        ((1,), (True,), (), ()),
    ],
)
def test_a_reshape_keeps_a_dynamic_dimension_it_can_follow(
    dimensions: tuple[int, ...], dynamic: tuple[bool, ...], to: tuple[int, ...], flags: tuple[bool, ...]
) -> None:
    assert reshape_flags(ArrayShape(PrimitiveType.F32, dimensions, dynamic), to) == flags


@pytest.mark.parametrize(
    ("dimensions", "dynamic", "to"),
    [((4, 6), (True, False), (6, 4)), ((2, 1, 3), (False, True, False), (6,))],
)
def test_a_reshape_that_cannot_follow_is_refused(
    dimensions: tuple[int, ...], dynamic: tuple[bool, ...], to: tuple[int, ...]
) -> None:
    with pytest.raises(ShapeError):
        reshape_flags(ArrayShape(PrimitiveType.F32, dimensions, dynamic), to)
