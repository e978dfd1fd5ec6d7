"""The reference and the evaluator were written independently: that they agree is the test of both."""

import itertools
from typing import Any

import numpy as np
import pytest
from jax import jit, lax

from hlo import (
    ArrayShape,
    HloComputation,
    HloModule,
    InvalidInput,
    Opcode,
    PrimitiveType,
    TupleShape,
    UnsupportedOpcode,
    same_bits,
)
from hlo.attributes import Comparison
from hlo.builder import Builder
from hlo.evaluator import EvaluationLimit, ForeignCustomCall, Limits, UnsupportedType, evaluate
from hlo.infer import ShapeError
from hlo.opcode import ELEMENTWISE_BINARY, ELEMENTWISE_UNARY
from oracle.compare import EQUAL, compare
from oracle.reference import GAPS, RULES, run_jax
from oracle.reference.kernels import Kernel, Layout, step
from oracle.tolerance import instruction_tolerance

P = PrimitiveType
SIGNED = [P.S8, P.S16, P.S32, P.S64]
UNSIGNED = [P.U8, P.U16, P.U32, P.U64]
FLOATS = [P.F16, P.BF16, P.F32, P.F64]
TYPES = [P.PRED, *SIGNED, *UNSIGNED, *FLOATS]
WIDE = [*TYPES, P.C64, P.C128]


def edges(element_type: PrimitiveType) -> np.ndarray:
    """Values of a type where implementations differ first."""
    if element_type is P.PRED:
        return np.array([True, False])
    if element_type.is_integral:
        info = np.iinfo(element_type.numpy)
        small = [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 100, -1, -2, -3, -7, -8, -100]
        limits = [info.max, info.max - 1, info.max // 2, info.min, info.min + 1, info.min // 2]
        return np.array([n for n in small + limits if info.min <= n <= info.max], element_type.numpy)
    parts = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 7.25, 0.1, 0.9, 100.0, 1000.5, 6e4, 1e-3, np.inf]
    if element_type.is_complex:
        # off the branch cuts, which two libraries may draw on different sides of a signed zero
        return np.array([complex(a, b) for a in (1, -2.5, 0.5) for b in (1.5, -3, 0.25)], element_type.numpy)
    return np.array([np.nan, *parts, *(-x for x in parts)], element_type.numpy)


def program(*shapes):
    """An empty entry computation with parameters, and its builder."""
    module = HloModule("m")
    computation = module.add_computation("main")
    module.set_entry_computation(computation)
    builder = Builder(computation)
    return module, builder, [builder.parameter(i, shape) for i, shape in enumerate(shapes)]


def run(module: HloModule, *inputs) -> Any:
    return run_jax(module, inputs)


def helper(module: HloModule, opcode: Opcode, element_type: PrimitiveType) -> HloComputation:
    """A computation of two scalars."""
    computation = module.add_computation("helper")
    builder = Builder(computation)
    x, y = (builder.parameter(i, ArrayShape(element_type)) for i in range(2))
    computation.set_root(builder.op(opcode, x, y))
    return computation


def assert_agree(module: HloModule, *inputs) -> None:
    root = module.entry_computation.root
    expected = evaluate(module, inputs)
    tolerance = EQUAL
    if root.opcode not in (Opcode.TUPLE, Opcode.WHILE, Opcode.CONDITIONAL):
        tolerance = instruction_tolerance(root, inputs)
    found = compare(expected, run_jax(module, inputs), tolerance=tolerance, left="evaluator", right="jax")
    assert found is None, f"{root}: {found}"


def assert_agree_on(opcode: Opcode, *operands, **how) -> bool:
    """Whether the opcode takes operands like these; where it does, the engines must agree."""
    shapes = [ArrayShape(P.of(x.dtype), x.shape) for x in operands]
    module, builder, parameters = program(*shapes)
    try:
        root = builder.op(opcode, *parameters, **how)
    except ShapeError:
        return False
    module.entry_computation.set_root(root)
    try:
        assert_agree(module, *operands)
    except UnsupportedType:
        return False
    return True


def test_every_opcode_has_a_rule_or_a_reason():
    assert {*RULES, *GAPS} == {*Opcode} - {Opcode.PARAMETER}
    assert not RULES.keys() & GAPS.keys()
    assert all(GAPS.values())


@pytest.mark.parametrize("opcode", ELEMENTWISE_UNARY)
def test_unary_opcodes_agree(opcode):
    assert sum(assert_agree_on(opcode, edges(t)) for t in WIDE) >= 1


@pytest.mark.parametrize("opcode", ELEMENTWISE_BINARY)
def test_binary_opcodes_agree(opcode):
    taken = 0
    for element_type in TYPES:
        pool = edges(element_type)
        taken += assert_agree_on(opcode, np.repeat(pool, pool.size), np.tile(pool, pool.size))
    assert taken >= 1


@pytest.mark.parametrize("source", TYPES)
def test_conversions_agree(source):
    for target in TYPES:
        shape = ArrayShape(target, edges(source).shape)
        assert assert_agree_on(Opcode.CONVERT, edges(source), shape=shape), target


@pytest.mark.parametrize("element_type", TYPES)
def test_comparisons_agree(element_type):
    pool = edges(element_type)
    pairs = np.repeat(pool, pool.size), np.tile(pool, pool.size)
    for direction in ("EQ", "NE", "GE", "GT", "LE", "LT"):
        kinds = ("", "TOTALORDER") if element_type.is_float else ("",)
        for kind in kinds:
            assert assert_agree_on(Opcode.COMPARE, *pairs, attributes=Comparison(direction, kind))


@pytest.mark.parametrize("element_type", TYPES)
def test_select_and_clamp_agree(element_type):
    pool = edges(element_type)
    low, x, high = (np.array(c) for c in zip(*itertools.product(pool, repeat=3), strict=True))
    assert assert_agree_on(Opcode.CLAMP, low, x, high)
    assert assert_agree_on(Opcode.CLAMP, pool[1:2].reshape(()), x, pool[-1:].reshape(()))
    assert assert_agree_on(Opcode.SELECT, np.arange(pool.size) % 3 == 0, pool, pool[::-1].copy())


@pytest.mark.parametrize(
    ("source", "target", "before", "after"),
    [
        (P.S32, P.F32, (2, 3), (2, 3)),
        (P.BF16, P.U16, (4,), (4,)),
        (P.U32, P.U8, (3,), (3, 4)),
        (P.U16, P.F64, (2, 4), (2,)),
        (P.PRED, P.PRED, (5,), (5,)),
    ],
)
def test_bitcast_conversions_agree(source, target, before, after):
    operand = np.resize(edges(source), before)
    assert assert_agree_on(Opcode.BITCAST_CONVERT, operand, shape=ArrayShape(target, after))


def counted(shape: tuple[int, ...], element_type: PrimitiveType) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(element_type.numpy)


MOVES = [
    ((2, 3), lambda b, x: b.shuffle(x, (1,), (1,))),
    ((2, 3), lambda b, x: b.shuffle(x, (), ())),
    ((2, 0), lambda b, x: b.shuffle(x, (1,), (2,))),
    ((2, 3), lambda b, x: b.shuffle(x, (1, 0), (-4, 1))),
    ((), lambda b, x: b.broadcast(x, (2, 3), ())),
    ((3,), lambda b, x: b.broadcast(x, (2, 3), (1,))),
    ((3, 2), lambda b, x: b.broadcast(x, (2, 4, 3), (2, 0))),
    ((2, 3, 4), lambda b, x: b.transpose(x, (2, 0, 1))),
    ((2, 3, 4), lambda b, x: b.reshape(x, (4, 6))),
    ((0, 3), lambda b, x: b.reshape(x, (3, 0, 2))),
    ((2, 3), lambda b, x: b.reverse(x, (0, 1))),
    ((5, 4), lambda b, x: b.slice_(x, (1, 0), (5, 4))),
    ((5, 4), lambda b, x: b.slice_(x, (1, 0), (5, 4), (2, 3))),
    ((2, 3), lambda b, x: b.concatenate([x, x, x], 1)),
    ((), lambda b, x: b.op(Opcode.COPY, x)),
    ((2, 3), lambda b, x: b.op(Opcode.OPTIMIZATION_BARRIER, x)),
]


@pytest.mark.parametrize("element_type", [P.PRED, P.S8, P.BF16, P.F32, P.U64, P.C64, P.C128, P.F8E5M2])
def test_moves_agree_bit_for_bit(element_type):
    for shape, build in MOVES:
        module, builder, (x,) = program(ArrayShape(element_type, shape))
        module.entry_computation.set_root(build(builder, x))
        value = counted(shape, element_type)
        moved = run(module, value)
        assert same_bits(moved, evaluate(module, (value,))), module.entry_computation.root


def test_a_move_keeps_nan_payloads_and_subnormals():
    bits = np.array([0x7F800001, 0xFFC12345, 0x00000001, 0x80000000], np.uint32)
    module, builder, (x,) = program(ArrayShape(P.F32, (4,)))
    module.entry_computation.set_root(builder.reverse(x, (0,)))
    assert run(module, bits.view(np.float32)).view(np.uint32).tolist() == bits[::-1].tolist()


def test_moves_see_bits_and_elementwise_operations_see_one_of_few_lengths():
    """What keeps the number of compilations low: types of one width, and shapes of similar size, share them."""
    seen = []

    def spy(x):
        seen.append((x.dtype.name, x.shape))
        return x

    for kind, dims in [(P.F32, (4,)), (P.U32, (4,)), (P.S32, (4,))]:
        shape = ArrayShape(kind, dims)
        step(Kernel("bits spy", spy, Layout.BITS), "spy", shape, [shape])(counted(dims, kind))
    assert seen == [("uint32", (4,))]
    seen.clear()
    for dims in [(), (3,), (2, 4), (16,), (0, 3), (5, 7), (300,), (5000,)]:
        shape = ArrayShape(P.F32, dims)
        value = counted(dims, P.F32)
        assert same_bits(step(Kernel("flat spy", spy, Layout.FLAT), "spy", shape, [shape])(value), value)
    assert [length for _, (length,) in seen] == [16, 256, 4096, 8192]


@pytest.mark.parametrize(
    ("low", "high", "interior"),
    [
        ((1, 0), (2, 3), (0, 0)),
        ((-1, 2), (0, -2), (0, 0)),
        ((0, -3), (1, 0), (2, 1)),
        ((-3, 0), (-3, 0), (0, 0)),
    ],
)
def test_padding_agrees(low, high, interior):
    module, builder, (x, value) = program(ArrayShape(P.S32, (6, 4)), ArrayShape(P.S32))
    module.entry_computation.set_root(builder.pad(x, value, low, high, interior))
    assert_agree(module, counted((6, 4), P.S32), np.array(-1, np.int32))


@pytest.mark.parametrize("element_type", [P.S8, P.U32, P.S64, P.BF16, P.F64])
def test_iota_agrees(element_type):
    for dim in range(2):
        module, builder, _ = program()
        module.entry_computation.set_root(builder.iota(ArrayShape(element_type, (3, 5)), dim))
        assert_agree(module)


def starts(element_type: PrimitiveType, room: int) -> list[int]:
    info = np.iinfo(element_type.numpy)
    lattice = [info.min, -1, 0, 1, room - 1, room, room + 1, room + 2, 150, info.max // 2 + 5, info.max]
    return [n for n in lattice if info.min <= n <= info.max]


@pytest.mark.parametrize("index_type", [*SIGNED, *UNSIGNED])
def test_starts_clamp_in_every_integer_type(index_type):
    size = 3
    room = 200 - size
    module, builder, (x, update, start) = program(
        ArrayShape(P.S32, (200,)), ArrayShape(P.S32, (size,)), ArrayShape(index_type)
    )
    read = builder.dynamic_slice(x, [start], [size])
    written = builder.dynamic_update_slice(x, update, [start])
    module.entry_computation.set_root(builder.tuple_(read, written))
    for n in starts(index_type, room):
        inputs = (counted((200,), P.S32), np.array([-1, -2, -3], np.int32), np.array(n, index_type.numpy))
        found, updated = run(module, *inputs)
        clamped = min(max(n, 0), room)
        assert found.tolist() == list(range(clamped, clamped + size)), n
        assert updated.tolist().index(-1) == clamped, n
        assert_agree(module, *inputs)


@pytest.mark.parametrize("index_type", [*SIGNED, *UNSIGNED])
def test_jax_itself_clamps_right_where_the_start_is_traced(index_type):
    # the reference hands all starts over as int64; this is why that is not a different operation
    function = jit(lambda x, i: lax.dynamic_slice(x, (i,), (3,), allow_negative_indices=False))
    for n in starts(index_type, 197):
        clamped = min(max(n, 0), 197)
        assert function(np.arange(200), np.array(n, index_type.numpy))[0] == clamped, n


@pytest.mark.parametrize(
    ("shape", "sizes"), [((3, 4), (3, 2)), ((2, 3, 4, 2), (1, 3, 2, 1)), ((), ()), ((4, 0), (2, 0))]
)
def test_slices_of_every_rank_agree(shape, sizes):
    indices = [ArrayShape(P.S16)] * len(shape)
    module, builder, (x, *places) = program(ArrayShape(P.F16, shape), *indices)
    read = builder.dynamic_slice(x, places, sizes)
    written = builder.dynamic_update_slice(x, builder.op(Opcode.NEGATE, read), places)
    module.entry_computation.set_root(builder.tuple_(read, written))
    for start in (-7, 0, 1, 9):
        assert_agree(module, counted(shape, P.F16), *[np.array(start, np.int16)] * len(shape))


@pytest.mark.parametrize("element_type", [P.S8, P.U32, P.F16, P.BF16, P.F32, P.F64])
@pytest.mark.parametrize("opcode", [Opcode.ADD, Opcode.MULTIPLY, Opcode.MAXIMUM, Opcode.MINIMUM])
def test_reduce_agrees(opcode, element_type):
    shape = (2, 3, 2)
    module, builder, (x, init) = program(ArrayShape(element_type, shape), ArrayShape(element_type))
    reduced = builder.reduce(helper(module, opcode, element_type), [x], [init], (0, 2))
    module.entry_computation.set_root(reduced)
    assert_agree(module, counted(shape, element_type), np.array(1, element_type.numpy))


def test_reduce_with_a_computation_of_several_operations_and_results_agrees():
    """argmax: the larger value and where it is."""
    scalar, index = ArrayShape(P.F32), ArrayShape(P.S32)
    module, builder, (x, i) = program(ArrayShape(P.F32, (3, 4)), ArrayShape(P.S32, (3, 4)))
    computation = module.add_computation("larger")
    inner = Builder(computation)
    a, m, b, n = (inner.parameter(k, s) for k, s in enumerate((scalar, index, scalar, index)))
    keep = inner.compare(a, b, "GE")
    computation.set_root(inner.tuple_(inner.select(keep, a, b), inner.select(keep, m, n)))
    inits = [builder.constant(-np.inf, P.F32), builder.constant(-1, P.S32)]
    module.entry_computation.set_root(builder.reduce(computation, [x, i], inits, (1,)))
    values = np.array([[1, 9, 3, 9], [5, 5, 5, 6], [-1, -2, -3, -4]], np.float32)
    assert_agree(module, values, np.tile(np.arange(4, dtype=np.int32), (3, 1)))


def test_what_was_compiled_outlives_a_change_of_the_graph():
    module, builder, (x, init) = program(ArrayShape(P.S32, (4,)), ArrayShape(P.S32))
    computation = helper(module, Opcode.ADD, P.S32)
    module.entry_computation.set_root(builder.reduce(computation, [x], [init], (0,)))
    inputs = (np.array([1, 2, 3, 4], np.int32), np.array(0, np.int32))
    assert run_jax(module, inputs) == 10
    computation.set_root(Builder(computation).op(Opcode.MAXIMUM, *computation.parameters))
    assert run_jax(module, inputs) == 4


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (P.F32, P.F32, P.F32),
        (P.BF16, P.BF16, P.F32),
        (P.F16, P.F16, P.F16),
        (P.F64, P.F64, P.F64),
        (P.S8, P.S8, P.S32),
        (P.U16, P.U16, P.U16),
        (P.S64, P.S64, P.S64),
    ],
)
def test_dot_agrees(left, right, result):
    module, builder, (x, y) = program(ArrayShape(left, (2, 3, 4)), ArrayShape(right, (4, 5, 2)))
    shape = ArrayShape(result, (2, 3, 5))
    dot = builder.dot(x, y, contracting=((2,), (0,)), batch=((0,), (2,)), shape=shape)
    module.entry_computation.set_root(dot)
    assert_agree(module, counted((2, 3, 4), left) % 5, counted((4, 5, 2), right) % 7)


def test_map_agrees():
    module, builder, (x, y) = program(*[ArrayShape(P.S32, (2, 3))] * 2)
    computation = helper(module, Opcode.SUBTRACT, P.S32)
    inner = Builder(computation)
    clamped = inner.op(Opcode.MAXIMUM, computation.root, inner.constant(-1, P.S32))
    computation.set_root(clamped)
    module.entry_computation.set_root(builder.map_(computation, x, y))
    assert_agree(module, counted((2, 3), P.S32), np.full((2, 3), 3, np.int32))


def loop(limit: int) -> HloModule:
    """x, i = 2x + i, i + 1 until i is `limit`; also calls a body and passes through a marker."""
    state = TupleShape((ArrayShape(P.S32, (2,)), ArrayShape(P.S32)))
    module, builder, (x,) = program(ArrayShape(P.S32, (2,)))
    double = module.add_computation("double")
    inner = Builder(double)
    y = inner.parameter(0, ArrayShape(P.S32, (2,)))
    double.set_root(inner.op(Opcode.ADD, y, y))
    body = module.add_computation("body")
    inner = Builder(body)
    p = inner.parameter(0, state)
    i = inner.gte(p, 1)
    twice = inner.custom_call("NeuronBoundaryMarker-Start", [inner.call(double, inner.gte(p, 0))], y.shape)
    added = inner.op(Opcode.ADD, twice, inner.broadcast(i, (2,), ()))
    body.set_root(inner.tuple_(added, inner.op(Opcode.ADD, i, inner.constant(1, P.S32))))
    condition = module.add_computation("condition")
    inner = Builder(condition)
    p = inner.parameter(0, state)
    condition.set_root(inner.compare(inner.gte(p, 1), inner.constant(limit, P.S32), "LT"))
    init = builder.tuple_(x, builder.constant(0, P.S32))
    module.entry_computation.set_root(builder.while_(condition, body, init))
    return module


def test_loops_calls_and_markers_agree():
    assert_agree(loop(5), np.array([1, -3], np.int32))


def test_an_endless_loop_ends_with_the_limit():
    with pytest.raises(EvaluationLimit):
        run_jax(loop(1 << 30), (np.array([1, 2], np.int32),), Limits(while_iterations=50))


@pytest.mark.parametrize("selector", [-3, 0, 1, 2, 7, True, False])
def test_conditionals_agree(selector):
    branch_count = 2 if isinstance(selector, bool) else 3
    kind = P.PRED if isinstance(selector, bool) else P.S32
    module, builder, (x, s) = program(ArrayShape(P.S32), ArrayShape(kind))
    branches = []
    for n in range(branch_count):
        computation = module.add_computation(f"branch{n}")
        inner = Builder(computation)
        p = inner.parameter(0, ArrayShape(P.S32))
        computation.set_root(inner.op(Opcode.ADD, p, inner.constant(10 * n, P.S32)))
        branches.append(computation)
    module.entry_computation.set_root(builder.conditional(s, branches, [x] * branch_count))
    assert_agree(module, np.array(1, np.int32), np.array(selector, kind.numpy))


@pytest.mark.parametrize("target", ["Sharding", "xla.sdy.FuncResultSharding"])
def test_annotations_pass_their_operand_on(target):
    module, builder, (x,) = program(ArrayShape(P.F32, (2,)))
    module.entry_computation.set_root(builder.custom_call(target, [x], x.shape))
    assert run(module, np.array([1, -2], np.float32)).tolist() == [1, -2]


@pytest.mark.parametrize("source", [*FLOATS, P.F8E5M2, P.F4E2M1FN])
def test_stochastic_conversions_agree(source):
    width = source.bit_width
    bits = {4: P.U4, 8: P.U8, 16: P.U16, 32: P.U32, 64: P.U64}[width]
    with np.errstate(over="ignore"):
        numbers = edges(P.F64) * np.array([[1], [1.3], [127.9], [2.0**31 + 0.5], [2.0**63]])
        values = numbers.ravel().astype(source.numpy)
    random = np.random.default_rng(0).integers(0, 2**width - 1, values.size, np.uint64, endpoint=True)
    random[::3] = 0
    random[1::3] = 2**width - 1
    for target in (P.S4, *SIGNED):
        shape = ArrayShape(target, values.shape)
        assert assert_agree_on(Opcode.STOCHASTIC_CONVERT, values, random.astype(bits.numpy), shape=shape)


def test_what_is_not_supported_says_so():
    module, builder, (x,) = program(ArrayShape(P.F32, (2,)))
    value = (np.zeros(2, np.float32),)
    module.entry_computation.set_root(builder.custom_call("sort_me", [x], x.shape))
    with pytest.raises(ForeignCustomCall, match="sort_me"):
        run_jax(module, value)
    module, builder, (x,) = program(ArrayShape(P.F32, (2,)))
    module.entry_computation.set_root(module.entry_computation.add(Opcode.RNG, x.shape, (x, x)))
    with pytest.raises(UnsupportedOpcode, match="rng"):
        run_jax(module, value)
    module, builder, (x,) = program(ArrayShape(P.C64, (2,)))
    module.entry_computation.set_root(module.entry_computation.add(Opcode.CEIL, x.shape, (x,)))
    with pytest.raises(UnsupportedType, match="ceil on c64"):
        run_jax(module, (np.zeros(2, np.complex64),))


@pytest.mark.parametrize(
    "value", [np.zeros(3, np.float32), np.zeros(2, np.float64), (np.zeros(2, np.float32),)]
)
def test_inputs_that_do_not_fit_are_refused(value):
    module, builder, (x,) = program(ArrayShape(P.F32, (2,)))
    module.entry_computation.set_root(builder.op(Opcode.NEGATE, x))
    with pytest.raises(InvalidInput, match="p0"):
        run_jax(module, (value,))
    with pytest.raises(InvalidInput, match="0 inputs"):
        run_jax(module, ())
