"""What can HLO hold in place of an operation that is told its sizes when it runs?

The same work on arrays as large as the bounds, behind which `set_dimension_size` says how much of it counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from hlo import PrimitiveType
from hlo.stablehlo import TensorType, dialect, integer_constant, ir, type_of
from passes.neuron.bound_dynamic_dimensions.analysis import Analysis, is_unknown, named
from passes.neuron.bound_dynamic_dimensions.combining import copy_body, starts_with_identity
from passes.neuron.bound_dynamic_dimensions.extent import Extent
from passes.neuron.bound_dynamic_dimensions.refusal import NotBounded
from passes.neuron.bound_dynamic_dimensions.sized import window_of_cumulation
from passes.neuron.bound_dynamic_dimensions.values import (
    SIZE,
    made_static,
    masked,
    parsed,
    resized,
    sizes_at_bound,
    spread_if_one,
    static_at_bound,
    with_sizes,
    zeros,
)


class Lowering:
    """Rewrites single operations of one program. Everything is put where the insertion point is."""

    def __init__(self, pass_name: str, analysis: Analysis, functions: Mapping[str, Any]) -> None:
        self._pass_name = pass_name
        self._analysis = analysis
        self._functions = functions
        self.parameters: dict[Extent, Any] = {}
        """The entry's parameter that has each size: equal sizes have one."""

    def lowered(self, op: Any) -> Any | None:
        """What stands in place of the only result of `op`; None where `op` may stay as it is."""
        rule = _RULES.get(op.name)
        if rule is None or not any(is_unknown(value.type) for value in (*op.operands, *op.results)):
            return None
        wanted = self._analysis.bounded_type(op.results[0], where=named(op))
        return rule(self, op, wanted)

    # what the rules share

    def refuse(
        self, op: Any, reason: str, *, operand: int | None = None, dimension: int | None = None
    ) -> NoReturn:
        """Raise NotBounded."""
        raise NotBounded(self._pass_name, named(op), reason, operand=operand, dimension=dimension)

    def element(self, vector: Any, number: int) -> Any:
        """One element of an array of integers as an s32 scalar."""
        if (known := self.scalar((self._analysis.elements(vector) or ())[number])) is not None:
            return known
        scalar = dialect().reshape(
            parsed(f"tensor<{vector.type.element_type}>"),
            dialect().slice(vector, [number], [number + 1], [1]),
        )
        return scalar if str(scalar.type) == SIZE else dialect().convert(parsed(SIZE), scalar)

    def scalar(self, size: Extent) -> Any | None:
        """A size as an s32 scalar, where it is a constant or a parameter; the same one for equal sizes."""
        size = self._analysis.unknowns.settled(size)
        if size.constant is not None:
            return integer_constant(size.constant)
        return self.parameters.get(size)

    def constants(self, op: Any, number: int) -> list[int]:
        """The elements of an operand that must be constants."""
        found: list[int] = []
        for d, element in enumerate(self._analysis.elements(op.operands[number]) or ()):
            if element.constant is None:
                self.refuse(op, "it is not a constant", operand=number, dimension=d)
            found.append(element.constant or 0)
        if len(found) != type_of(op.operands[0].type).rank:
            self.refuse(op, "it is not followed", operand=number)
        return found

    # the rules

    def broadcast(self, op: Any, wanted: TensorType, size_of: Callable[[int], Any]) -> Any:
        """Spread as far as the bounds go. What may be 1 at run time, or as large as the result, is looked at then."""
        analysis, operand = self._analysis, op.operands[0]
        into = [int(d) for d in op.attributes["broadcast_dimensions"]]
        result, room = analysis.sizes(op.results[0]), sizes_at_bound(wanted)
        same = "known_nonexpanding_dimensions"
        told = list(op.attributes[same]) if same in op.attributes else []
        data, counts = made_static(operand)
        for d, (size, place) in enumerate(zip(analysis.sizes(operand), into, strict=True)):
            if analysis.unknowns.same(size, result[place]):
                continue
            if d in told:
                data = resized(data, d, room[place])
            elif analysis.unknowns.settled(size).constant != 1:
                data = spread_if_one(data, d, counts[d], room[place])
        spread = dialect().broadcast_in_dim(parsed(static_at_bound(wanted)), data, into)
        return with_sizes(spread, wanted, size_of)

    def told_broadcast(self, op: Any, wanted: TensorType) -> Any:
        """`dynamic_broadcast_in_dim`."""
        return self.broadcast(op, wanted, lambda d: self.element(op.operands[1], d))

    def plain_broadcast(self, op: Any, wanted: TensorType) -> Any:
        """`broadcast_in_dim`, which may have one dynamic dimension only; sizes come from the operand."""
        into = [int(d) for d in op.attributes["broadcast_dimensions"]]
        return self.broadcast(
            op, wanted, lambda d: dialect().get_dimension_size(op.operands[0], into.index(d))
        )

    def iota(self, op: Any, wanted: TensorType) -> Any:
        """`dynamic_iota`."""
        counted = dialect().iota(parsed(static_at_bound(wanted)), int(op.attributes["iota_dimension"]))
        return with_sizes(counted, wanted, lambda d: self.element(op.operands[0], d))

    def reshape(self, op: Any, wanted: TensorType) -> Any:
        """`dynamic_reshape` stays, if the bounds have room for the same elements: HLO has it."""
        before = type_of(op.operands[0].type)
        if math.prod(sizes_at_bound(before)) != math.prod(sizes_at_bound(wanted)):
            self.refuse(op, f"{before} and {wanted} have different room", operand=0)
        if wanted.is_static and before.is_static:
            return dialect().reshape(parsed(wanted), op.operands[0])
        return dialect().dynamic_reshape(parsed(wanted), op.operands[0], op.operands[1])

    def slice(self, op: Any, wanted: TensorType) -> Any:
        """`real_dynamic_slice`: what lies behind the start, cut to its size."""
        strides = self.constants(op, 3)
        data, _ = made_static(op.operands[0])
        room = sizes_at_bound(wanted)
        rank = len(room)
        reach = [max(size - 1, 0) * stride + 1 for size, stride in zip(room, strides, strict=True)]
        # so that no start is clamped
        data = dialect().pad(data, zeros(type_of(data.type), ()), [0] * rank, reach, [0] * rank)
        known = [start.constant for start in self._analysis.elements(op.operands[1]) or ()]
        starts = [start or 0 for start in known]
        if None in known:
            scalars = [self.element(op.operands[1], d) for d in range(rank)]
            data, starts = dialect().dynamic_slice(data, scalars, reach), [0] * rank
        limits = [
            start + (length if size else 0) for start, length, size in zip(starts, reach, room, strict=True)
        ]
        taken = dialect().slice(data, starts, limits, strides)
        return with_sizes(taken, wanted, lambda d: self._slice_size(op, d))

    def _slice_size(self, op: Any, d: int) -> Any:
        """(limit - start) / stride, rounded up."""
        start, limit, stride = (self.element(operand, d) for operand in op.operands[1:])
        one = integer_constant(1)
        length = dialect().add(dialect().subtract(limit, start), dialect().subtract(stride, one))
        return dialect().divide(length, stride)

    def pad(self, op: Any, wanted: TensorType) -> Any:
        """`dynamic_pad` with constants but for the edge behind: all behind the elements is padding already."""
        lows, gaps = self.constants(op, 2), self.constants(op, 4)
        kind = type_of(op.operands[0].type)
        data, sizes = made_static(op.operands[0])
        unknown = {d: sizes[d] for d, size in enumerate(kind.dimensions) if size is None}
        if any(gaps[d] for d in unknown):
            self.refuse(op, "elements of an unknown number are spread", operand=4)
        data = masked(data, unknown, op.operands[1])
        inner = [size + gap * max(size - 1, 0) for size, gap in zip(sizes_at_bound(kind), gaps, strict=True)]
        highs = [
            size - low - used for size, low, used in zip(sizes_at_bound(wanted), lows, inner, strict=True)
        ]
        grown = dialect().pad(data, op.operands[1], lows, highs, gaps)

        def size_of(d: int) -> Any:
            used = unknown[d] if d in unknown else integer_constant(inner[d])
            low, high = (self.element(op.operands[number], d) for number in (2, 3))
            return dialect().add(dialect().add(used, low), high)

        return with_sizes(grown, wanted, size_of)

    def gather(self, op: Any, wanted: TensorType) -> Any:
        """`dynamic_gather`: a slice is as long as its dimension, or as a constant, or as its bound at most."""
        analysis, operand = self._analysis, op.operands[0]
        told = analysis.elements(op.operands[2]) or ()
        bounds = sizes_at_bound(type_of(operand.type))
        same = [analysis.unknowns.same(*pair) for pair in zip(analysis.sizes(operand), told, strict=True)]
        if all(is_same or size.constant is not None for is_same, size in zip(same, told, strict=True)):
            taken = [
                bound if is_same else size.constant or 0
                for bound, is_same, size in zip(bounds, same, told, strict=True)
            ]
            return gathered_from(op, operand, op.operands[1], taken, wanted)
        if is_unknown(op.operands[1].type):
            self.refuse(op, "as many slices of an unknown size are taken as only a run tells", operand=2)
        taken = [
            min(bound, analysis.unknowns.range(size)[1]) for bound, size in zip(bounds, told, strict=True)
        ]
        rank = len(taken)
        data, sizes = made_static(operand)
        # so that no start is clamped any more: that is done here, by the sizes
        data = dialect().pad(data, zeros(type_of(operand.type), ()), [0] * rank, taken, [0] * rank)
        starts = self._clamped(op, sizes)
        whole = gathered_from(op, data, starts, taken, static_at_bound(wanted))
        return with_sizes(whole, wanted, lambda d: self.element(op.operands[2], self._window(op, d)))

    def _clamped(self, op: Any, sizes: Sequence[Any]) -> Any:
        """The index vectors, so that each slice lies within its array."""
        numbers = dialect().GatherDimensionNumbers(op.attributes["dimension_numbers"])
        vectors, kind = op.operands[1], type_of(op.operands[1].type)
        if kind.element_type not in (PrimitiveType.S32, PrimitiveType.S64):
            self.refuse(op, f"starts are {kind}, and slices of unknown size", operand=1)
        limits = [
            dialect().reshape(
                parsed("tensor<1xi32>"), dialect().subtract(sizes[d], self.element(op.operands[2], d))
            )
            for d in numbers.start_index_map
        ]
        most = dialect().concatenate(limits, 0)
        into = [numbers.index_vector_dim]
        if numbers.index_vector_dim == kind.rank:  # each index is a vector of one element
            most, into = dialect().reshape(parsed(SIZE), most), []
        wide = type_of(most.type)
        most = dialect().convert(parsed(TensorType(kind.element_type, wide.dimensions)), most)
        most = dialect().broadcast_in_dim(vectors.type, most, into)
        return dialect().clamp(zeros(kind, sizes_at_bound(kind)), vectors, most)

    def _window(self, op: Any, d: int) -> int:
        """Which dimension of the operand becomes dimension `d` of the result."""
        numbers = dialect().GatherDimensionNumbers(op.attributes["dimension_numbers"])
        dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
        kept = [place for place in range(type_of(op.operands[0].type).rank) if place not in dropped]
        return kept[list(numbers.offset_dims).index(d)]

    def cumulate(self, op: Any, wanted: TensorType) -> Any | None:
        """A cumulation along a dimension: windows as long as its bound, of which the front lies in the padding."""
        along = window_of_cumulation(self._analysis, op)
        if along is None:
            return None
        combine = self._functions[op.attributes["called_computations"][0].value]
        if not starts_with_identity(combine, op.operands[1]):
            self.refuse(op, "what it starts with would count more than once", operand=1)
        length = sizes_at_bound(wanted)[along]
        window = [length if d == along else 1 for d in range(wanted.rank)]
        padding = np.zeros((wanted.rank, 2), np.int64)
        padding[along, 0] = length - 1
        edges = ir().DenseElementsAttr.get(padding)
        new = dialect().ReduceWindowOp(
            [parsed(wanted)], [op.operands[0]], [op.operands[1]], window, padding=edges
        )
        copy_body(combine, new.operation.regions[0])
        return new.operation.results[0]


def gathered_from(op: Any, operand: Any, starts: Any, taken: Sequence[int], wanted: TensorType) -> Any:
    """A `gather` as the `dynamic_gather` is, of slices of a size that is known."""
    name = "indices_are_sorted"
    is_sorted = op.attributes[name] if name in op.attributes else None  # noqa: SIM401 - it has no get
    numbers = op.attributes["dimension_numbers"]
    gather = dialect().GatherOp
    return gather(
        operand, starts, numbers, taken, indices_are_sorted=is_sorted, results=[parsed(wanted)]
    ).result


Rule = Callable[[Lowering, Any, TensorType], Any | None]

_RULES: Mapping[str, Rule] = {
    "stablehlo.broadcast_in_dim": Lowering.plain_broadcast,
    "stablehlo.custom_call": Lowering.cumulate,
    "stablehlo.dynamic_broadcast_in_dim": Lowering.told_broadcast,
    "stablehlo.dynamic_gather": Lowering.gather,
    "stablehlo.dynamic_iota": Lowering.iota,
    "stablehlo.dynamic_pad": Lowering.pad,
    "stablehlo.dynamic_reshape": Lowering.reshape,
    "stablehlo.real_dynamic_slice": Lowering.slice,
}
