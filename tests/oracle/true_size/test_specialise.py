"""Do dynamic programs mean what the padder's own tests upstream say? Values are those of `stock_passes.md` 5.19."""

import numpy as np
import pytest

from hlo import HloModule, InvalidInput, Value
from hlo.evaluator import SizeOutOfBounds, evaluate
from hlo.interchange import read_text
from hlo.parameter_binding import DynamicDimension, DynamicSizeParameter
from hlo.verify import verify
from oracle.reference import run_jax
from oracle.true_size import UndefinedSizes, is_dynamic, specialise

ADD = "add { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = s32[] add(a, b) }\n"


def program(entry: str, *computations: str) -> HloModule:
    return read_text("HloModule m\n" + "".join(computations) + f"ENTRY main {{ {entry} }}\n")


def ints(*values: object) -> np.ndarray:
    return np.array(values, np.int32)


def number(value: int) -> np.ndarray:
    return np.array(value, np.int32)


def value_of(module: HloModule, *inputs: Value) -> Value:
    """The value, after seeing that evaluator and JAX agree on what was written down."""
    assert not verify(module)
    specialised = specialise(module, inputs)
    assert not verify(specialised.module)
    for run in (evaluate, run_jax):
        np.testing.assert_array_equal(run(specialised.module, inputs), specialised.value)
    return specialised.value


SUM_OF_PREFIX = program(
    """x = s32[10] parameter(0)
       n = s32[] parameter(1)
       d = s32[<=10] set-dimension-size(x, n), dimensions={0}
       zero = s32[] constant(0)
       ROOT r = s32[] reduce(d, zero), dimensions={0}, to_apply=add""",
    ADD,
)


@pytest.mark.parametrize(("size", "total"), [(5, 15), (6, 21), (0, 0), (10, 55)])
def test_a_size_says_how_much_is_reduced(size: int, total: int) -> None:
    assert value_of(SUM_OF_PREFIX, ints(*range(1, 11)), number(size)) == total


@pytest.mark.parametrize(
    "product",
    [
        "dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "convolution(x, y), dim_labels=bf_io->bf",
    ],
    ids=["dot", "convolution"],
)
def test_a_product_has_the_element_type_that_it_says(product: str) -> None:
    module = program(
        f"""a = s8[3,2] parameter(0)
           n = s32[] parameter(1)
           x = s8[<=3,2] set-dimension-size(a, n), dimensions={{0}}
           y = s8[2,2] parameter(2)
           ROOT r = s32[<=3,2] {product}"""
    )
    rows = np.array([[100, 100], [1, 2], [7, 7]], np.int8)
    value = value_of(module, rows, number(2), np.full((2, 2), 2, np.int8))
    np.testing.assert_array_equal(value, ints([400, 400], [6, 6]), strict=True)


def test_a_size_may_grow_again_up_to_what_the_array_held() -> None:
    module = program(
        """x = s32[10] parameter(0)
           five = s32[] constant(5)
           six = s32[] constant(6)
           a = s32[<=10] set-dimension-size(x, five), dimensions={0}
           b = s32[<=10] set-dimension-size(a, six), dimensions={0}
           zero = s32[] constant(0)
           ROOT r = s32[] reduce(b, zero), dimensions={0}, to_apply=add""",
        ADD,
    )
    assert value_of(module, ints(*range(1, 11))) == 21


def test_a_size_that_takes_in_padding_is_undefined() -> None:
    module = program(
        """x = s32[3] parameter(0)
           two = s32[] constant(2)
           three = s32[] constant(3)
           a = s32[<=3] set-dimension-size(x, two), dimensions={0}
           b = s32[<=3] negate(a)
           ROOT c = s32[<=3] set-dimension-size(b, three), dimensions={0}"""
    )
    with pytest.raises(UndefinedSizes, match="size 3 of dimension 0 takes in padding beyond 2"):
        specialise(module, [ints(1, 2, 3)])


@pytest.mark.parametrize("size", [-1, 11])
def test_a_size_outside_its_bound_is_an_error_that_says_where(size: int) -> None:
    with pytest.raises(SizeOutOfBounds, match=rf"d \(set-dimension-size\): size {size} of dimension 0"):
        specialise(SUM_OF_PREFIX, [ints(*range(10)), number(size)])


def test_concatenated_arrays_follow_each_other_without_padding() -> None:
    module = program(
        """x = s32[3] parameter(0)
           y = s32[3] parameter(1)
           z = s32[3] parameter(2)
           two = s32[] constant(2)
           a = s32[<=3] set-dimension-size(x, two), dimensions={0}
           b = s32[<=3] set-dimension-size(z, two), dimensions={0}
           ROOT r = s32[<=9] concatenate(a, y, b), dimensions={0}"""
    )
    result = value_of(module, ints(1, 2, -1), ints(3, 4, 5), ints(6, 7, -1))
    np.testing.assert_array_equal(result, range(1, 8))


def test_reversed_dimensions_begin_at_the_last_element_that_is_there() -> None:
    module = program(
        """x = s32[3,3] parameter(0)
           two = s32[] constant(2)
           a = s32[<=3,3] set-dimension-size(x, two), dimensions={0}
           b = s32[<=3,<=3] set-dimension-size(a, two), dimensions={1}
           ROOT r = s32[<=3,<=3] reverse(b), dimensions={0,1}"""
    )
    np.testing.assert_array_equal(value_of(module, ints((1, 2, 8), (3, 4, 9), (0, 0, 0))), [[4, 3], [2, 1]])


def test_a_split_dimension_takes_up_what_the_others_leave() -> None:
    module = program(
        """x = s32[12] parameter(0)
           n = s32[] parameter(1)
           a = s32[<=12] set-dimension-size(x, n), dimensions={0}
           ROOT r = s32[2,<=3,2] reshape(a)"""
    )
    x = ints(*range(12))
    np.testing.assert_array_equal(value_of(module, x, number(8)), [[[0, 1], [2, 3]], [[4, 5], [6, 7]]])
    with pytest.raises(UndefinedSizes, match="6 elements do not come out even"):
        specialise(module, [x, number(6)])


def test_dynamic_reshape_takes_its_sizes_from_scalars() -> None:
    module = program(
        """x = s32[3,4,4] parameter(0)
           two = s32[] constant(2)
           three = s32[] constant(3)
           six = s32[] constant(6)
           a = s32[<=3,4,4] set-dimension-size(x, two), dimensions={0}
           b = s32[<=3,<=4,4] set-dimension-size(a, three), dimensions={1}
           c = s32[<=3,<=4,<=4] set-dimension-size(b, three), dimensions={2}
           ROOT r = s32[<=6,<=8] dynamic-reshape(c, three, six)"""
    )
    x = np.arange(48, dtype=np.int32).reshape(3, 4, 4)
    np.testing.assert_array_equal(value_of(module, x), x[:2, :3, :3].reshape(3, 6))


ADDED = program(
    """x = s32[3] parameter(0)
       y = s32[3] parameter(1)
       m = s32[] parameter(2)
       n = s32[] parameter(3)
       a = s32[<=3] set-dimension-size(x, m), dimensions={0}
       b = s32[<=3] set-dimension-size(y, n), dimensions={0}
       ROOT r = s32[<=3] add(a, b)"""
)


@pytest.mark.parametrize(
    ("sizes", "result"), [((1, 3), [11, 21, 31]), ((3, 2), [11, 22]), ((3, 1), [11, 12, 13]), ((0, 1), [])]
)
def test_sizes_that_differ_repeat_a_single_element_or_come_to_the_smaller(
    sizes: tuple[int, int], result: list[int]
) -> None:
    scalars = [number(size) for size in sizes]
    np.testing.assert_array_equal(value_of(ADDED, ints(1, 2, 3), ints(10, 20, 30), *scalars), result)


def test_a_slice_ends_where_the_array_does() -> None:
    module = program(
        """x = s32[6] parameter(0)
           n = s32[] parameter(1)
           a = s32[<=6] set-dimension-size(x, n), dimensions={0}
           ROOT r = s32[<=2] slice(a), slice={[1:5:2]}"""
    )
    x = ints(*range(6))
    for size, wanted in ((6, [1, 3]), (3, [1]), (1, []), (0, [])):
        np.testing.assert_array_equal(value_of(module, x, number(size)), wanted)


def test_updates_that_lie_beyond_the_size_are_dropped_and_starts_clamped_to_it() -> None:
    module = program(
        """x = s32[5] parameter(0)
           u = s32[2] parameter(1)
           i = s32[] parameter(2)
           four = s32[] constant(4)
           a = s32[<=5] set-dimension-size(x, four), dimensions={0}
           ROOT r = s32[<=5] dynamic-update-slice(a, u, i)"""
    )
    np.testing.assert_array_equal(value_of(module, ints(*range(5)), ints(8, 9), number(3)), [0, 1, 8, 9])


def test_a_loop_carries_sizes_that_change() -> None:
    body = """body { s = (s32[], s32[<=4]) parameter(0)
       i = s32[] get-tuple-element(s), index=0
       x = s32[<=4] get-tuple-element(s), index=1
       one = s32[] constant(1)
       j = s32[] add(i, one)
       y = s32[<=4] set-dimension-size(x, j), dimensions={0}
       ROOT r = (s32[], s32[<=4]) tuple(j, y) }
    """
    condition = """condition { s = (s32[], s32[<=4]) parameter(0)
       i = s32[] get-tuple-element(s), index=0
       n = s32[] constant(3)
       ROOT r = pred[] compare(i, n), direction=LT }
    """
    module = program(
        """x = s32[4] parameter(0)
           zero = s32[] constant(0)
           e = s32[<=4] set-dimension-size(x, zero), dimensions={0}
           init = (s32[], s32[<=4]) tuple(zero, e)
           w = (s32[], s32[<=4]) while(init), condition=condition, body=body
           ROOT r = s32[<=4] get-tuple-element(w), index=1""",
        body,
        condition,
    )
    np.testing.assert_array_equal(value_of(module, ints(5, 6, 7, 8)), [5, 6, 7])


def test_padding_between_bridges_is_filled_and_cut_off_again() -> None:
    module = program(
        """x = s32[<=4] parameter(0)
           t = (s32[4], s32[]) custom-call(x), custom_call_target="PadToStatic"
           data = s32[4] get-tuple-element(t), index=0
           size = s32[] get-tuple-element(t), index=1
           d = s32[<=4] custom-call(data, size), custom_call_target="SliceToDynamic"
           ROOT r = (s32[4], s32[<=4]) tuple(data, d)"""
    )
    specialised = specialise(module, [ints(1, 2)], fill=lambda shape: np.full(shape.dimensions, -7, np.int32))
    assert isinstance(specialised.value, tuple)
    data, cut = specialised.value
    np.testing.assert_array_equal(data, [1, 2, -7, -7])
    np.testing.assert_array_equal(cut, [1, 2])


def test_inputs_larger_than_their_bound_do_not_fit() -> None:
    module = program("x = s32[<=4] parameter(0)\n ROOT r = s32[<=4] negate(x)")
    np.testing.assert_array_equal(value_of(module, ints(1, 2)), [-1, -2])
    with pytest.raises(InvalidInput, match=r"the input for x does not fit s32\[<=4\]"):
        specialise(module, [ints(1, 2, 3, 4, 5)])


def test_a_size_bound_to_a_parameter_counts() -> None:
    module = read_text(
        """HloModule m
        add { a = s32[] parameter(0)
              b = s32[] parameter(1)
              ROOT r = s32[] add(a, b) }
        ENTRY main { x = s32[4] parameter(0)
                     n = s32[] parameter(1)
                     zero = s32[] constant(0)
                     ROOT r = s32[] reduce(x, zero), dimensions={0}, to_apply=add }"""
    )
    size, dimension = DynamicSizeParameter(1), DynamicDimension(0, (), 0)
    module.dynamic_parameter_binding = module.dynamic_parameter_binding.bind(size, dimension)
    assert is_dynamic(module)
    given = np.array([1, 2, 4, 8], np.int32)
    assert specialise(module, [given, np.array(3, np.int32)]).value == 7
    with pytest.raises(SizeOutOfBounds):
        specialise(module, [given, np.array(5, np.int32)])


def test_a_dimension_without_a_bound_has_no_meaning() -> None:
    module = read_text("HloModule m\nENTRY e {\n x = f32[?] parameter(0)\n ROOT y = f32[?] negate(x)\n}")
    with pytest.raises(
        InvalidInput, match=r"^e: x: Invalid dimension size -9223372036854775808, is_dynamic=true"
    ):
        specialise(module, [np.zeros(2, np.float32)])
