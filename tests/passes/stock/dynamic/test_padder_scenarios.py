"""Is a padded program right whatever lies in the padding? Scenarios and values: `stock_passes.md` section 5.19."""

from typing import Any

import numpy as np
import pytest

from oracle.true_size import specialise
from passes import Trace
from passes.stock import DynamicPadder
from tests.passes.stock.dynamic.programs import ADD, array, padded, program


def test_scatter_drops_updates_that_are_not_there() -> None:
    module = program(
        """x = s32[3,3] parameter(0)
           i = s32[<=4] parameter(1)
           u = s32[<=4,3] parameter(2)
           ROOT r = s32[3,3] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},
             scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=update""",
        "update { a = s32[] parameter(0)\n ROOT b = s32[] parameter(1) }\n",
    )
    x = array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    result = padded(module, x, array([0, 2]), array([[10, 20, 30], [70, 80, 90]]))
    np.testing.assert_array_equal(result, [[10, 20, 30], [4, 5, 6], [70, 80, 90]])


def test_a_reduction_counts_what_is_there() -> None:
    module = program(
        """x = s32[<=4,<=4] parameter(0)
           zero = s32[] constant(0)
           ROOT r = s32[] reduce(x, zero), dimensions={0,1}, to_apply=add""",
        ADD,
    )
    assert padded(module, array([[3, 3], [3, 3]])) == 12


def test_an_initial_value_counts_once() -> None:
    module = program(
        """x = s32[<=4] parameter(0)
           five = s32[] constant(5)
           ROOT r = s32[] reduce(x, five), dimensions={0}, to_apply=add""",
        ADD,
    )
    assert padded(module, array([1, 2])) == 8


def test_a_window_finds_the_initial_value_beyond_the_edge() -> None:
    module = program(
        """x = s32[<=4] parameter(0)
           zero = s32[] constant(0)
           ROOT r = s32[<=4] reduce-window(x, zero), window={size=3 pad=1_1}, to_apply=add""",
        ADD,
    )
    np.testing.assert_array_equal(padded(module, array([1, 2])), [3, 3])


def test_concatenated_arrays_follow_each_other() -> None:
    module = program(
        """x = s32[<=3] parameter(0)
           y = s32[3] parameter(1)
           z = s32[<=3] parameter(2)
           ROOT r = s32[<=9] concatenate(x, y, z), dimensions={0}"""
    )
    result = padded(module, array([1, 2]), array([3, 4, 5]), array([6, 7]))
    np.testing.assert_array_equal(result, range(1, 8))


def test_reversed_arrays_begin_with_the_last_element() -> None:
    module = program("x = s32[<=3,<=3] parameter(0)\n ROOT r = s32[<=3,<=3] reverse(x), dimensions={0,1}")
    np.testing.assert_array_equal(padded(module, array([[1, 2], [3, 4]])), [[4, 3], [2, 1]])


@pytest.mark.parametrize(
    ("body", "value", "result"),
    [
        (
            "x = s32[1,2,<=5,1] parameter(0)\n ROOT r = s32[<=10] reshape(x)",
            np.arange(6).reshape(1, 2, 3, 1),
            range(6),
        ),
        (
            "x = s32[<=12] parameter(0)\n ROOT r = s32[2,<=3,2] reshape(x)",
            np.arange(8),
            [[[0, 1], [2, 3]], [[4, 5], [6, 7]]],
        ),
        (
            "x = s32[2,<=6] parameter(0)\n ROOT r = s32[2,2,<=3] reshape(x)",
            [[0, 1, 2, 3], [4, 5, 6, 7]],
            None,
        ),
        (
            "x = s32[<=6,2] parameter(0)\n ROOT r = s32[2,<=3,2] reshape(x)",
            [[0, 1], [2, 3], [4, 5], [6, 7]],
            None,
        ),
        ("x = s32[3,<=2] parameter(0)\n ROOT r = s32[<=6] reshape(x)", [[1], [2], [3]], [1, 2, 3]),
        ("x = s32[<=4,4] parameter(0)\n ROOT r = s32[<=16] reshape(x)", np.arange(8).reshape(2, 4), range(8)),
        (
            "x = s32[2,<=3,<=3] parameter(0)\n ROOT r = s32[<=18] reshape(x)",
            np.arange(8).reshape(2, 2, 2),
            range(8),
        ),
    ],
)
def test_reshapes_leave_no_padding_between_elements(body: str, value: Any, result: Any) -> None:
    value = array(value)
    got = padded(program(body), value)
    if result is None:
        assert isinstance(got, np.ndarray)
        result = value.reshape(got.shape)
    np.testing.assert_array_equal(got, result)


def test_dynamic_reshape_counts_by_its_sizes() -> None:
    module = program(
        """x = s32[<=3,<=4,<=4] parameter(0)
           a = s32[] parameter(1)
           b = s32[] parameter(2)
           ROOT r = s32[<=6,<=8] dynamic-reshape(x, a, b)"""
    )
    x = np.arange(18, dtype=np.int32).reshape(2, 3, 3)
    np.testing.assert_array_equal(padded(module, x, array(3), array(6)), x.reshape(3, 6))


@pytest.mark.parametrize(("x", "y", "result"), [([4], [1, 2, 3], [5, 6, 7]), ([3, 3, 9], [3, 3], [6, 6])])
def test_single_elements_are_repeated_and_longer_operands_cut(x: Any, y: Any, result: Any) -> None:
    module = program("x = s32[<=3] parameter(0)\n y = s32[<=3] parameter(1)\n ROOT r = s32[<=3] add(x, y)")
    np.testing.assert_array_equal(padded(module, array(x), array(y)), result)


def test_single_elements_are_repeated_for_select_too() -> None:
    module = program(
        """p = pred[<=3] parameter(0)
           x = s32[<=3] parameter(1)
           y = s32[<=3] parameter(2)
           ROOT r = s32[<=3] select(p, x, y)"""
    )
    result = padded(module, np.array([True, False]), array([5]), array([1, 2]))
    np.testing.assert_array_equal(result, [5, 2])


def test_sorting_puts_what_is_there_first() -> None:
    module = program(
        "x = s32[<=4] parameter(0)\n ROOT r = s32[<=4] sort(x), dimensions={0}, to_apply=greater",
        "greater { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GT }\n",
    )
    np.testing.assert_array_equal(padded(module, array([1, 4, 3])), [4, 3, 1])


def test_padding_goes_where_the_array_ends() -> None:
    module = program(
        """x = s32[<=3] parameter(0)
           two = s32[] constant(2)
           ROOT r = s32[<=7] pad(x, two), padding=1_1_1"""
    )
    np.testing.assert_array_equal(padded(module, array([1, 4])), [2, 1, 2, 4, 2])


def test_an_update_smaller_than_its_bound_leaves_the_rest() -> None:
    module = program(
        """x = s32[<=5] parameter(0)
           u = s32[<=3] parameter(1)
           i = s32[] parameter(2)
           ROOT r = s32[<=5] dynamic-update-slice(x, u, i)"""
    )
    for start, result in ((0, [8, 9, 2, 3]), (2, [0, 1, 8, 9]), (4, [0, 1, 8, 9]), (-1, [8, 9, 2, 3])):
        got = padded(module.clone(), array(range(4)), array([8, 9]), array(start))
        np.testing.assert_array_equal(got, result)


def test_slices_and_gathers_of_one_element_find_the_last_one() -> None:
    module = program(
        """x = s32[<=5] parameter(0)
           i = s32[] parameter(1)
           j = s32[2] parameter(2)
           s = s32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}
           g = s32[2] gather(x, j), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1,
             slice_sizes={1}
           ROOT r = s32[3] concatenate(s, g), dimensions={0}"""
    )
    np.testing.assert_array_equal(padded(module, array([7, 8]), array(4), array([0, 9])), [8, 7, 8])


def test_dots_contract_what_is_there() -> None:
    module = program(
        """x = s32[2,<=3] parameter(0)
           y = s32[3,2] parameter(1)
           ROOT r = s32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"""
    )
    x, y = array([[1, 2], [3, 4]]), array([[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(padded(module, x, y), x @ y[:2])


def test_a_loop_carries_the_size_along() -> None:
    body = """body { s = (s32[], s32[<=4]) parameter(0)
       i = s32[] get-tuple-element(s), index=0
       x = s32[<=4] get-tuple-element(s), index=1
       one = s32[] constant(1)
       j = s32[] add(i, one)
       y = s32[<=4] reverse(x), dimensions={0}
       ROOT r = (s32[], s32[<=4]) tuple(j, y) }
    """
    condition = """condition { s = (s32[], s32[<=4]) parameter(0)
       i = s32[] get-tuple-element(s), index=0
       n = s32[] constant(3)
       ROOT r = pred[] compare(i, n), direction=LT }
    """
    module = program(
        """x = s32[<=4] parameter(0)
           zero = s32[] constant(0)
           init = (s32[], s32[<=4]) tuple(zero, x)
           w = (s32[], s32[<=4]) while(init), condition=condition, body=body
           ROOT r = s32[<=4] get-tuple-element(w), index=1""",
        body,
        condition,
    )
    np.testing.assert_array_equal(padded(module, array([5, 6, 7])), [7, 6, 5])


def test_branches_may_differ_in_which_results_are_dynamic() -> None:
    module = program(
        """p = pred[] parameter(0)
           x = s32[<=4] parameter(1)
           t = (s32[<=4]) tuple(x)
           c = (s32[<=4]) conditional(p, t, t), true_computation=yes, false_computation=no
           ROOT r = s32[<=4] get-tuple-element(c), index=0""",
        "yes { s = (s32[<=4]) parameter(0)\n x = s32[<=4] get-tuple-element(s), index=0\n"
        " ROOT r = (s32[<=4]) tuple(x) }\n",
        "no { s = (s32[<=4]) parameter(0)\n c = s32[4] constant({9,9,9,9})\n ROOT r = (s32[4]) tuple(c) }\n",
    )
    x = array([4, 8])
    np.testing.assert_array_equal(padded(module.clone(), np.array(True), x), [4, 8])
    np.testing.assert_array_equal(padded(module, np.array(False), x), [9, 9, 9, 9])


def test_a_second_run_finds_nothing_to_do() -> None:
    module = program("x = s32[<=3] parameter(0)\n ROOT r = s32[<=3] reverse(x), dimensions={0}")
    assert DynamicPadder().run(module, Trace())
    assert not DynamicPadder().run(module, Trace())


@pytest.mark.parametrize("x", [[1, np.nan], [1, -np.inf], [1, 2], [np.nan], []])
@pytest.mark.parametrize("direction", ["GE", "LE"])
def test_padding_beside_an_element_that_compares_to_nothing_is_not_selected(
    x: list[float], direction: str
) -> None:
    module = program(
        """x = f32[<=4] parameter(0)
           s = f32[<=4] parameter(1)
           zero = f32[] constant(0)
           ROOT r = f32[<=4] select-and-scatter(x, s, zero), window={size=2 pad=0_1}, select=chosen, scatter=sum""",
        "chosen { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        f" ROOT r = pred[] compare(a, b), direction={direction} }}\n",
        "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n",
    )
    inputs = [np.array(x, np.float32), np.arange(10, 10 + len(x), dtype=np.float32)]
    expected = specialise(module, inputs).value
    np.testing.assert_array_equal(padded(module, *inputs), expected)
