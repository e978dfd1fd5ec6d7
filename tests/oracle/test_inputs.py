from typing import Any

import numpy as np
import pytest

from hlo import TOKEN, ArrayShape, HloModule, Opcode, PrimitiveType, TokenShape, TupleShape, UnsupportedOpcode
from hlo.builder import Builder
from hlo.literal import same_bits
from oracle import draw_inputs
from oracle.roles import Role, Use, roles_of

P = PrimitiveType
S32 = ArrayShape(P.S32)
START = Role(Use.START, 10, 3)


def program(*shapes):
    module = HloModule("m")
    entry = module.add_computation("main")
    module.set_entry_computation(entry)
    builder = Builder(entry)
    return module, builder, [builder.parameter(i, shape) for i, shape in enumerate(shapes)]


def drawn(module: HloModule, seed: int, count: int) -> list[Any]:
    return list(draw_inputs(module, seed, count))


def sliced(builder, start):
    """A slice of 3 of 10 elements that begins at `start`."""
    return builder.dynamic_slice(builder.iota(ArrayShape(P.F32, (10,)), 0), [start], [3])


def test_a_set_depends_on_module_seed_and_number_only():
    module, b, (x, i) = program(ArrayShape(P.F32, (4,)), S32)
    module.entry_computation.set_root(b.tuple_(x, sliced(b, i)))
    three, two = drawn(module, 5, 3), drawn(module, 5, 2)
    assert all(same_bits(a, b) for a, b in zip(three, two, strict=False))
    assert not same_bits(tuple(three), tuple(drawn(module, 6, 3)))


def test_values_have_the_shapes_of_the_parameters_and_are_read_only():
    shapes = [TupleShape((ArrayShape(P.PRED, (2, 0)), TupleShape(()), TokenShape())), ArrayShape(P.BF16)]
    module, b, (x, y) = program(*shapes)
    module.entry_computation.set_root(b.tuple_(x, y))
    for (flags, empty, token), number in drawn(module, 0, 3):
        assert (flags.shape, flags.dtype) == ((2, 0), np.bool_)
        assert empty == ()
        assert token is TOKEN
        assert (number.shape, number.dtype) == ((), P.BF16.numpy)
        assert not number.flags.writeable


@pytest.mark.parametrize("kind", [P.S8, P.U8, P.BF16, P.F16, P.F64, P.S64])
def test_the_first_set_counts_up_so_that_a_wrong_place_shows(kind):
    module, b, (x, y) = program(*[ArrayShape(kind, (5,))] * 2)
    module.entry_computation.set_root(b.tuple_(x, y))
    first = drawn(module, 0, 1)[0]
    assert [float(n) for array in first for n in array] == list(range(1, 11))


@pytest.mark.parametrize("kind", [P.F16, P.BF16, P.F32, P.F64])
def test_floats_are_exact_and_small(kind):
    module, _, (x,) = program(ArrayShape(kind, (50,)))
    module.entry_computation.set_root(x)
    for (values,) in drawn(module, 1, 20)[1:]:
        quarters = values.astype(np.float64) * 4
        assert np.all(quarters == np.round(quarters))
        assert np.all(np.abs(quarters) <= 4 * 8 * 4)


def test_integers_are_small_with_the_ends_of_their_type_now_and_then():
    module, _, (x,) = program(ArrayShape(P.S16, (20,)))
    module.entry_computation.set_root(x)
    found = {int(n) for (values,) in drawn(module, 1, 30)[1:] for n in values}
    assert {-32768, 32767, -8, 8} <= found
    assert all(abs(n) <= 8 or n in (-32768, 32767) for n in found)


def test_divisors_are_not_zero():
    module, b, (x, y, z) = program(*[ArrayShape(P.S32, (20,))] * 3)
    b.op(Opcode.DIVIDE, x, y)
    module.entry_computation.set_root(b.op(Opcode.REMAINDER, x, b.op(Opcode.COPY, z)))
    sets = drawn(module, 1, 20)
    assert any(np.any(x == 0) for x, _, _ in sets)
    assert all(np.all(y != 0) and np.all(z != 0) for _, y, z in sets)


@pytest.mark.parametrize("kind", [P.S8, P.S32, P.U8, P.U64])
def test_starts_come_from_where_clamping_matters_and_from_inside(kind):
    module, b, (i,) = program(ArrayShape(kind))
    module.entry_computation.set_root(sliced(b, i))
    info = np.iinfo(kind.numpy)
    lattice = {n for n in (info.min, -1, 0, 1, 7, 8, 10, info.max) if info.min <= n <= info.max}
    found = [int(i) for (i,) in drawn(module, 3, 200)]
    assert lattice <= set(found) <= lattice | set(range(8))
    outside = sum(not 0 <= n <= 7 for n in found)
    assert 20 < outside < 120


def wrapped(builder, start, module):
    """`start` through a tuple, a call, a conversion, arithmetic and a reshape."""
    body = module.add_computation("body")
    inner = Builder(body)
    p = inner.parameter(0, TupleShape((S32, S32)))
    body.set_root(inner.tuple_(inner.gte(p, 1), inner.gte(p, 0)))
    called = builder.call(body, builder.tuple_(builder.constant(4, P.S32), start))
    wide = builder.convert(builder.reshape(builder.gte(called, 0), (1,)), P.S64)
    return builder.reshape(builder.op(Opcode.ADD, wide, wide), ())


def test_a_start_is_known_through_everything_on_its_way():
    module, b, (i, other) = program(S32, S32)
    module.entry_computation.set_root(b.tuple_(sliced(b, wrapped(b, i, module)), other))
    assert roles_of(module) == {(0, ()): (START,)}


def test_a_start_inside_a_body_is_known_at_the_element_of_the_tuple_parameter():
    state = TupleShape((ArrayShape(P.F32, (10,)), S32))
    module, b, (p,) = program(state)
    body = module.add_computation("body")
    inner = Builder(body)
    q = inner.parameter(0, state)
    body.set_root(inner.dynamic_slice(inner.gte(q, 0), [inner.gte(q, 1)], [3]))
    module.entry_computation.set_root(b.call(body, p))
    assert roles_of(module) == {(0, (1,)): (START,)}


def test_an_update_in_a_branch_or_a_table_of_starts_counts_too():
    module, b, (flag, table, i) = program(ArrayShape(P.PRED), ArrayShape(P.U8, (4,)), ArrayShape(P.U8))
    picked = b.reshape(b.dynamic_slice(table, [i], [1]), ())
    branch = module.add_computation("branch")
    inner = Builder(branch)
    start = inner.parameter(0, ArrayShape(P.U8))
    update = inner.constant([0.0] * 3, P.F32)
    branch.set_root(inner.dynamic_update_slice(inner.iota(ArrayShape(P.F32, (10,)), 0), update, [start]))
    module.entry_computation.set_root(b.conditional(flag, [branch, branch], [picked, picked]))
    assert roles_of(module) == {(1, ()): (START,), (2, ()): (Role(Use.START, 4, 1),)}


def test_a_loop_counts_only_a_little_and_ends():
    state = TupleShape((S32, S32))
    module, b, (i, n) = program(S32, S32)
    body, condition = (module.add_computation(name) for name in ("body", "condition"))
    inner = Builder(body)
    p = inner.parameter(0, state)
    body.set_root(
        inner.tuple_(inner.op(Opcode.ADD, inner.gte(p, 0), inner.constant(1, P.S32)), inner.gte(p, 1))
    )
    inner = Builder(condition)
    p = inner.parameter(0, state)
    condition.set_root(inner.compare(inner.gte(p, 0), inner.gte(p, 1), "LT"))
    looped = b.while_(condition, body, b.tuple_(i, n))
    module.entry_computation.set_root(sliced(b, b.gte(looped, 0)))
    assert set(roles_of(module)[0, ()]) == {START, Role(Use.BOUND)}
    assert roles_of(module)[1, ()] == (Role(Use.BOUND),)
    assert all(1 <= i <= 5 and 1 <= n <= 5 for i, n in drawn(module, 0, 40))


def test_a_start_that_a_loop_brings_from_another_element_is_known():
    state = TupleShape((S32, S32, S32))
    module, b, (i, j, n) = program(S32, S32, S32)
    body, condition = (module.add_computation(name) for name in ("body", "condition"))
    inner = Builder(body)
    p = inner.parameter(0, state)
    one = inner.constant(1, P.S32)
    counted = inner.op(Opcode.SUBTRACT, inner.gte(p, 2), one)
    body.set_root(inner.tuple_(inner.gte(p, 1), inner.gte(p, 1), counted))
    inner = Builder(condition)
    condition.set_root(inner.compare(inner.gte(inner.parameter(0, state), 2), inner.constant(0, P.S32), "GT"))
    looped = b.while_(condition, body, b.tuple_(i, j, n))
    module.entry_computation.set_root(sliced(b, b.gte(looped, 0)))
    assert roles_of(module) == {(0, ()): (START,), (1, ()): (START,), (2, ()): (Role(Use.BOUND),)}


def test_roles_are_in_the_same_order_every_time():
    module, b, (i,) = program(S32)
    other = b.dynamic_slice(b.iota(ArrayShape(P.F32, (6,)), 0), [i], [6])
    module.entry_computation.set_root(b.tuple_(sliced(b, i), other))
    assert roles_of(module)[0, ()] == (Role(Use.START, 6, 6), START)


def test_what_cannot_be_drawn_says_so_and_what_is_huge_takes_no_memory():
    module, _, (x,) = program(ArrayShape(P.F64, (1 << 20, 1 << 20)))
    module.entry_computation.set_root(x)
    assert drawn(module, 0, 1)[0][0].shape == (1 << 20, 1 << 20)
    unbounded = HloModule("unbounded")
    entry = unbounded.add_computation("main")
    unbounded.set_entry_computation(entry)
    entry.set_root(entry.add_parameter(0, ArrayShape(P.F64, (-(1 << 63),), (True,))))
    with pytest.raises(UnsupportedOpcode, match="unbounded"):
        drawn(unbounded, 0, 1)
