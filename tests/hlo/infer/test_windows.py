from collections.abc import Callable

import pytest

from hlo.attributes import Window, WindowDimension

Infer = Callable[..., str]
Row = WindowDimension

ADD = "(f32[], f32[]) -> f32[]"
BOTH = "(f32[], s32[], f32[], s32[]) -> (f32[], s32[])"
LESS = "(f32[], f32[]) -> pred[]"


@pytest.mark.parametrize(
    ("size", "row", "places"),
    [
        (5, Row(2), 4),
        (5, Row(5), 1),
        (5, Row(6), 0),
        (0, Row(1), 0),
        (0, Row(2, padding_low=1, padding_high=1), 1),
        (5, Row(2, stride=2), 2),
        (5, Row(2, stride=9), 1),
        (5, Row(2, padding_low=1, padding_high=2), 7),
        (5, Row(2, padding_low=-1, padding_high=-2), 1),
        (5, Row(2, padding_low=-9), 0),
        (5, Row(3, window_dilation=2), 1),
        (5, Row(2, base_dilation=3), 12),
        (0, Row(1, base_dilation=3), 0),
        (0, Row(2, padding_low=2, base_dilation=3), 1),
    ],
)
def test_a_window_has_as_many_places_as_fit(infer: Infer, size: int, row: Row, places: int) -> None:
    gives = infer("reduce-window", f"f32[{size}]", "f32[]", attributes=Window((row,)), called=[ADD])
    assert gives == f"f32[{places}]"


def test_a_window_keeps_dynamic_dimensions(infer: Infer) -> None:
    window, operands = Window((Row(1), Row(2))), ("f32[<=2,3]", "s32[2,<=3]", "f32[]", "s32[]")
    assert infer("reduce-window", "f32[2,<=3]", "f32[]", attributes=window, called=[ADD]) == "f32[2,<=2]"
    gives = infer("reduce-window", *operands, attributes=window, called=[BOTH])
    assert gives == "(f32[<=2,<=2], s32[<=2,<=2])"


@pytest.mark.parametrize(
    ("operands", "rows", "reducer", "message"),
    [
        (("f32[4]",), [Row(2)], ADD, "as many inputs as initial values"),
        (("f32[4]", "f32[1]"), [Row(2)], ADD, "not scalars"),
        (("f32[4]", "s32[3]", "f32[]", "s32[]"), [Row(2)], BOTH, "differ in dimensions"),
        (("f32[4]", "f32[]"), [], ADD, "window has 0 dimensions, expected 1"),
        (("f32[4]", "f32[]"), [Row(0)], ADD, "size 0"),
        (("f32[4]", "f32[]"), [Row(1, stride=0)], ADD, "stride 0"),
        (("f32[4]", "f32[]"), [Row(1, window_dilation=0)], ADD, "window dilation 0"),
        (("f32[4]", "f32[]"), [Row(1, base_dilation=-1)], ADD, "base dilation -1"),
        (("f32[4]", "f32[]"), [Row(2)], "(f32[]) -> f32[]", "takes 1 parameters, expected 2"),
        (("f32[4]", "f32[]"), [Row(2)], LESS, "parameter 0 of the reducer"),
    ],
)
def test_a_reduce_window_that_does_not_fit_is_refused(
    refusal: Infer, operands: tuple[str, ...], rows: list[Row], reducer: str, message: str
) -> None:
    attributes = Window(tuple(rows))
    assert message in refusal("reduce-window", *operands, attributes=attributes, called=[reducer])


PAIRS = Window((Row(2, stride=2),))


def test_select_and_scatter_gives_the_operand_back(infer: Infer) -> None:
    operands = ("f32[<=4]", "f32[2]", "f32[]")
    assert infer("select-and-scatter", *operands, attributes=PAIRS, called=[LESS, ADD]) == "f32[<=4]"


@pytest.mark.parametrize(
    ("operands", "select", "scatter", "message"),
    [
        (("f32[4]", "f32[3]", "f32[]"), LESS, ADD, "the window has [2] places"),
        (("f32[4]", "f32[2]", "f32[1]"), LESS, ADD, "not a scalar but f32[1]"),
        (("f32[4]", "s32[2]", "f32[]"), LESS, ADD, "not an element of s32[2]"),
        (("s32[4]", "f32[2]", "f32[]"), "(s32[], s32[]) -> pred[]", ADD, "differ in element type"),
        (("f32[4]", "f32[2]", "f32[]"), ADD, ADD, "gives f32[], not pred[]"),
        (("f32[4]", "f32[2]", "f32[]"), "(f32[]) -> pred[]", ADD, "takes (f32[]), expected two"),
        (("f32[4]", "f32[2]", "f32[]"), LESS, LESS, "parameter 0 of the reducer"),
    ],
)
def test_a_select_and_scatter_that_does_not_fit_is_refused(
    refusal: Infer, operands: tuple[str, ...], select: str, scatter: str, message: str
) -> None:
    assert message in refusal("select-and-scatter", *operands, attributes=PAIRS, called=[select, scatter])
