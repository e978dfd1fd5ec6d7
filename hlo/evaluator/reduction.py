"""What does a reduction give, and in which order does it combine?

HLO leaves the order open. Here it is one fixed order, that of upstream's HloEvaluator: start from the initial value
and combine with the elements one by one, row-major over the reduced dimensions. Every way to compute it below
keeps to that order wherever it could show in a bit of the result.
"""

from __future__ import annotations

import math

import numpy as np

from hlo.evaluator.elementwise import function_of
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, sealed
from hlo.evaluator.mapping import as_type, by_element
from hlo.graph import HloComputation, HloInstruction
from hlo.literal import Value
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape, TupleShape, leaves

_PLAIN = frozenset(
    {Opcode.ADD, Opcode.MULTIPLY, Opcode.MAXIMUM, Opcode.MINIMUM, Opcode.AND, Opcode.OR, Opcode.XOR}
)
_EXTREMES = frozenset({Opcode.MAXIMUM, Opcode.MINIMUM})
_UFUNCS: dict[Opcode, np.ufunc] = {
    Opcode.ADD: np.add,
    Opcode.MULTIPLY: np.multiply,
    Opcode.MAXIMUM: np.maximum,
    Opcode.MINIMUM: np.minimum,
    Opcode.AND: np.bitwise_and,
    Opcode.OR: np.bitwise_or,
    Opcode.XOR: np.bitwise_xor,
}


def plain_reducer(computation: HloComputation) -> Opcode | None:
    """The opcode, if `computation` is one commutative operation on its two scalar parameters."""
    root = computation.root
    if root.opcode not in _PLAIN or len(computation) != 3:
        return None
    if {operand.opcode for operand in root.operands} != {Opcode.PARAMETER} or root.operand(0) is root.operand(
        1
    ):
        return None
    return root.opcode


def _reduce(inst: HloInstruction, machine: Machine) -> Kernel:
    operands = inst.operands
    count = len(operands) // 2
    source = operands[0].array_shape
    kept = tuple(d for d in range(source.rank) if d not in inst.dimensions)
    order = (*sorted(inst.dimensions), *kept)
    dimensions = tuple(source.dimensions[d] for d in kept)
    steps = source.element_count // math.prod(dimensions) if source.element_count else 0
    computation = inst.called_computations[0]

    def rows(x: Array) -> Array:
        """`x` with its reduced dimensions as one, the first."""
        return sealed(x.transpose(order).reshape((steps, *dimensions)))

    opcode = plain_reducer(computation)
    if opcode is not None and {ArrayShape(source.element_type), operands[1].shape} == {
        computation.root.shape
    }:
        combine = _combiner(opcode, source.element_type)
        return lambda x, initial: combine(_with_initial(rows(x), initial))

    # The reducer may take and give other precisions than it is given: (accumulators…, elements…).
    function = by_element(computation, machine)
    gives = leaf_types(computation.root.shape)
    result_is_tuple = isinstance(inst.shape, TupleShape)
    width = math.prod(dimensions)

    def reduce(*values: Array) -> Value:
        columns = [rows(x).reshape((steps, width)) for x in values[:count]]
        initials = [np.full(width, x) for x in values[count:]]
        results = tuple(as_type(x, t) for x, t in zip(initials, gives, strict=True))
        for step in range(steps):
            results = function([*results, *[column[step] for column in columns]])
        shaped = tuple(sealed(result.reshape(dimensions)) for result in results)
        return shaped if result_is_tuple else shaped[0]

    return reduce


def _with_initial(rows: Array, initial: Array) -> Array:
    column = np.empty((rows.shape[0] + 1, *rows.shape[1:]), rows.dtype)
    column[0] = initial
    column[1:] = rows
    return column


def _combiner(opcode: Opcode, element_type: PrimitiveType) -> Kernel:
    """Reduces the first dimension of an array, in order wherever that matters."""
    function = function_of(opcode, element_type)  # raises where the type has no such operation
    ufunc = _UFUNCS[opcode]

    def in_order(column: Array) -> Array:
        result = column[0, ...].reshape(column.shape[1:] or (1,))
        for row in column[1:]:
            result = function(result, row.reshape(result.shape))
        return sealed(result.reshape(column.shape[1:]))

    def accumulate(column: Array) -> Array:
        # `reduce` would add pairwise; `accumulate` cannot but go step by step.
        return sealed(ufunc.accumulate(column, 0)[-1, ...])

    def extreme(column: Array) -> Array:
        result = np.empty(column.shape[1:], column.dtype)
        ufunc.reduce(column, 0, out=result)
        if np.count_nonzero(result) != result.size or np.isnan(result).any():
            return in_order(column)  # which zero, and which NaN, is a matter of order
        return sealed(result)

    def any_order(column: Array) -> Array:
        result = np.empty(column.shape[1:], column.dtype)
        ufunc.reduce(column, 0, out=result)  # `out` also keeps NumPy from widening
        return sealed(result)

    if element_type.bit_width < 8 or element_type is PrimitiveType.F8E8M0FNU:
        return in_order
    if element_type.is_integral or element_type is PrimitiveType.PRED:
        return any_order
    return extreme if opcode in _EXTREMES else accumulate


def leaf_types(shape: Shape) -> list[PrimitiveType]:
    """The element types of an array, or of the arrays of a flat tuple."""
    return [leaf.element_type for _, leaf in leaves(shape) if isinstance(leaf, ArrayShape)]


RULES: dict[Opcode, Rule] = {Opcode.REDUCE: _reduce}
