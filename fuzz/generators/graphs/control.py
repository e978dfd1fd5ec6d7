"""How are parameters, constants, tuples, calls, branches and loops drawn?

What a called computation does is a few small steps that keep the shape of a value, so that any of them can be
the body of a call, of a fusion, of a branch or of a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from fuzz.generators.graphs.elementwise import alike
from fuzz.generators.graphs.graph import Graph
from fuzz.generators.graphs.palette import ORDINARY, PRED
from fuzz.generators.palette import array_shape, filled
from hlo import HloComputation, HloInstruction, Opcode, PrimitiveType, TokenShape, TupleShape
from hlo.attributes import UNMODELLED, RandomAlgorithm
from hlo.interchange import read_text

Rule = Callable[[Graph, Opcode], None]
Step = Callable[[Graph, HloInstruction], HloInstruction]

_S32 = PrimitiveType.S32
_INDEX = array_shape(_S32, ())


# steps that keep the shape


def _combined(graph: Graph, x: HloInstruction) -> HloInstruction:
    kind = x.array_shape.element_type
    other = graph.builder.constant(filled(kind, x.array_shape.dimensions, graph.choice((1, 2))))
    opcodes = (Opcode.XOR, Opcode.OR) if kind in PRED else (Opcode.ADD, Opcode.SUBTRACT)
    return graph.builder.op(graph.choice(opcodes), x, other)


def _doubled(graph: Graph, x: HloInstruction) -> HloInstruction:
    return graph.builder.op(Opcode.ADD, x, x)


def _turned(graph: Graph, x: HloInstruction) -> HloInstruction:
    return graph.builder.reverse(x, tuple(range(x.array_shape.rank)))


def _limited(graph: Graph, x: HloInstruction) -> HloInstruction:
    kind = x.array_shape.element_type
    if kind.is_complex:
        return graph.builder.op(Opcode.NEGATE, x)
    most = graph.builder.constant(filled(kind, x.array_shape.dimensions, 2))
    return graph.builder.op(Opcode.MINIMUM, x, most)


def _same(graph: Graph, x: HloInstruction) -> HloInstruction:
    return graph.builder.op(Opcode.COPY, x)


_STEPS: tuple[Step, ...] = (_combined, _doubled, _turned, _limited, _same)


def _steps(graph: Graph, x: HloInstruction) -> HloInstruction:
    for _ in range(graph.choice((1, 2, 3))):
        x = graph.choice(_STEPS)(graph, x)
    return x


def _body(graph: Graph, name: str, *operands: HloInstruction) -> HloComputation:
    """Steps on the first operand; the others, of the same shape, are added."""
    inner, (x, *others) = graph.inner(name, *[operand.array_shape for operand in operands])
    x = _steps(inner, x)
    for other in others:
        x = inner.builder.op(Opcode.ADD, x, other)
    inner.builder.computation.set_root(x)
    return inner.builder.computation


# rules


def _parameter(graph: Graph, _opcode: Opcode) -> None:
    shape = array_shape(graph.element_type(ORDINARY), graph.choice(graph.shapes))
    graph.add(graph.draft.parameter(shape))


def _constant(graph: Graph, _opcode: Opcode) -> None:
    kind, dimensions = graph.element_type(ORDINARY), graph.choice(graph.shapes)
    graph.add(graph.builder.constant(filled(kind, dimensions, graph.choice((1, 2, 3)))))


def _tuple(graph: Graph, _opcode: Opcode) -> None:
    """A tuple of two, one of which is read back; nested now and then."""
    x, y = graph.array(ORDINARY), graph.array(ORDINARY)
    tuple_ = graph.builder.tuple_(x, y)
    if graph.choice((False, False, True)):
        tuple_ = graph.builder.gte(graph.builder.tuple_(x, tuple_), 1)
    _read(graph, tuple_, graph.choice((0, 1)), (x, y))


def _read(
    graph: Graph, tuple_: HloInstruction, index: int, elements: tuple[HloInstruction, ...]
) -> HloInstruction:
    return graph.add(graph.builder.gte(tuple_, index), inexact=elements[index] in graph.inexact)


def _get_tuple_element(graph: Graph, _opcode: Opcode) -> None:
    """Of a tuple that is a parameter."""
    kind, dimensions = graph.element_type(ORDINARY), graph.choice(graph.shapes)
    element = array_shape(kind, dimensions)
    if not graph.is_entry:
        graph.add(graph.builder.constant(filled(kind, dimensions, 1)))
        return
    source = graph.draft.parameter(TupleShape((element, _INDEX)))
    graph.add(graph.builder.gte(source, graph.choice((0, 0, 1))))


def _called(graph: Graph, opcode: Opcode) -> None:
    x = graph.array(ORDINARY)
    operands = [x, *([alike(graph, x)] if graph.choice((False, True)) else [])]
    computation = _body(graph, "callee", *operands)
    if opcode is Opcode.FUSION:
        kind = graph.choice(("kLoop", "kInput", "kOutput", "kCustom"))
        graph.add(graph.builder.fusion(computation, *operands, kind=kind))
        return
    result = graph.add(graph.builder.call(computation, *operands))
    if graph.choice((False, False, True)):
        graph.add(graph.builder.call(computation, *[result] * len(operands)))


def _while(graph: Graph, _opcode: Opcode) -> None:
    """A counted loop over (counter, value), which may look at the value's part that the counter says."""
    x = graph.array(ORDINARY)
    init = graph.builder.tuple_(graph.builder.constant(0, _S32), x)
    inexact = x in graph.inexact
    condition, (state,) = graph.inner("condition", init.tuple_shape)
    limit = condition.builder.constant(graph.choice((2, 1, 3, 0)), _S32)
    counter = condition.builder.gte(state, 0)
    condition.builder.computation.set_root(condition.builder.compare(counter, limit, "LT"))
    body, (state,) = graph.inner("body", init.tuple_shape)
    counter, value = body.builder.gte(state, 0), body.builder.gte(state, 1)
    value = _steps(body, _updated(body, counter, value))
    counter = body.builder.op(Opcode.ADD, counter, body.builder.constant(1, _S32))
    body.builder.computation.set_root(body.builder.tuple_(counter, value))
    result = graph.builder.while_(condition.builder.computation, body.builder.computation, init)
    graph.add(graph.builder.gte(result, 1), inexact=inexact)
    if graph.choice((False, False, True)):
        graph.add(graph.builder.gte(result, 0))


def _updated(body: Graph, counter: HloInstruction, value: HloInstruction) -> HloInstruction:
    """`value` with its first row put where the counter says."""
    dims = value.array_shape.dimensions
    if not dims or 0 in dims or not body.choice((False, True)):
        return value
    zero = body.builder.constant(0, _S32)
    rest = [zero] * (len(dims) - 1)
    row = body.builder.dynamic_slice(value, [zero, *rest], (1, *dims[1:]))
    return body.builder.dynamic_update_slice(value, row, [counter, *rest])


def _conditional(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY)
    count = graph.choice((2, 2, 1, 3))
    by_predicate = count == 2 and graph.choice((True, False))
    selector = graph.array(PRED, ()) if by_predicate else graph.given(_S32)
    operands = [x, *(alike(graph, x) for _ in range(count - 1))]
    branches = [_body(graph, "branch", operand) for operand in operands]
    graph.add(graph.builder.conditional(selector, branches, operands))


def _custom_call(graph: Graph, _opcode: Opcode) -> None:
    """A boundary marker, the only custom-call with a meaning here."""
    x = graph.array(ORDINARY)
    target = graph.choice(("NeuronBoundaryMarker-Start", "NeuronBoundaryMarker-End"))
    graph.add(graph.builder.custom_call(target, (x,), x.array_shape))


def _barrier(graph: Graph, opcode: Opcode) -> None:
    x = graph.array(ORDINARY)
    if graph.choice((True, False)):
        graph.add(graph.builder.op(opcode, x))
        return
    elements = (x, graph.array(ORDINARY))
    _read(graph, graph.builder.op(opcode, graph.builder.tuple_(*elements)), graph.choice((0, 1)), elements)


def _ordered(graph: Graph, _opcode: Opcode) -> None:
    """A value that has to wait for a token, which nobody else waits for."""
    x = graph.array(ORDINARY)
    tokens = [graph.builder.op(Opcode.AFTER_ALL, shape=TokenShape()) for _ in range(graph.choice((0, 1, 2)))]
    token = graph.builder.op(Opcode.AFTER_ALL, *tokens, shape=TokenShape())
    graph.add(graph.builder.op(Opcode.ADD_DEPENDENCY, x, token))


@cache
def _domain_example() -> HloInstruction:
    """A domain whose unmodelled attribute new ones can take."""
    entry = "x = f32[] parameter(0)\n ROOT d = f32[] domain(x), "
    entry += 'domain={kind="sharding", entry={replicated}, exit={replicated}}'
    return read_text(f"HloModule m\nENTRY e {{\n {entry}\n}}\n").entry_computation.root


def _domain(graph: Graph, opcode: Opcode) -> None:
    x = graph.array(ORDINARY)
    graph.add(graph.builder.op(opcode, x, attributes=UNMODELLED, like=_domain_example()))


def _rng_bit_generator(graph: Graph, opcode: Opcode) -> None:
    algorithm = graph.choice(("rng_three_fry", "rng_philox", "rng_default"))
    state = graph.given(
        PrimitiveType.U64, graph.choice(((2,), *([] if algorithm == "rng_three_fry" else [(3,)])))
    )
    kind = graph.choice((PrimitiveType.U32, PrimitiveType.U64, PrimitiveType.U8, PrimitiveType.S16))
    bits = array_shape(kind, graph.choice([shape for shape in graph.shapes if 0 not in shape]))
    shape = TupleShape((state.array_shape, bits))
    graph.add(graph.builder.op(opcode, state, attributes=RandomAlgorithm(algorithm), shape=shape))


RULES: dict[Opcode, Rule] = {
    Opcode.PARAMETER: _parameter,
    Opcode.CONSTANT: _constant,
    Opcode.TUPLE: _tuple,
    Opcode.GET_TUPLE_ELEMENT: _get_tuple_element,
    Opcode.CALL: _called,
    Opcode.FUSION: _called,
    Opcode.WHILE: _while,
    Opcode.CONDITIONAL: _conditional,
    Opcode.CUSTOM_CALL: _custom_call,
    Opcode.OPTIMIZATION_BARRIER: _barrier,
    Opcode.AFTER_ALL: _ordered,
    Opcode.ADD_DEPENDENCY: _ordered,
    Opcode.DOMAIN: _domain,
    Opcode.RNG_BIT_GENERATOR: _rng_bit_generator,
}

_RANDOM = "random: no definite value to compare"
GAPS: dict[Opcode, str] = dict.fromkeys((Opcode.RNG, Opcode.RNG_GET_AND_UPDATE_STATE), _RANDOM)
