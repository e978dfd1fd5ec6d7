"""How is a computation of scalars applied to whole arrays, element by element?

Most such computations are made of elementwise operations. One of those means the same on arrays of rank 1 as on each
of their elements, so it runs once on the whole arrays; nobody observes that. Any other runs once an element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from hlo.evaluator.conversion import convert
from hlo.evaluator.elementwise import array_function
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, identity, sealed
from hlo.graph import HloComputation, HloInstruction
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape, TupleShape

Columns = Callable[[Sequence[Array]], tuple[Array, ...]]
_Run = Callable[[int, Sequence[Any]], Any]  # for a length: of arrays of that length and tuples of them

_MOVES = frozenset({Opcode.RESHAPE, Opcode.BROADCAST, Opcode.TRANSPOSE, Opcode.OPTIMIZATION_BARRIER})


def by_element(computation: HloComputation, machine: Machine) -> Columns:
    """`computation`, of scalars, as a function of arrays of rank 1 and of one length, for each place by itself.

    Gives a tuple of arrays of that length, also where the computation gives one scalar; they may be operands, and
    are not to be written to. A float of another precision than the parameter's is converted.
    """
    takes = [parameter.array_shape.element_type for parameter in computation.parameters]
    run = _lifted(computation) or _repeated(computation, machine)

    def apply(columns: Sequence[Array]) -> tuple[Array, ...]:
        given = [as_type(x, t) for x, t in zip(columns, takes, strict=True)]
        value = run(len(given[0]), given)
        return value if isinstance(value, tuple) else (value,)

    return apply


def as_type(array: Array, target: PrimitiveType) -> Array:
    """`array`, of rank 1 or more, in `target`."""
    if array.dtype == target.numpy:
        return array
    return convert(array, PrimitiveType.of(array.dtype), target)


def _lifted(computation: HloComputation) -> _Run | None:
    order = computation.make_instruction_post_order()
    place = {inst: i for i, inst in enumerate(order)}
    steps: list[tuple[Callable[..., Any], int, tuple[int, ...]]] = []
    parameters: list[tuple[int, int]] = []
    for at, inst in enumerate(order):
        if inst.opcode is Opcode.PARAMETER and _is_scalar(inst.shape):
            parameters.append((inst.parameter_number, at))
            continue
        step = _step(inst)
        if step is None:
            return None
        steps.append((step, at, tuple(place[operand] for operand in inst.operands)))
    root = place[computation.root]

    def run(length: int, arguments: Sequence[Any]) -> Any:
        values: list[Any] = [None] * len(order)
        for number, at in parameters:
            values[at] = arguments[number]
        for step, at, operands in steps:
            values[at] = step(length, *[values[i] for i in operands])
        return values[root]

    return run


def _step(inst: HloInstruction) -> Callable[..., Any] | None:
    """What computes `inst` for a length and arrays of that length, or None where it is no matter of single elements."""
    opcode = inst.opcode
    if opcode is Opcode.TUPLE:
        return lambda _length, *elements: elements
    if opcode is Opcode.GET_TUPLE_ELEMENT:
        take = itemgetter(inst.tuple_index)
        return lambda _length, elements: take(elements)
    if opcode is Opcode.CALL:
        callee = _lifted(inst.called_computations[0])
        return callee and (lambda length, *arguments: callee(length, arguments))
    if not all(map(_is_scalar, (inst.shape, *(operand.shape for operand in inst.operands)))):
        return None
    if opcode is Opcode.CONSTANT:
        value = inst.literal.value
        return lambda length: np.full(length, value)
    function = identity if opcode in _MOVES else array_function(inst)
    return function and (lambda _length, *operands: function(*operands))


def _is_scalar(shape: Shape) -> bool:
    return isinstance(shape, ArrayShape) and shape.is_scalar


def _repeated(computation: HloComputation, machine: Machine) -> _Run:
    function = machine.function(computation)
    result = computation.root.shape
    shapes = result.elements if isinstance(result, TupleShape) else (result,)
    dtypes = [shape.element_type.numpy for shape in shapes if isinstance(shape, ArrayShape)]

    def run(length: int, columns: Sequence[Array]) -> tuple[Array, ...]:
        columns = [sealed(column.copy()) for column in columns]
        results = tuple(np.empty(length, dtype) for dtype in dtypes)
        for at in range(length):
            value = function([column[at, ...] for column in columns])
            elements = value if isinstance(value, tuple) else (value,)
            for each, element in zip(results, elements, strict=True):
                each[at] = element
        return results

    return run


def _map(inst: HloInstruction, machine: Machine) -> Kernel:
    """The callee on the elements at each index."""
    function = by_element(inst.called_computations[0], machine)
    shape = inst.array_shape

    def apply(*operands: Array) -> Array:
        (result,) = function([operand.reshape(-1) for operand in operands])
        return sealed(result.reshape(shape.dimensions))

    return apply


RULES: dict[Opcode, Rule] = {Opcode.MAP: _map}
