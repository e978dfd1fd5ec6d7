"""What does a matrix product give, and in which order does it add?

HLO leaves the order open. Here products are added one by one, row-major over the contracting dimensions, so that an
element of the result depends on its own row and column only, not on the sizes around it: the product of a slice is
the slice of the product, bit for bit. Integers wrap in the result's type. Floats are multiplied and
added in F32 or, if there is a wider type among operands and result, in that, and rounded to the result's type once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hlo.attributes import DotDimensions
from hlo.errors import UnsupportedOpcode
from hlo.evaluator.conversion import convert
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, check_work, sealed
from hlo.graph import HloInstruction
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape


def _dot(inst: HloInstruction, machine: Machine) -> Kernel:
    numbers = inst.attributes
    if not isinstance(numbers, DotDimensions):
        raise TypeError(f"{inst.name} has no dot dimensions")
    if len(inst.operands) != 2:
        raise UnsupportedOpcode("dot with sparsity", "evaluator")
    left, right = (operand.array_shape for operand in inst.operands)
    dot = product(inst, machine, left, right, numbers)
    return lambda x, y: sealed(dot(x, y))


def product(
    inst: HloInstruction, machine: Machine, left: ArrayShape, right: ArrayShape, numbers: DotDimensions
) -> Callable[[Array, Array], Array]:
    """The dot of arrays of shapes `left` and `right`, in the element type that `inst` gives, not yet sealed.

    Dimensions come out in HLO's order. Raises EvaluationLimit on behalf of `inst`.
    """
    left_free = rest(left.rank, numbers.lhs_batch + numbers.lhs_contracting)
    right_free = rest(right.rank, numbers.rhs_batch + numbers.rhs_contracting)
    left_order = (*numbers.lhs_batch, *left_free, *numbers.lhs_contracting)
    right_order = (*numbers.rhs_batch, *numbers.rhs_contracting, *right_free)
    batch = math.prod(left.dimensions[d] for d in numbers.lhs_batch)
    rows = math.prod(left.dimensions[d] for d in left_free)
    depth = math.prod(left.dimensions[d] for d in numbers.lhs_contracting)
    columns = math.prod(right.dimensions[d] for d in right_free)
    check_work(inst, machine, batch * rows * depth * columns)
    sizes = (
        *(left.dimensions[d] for d in (*numbers.lhs_batch, *left_free)),
        *(right.dimensions[d] for d in right_free),
    )
    result_type = inst.array_shape.element_type
    carrier = carrier_of(left.element_type, right.element_type, result_type)
    multiply = _in_any_order if carrier.is_integral or carrier is PrimitiveType.PRED else _in_order

    def dot(x: Array, y: Array) -> Array:
        x = as_type(x, left.element_type, carrier).transpose(left_order).reshape((batch, rows, depth))
        y = as_type(y, right.element_type, carrier).transpose(right_order).reshape((batch, depth, columns))
        return as_type(multiply(x, y), carrier, result_type).reshape(sizes)

    return dot


def rest(rank: int, taken: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions of an array of `rank` that are not `taken`, in order."""
    return tuple(d for d in range(rank) if d not in taken)


def carrier_of(left: PrimitiveType, right: PrimitiveType, result: PrimitiveType) -> PrimitiveType:
    """The type that products are made and added in."""
    if result.is_float:
        return max(left, right, result, PrimitiveType.F32, key=lambda t: t.bit_width)
    if result.is_integral and result.bit_width < 8:
        return PrimitiveType.S8 if result.is_signed else PrimitiveType.U8
    return result


def as_type(array: Array, source: PrimitiveType, target: PrimitiveType) -> Array:
    """`array`, of `source`, in `target`."""
    return array if source is target else convert(array[None], source, target)[0, ...]


def _in_any_order(x: Array, y: Array) -> Array:
    return np.matmul(x, y)


def _in_order(x: Array, y: Array) -> Array:
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)  # complex products round differently backwards
    total = np.zeros((x.shape[0], x.shape[1], y.shape[2]), x.dtype)
    product = np.empty_like(total)
    for k in range(x.shape[2]):
        np.multiply(x[:, :, k, None], y[:, k, None, :], out=product)
        np.add(total, product, out=total)
    return total


RULES: dict[Opcode, Rule] = {Opcode.DOT: _dot}
