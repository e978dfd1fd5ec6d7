"""In which order do sorts give elements, and which does topk give?

A sort is stable, also where it need not be. Its comparator says whether an element must come before another; where it
is no strict weak order (`<` on NaN, for one) the result is some permutation, the same one every time. The elements of
all rows are merged at once: runs of 1, of 2, of 4, and so on, with a binary search in the other run for each element.

topk goes by IEEE 754 `totalOrder`, as XLA does: -0 is less than +0, and a NaN without sign is the largest of all. Of
equal elements the first ones are taken.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hlo.attributes import SortDimension, TopKOptions
from hlo.evaluator import floats
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, check_work, sealed
from hlo.evaluator.limits import UnsupportedType
from hlo.evaluator.mapping import by_element
from hlo.evaluator.reduction import leaf_types
from hlo.graph import HloInstruction
from hlo.literal import Value
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import TupleShape

Before = Callable[
    [Array, Array], Array
]  # for two arrays of positions: must the first come before the second?


def _sort(inst: HloInstruction, machine: Machine) -> Kernel:
    options = inst.attributes
    if not isinstance(options, SortDimension):
        raise TypeError(f"{inst.name} has no dimension to sort along")
    shape = inst.operand(0).array_shape
    axis, length = options.dimension, shape.dimensions[options.dimension]
    check_work(inst, machine, shape.element_count * max(length.bit_length(), 1) ** 2)
    comparator = by_element(inst.called_computations[0], machine)
    result_is_tuple = isinstance(inst.shape, TupleShape)

    def sort(*operands: Array) -> Value:
        moved = [np.moveaxis(x, axis, -1) for x in operands]
        columns = [x.reshape(-1) for x in moved]

        def before(left: Array, right: Array) -> Array:
            pairs = ((x[left], x[right]) for x in columns)
            return comparator([element for pair in pairs for element in pair])[0]

        order = merge_sort(shape.element_count, length, before)
        results = (
            np.moveaxis(x[order].reshape(y.shape), -1, axis) for x, y in zip(columns, moved, strict=True)
        )
        ordered = tuple(sealed(result) for result in results)
        return ordered if result_is_tuple else ordered[0]

    return sort


def merge_sort(size: int, length: int, before: Before) -> Array:
    """The positions 0 … size - 1, in rows of `length`, with those of each row in order, equal ones as they were."""
    order = np.arange(size)
    if length < 2 or not size:
        return order
    place = order % length
    run = 1
    while run < length:
        order = _merged(order, place, run, length, before)
        run *= 2
    return order


def _merged(order: Array, place: Array, run: int, length: int, before: Before) -> Array:
    """Sorted runs of `run` elements, merged two and two. `place` is that of each slot in its row."""
    slots = np.arange(order.size)
    is_left = (place // run) % 2 == 0
    left = slots[is_left & (place - place % run + run < length)]  # those that have a run to their right
    if not left.size:
        return order
    within = place[left] % run
    first = left - within + run  # of the other run
    sizes = np.minimum(run, length - (place[left] - within + run))
    low, high = np.zeros_like(left), sizes.copy()
    while (searching := np.flatnonzero(low < high)).size:
        # How many of the other run must come before each element: it goes behind those, and before its equals.
        middle = (low[searching] + high[searching]) // 2
        goes_behind = before(order[first[searching] + middle], order[left[searching]])
        low[searching[goes_behind]] = middle[goes_behind] + 1
        high[searching[~goes_behind]] = middle[~goes_behind]
    # For a strict weak order this never falls within a run; for no order must two elements get one slot.
    pair = (np.cumsum(within == 0) - 1) * (run + 1)
    passed = np.maximum.accumulate(low + pair) - pair
    target = left + passed
    result = np.empty_like(order)
    taken = np.zeros(order.size, np.bool_)
    result[target] = order[left]
    taken[target] = True
    # What is free takes the others, in order; they never leave their pair of runs.
    rest = np.ones(order.size, np.bool_)
    rest[left] = False
    result[~taken] = order[rest]
    return result


def _topk(inst: HloInstruction, _machine: Machine) -> Kernel:
    options = inst.attributes
    if not isinstance(options, TopKOptions):
        raise TypeError(f"{inst.name} does not say how many")
    shape = inst.operand(0).array_shape
    key = _key(shape.element_type)
    _, index_type = leaf_types(inst.shape)

    def topk(x: Array) -> Value:
        keys = key(np.ascontiguousarray(x))
        # All of ~key sort the other way round, and equal ones do not change places.
        order = np.argsort(~keys if options.largest else keys, axis=-1, kind="stable")[..., : options.k]
        values = np.take_along_axis(x, order, axis=-1)
        return sealed(values), sealed(order.astype(index_type.numpy))

    return topk


def _key(element_type: PrimitiveType) -> Callable[[Array], Array]:
    """Integers or truth values that sort as elements of the type do."""
    if element_type.is_complex:
        raise UnsupportedType(Opcode.TOPK, element_type)
    if element_type.is_float:
        return floats.total_order_key_of(element_type)
    if element_type.bit_width < 8:
        return lambda x: x.astype(np.int8)
    return lambda x: x


RULES: dict[Opcode, Rule] = {Opcode.SORT: _sort, Opcode.TOPK: _topk}
