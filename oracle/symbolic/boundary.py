"""How is a program compared with what it became when its unknown sizes got bounds?

`bound-dynamic-dimensions` gives each parameter of unknown size that size's bound, and the entry a scalar for each such
size; it gives each result of unknown size its bound, too, filled up with zeros, and the sizes behind all results. To
compare, both sides take the arrays as they are: what the pass left gets them filled up with anything, and the sizes as
constants; what was there before gets its results filled up, and their sizes added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hlo import ArrayShape, HloInstruction, HloModule, InvalidInput, Opcode, PrimitiveType
from hlo.builder import Builder
from hlo.evaluator import Fill
from hlo.stablehlo import StableHloModule, TensorType
from oracle.symbolic.specialise import Assignment

SIZE = ArrayShape(PrimitiveType.S32, ())
"""What the size of a dimension is handed over in."""


@dataclass(frozen=True)
class Boundary:
    """The entry of a program before its sizes got bounds, and the arrays that it has since."""

    parameters: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    bounded_parameters: tuple[ArrayShape, ...]
    bounded_results: tuple[ArrayShape, ...]

    @classmethod
    def of(cls, before: StableHloModule, after: StableHloModule) -> Boundary | None:
        """None where `after` has not the entry that the pass is to make of that of `before`."""
        new = [kind.array_shape() for kind in after.parameters if kind.is_static]
        given = [kind.array_shape() for kind in after.results if kind.is_static]
        found = cls(
            before.parameters,
            before.results,
            tuple(new[: len(before.parameters)]),
            tuple(given[: len(before.results)]),
        )
        wanted = [SIZE] * len(_slots(before.parameters)), [SIZE] * len(_slots(before.results))
        is_whole = (
            len(new) == len(after.parameters)
            and len(given) == len(after.results)
            and (new[len(before.parameters) :], given[len(before.results) :]) == wanted
            and all(map(_bounds, before.parameters, found.bounded_parameters))
            and all(map(_bounds, before.results, found.bounded_results))
        )
        return found if is_whole else None

    def filled_up(self, static: HloModule) -> HloModule:
        """A specialised program whose results are as large as their bounds, zeros around them, sizes behind them.

        Raises InvalidInput where a result is larger than its bound.
        """
        copy = static.clone()
        builder = Builder(copy.entry_computation)
        outputs = _elements(builder, len(self.results))
        shapes = [output.array_shape for output in outputs]
        padded = [_padded(builder, *pair) for pair in zip(outputs, self.bounded_results, strict=True)]
        sizes = [
            builder.constant(shapes[result].dimensions[axis], PrimitiveType.S32)
            for result, axis in _slots(self.results)
        ]
        _return(builder, [*padded, *sizes])
        return copy

    def cut(self, lowered: HloModule, assignment: Assignment, fill: Fill) -> HloModule:
        """What the pass left, or later passes did, as a program that takes arrays as large as `assignment` says."""
        copy = lowered.clone()
        entry = copy.entry_computation
        builder, old = Builder(entry), entry.parameters
        slots = _slots(self.parameters)
        for (parameter, axis), scalar in zip(slots, old[len(self.parameters) :], strict=True):
            size = builder.constant(assignment.sizes[parameter][axis], PrimitiveType.S32)
            _replace(scalar, size)
        pairs = zip(old, self.bounded_parameters, assignment.sizes, strict=False)
        for number, (parameter, bound, sizes) in enumerate(pairs):
            taken = builder.parameter(number, bound.with_dimensions(sizes))
            _replace(parameter, _within(builder, taken, bound, fill))
        for parameter in old:
            entry.remove_instruction(parameter)
        return copy


def _slots(kinds: Sequence[TensorType]) -> list[tuple[int, int]]:
    """The unknown dimensions, in the order of their sizes."""
    return [
        (number, axis)
        for number, kind in enumerate(kinds)
        for axis, size in enumerate(kind.dimensions)
        if size is None
    ]


def _bounds(kind: TensorType, shape: ArrayShape) -> bool:
    return (
        kind.element_type is shape.element_type
        and kind.rank == shape.rank
        and all(size in (None, bound) for size, bound in zip(kind.dimensions, shape.dimensions, strict=True))
    )


def _elements(builder: Builder, count: int) -> list[HloInstruction]:
    """The arrays that the entry returns. Raises InvalidInput where it returns another number of arrays."""
    root = builder.computation.root
    if isinstance(root.shape, ArrayShape):
        elements = [root]
    elif root.opcode is Opcode.TUPLE:
        elements = list(root.operands)
    else:
        elements = [builder.gte(root, number) for number in range(len(root.tuple_shape.elements))]
    if len(elements) != count:
        raise InvalidInput(f"{len(elements)} results where there were {count}")
    return elements


def _return(builder: Builder, outputs: Sequence[HloInstruction]) -> None:
    computation, old = builder.computation, builder.computation.root
    root = outputs[0] if len(outputs) == 1 else builder.tuple_(*outputs)
    computation.set_root(root, accept_different_shape=True)
    if old is not root and old.opcode is Opcode.TUPLE and not old.users:
        computation.remove_instruction(old)


def _padded(builder: Builder, array: HloInstruction, bound: ArrayShape) -> HloInstruction:
    shape = array.array_shape
    room = [most - size for size, most in zip(shape.dimensions, bound.dimensions, strict=True)]
    if any(more < 0 for more in room):
        raise InvalidInput(f"a result is {shape}, which is larger than {bound}")
    if not any(room):
        return array
    zero = builder.constant(np.zeros((), shape.element_type.numpy))
    return builder.pad(array, zero, (0,) * shape.rank, room)


def _within(builder: Builder, array: HloInstruction, bound: ArrayShape, fill: Fill) -> HloInstruction:
    """An array as large as `bound`, `array` in its low corner."""
    if array.array_shape.dimensions == bound.dimensions:
        return array
    around = builder.constant(fill(bound))
    if not array.array_shape.element_count:
        return around
    zero = builder.constant(0, PrimitiveType.S32)
    return builder.dynamic_update_slice(around, array, [zero] * bound.rank)


def _replace(old: HloInstruction, new: HloInstruction) -> None:
    computation = old.parent
    if old.is_root:
        computation.set_root(new)
    computation.replace_all_uses_with(old, new)
