from typing import Any

import numpy as np
import pytest

from hlo import HloModule, Opcode, PrimitiveType
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from oracle.inputs import Mode, draw_inputs
from oracle.reducers import identity, plain_comparison, plain_reducer
from oracle.roles import Role, Use, roles_of

P = PrimitiveType
COMPUTATIONS = """HloModule m
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT r = f32[] add(b, a) }
sub { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT r = f32[] subtract(a, b) }
up { a = f32[] parameter(0)
 b = f32[] parameter(1)
 c = s32[] parameter(2)
 d = s32[] parameter(3)
 ROOT r = pred[] compare(b, a), direction=GT }
all { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }
"""


def entry(*lines: str) -> HloModule:
    return read_text("\n".join([COMPUTATIONS, "ENTRY e {", *lines, "}"]))


def drawn(module: HloModule, modes=(Mode.EXACT,), count: int = 40) -> list[Any]:
    return list(draw_inputs(module, 4, count, modes))


def placed(module: HloModule) -> dict[Any, tuple[Role, ...]]:
    """The roles that say more than that a number is computed with."""
    numbers = (Use.COMPUTED, Use.FINITE)
    found = {
        leaf: tuple(r for r in roles if r.use not in numbers) for leaf, roles in roles_of(module).items()
    }
    return {leaf: roles for leaf, roles in found.items() if roles}


def test_each_component_of_one_array_of_starts_is_a_start_in_its_own_dimension():
    module = entry(
        "x = f32[4,9] parameter(0)",
        "i = s32[2] parameter(1)",
        "ROOT g = f32[1,3] dynamic-slice(x, i), dynamic_slice_sizes={1,3}",
    )
    assert set(placed(module)[1, ()]) == {Role(Use.START, 4, 1, 0, 0), Role(Use.START, 9, 3, 0, 1)}


def test_each_component_of_an_index_vector_is_a_start_in_its_own_dimension():
    module = entry(
        "x = f32[9,30] parameter(0)",
        "i = s32[50,2] parameter(1)",
        "ROOT g = f32[50,4] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={1,0},"
        " index_vector_dim=1, slice_sizes={1,4}",
    )
    assert roles_of(module) == {
        (1, ()): (
            Role(Use.START, 30, 4, axis=1, component=0),
            Role(Use.START, 9, 1, axis=1, component=1),
        )
    }
    limits = np.iinfo(np.int32)
    columns, rows = set(), set()
    for _, indices in drawn(module):
        columns |= set(indices[:, 0].tolist())
        rows |= set(indices[:, 1].tolist())
    assert {-1, 0, 1, 26, 27, 30, limits.min, limits.max} <= columns
    assert rows == {-1, 9, limits.min, limits.max, *range(9)}


def test_windows_of_a_scatter_are_as_wide_as_its_updates():
    module = entry(
        "x = f32[9,30] parameter(0)",
        "i = s8[3,1] parameter(1)",
        "u = f32[3,5] parameter(2)",
        "ROOT s = f32[9,30] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=add",
    )
    # a window of the updates belongs to the dimensions that are not inserted
    assert placed(module) == {(1, ()): (Role(Use.START, 30, 5, axis=1, component=0),)}


def test_an_initial_value_changes_nothing_unless_it_is_computed_or_the_reduction_is_not_plain():
    module = entry(
        "x = f32[4] parameter(0)",
        "i = f32[] parameter(1)",
        "j = f32[] parameter(2)",
        "k = f32[] parameter(3)",
        "n = f32[] negate(k)",
        "r = f32[] reduce(x, i), dimensions={0}, to_apply=add",
        "s = f32[] reduce(x, j), dimensions={0}, to_apply=sub",
        "t = f32[] reduce(x, n), dimensions={0}, to_apply=add",
        "ROOT all = (f32[], f32[], f32[]) tuple(r, s, t)",
    )
    assert placed(module) == {
        (1, ()): (Role(Use.INIT, opcode=Opcode.ADD),),
        (2, ()): (Role(Use.INIT),),
    }
    sets = drawn(module)
    assert all(i == 0 for _, i, _, _ in sets)
    assert any(j != 0 for _, _, j, _ in sets)
    assert any(k != 0 for _, _, _, k in sets)


@pytest.mark.parametrize("kind", list(P))
def test_the_identity_changes_no_value(kind):
    codes = np.arange(1 << min(kind.bit_width, 8), dtype=np.uint8)
    values = (
        codes.view(kind.numpy) if kind.bit_width == 8 and kind is not P.PRED else codes.astype(kind.numpy)
    )
    functions = {Opcode.MAXIMUM: np.maximum, Opcode.MINIMUM: np.minimum}
    for opcode, function in functions.items():
        neutral = identity(opcode, kind)
        assert (neutral is None) == kind.is_complex
        if neutral is not None:
            same = function(values, neutral)
            assert same.tolist() == values.tolist() or np.isnan(values.astype(np.float64)).any()
    if kind.is_integral or kind is P.PRED:
        assert np.all((values & identity(Opcode.AND, kind)) == values)


def sorting(stable: str, by: str = "up") -> HloModule:
    if by == "all":
        return entry("x = f32[3,8] parameter(0)", "ROOT s = f32[3,8] sort(x), dimensions={1}, to_apply=all")
    return entry(
        "x = f32[3,8] parameter(0)",
        "y = s32[3,8] parameter(1)",
        f"ROOT s = (f32[3,8], s32[3,8]) sort(x, y), dimensions={{1}}, is_stable={stable}, to_apply={by}",
    )


def test_keys_are_what_the_comparator_reads_and_unique_where_equal_ones_leave_the_order_open():
    stable, unstable = sorting("true"), sorting("false")
    assert placed(stable) == {(0, ()): (Role(Use.KEY, unordered=True),)}
    assert placed(unstable) == {(0, ()): (Role(Use.KEY, unique=True, unordered=True),)}
    assert all(len(set(row.tolist())) == 8 for x, _ in drawn(unstable) for row in x)
    assert any(len(set(row.tolist())) < 8 for x, _ in drawn(stable) for row in x)


def test_keys_are_not_nan_unless_the_order_has_a_place_for_it():
    special = (Mode.SPECIAL,)
    partial = [x for x, _ in drawn(sorting("true"), special)]
    total = [x for (x,) in drawn(sorting("true", "all"), special)]
    assert not np.isnan(partial).any()
    assert np.isnan(total).any()
    assert np.isinf(partial).any()
    assert (np.signbit(partial) & (np.array(partial) == 0)).any()


def test_matrices_can_be_factorised_and_divided_by():
    module = entry(
        "x = f32[2,4,4] parameter(0)",
        "a = f32[4,4] parameter(1)",
        "b = f32[4,3] parameter(2)",
        "c = f32[2,4,4] cholesky(x), lower=true",
        "t = f32[4,3] triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE",
        "ROOT r = (f32[2,4,4], f32[4,3]) tuple(c, t)",
    )
    for inputs in drawn(module):
        result = evaluate(module, inputs)
        assert isinstance(result, tuple)
        factor, solution = map(np.asarray, result)
        lower = np.tril(factor)
        np.testing.assert_allclose(lower @ np.swapaxes(lower, -1, -2), inputs[0], rtol=1e-5, atol=1e-5)
        assert np.array_equal(np.tril(inputs[1]) @ solution, inputs[2])


def test_variances_are_positive_and_branches_are_near_their_numbers():
    module = entry(
        "x = f32[3,2] parameter(0)",
        "v = f32[2] parameter(1)",
        "ROOT n = f32[3,2] batch-norm-inference(x, v, v, v, v), epsilon=0.0, feature_index=1",
    )
    assert all(np.all(v > 0) for _, v in drawn(module))
    text = """HloModule m
one { ROOT a = f32[] parameter(0) }
two { a = f32[] parameter(0)
 ROOT n = f32[] negate(a) }
ENTRY e { i = s32[] parameter(0)
 x = f32[] parameter(1)
 ROOT c = f32[] conditional(i, x, x, x), branch_computations={one, two, one} }
"""
    assert {int(i) for i, _ in drawn(read_text(text))} == {-1, 0, 1, 2, 3}


def test_sizes_are_those_of_the_result_where_it_says_them():
    module = entry(
        "x = f32[6] parameter(0)",
        "n = s32[] parameter(1)",
        "m = s32[] parameter(2)",
        "k = s32[] parameter(3)",
        "r = f32[2,3] dynamic-reshape(x, n, m)",
        "s = f32[<=6] set-dimension-size(x, k), dimensions={0}",
        "ROOT t = (f32[2,3], f32[<=6]) tuple(r, s)",
    )
    sets = drawn(module)
    assert {(int(n), int(m)) for _, n, m, _ in sets} == {(2, 3)}
    assert {int(k) for *_, k in sets} == {0, 1, 2, 5, 6}  # where a bound of 6 changes something


def data(kind: PrimitiveType) -> HloModule:
    return entry(f"x = {kind.text}[40] parameter(0)", f"ROOT c = {kind.text}[40] copy(x)")


def test_modes_take_turns_and_leave_the_others_sets_alone():
    exact = drawn(data(P.F32), count=6)
    mixed = drawn(data(P.F32), (Mode.EXACT, Mode.SPECIAL, Mode.INTEGER_EXTREME), count=6)
    assert [np.isfinite(x).all() for (x,) in mixed] == [True, False, True] * 2
    assert all(np.array_equal(exact[n][0], mixed[n][0]) for n in (0, 3))


@pytest.mark.parametrize("kind", [P.S4, P.S8, P.U32, P.S64])
def test_extreme_integers_come_from_the_ends_of_the_type(kind):
    sets = [x.astype(object) for (x,) in drawn(data(kind), (Mode.INTEGER_EXTREME,))]
    width = kind.bit_width
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if kind.is_signed else (0, (1 << width) - 1)
    assert {low, low + 1, high - 1, high} <= {int(n) for x in sets for n in x}


@pytest.mark.parametrize("kind", [P.F16, P.BF16, P.F32, P.F64, P.F8E5M2, P.C64])
def test_special_values_are_among_special_inputs(kind):
    values = np.concatenate([x for (x,) in drawn(data(kind), (Mode.SPECIAL,))]).astype(np.complex128).real
    tiny = np.float64(2.0) ** {P.F16: -14, P.F8E5M2: -14}.get(kind, -1022 if kind is P.F64 else -126)
    assert np.isnan(values).any()
    assert np.isposinf(values).any()
    assert np.isneginf(values).any()
    assert (np.signbit(values) & (values == 0)).any()
    assert ((np.abs(values) < tiny) & (values != 0)).any()


def test_plain_computations_are_known_with_their_operands_in_either_order():
    module = sorting("true")
    computations = {computation.name: computation for computation in module.computations}
    assert plain_reducer(computations["add"]) is Opcode.ADD
    assert plain_reducer(computations["sub"]) is None
    number, comparison = plain_comparison(computations["up"]) or (None, None)
    assert number == 0
    assert comparison is not None
    assert comparison.direction == "LT"
    assert plain_comparison(computations["add"]) is None
