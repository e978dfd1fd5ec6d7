"""Are the sizes and inputs of a program with unknown sizes such that they fit, and of every sort?"""

import numpy as np
import pytest

from hlo import InvalidInput
from hlo.stablehlo import StableHloModule
from oracle.inputs import MIXED
from oracle.symbolic import Assignment, draw_sized_inputs, draw_sizes


def program(parameters: str, *lines: str, result: str) -> StableHloModule:
    body = "\n".join(lines)
    value, kind = result.split(": ")
    return StableHloModule.read(
        f"module {{ func.func @main({parameters}) -> {kind} {{ {body}\n return {value} : {kind} }} }}"
    )


FREE = program("%x: tensor<?x2xf32>, %y: tensor<?xi32>", result="%x: tensor<?x2xf32>")
EQUAL = program(
    "%x: tensor<?xf32>, %y: tensor<?xf32>",
    "%z = stablehlo.add %x, %y : tensor<?xf32>",
    result="%z: tensor<?xf32>",
)
DOUBLE = program(
    "%x: tensor<?xf32>, %y: tensor<?xf32>",
    "%w = stablehlo.concatenate %x, %x, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>",
    "%z = stablehlo.add %w, %y : tensor<?xf32>",
    result="%z: tensor<?xf32>",
)
NEVER = program(
    "%x: tensor<?xf32>, %y: tensor<2xf32>",
    "%w = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?xf32>, tensor<2xf32>) -> tensor<?xf32>",
    "%z = stablehlo.add %w, %x : tensor<?xf32>",
    result="%z: tensor<?xf32>",
)
BOUNDED = program("%x: tensor<?xf32, #stablehlo.bounds<2>>", result="%x: tensor<?xf32, #stablehlo.bounds<2>>")
STATIC = program("%x: tensor<3xf32>", result="%x: tensor<3xf32>")
ALIKE = program("%x: tensor<?x?xi1>", result="%x: tensor<?x?xi1>")


def firsts(sizes: tuple[Assignment, ...]) -> set[int]:
    return {assignment.sizes[0][0] for assignment in sizes}


def test_sizes_are_small_none_and_one_among_them_alike_and_not() -> None:
    found = draw_sizes(ALIKE, 0, 20)
    assert len(set(found.assignments)) == 20
    assert not found.left_out
    assert {0, 1, 2, 3} <= firsts(found.assignments)
    alike = {assignment.sizes[0][0] == assignment.sizes[0][1] for assignment in found.assignments}
    assert alike == {True, False}


def test_known_sizes_stay() -> None:
    assert {assignment.sizes[0][1] for assignment in draw_sizes(FREE, 0, 8).assignments} == {2}
    assert draw_sizes(STATIC, 0, 8).assignments == (Assignment(((3,),)),)


@pytest.mark.parametrize(("given", "factor"), [(EQUAL, 1), (DOUBLE, 2)])
def test_sizes_that_have_to_fit_each_other_do(given: StableHloModule, factor: int) -> None:
    found = draw_sizes(given, 0, 4)
    assert len(found.assignments) >= 3
    assert all(a.sizes[1][0] == factor * a.sizes[0][0] for a in found.assignments)
    assert sum(found.left_out.values()) > 0
    assert "assignments of sizes that do not fit" in found.described()


def test_where_no_sizes_fit_there_are_no_inputs() -> None:
    inputs, sizes = draw_sized_inputs(NEVER, 0, 4)
    assert (inputs, sizes.assignments) == ([], ())
    assert sum(sizes.left_out.values()) > 6


def test_no_size_is_above_its_bound_or_what_is_allowed() -> None:
    assert max(firsts(draw_sizes(BOUNDED, 0, 3).assignments)) == 2
    assert max(firsts(draw_sizes(FREE, 0, 12, most=3).assignments)) == 3


def test_the_same_seed_draws_the_same_and_another_one_others() -> None:
    assert draw_sizes(FREE, 1, 12) == draw_sizes(FREE, 1, 12)
    assert draw_sizes(FREE, 1, 12) != draw_sizes(FREE, 2, 12)


def test_inputs_take_turns_with_sizes_and_modes() -> None:
    inputs, sizes = draw_sized_inputs(FREE, 0, 6, MIXED)
    assert [np.asarray(one_set[0]).shape for one_set in inputs] == [a.sizes[0] for a in sizes.assignments]
    again, _ = draw_sized_inputs(FREE, 0, 6, MIXED, sizes.assignments[:2])
    assert [np.asarray(one_set[0]).shape for one_set in again] == [
        a.sizes[0] for a in sizes.assignments[:2]
    ] * 3


def test_a_parameter_that_says_a_size_holds_it() -> None:
    told = program(
        "%n: tensor<2xi32>",
        "%y = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi32>) -> tensor<?x?xf32>",
        result="%y: tensor<?x?xf32>",
    )
    inputs, sizes = draw_sized_inputs(told, 0, 5)
    held = [tuple(map(int, np.asarray(one_set[0]))) for one_set in inputs]
    assert held == [a.known[0][1] for a in sizes.assignments]
    assert len(set(held)) == 5


def test_sizes_that_were_asked_for_and_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidInput):
        draw_sized_inputs(EQUAL, 0, 1, assignments=[Assignment(((2,), (3,)))])
