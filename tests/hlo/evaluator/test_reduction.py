"""Reductions: the values, and that every fast way gives the bits of the plain loop over elements."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import ArrayShape, HloModule, Opcode, PrimitiveType, same_bits
from hlo.builder import Builder
from hlo.evaluator import evaluate
from hlo.evaluator.reduction import plain_reducer

F32, S8 = PrimitiveType.F32, PrimitiveType.S8
FLOATS = [PrimitiveType.F16, PrimitiveType.BF16, F32, PrimitiveType.F64, PrimitiveType.F8E5M2]
INTEGERS = [t for t in PrimitiveType if t.is_integral]
ARITHMETIC = [Opcode.ADD, Opcode.MULTIPLY, Opcode.MAXIMUM, Opcode.MINIMUM]
BITWISE = [Opcode.AND, Opcode.OR, Opcode.XOR]


def reduce_with(opcode: Opcode, x: np.ndarray, initial: np.ndarray, dimensions, *, plain: bool) -> Any:
    """A reduce by `opcode`; if not `plain`, by a computation that means the same but does not look it."""
    t = PrimitiveType.of(x.dtype)
    module = HloModule("m")
    reducer = module.add_computation("reducer")
    builder = Builder(reducer)
    a, b = builder.parameter(0, ArrayShape(t)), builder.parameter(1, ArrayShape(t))
    root = builder.op(opcode, a, b)
    reducer.set_root(root if plain else builder.op(Opcode.COPY, root))
    assert (plain_reducer(reducer) is not None) == plain
    entry = module.add_computation("entry")
    module.set_entry_computation(entry)
    builder = Builder(entry)
    operands = builder.parameter(0, ArrayShape(t, x.shape)), builder.parameter(1, ArrayShape(t))
    entry.set_root(builder.reduce(reducer, [operands[0]], [operands[1]], dimensions))
    return evaluate(module, [x, initial])


CASES = [
    *itertools.product(ARITHMETIC, [*FLOATS, *INTEGERS]),
    *itertools.product(BITWISE, INTEGERS),
    *itertools.product([*ARITHMETIC, *BITWISE], [PrimitiveType.PRED]),
]


@given(st.data(), st.sampled_from(CASES))
def test_the_fast_way_gives_the_bits_of_the_plain_loop(data: st.DataObject, case) -> None:
    opcode, t = case
    dimensions = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3)))
    reduced = tuple(
        sorted(data.draw(st.sets(st.sampled_from(range(len(dimensions) or 1)), max_size=len(dimensions))))
    )
    number = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, 3.0, 100.0, 1e-3, math.inf, -math.inf])
    if t.is_integral or t is PrimitiveType.PRED:
        number = st.integers(-8 if t.is_signed else 0, 7 if t.bit_width < 8 else 100)
        number = (
            st.integers(-2, 1) if t is PrimitiveType.S2 else st.integers(0, 3) if t.bit_width == 2 else number
        )
    count = math.prod(dimensions)
    drawn = data.draw(st.lists(number, min_size=count + 1, max_size=count + 1))
    values = np.array(drawn).astype(t.numpy)
    x, initial = values[:-1].reshape(dimensions), values[-1, ...]
    fast = reduce_with(opcode, x, initial, reduced, plain=True)
    slow = reduce_with(opcode, x, initial, reduced, plain=False)
    assert fast.dtype == t.numpy
    assert fast.shape == slow.shape
    assert (
        same_bits(np.nan_to_num(fast, nan=7), np.nan_to_num(slow, nan=7))
        if t.is_float
        else same_bits(fast, slow)
    )


@pytest.mark.parametrize("t", FLOATS)
@pytest.mark.parametrize("opcode", ARITHMETIC)
def test_long_sums_are_not_added_pairwise(opcode: Opcode, t: PrimitiveType) -> None:
    # 0.1 a hundred times: NumPy's own sum and ours differ in the last bits
    x = np.linspace(0.1, 1.3, 300).reshape(100, 3).astype(t.numpy)
    initial = np.array(1).astype(t.numpy)
    for dimensions in ((0,), (1,), (0, 1)):
        fast, slow = (reduce_with(opcode, x, initial, dimensions, plain=plain) for plain in (True, False))
        assert same_bits(fast, slow)


@pytest.mark.parametrize("plain", [True, False])
def test_a_sum_goes_from_the_initial_value_in_row_major_order(plain: bool) -> None:
    # 2^24 + 1 is not in F32 and rounds to 2^24: a one is lost if it comes after 2^24, kept if another came before
    def total(x: list, initial: float) -> float:
        array = np.array(x, np.float32)
        dimensions = tuple(range(array.ndim))
        return reduce_with(Opcode.ADD, array, np.array(initial, np.float32), dimensions, plain=plain).item()

    assert total([1, 1], 2.0**24) == 2**24
    assert total([1, 2.0**24], 1) == 2**24 + 2
    assert total([[1, 2.0**24], [1, 0]], 0) == 2**24
    assert total([[1, 1], [2.0**24, 0]], 0) == 2**24 + 2


def test_an_integer_sum_wraps_in_its_own_type() -> None:
    x = np.full(3, 100, np.int8)
    assert reduce_with(Opcode.ADD, x, np.array(0, np.int8), (0,), plain=True).item() == 300 - 256


def test_nothing_reduced_is_the_initial_value_and_each_output_has_it_once() -> None:
    assert reduce_with(
        Opcode.ADD, np.ones((0, 2), np.int32), np.array(5, np.int32), (0,), plain=True
    ).tolist() == [5, 5]
    # no dimension is reduced: every element is combined with the initial value
    assert reduce_with(
        Opcode.ADD, np.arange(2, dtype=np.int32), np.array(5, np.int32), (), plain=True
    ).tolist() == [5, 6]


@pytest.mark.parametrize(
    ("opcode", "initial", "expected"), [(Opcode.MAXIMUM, -0.0, 0.0), (Opcode.MINIMUM, 0.0, -0.0)]
)
@pytest.mark.parametrize("plain", [True, False])
def test_the_extreme_of_two_zeros_has_the_right_sign(opcode, initial, expected, plain) -> None:
    x = np.array([[-0.0, 0.0, -0.0]] * 9, np.float32)
    got = reduce_with(opcode, x, np.array(initial, np.float32), (1,), plain=plain)
    assert same_bits(got, np.full(9, expected, np.float32))


@pytest.mark.parametrize("opcode", [Opcode.MAXIMUM, Opcode.MINIMUM])
def test_the_extreme_with_a_nan_is_nan(opcode) -> None:
    x = np.array([1, math.nan, 2], np.float32)
    assert np.isnan(reduce_with(opcode, x, np.array(0, np.float32), (0,), plain=True))


def test_a_reducer_need_not_commute(run_text) -> None:
    # ((10 - 1) - 2) - 3
    got = run_text(
        """sub { a = s32[] parameter(0)
              b = s32[] parameter(1)
              ROOT r = s32[] subtract(a, b) }
        ENTRY e { x = s32[3] parameter(0)
                  i = s32[] constant(10)
                  ROOT r = s32[] reduce(x, i), dimensions={0}, to_apply=sub }""",
        np.array([1, 2, 3], np.int32),
    )
    assert got.item() == 4


ARGMAX = """argmax { v = f32[] parameter(0)
  i = s32[] parameter(1)
  w = f32[] parameter(2)
  j = s32[] parameter(3)
  keep = pred[] compare(v, w), direction=GE
  m = f32[] select(keep, v, w)
  k = s32[] select(keep, i, j)
  ROOT t = (f32[], s32[]) tuple(m, k) }
ENTRY e { x = f32[2,3] parameter(0)
  n = s32[2,3] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  none = s32[] constant(-1)
  ROOT r = (f32[2], s32[2]) reduce(x, n, low, none), dimensions={1}, to_apply=argmax }"""


def test_several_arrays_are_reduced_together(run_text) -> None:
    maxima, places = run_text(ARGMAX, np.array([[1, 5, 5], [-2, -1, -3]], np.float32))
    assert maxima.tolist() == [5, -1]
    assert places.tolist() == [1, 1]


def test_a_reducer_may_accumulate_in_a_wider_float(run_text) -> None:
    # in BF16 itself, 256 + 1 would round back to 256
    got = run_text(
        """wide { a = f32[] parameter(0)
                  b = f32[] parameter(1)
                  ROOT r = f32[] add(a, b) }
        ENTRY e { x = bf16[2] parameter(0)
                  i = f32[] constant(256)
                  ROOT r = f32[] reduce(x, i), dimensions={0}, to_apply=wide }""",
        np.ones(2).astype(PrimitiveType.BF16.numpy),
    )
    assert got.item() == 258


def test_map_applies_its_computation_at_each_index(run_text) -> None:
    got = run_text(
        """f { a = s32[] parameter(0)
               b = s32[] parameter(1)
               two = s32[] constant(2)
               c = s32[] multiply(a, two)
               ROOT r = s32[] subtract(c, b) }
        ENTRY e { x = s32[2,2] parameter(0)
                  y = s32[2,2] parameter(1)
                  ROOT r = s32[2,2] map(x, y), dimensions={0,1}, to_apply=f }""",
        np.array([[1, 2], [3, 4]], np.int32),
        np.array([[0, 1], [0, -1]], np.int32),
    )
    assert got.tolist() == [[2, 3], [6, 9]]
