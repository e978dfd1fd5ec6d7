import numpy as np
import pytest

from hlo import SPECS, ArrayShape, HloModule, Opcode, PrimitiveType
from hlo.builder import Builder
from hlo.interchange import read_text
from oracle.tolerance import epsilon, instruction_tolerance, own_units, tolerance_of

P = PrimitiveType


def program(*shapes):
    module = HloModule("m")
    entry = module.add_computation("main")
    module.set_entry_computation(entry)
    builder = Builder(entry)
    return module, builder, [builder.parameter(i, shape) for i, shape in enumerate(shapes)]


def test_epsilon_is_that_of_the_parts():
    assert epsilon(P.F32) == 2**-23
    assert epsilon(P.C64) == 2**-23
    assert epsilon(P.BF16) == 2**-7


def test_what_ieee_rounds_correctly_and_what_moves_leaves_no_room():
    module, b, (x, y) = program(*[ArrayShape(P.F32, (4,))] * 2)
    exact = b.op(Opcode.SQRT, b.op(Opcode.DIVIDE, b.op(Opcode.ADD, x, y), b.op(Opcode.MULTIPLY, x, y)))
    module.entry_computation.set_root(b.reverse(b.convert(exact, P.F16), (0,)))
    (tolerance,) = tolerance_of(module).values()
    assert not tolerance.allows_rounding
    assert tolerance.flushed


def test_rounding_reaches_only_the_leaves_that_depend_on_it():
    module, b, (x, y) = program(*[ArrayShape(P.F32, (4,))] * 2)
    pair = b.tuple_(b.op(Opcode.EXP, x), b.op(Opcode.NEGATE, y))
    rounded = b.gte(pair, 0)
    flags = b.compare(rounded, y, "LT")
    module.entry_computation.set_root(b.tuple_(b.op(Opcode.ADD, rounded, y), b.gte(pair, 1), flags))
    tolerances = tolerance_of(module)
    assert tolerances[0,].relative > 0
    assert not tolerances[1,].allows_rounding
    assert not tolerances[2,].allows_rounding


def after_sines(count, kind):
    module, b, (x,) = program(ArrayShape(kind, (4,)))
    for _ in range(count):
        x = b.op(Opcode.SIN, x)
    module.entry_computation.set_root(x)
    return tolerance_of(module)[()].relative


def test_rounding_adds_up_along_a_path_and_is_capped():
    assert after_sines(4, P.F32) == 4 * after_sines(1, P.F32) > 0
    assert after_sines(1, P.BF16) > after_sines(1, P.F16) > after_sines(1, P.F32) > after_sines(1, P.F64)
    assert after_sines(100, P.BF16) == 0.25


def test_rounding_passes_through_calls_loops_and_branches():
    module, b, (x, flag) = program(ArrayShape(P.F32), ArrayShape(P.PRED))
    body = module.add_computation("body")
    inner = Builder(body)
    body.set_root(inner.op(Opcode.EXP, inner.parameter(0, ArrayShape(P.F32))))
    same = module.add_computation("same")
    same.set_root(Builder(same).parameter(0, ArrayShape(P.F32)))
    condition = module.add_computation("condition")
    inner = Builder(condition)
    p = inner.parameter(0, ArrayShape(P.F32))
    condition.set_root(inner.compare(p, inner.constant(9.0, P.F32), "LT"))
    called = b.call(body, x)
    looped = b.while_(condition, body, x)
    chosen = b.conditional(flag, [same, body], [x, x])
    module.entry_computation.set_root(b.tuple_(called, looped, chosen, b.call(same, x)))
    tolerances = tolerance_of(module)
    assert 0 < tolerances[0,].relative == tolerances[2,].relative < tolerances[1,].relative
    assert not tolerances[3,].allows_rounding


@pytest.mark.parametrize("opcode", [o for o, spec in SPECS.items() if spec.data_movement and spec.arity == 1])
def test_moving_elements_never_rounds(opcode):
    module, b, (x,) = program(ArrayShape(P.F32, (4,)))
    moved = b.computation.add(opcode, x.shape, (x,))
    assert not instruction_tolerance(moved, (np.ones(4, np.float32),)).allows_rounding
    assert module


def test_a_dot_is_given_what_its_terms_may_leave():
    module, b, (x, y) = program(*[ArrayShape(P.F32, (100,))] * 2)
    dot = b.dot(x, y, contracting=((0,), (0,)))
    small, large = np.ones(100, np.float32), np.full(100, 1e3, np.float32)
    assert instruction_tolerance(dot, (small, large)).absolute == pytest.approx(100 * 2**-23 * 100 * 1e3)
    whole = b.dot(b.convert(x, P.S32), b.convert(y, P.S32), contracting=((0,), (0,)))
    assert not instruction_tolerance(whole, (small, small)).allows_rounding
    assert module


def test_converting_twice_is_granted_only_from_f64_to_narrow_types():
    module, b, (x,) = program(ArrayShape(P.F64, (4,)))
    value = (np.ones(4),)
    assert instruction_tolerance(b.convert(x, P.BF16), value).relative == 2**-7
    assert not instruction_tolerance(b.convert(x, P.F32), value).allows_rounding
    assert not instruction_tolerance(b.convert(x, P.S8), value).allows_rounding
    assert module


def test_what_only_chooses_or_moves_leaves_no_room_and_what_sums_leaves_as_much_as_it_sums():
    text = """HloModule m
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT r = f32[] maximum(a, b) }
second { a = f32[] parameter(0)
 ROOT b = f32[] parameter(1) }
above { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT r = pred[] compare(a, b), direction=GT }
ENTRY e {
 x = f32[6,4] parameter(0)
 z = f32[] parameter(1)
 i = s32[3] parameter(2)
 k = f32[2,4,5] parameter(3)
 u = f32[3,4] parameter(4)
 most = f32[5,2] reduce-window(x, z), window={size=2x3}, to_apply=max
 sums = f32[5,2] reduce-window(x, z), window={size=2x3}, to_apply=add
 over = f32[6,4] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=second
 into = f32[6,4] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
 sorted = f32[6,4] sort(x), dimensions={0}, to_apply=above
 cut = f32[6,4] reduce-precision(x), exponent_bits=4, mantissa_bits=3
 batch = f32[1,6,4] reshape(x)
 ROOT slid = f32[1,5,5] convolution(batch, k), window={size=2}, dim_labels=b0f_0io->b0f
}
"""
    instructions = {inst.name: inst for inst in read_text(text).entry_computation.instructions}
    units = {name: own_units(inst) / 2**-23 for name, inst in instructions.items()}
    wanted = {"most": 0, "sums": 6, "over": 0, "into": 3, "sorted": 0, "cut": 0, "slid": 8}
    assert {name: units[name] for name in wanted} == wanted
    ones, threes = np.ones((1, 6, 4), np.float32), np.full((2, 4, 5), 3, np.float32)
    assert instruction_tolerance(instructions["slid"], (ones, threes)).absolute == 8 * 2**-23 * 8 * 3


def test_solutions_are_given_room_relative_to_their_largest_element():
    module, b, (x,) = program(ArrayShape(P.F32, (3, 3)))
    factor = b.computation.add(Opcode.CHOLESKY, x.shape, (x,))
    tolerance = instruction_tolerance(factor, (np.eye(3, dtype=np.float32),))
    assert tolerance.of_largest == 72 * 2**-23
    assert tolerance.absolute == 0
    assert module
