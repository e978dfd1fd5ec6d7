"""Do padded programs give the values that upstream's tests name? Scenarios: `stock_passes.md` section 5.19, Executed.

Inputs come cut to their sizes, and what is put into the padding is poison. Where a scenario is another one here, its
test says why.
"""

from typing import Any

import numpy as np
import pytest

from hlo import Opcode
from passes import Trace
from passes.stock import DynamicPadder
from passes.stock.dynamic_dimension_inference import DynamismRefused
from tests.passes.stock.dynamic.programs import ADD, FLOAT_ADD, REPLACE, array, padded, program


def test_scatter_leaves_out_the_part_of_a_window_that_is_not_there() -> None:
    module = program(
        """x = s32[1,<=2,3] parameter(0)
           i = s32[1] constant({0})
           u = s32[<=2,3,1] parameter(1)
           n = s32[] get-dimension-size(x), dimensions={1}
           v = s32[<=2,3,1] set-dimension-size(u, n), dimensions={0}
           ROOT r = s32[1,<=2,3] scatter(x, i, v), update_window_dims={0,1}, inserted_window_dims={0},
             scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=update""",
        REPLACE,
    )
    x, u = np.zeros((1, 2, 3), np.int32), array([[[10], [20], [30]], [[70], [80], [90]]])
    np.testing.assert_array_equal(padded(module, x, u), [[[10, 20, 30], [70, 80, 90]]])


def test_scatter_windows_whose_size_is_another_instruction_are_refused() -> None:
    """As upstream: two sizes that happen to be equal are not known to be."""
    module = program(
        """x = s32[1,<=2,3] parameter(0)
           i = s32[1] constant({0})
           u = s32[<=2,3,1] parameter(1)
           ROOT r = s32[1,<=2,3] scatter(x, i, u), update_window_dims={0,1}, inserted_window_dims={0},
             scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=update""",
        REPLACE,
    )
    with pytest.raises(DynamismRefused, match=r"scatter, operand 2, dimension 0\): a window is dynamic"):
        padded(module, np.zeros((1, 2, 3), np.int32), np.zeros((2, 3, 1), np.int32))


@pytest.mark.parametrize("kind", ["f32", "f16"])
def test_scatter_of_one_row_leaves_the_others(kind: str) -> None:
    module = program(
        f"""x = {kind}[3,3] parameter(0)
            i = s32[<=3] parameter(1)
            u = {kind}[<=3,3] parameter(2)
            ROOT r = {kind}[3,3] scatter(x, i, u), update_window_dims={{1}}, inserted_window_dims={{0}},
              scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=update""",
        REPLACE.replace("s32", kind),
    )
    numpy = {"f32": np.float32, "f16": np.float16}[kind]
    x = array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], numpy)
    result = padded(module, x, array([0]), array([[10, 20, 30]], numpy))
    np.testing.assert_array_equal(result, [[10, 20, 30], [4, 5, 6], [7, 8, 9]])


def test_gather_takes_a_whole_dynamic_dimension() -> None:
    module = program(
        """x = s32[3,<=2] parameter(0)
           i = s32[1] constant({2})
           g = s32[1,<=2] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
             index_vector_dim=1, slice_sizes={1,2}
           zero = s32[] constant(0)
           ROOT r = s32[] reduce(g, zero), dimensions={0,1}, to_apply=add""",
        ADD,
    )
    assert padded(module, array([[1], [2], [3]])) == 3


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(
            """x = s32[<=5] parameter(0)
               low = s32[] constant(-1)
               high = s32[] constant(9)
               c = s32[<=5] clamp(low, x, high)
               zero = s32[] constant(0)
               ROOT r = s32[] reduce(c, zero), dimensions={0}, to_apply=add""",
            id="clamp",
        ),
        pytest.param(
            """x = s32[<=5] parameter(0)
               zero = s32[] constant(0)
               ROOT r = s32[] reduce(x, zero), dimensions={0}, to_apply=add""",
            id="reduce",
        ),
        pytest.param(
            """x = s32[<=5] parameter(0)
               zero = s32[] constant(0)
               w = s32[<=5] reduce-window(x, zero), window={size=5 pad=4_0}, to_apply=add
               two = s32[] constant(2)
               s = s32[1] dynamic-slice(w, two), dynamic_slice_sizes={1}
               ROOT r = s32[] reshape(s)""",
            id="reduce-window",
        ),
    ],
)
def test_sums_are_of_three_elements_out_of_five(entry: str) -> None:
    assert padded(program(entry, ADD), array([1, 2, 3])) == 6


def test_one_dimension_is_reversed() -> None:
    module = program("x = s32[<=3] parameter(0)\n ROOT r = s32[<=3] reverse(x), dimensions={0}")
    np.testing.assert_array_equal(padded(module, array([1, 2])), [2, 1])


def reduced(reshape: str, shape: str, dimensions: str, parameter: str) -> str:
    return f"""x = {parameter} parameter(0)
        y = {reshape} reshape(x)
        zero = s32[] constant(0)
        ROOT r = {shape} reduce(y, zero), dimensions={{{dimensions}}}, to_apply=add"""


ROWS = [[0, 1, 2, 3], [6, 7, 8, 9]]
COMPLICATED = np.arange(1, 17).reshape(2, 2, 4)
DOUBLE = [[[0, 1], [3, 4]]] * 2


@pytest.mark.parametrize(
    ("entry", "value", "result"),
    [
        pytest.param(
            reduced("s32[<=10]", "s32[]", "0", "s32[1,2,<=5,1]"),
            np.full((1, 2, 3, 1), 3),
            18,
            id="InputMinorDimensionReshape",
        ),
        pytest.param(
            reduced("s32[2,<=3,2]", "s32[2,2]", "1", "s32[<=12]"),
            range(8),
            [[2, 4], [10, 12]],
            id="OutputMinorDimensionReshape",
        ),
        pytest.param(
            reduced("s32[2,2,<=3]", "s32[2,2]", "2", "s32[2,<=6]"),
            ROWS,
            [[1, 5], [13, 17]],
            id="OutputMinorDimensionReshapeUnchangedDimMajor",
        ),
        pytest.param(
            reduced("s32[2,<=3,2]", "s32[2,2]", "1", "s32[<=6,2]"),
            np.arange(8).reshape(4, 2),
            [[2, 4], [10, 12]],
            id="OutputMinorDimensionReshapeUnchangedDimMinor",
        ),
        pytest.param(
            reduced("s32[2,<=4]", "s32[2]", "1", "s32[2,<=4]"),
            [[1, 2, 3], [3, 4, 5]],
            [6, 12],
            id="ReshapeUnchanged",
        ),
        pytest.param(
            reduced("s32[2,<=2,<=4]", "s32[]", "0,1,2", "s32[<=4,2,<=2]"),
            [[[0], [1]], [[2], [3]]],
            6,
            id="ReshapeSplitCombineSameTime",
        ),
        pytest.param(
            reduced("s32[<=16,2]", "s32[]", "0,1", "s32[2,<=4,4]"), COMPLICATED, 136, id="ReshapeComplicated"
        ),
        pytest.param(
            reduced("s32[<=18]", "s32[]", "0", "s32[2,<=3,<=3]"), DOUBLE, 16, id="DoubleDynamicDimension"
        ),
    ],
)
def test_reshaped_arrays_are_reduced_over_what_is_there(entry: str, value: Any, result: Any) -> None:
    np.testing.assert_array_equal(padded(program(entry, ADD), array(value)), result)


def test_a_reshape_drops_an_outer_dimension_of_one_only_where_it_is_full() -> None:
    """Upstream lets the size of a bound of 1 become that of the first dimension of the result (DegeneratedDimension).

    Then no elements of [0,2,5,1] are 0 of 10. Ours refuses: [1,2,5,1] has 10, so that the size is not a count of them.
    """
    entry = reduced("s32[<=10]", "s32[]", "0", "s32[<=1,2,5,1]")
    with pytest.raises(DynamismRefused, match="reshape, operand 0, dimension 0"):
        padded(program(entry, ADD), np.zeros((0, 2, 5, 1), np.int32))


def test_sizes_given_to_a_reshape_are_how_it_counts() -> None:
    flat = program(
        "x = s32[2,<=3,<=3] parameter(0)\n eight = s32[] constant(8)\n"
        "ROOT r = s32[<=18] dynamic-reshape(x, eight)"
    )
    np.testing.assert_array_equal(padded(flat, array(DOUBLE)), [0, 1, 3, 4, 0, 1, 3, 4])
    back = program(
        "x = s32[<=18] parameter(0)\n two = s32[] constant(2)\n"
        "ROOT r = s32[2,<=3,<=3] dynamic-reshape(x, two, two, two)"
    )
    np.testing.assert_array_equal(padded(back, array([0, 1, 3, 4, 0, 1, 3, 4])), DOUBLE)
    both = program(
        "x = s32[<=3,<=4,<=4] parameter(0)\n three = s32[] constant(3)\n six = s32[] constant(6)\n"
        "ROOT r = s32[<=6,<=8] dynamic-reshape(x, three, six)"
    )
    rows = array([[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 8, 7], [6, 5, 4, 3, 2, 1]])
    np.testing.assert_array_equal(padded(both, rows.reshape(2, 3, 3)), rows)


def test_the_first_element_of_a_slice_is_there() -> None:
    module = program("x = s32[<=5] parameter(0)\n ROOT r = s32[1] slice(x), slice={[0:1]}")
    np.testing.assert_array_equal(padded(module, array([0, 1, 2])), [0])


@pytest.mark.parametrize(("size", "result"), [(5, 15), (3, 6)])
def test_a_convolution_adds_the_features_that_are_there(size: int, result: int) -> None:
    module = program(
        """x = f32[1,1,<=6] parameter(0)
           k = f32[1,6,1] constant({{{1},{1},{1},{1},{1},{1}}})
           ROOT r = f32[1,1,1] convolution(x, k), window={size=1}, dim_labels=b0f_0io->b0f"""
    )
    x = np.arange(1, size + 1, dtype=np.float32).reshape(1, 1, size)
    np.testing.assert_array_equal(padded(module, x), [[[result]]])


def test_the_padder_makes_nothing_as_large_as_a_large_bound() -> None:
    bounds = ",".join(["20"] * 8)
    module = program(
        f"x = f32[<=20,{bounds[3:]}] parameter(0)\n zero = f32[] constant(0)\n"
        "ROOT r = f32[] reduce(x, zero), dimensions={0,1,2,3,4,5,6,7}, to_apply=add",
        FLOAT_ADD,
    )
    assert DynamicPadder().run(module, Trace())
    constants = [i for i in module.entry_computation.instructions if i.opcode is Opcode.CONSTANT]
    assert all(constant.array_shape.is_scalar for constant in constants)


def test_a_row_is_repeated_before_rows_are_added_up() -> None:
    module = program(
        """x = s32[<=3,2] parameter(0)
           y = s32[<=3,2] parameter(1)
           s = s32[<=3,2] add(x, y)
           zero = s32[] constant(0)
           ROOT r = s32[2] reduce(s, zero), dimensions={0}, to_apply=add""",
        ADD,
    )
    one, three = array([[1, 1]]), np.full((3, 2), 2, np.int32)
    np.testing.assert_array_equal(padded(module.clone(), one, three), [9, 9])
    np.testing.assert_array_equal(padded(module.clone(), three, one), [9, 9])
    two = array([[1, 1], [1, 1]])
    np.testing.assert_array_equal(padded(module, three, two), [6, 6])


STACK = "(s32[], s32[<=4,2])"
WHILE_TWO = f"""condition {{ s = {STACK} parameter(0)
   i = s32[] get-tuple-element(s), index=0
   n = s32[] constant(2)
   ROOT r = pred[] compare(i, n), direction=LT }}
"""


def stack_body(change: str) -> str:
    return f"""body {{ s = {STACK} parameter(0)
       i = s32[] get-tuple-element(s), index=0
       x = s32[<=4,2] get-tuple-element(s), index=1
       one = s32[] constant(1)
       zero = s32[] constant(0)
       j = s32[] add(i, one)
       n = s32[] get-dimension-size(x), dimensions={{0}}
       {change}
       ROOT r = {STACK} tuple(j, new) }}
    """


def stack(first_size: int, change: str) -> Any:
    return program(
        f"""x = s32[4,2] parameter(0)
            n = s32[] constant({first_size})
            empty = s32[<=4,2] set-dimension-size(x, n), dimensions={{0}}
            zero = s32[] constant(0)
            t = {STACK} tuple(zero, empty)
            w = {STACK} while(t), condition=condition, body=body
            y = s32[<=4,2] get-tuple-element(w), index=1
            ROOT r = s32[2] reduce(y, zero), dimensions={{0}}, to_apply=add""",
        ADD,
        stack_body(change),
        WHILE_TWO,
    )


PUSH_THEN_GROW = """row = s32[1,2] broadcast(j), dimensions={}
    pushed = s32[<=4,2] dynamic-update-slice(x, row, n, zero)
    more = s32[] add(n, one)
    new = s32[<=4,2] set-dimension-size(pushed, more), dimensions={0}"""
GROW_THEN_PUSH = """row = s32[1,2] broadcast(j), dimensions={}
    more = s32[] add(n, one)
    grown = s32[<=4,2] set-dimension-size(x, more), dimensions={0}
    new = s32[<=4,2] dynamic-update-slice(grown, row, n, zero)"""


def test_a_loop_pushes_on_a_stack() -> None:
    garbage = np.full((4, 2), 77, np.int32)
    np.testing.assert_array_equal(padded(stack(0, GROW_THEN_PUSH), garbage), [3, 3])


def test_pushing_beyond_the_size_overwrites_the_last_row() -> None:
    """Upstream's WhileLoopStack writes behind the last row and grows afterwards, which its clamping by bounds allows.

    With starts clamped to sizes the second row takes the place of the first, and what is counted in is padding.
    """
    garbage = np.full((4, 2), 77, np.int32)
    np.testing.assert_array_equal(padded(stack(0, PUSH_THEN_GROW), garbage), [79, 79])
    as_upstream = DynamicPadder(clamp_to_size=False)
    np.testing.assert_array_equal(padded(stack(0, PUSH_THEN_GROW), garbage, padder=as_upstream), [3, 3])


def test_a_loop_pops_from_a_stack() -> None:
    pop = "less = s32[] subtract(n, one)\n new = s32[<=4,2] set-dimension-size(x, less), dimensions={0}"
    np.testing.assert_array_equal(padded(stack(4, pop), np.ones((4, 2), np.int32)), [2, 2])


def test_a_size_counts_though_the_type_does_not_say_so() -> None:
    module = program(
        """x = s32[3] parameter(0)
           two = s32[] constant(2)
           s = s32[3] set-dimension-size(x, two), dimensions={0}
           ROOT r = s32[] get-dimension-size(s), dimensions={0}"""
    )
    assert padded(module, array([1, 2, 3])) == 2


def test_a_sort_of_pairs_puts_what_is_there_first() -> None:
    module = program(
        """x = s32[<=3] parameter(0)
           y = s32[<=3] parameter(1)
           n = s32[] get-dimension-size(x), dimensions={0}
           z = s32[<=3] set-dimension-size(y, n), dimensions={0}
           s = (s32[<=3], s32[<=3]) sort(x, z), dimensions={0}, to_apply=greater
           ROOT r = s32[<=3] get-tuple-element(s), index=0""",
        "greater { a = s32[] parameter(0)\n b = s32[] parameter(1)\n c = s32[] parameter(2)\n d = s32[] parameter(3)\n"
        " ROOT r = pred[] compare(a, b), direction=GT }\n",
    )
    np.testing.assert_array_equal(padded(module, array([0, 4]), array([1, 2])), [4, 0])


@pytest.mark.parametrize(("padding", "bound"), [("1_1", 6), ("0_0_1", 7)])
def test_what_is_padded_with_counts(padding: str, bound: int) -> None:
    module = program(
        f"""x = s32[<=4] parameter(0)
            two = s32[] constant(2)
            p = s32[<={bound}] pad(x, two), padding={padding}
            zero = s32[] constant(0)
            ROOT r = s32[] reduce(p, zero), dimensions={{0}}, to_apply=add""",
        ADD,
    )
    assert padded(module, array([1, 4, 3])) == 12
