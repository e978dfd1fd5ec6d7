"""What do reductions over moving windows give, and what counts as inside a window?

Padding, and the holes between the elements of a dilated base, hold nothing: what a window covers there takes no
part. (Of a window over nothing but padding the initial value is left, once.) HLO leaves the order open; here it is
row-major over the window, and for select-and-scatter row-major over the windows, as in upstream's HloEvaluator.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hlo.attributes import Window, WindowDimension
from hlo.evaluator.gather_scatter import accumulate
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, check_work, sealed
from hlo.evaluator.mapping import as_type, by_element
from hlo.evaluator.reduction import leaf_types
from hlo.graph import HloInstruction
from hlo.literal import Value
from hlo.opcode import Opcode
from hlo.shape import ArrayShape, TupleShape

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where one element of a dimension's window meets elements of the base: windows and base, place by place."""

    windows: Array
    base: Array


def meetings(window: WindowDimension, base: int, count: int) -> list[Meeting]:
    """For each element of a window over `base` elements, in order, which of the `count` windows meet which element."""
    result: list[Meeting] = []
    for element in range(window.size):
        at = window.size - 1 - element if window.reversal else element
        reached = np.arange(count) * window.stride + at * window.window_dilation - window.padding_low
        whole, hole = np.divmod(reached, window.base_dilation)
        met = np.flatnonzero((hole == 0) & (whole >= 0) & (whole < base))
        result.append(Meeting(met, whole[met]))
    return result


def _steps(inst: HloInstruction, base: Ints, counts: Ints) -> Iterator[tuple[Array, Array]]:
    """For each element of the window, row-major: the windows that meet something there, and what, both row-major."""
    window = inst.attributes
    if not isinstance(window, Window):
        raise TypeError(f"{inst.name} has no window")
    each = [meetings(*row) for row in zip(window.dimensions, base, counts, strict=True)]
    for step in itertools.product(*each):
        yield (
            _flat([meeting.windows for meeting in step], counts),
            _flat([meeting.base for meeting in step], base),
        )


def _flat(places: list[Array], dimensions: Ints) -> Array:
    """The row-major positions of all combinations of places in each dimension."""
    result = np.zeros(1, np.int64)
    for place, size in zip(places, dimensions, strict=True):
        result = (result[:, None] * size + place).reshape(-1)
    return result


def _window_size(inst: HloInstruction) -> int:
    return math.prod(d.size for d in inst.attributes.dimensions) if isinstance(inst.attributes, Window) else 0


def _reduce_window(inst: HloInstruction, machine: Machine) -> Kernel:
    operands = inst.operands
    count = len(operands) // 2
    base = operands[0].array_shape.dimensions
    result_is_tuple = isinstance(inst.shape, TupleShape)
    shape = inst.shape.elements[0] if isinstance(inst.shape, TupleShape) else inst.shape
    dimensions = shape.dimensions if isinstance(shape, ArrayShape) else ()
    size = math.prod(dimensions)
    check_work(inst, machine, _window_size(inst) * size)
    computation = inst.called_computations[0]
    combine = by_element(computation, machine)
    gives = leaf_types(computation.root.shape)

    def reduce_window(*values: Array) -> Value:
        columns = [x.reshape(-1) for x in values[:count]]
        initials = [np.full(size, x) for x in values[count:]]
        results = [as_type(x, t) for x, t in zip(initials, gives, strict=True)]
        for windows, places in _steps(inst, base, dimensions):
            if windows.size == size:
                results = list(combine([*results, *(x[places] for x in columns)]))
            elif windows.size:
                combined = combine([*(x[windows] for x in results), *(x[places] for x in columns)])
                results = [_replaced(x, windows, y) for x, y in zip(results, combined, strict=True)]
        shaped = tuple(sealed(result.reshape(dimensions)) for result in results)
        return shaped if result_is_tuple else shaped[0]

    return reduce_window


def _replaced(array: Array, at: Array, values: Array) -> Array:
    result = array.copy()
    result[at] = values
    return result


def _select_and_scatter(inst: HloInstruction, machine: Machine) -> Kernel:
    """Of each window one element is selected: the first, until `select` of it and a later one is false.

    The window's element of the source is then scattered to it: `scatter` of what is there and of the source.
    """
    operand, source, _ = (o.array_shape for o in inst.operands)
    size = source.element_count
    check_work(inst, machine, _window_size(inst) * size)
    select, scatter = (by_element(computation, machine) for computation in inst.called_computations)

    def select_and_scatter(x: Array, updates: Array, initial: Array) -> Array:
        flat = x.reshape(-1)
        selected = np.full(size, -1, np.int64)
        for windows, places in _steps(inst, operand.dimensions, source.dimensions):
            held = selected[windows]
            new = held < 0
            (keeps,) = select([flat[held[~new]], flat[places[~new]]])
            new[~new] = ~keeps
            selected[windows[new]] = places[new]
        result = np.full(operand.element_count, initial)
        found = selected >= 0  # not where a window covers nothing but padding
        accumulate([result], selected[found], [updates.reshape(-1)[found]], scatter)
        return sealed(as_type(result, inst.array_shape.element_type).reshape(operand.dimensions))

    return select_and_scatter


RULES: dict[Opcode, Rule] = {
    Opcode.REDUCE_WINDOW: _reduce_window,
    Opcode.SELECT_AND_SCATTER: _select_and_scatter,
}
