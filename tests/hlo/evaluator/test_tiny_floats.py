"""Powers of two without a sign (f8e8m0fnu) and floats of four bits (f4e2m1fn), all of whose values are tried."""

import itertools

import numpy as np
import pytest

from hlo import Opcode, PrimitiveType
from hlo.attributes import Comparison, TopKOptions

SCALE, TINY = PrimitiveType.F8E8M0FNU, PrimitiveType.F4E2M1FN
SCALES = np.arange(256).astype(np.uint8).view(SCALE.numpy)
NAN = 255


def codes(array: np.ndarray) -> list[int]:
    return array.view(np.uint8).tolist()


def test_what_a_scale_can_hold_is_kept(apply) -> None:
    """Code n stands for 2^(n - 127), and all of these are positive."""
    assert codes(apply(Opcode.ABS, SCALES)) == list(range(256))
    assert codes(apply(Opcode.SIGN, SCALES)) == [127] * 255 + [NAN]
    assert apply(Opcode.IS_FINITE, SCALES).tolist() == [True] * 255 + [False]


@pytest.mark.parametrize("opcode", [Opcode.NEGATE, Opcode.IMAG])
def test_a_scale_is_neither_negative_nor_zero(apply, opcode: Opcode) -> None:
    """Implementation-defined: NaN here and with XLA CPU; the StableHLO interpreter has other numbers."""
    assert codes(apply(opcode, SCALES)) == [NAN] * 256


@pytest.mark.parametrize(
    ("opcode", "exponent"),
    [(Opcode.MULTIPLY, lambda x, y: x + y), (Opcode.DIVIDE, lambda x, y: x - y)],
)
def test_products_of_scales_add_exponents_and_end_at_the_limits(apply, opcode: Opcode, exponent) -> None:
    """Below the least number that is the nearest; above the largest the type has only NaN."""
    some = [0, 1, 64, 126, 127, 128, 200, 254]
    pairs = list(itertools.product(some, repeat=2))
    left, right = (np.array(side, np.uint8).view(SCALE.numpy) for side in zip(*pairs, strict=True))
    whole = [exponent(x - 127, y - 127) + 127 for x, y in pairs]
    assert codes(apply(opcode, left, right)) == [NAN if e > 254 else max(e, 0) for e in whole]


@pytest.mark.parametrize("kind", [SCALE, TINY])
def test_comparisons_are_those_of_the_numbers(apply, kind: PrimitiveType) -> None:
    every = np.arange(1 << kind.bit_width).astype(np.uint8).view(kind.numpy)
    left, right = np.repeat(every, every.size), np.tile(every, every.size)
    wide = left.astype(np.float64), right.astype(np.float64)
    for direction, compare in [("EQ", np.equal), ("LT", np.less), ("GE", np.greater_equal)]:
        got = apply(Opcode.COMPARE, left, right, attributes=Comparison(direction))
        assert got.tolist() == compare(*wide).tolist()


@pytest.mark.parametrize("kind", [SCALE, TINY])
def test_the_total_order_has_a_place_for_every_code(apply, kind: PrimitiveType) -> None:
    """-6 … -0, +0 … 6; and of scales upwards, with NaN above all."""
    order = list(range(256)) if kind is SCALE else [*range(15, 7, -1), *range(8)]
    every = np.array(order, np.uint8).view(kind.numpy)
    left, right = np.repeat(every, every.size), np.tile(every, every.size)
    place = np.arange(every.size)
    got = apply(Opcode.COMPARE, left, right, attributes=Comparison("LT", "TOTALORDER"))
    assert got.tolist() == (np.repeat(place, every.size) < np.tile(place, every.size)).tolist()
    _, where = apply(Opcode.TOPK, every[::-1].copy(), attributes=TopKOptions(3))
    assert where.tolist() == [0, 1, 2]
