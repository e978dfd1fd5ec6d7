"""Which size has each dimension of what an operation gives, in terms of the sizes of what it is given?

Source: the shape functions of the StableHLO specification, each for operands whose sizes may be unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hlo.stablehlo import dialect
from passes.neuron.bound_dynamic_dimensions.elements import Elements, Known
from passes.neuron.bound_dynamic_dimensions.extent import Extent, Unknowns

Rule = Callable[[Known, Any], Sequence[Elements] | None]
"""The sizes of each result; of a dimension that the type knows, anything. None where the sizes are not known."""

ELEMENTWISE = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("abs", "add", "and", "atan2", "bitcast_convert", "cbrt", "ceil", "clamp", "compare", "complex"),
        *("convert", "cosine", "count_leading_zeros", "divide", "exponential", "exponential_minus_one"),
        *("floor", "imag", "is_finite", "log", "log_plus_one", "logistic", "map", "maximum", "minimum"),
        *("multiply", "negate", "not", "or", "popcnt", "power", "real", "reduce_precision", "remainder"),
        *("reverse", "round_nearest_afz", "round_nearest_even", "rsqrt", "select", "shift_left"),
        *("shift_right_arithmetic", "shift_right_logical", "sign", "sine", "sqrt", "subtract", "tan"),
        *("tanh", "xor"),
    )
)
"""Every result is as large as every operand that has its rank (a predicate or a limit may be a scalar)."""


def ints(op: Any, name: str) -> list[int]:
    """An attribute that is a list of integers."""
    return [int(value) for value in op.attributes[name]]


def elementwise(known: Known, op: Any) -> Sequence[Elements] | None:
    """Operands of one rank have equal sizes: what is known of one is known of all."""
    rank = op.results[0].type.rank
    shapes = [known.sizes(operand) for operand in op.operands if operand.type.rank == rank]
    if not shapes:
        return None  # a bitcast between elements of different width
    first = shapes[0]
    for other in shapes[1:]:
        for one, two in zip(first, other, strict=True):
            known.unknowns.equate(one, two)
    sizes = tuple(_best(column) for column in zip(*shapes, strict=True))
    return [sizes] * len(op.results)


def _best(sizes: Sequence[Extent]) -> Extent:
    return next((size for size in sizes if size.constant is not None), sizes[0])


def _each_operand(known: Known, op: Any) -> Sequence[Elements]:
    return [known.sizes(operand) for operand in op.operands]


def _first(known: Known, op: Any) -> Sequence[Elements]:
    return [known.sizes(op.operands[0])]


def _transpose(known: Known, op: Any) -> Sequence[Elements]:
    sizes = known.sizes(op.operands[0])
    return [tuple(sizes[d] for d in ints(op, "permutation"))]


def _broadcast_in_dim(known: Known, op: Any) -> Sequence[Elements]:
    sizes = known.sizes(op.operands[0])
    mapped = dict(zip(ints(op, "broadcast_dimensions"), sizes, strict=True))
    return [tuple(mapped.get(d, Extent.of(1)) for d in range(op.results[0].type.rank))]


def _total(sizes: Sequence[Extent]) -> Extent:
    total = Extent.of(0)
    for size in sizes:
        total += size
    return total


def _concatenate(known: Known, op: Any) -> Sequence[Elements]:
    joined = int(op.attributes["dimension"])
    shapes = [known.sizes(operand) for operand in op.operands]
    found: list[Extent] = []
    for d, column in enumerate(zip(*shapes, strict=True)):
        if d == joined:
            found.append(_total(column))
            continue
        for other in column[1:]:
            known.unknowns.equate(column[0], other)
        found.append(_best(column))
    return [tuple(found)]


def strided(unknowns: Unknowns, length: Extent, stride: int) -> Extent:
    """How many elements `length` elements have at steps of `stride`."""
    if stride == 1:
        return length
    return unknowns.combined(f"every {stride}", (length,), lambda n: -(-n // stride))


def _slice(known: Known, op: Any) -> Sequence[Elements]:
    """StableHLO knows where a slice ends before the program runs."""
    return [
        tuple(
            strided(known.unknowns, Extent.of(limit - start), stride)
            for start, limit, stride in zip(
                *(ints(op, name) for name in ("start_indices", "limit_indices", "strides")), strict=True
            )
        )
    ]


def padded(unknowns: Unknowns, size: Extent, low: Extent, high: Extent, interior: int) -> Extent:
    """Of one dimension: between each two elements come `interior` more."""
    if not interior:
        return size + low + high
    spread = unknowns.combined(f"spread {interior}", (size,), lambda n: n + interior * max(n - 1, 0))
    return spread + low + high


def _pad(known: Known, op: Any) -> Sequence[Elements]:
    lows, highs, interiors = (
        ints(op, name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    return [
        tuple(
            padded(known.unknowns, size, Extent.of(low), Extent.of(high), interior)
            for size, low, high, interior in zip(
                known.sizes(op.operands[0]), lows, highs, interiors, strict=True
            )
        )
    ]


def _reduce(known: Known, op: Any) -> Sequence[Elements]:
    gone = ints(op, "dimensions")
    kept = tuple(size for d, size in enumerate(known.sizes(op.operands[0])) if d not in gone)
    return [kept] * len(op.results)


def _dot_general(known: Known, op: Any) -> Sequence[Elements]:
    numbers = dialect().DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    left, right = (known.sizes(operand) for operand in op.operands)
    batch = list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)
    contracted = list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)
    for mine, yours in (*zip(*batch, strict=True), *zip(*contracted, strict=True)):
        known.unknowns.equate(left[mine], right[yours])
    free_left = [size for d, size in enumerate(left) if d not in batch[0] + contracted[0]]
    free_right = [size for d, size in enumerate(right) if d not in batch[1] + contracted[1]]
    return [(*(left[d] for d in batch[0]), *free_left, *free_right)]


def _dot(known: Known, op: Any) -> Sequence[Elements]:
    left, right = (known.sizes(operand) for operand in op.operands)
    known.unknowns.equate(left[-1], right[0])
    return [(*left[:-1], *right[1:])]


def gathered(known: Known, op: Any, slice_sizes: Elements) -> Elements:
    """The windows, and around them the batches of the index vectors."""
    numbers = dialect().GatherDimensionNumbers(op.attributes["dimension_numbers"])
    indices = known.sizes(op.operands[1])
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    windows = iter([size for d, size in enumerate(slice_sizes) if d not in dropped])
    batches = iter([size for d, size in enumerate(indices) if d != numbers.index_vector_dim])
    offsets = list(numbers.offset_dims)
    return tuple(next(windows) if d in offsets else next(batches) for d in range(op.results[0].type.rank))


def _gather(known: Known, op: Any) -> Sequence[Elements]:
    return [gathered(known, op, tuple(map(Extent.of, ints(op, "slice_sizes"))))]


def _scatter(known: Known, op: Any) -> Sequence[Elements]:
    return [known.sizes(operand) for operand in op.operands][: len(op.results)]


def _windows(
    known: Known, sizes: Elements, window: Mapping[str, Sequence[int]], padding: Sequence[Sequence[int]]
) -> Elements:
    """How many windows fit, dimension by dimension."""
    found: list[Extent] = []
    for d, size in enumerate(sizes):
        low, high = padding[d]
        spread = padded(
            known.unknowns, size, Extent.of(low), Extent.of(high), window["base_dilations"][d] - 1
        )
        reach = (window["sizes"][d] - 1) * window["window_dilations"][d] + 1
        found.append(strided(known.unknowns, spread - Extent.of(reach - 1), window["strides"][d]))
    return tuple(found)


def _optional(op: Any, name: str, rank: int, usual: int) -> list[int]:
    return ints(op, name) if name in op.attributes else [usual] * rank


def _padding(op: Any, rank: int) -> list[list[int]]:
    if "padding" not in op.attributes:
        return [[0, 0]] * rank
    pairs = np.array(op.attributes["padding"])
    return [[int(low), int(high)] for low, high in np.broadcast_to(pairs, (rank, 2))]


def _reduce_window(known: Known, op: Any) -> Sequence[Elements]:
    sizes = known.sizes(op.operands[0])
    rank = len(sizes)
    window = {
        "sizes": ints(op, "window_dimensions"),
        "strides": _optional(op, "window_strides", rank, 1),
        "base_dilations": _optional(op, "base_dilations", rank, 1),
        "window_dilations": _optional(op, "window_dilations", rank, 1),
    }
    return [_windows(known, sizes, window, _padding(op, rank))] * len(op.results)


def _convolution(known: Known, op: Any) -> Sequence[Elements] | None:
    """The kernel's size must be known."""
    numbers = dialect().ConvDimensionNumbers(op.attributes["dimension_numbers"])
    data, kernel = (known.sizes(operand) for operand in op.operands)
    spatial = list(numbers.input_spatial_dimensions)
    reaches = [kernel[d].constant for d in numbers.kernel_spatial_dimensions]
    if None in reaches:
        return None
    rank = len(spatial)
    window = {
        "sizes": [reach for reach in reaches if reach is not None],
        "strides": _optional(op, "window_strides", rank, 1),
        "base_dilations": _optional(op, "lhs_dilation", rank, 1),
        "window_dilations": _optional(op, "rhs_dilation", rank, 1),
    }
    places = _windows(known, tuple(data[d] for d in spatial), window, _padding(op, rank))
    found: dict[int, Extent] = {
        numbers.output_batch_dimension: data[numbers.input_batch_dimension],
        numbers.output_feature_dimension: kernel[numbers.kernel_output_feature_dimension],
        **dict(zip(numbers.output_spatial_dimensions, places, strict=True)),
    }
    return [tuple(found[d] for d in range(len(data)))]


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(ELEMENTWISE, elementwise),
    "stablehlo.broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.convolution": _convolution,
    "stablehlo.dot": _dot,
    "stablehlo.dot_general": _dot_general,
    "stablehlo.dynamic_update_slice": _first,
    "stablehlo.gather": _gather,
    "stablehlo.optimization_barrier": _each_operand,
    "stablehlo.pad": _pad,
    "stablehlo.reduce": _reduce,
    "stablehlo.reduce_window": _reduce_window,
    "stablehlo.scatter": _scatter,
    "stablehlo.select_and_scatter": _first,
    "stablehlo.slice": _slice,
    "stablehlo.sort": elementwise,
    "stablehlo.transpose": _transpose,
}
"""By the name of the operation; those that say their sizes themselves have rules in `sized`."""
