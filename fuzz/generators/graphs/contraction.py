"""How is a dot, plain, ragged or scaled, or a convolution drawn?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzz.generators.graphs.graph import Graph
from fuzz.generators.graphs.palette import FLOATS, NUMBERS
from fuzz.generators.graphs.shape import has_rank
from fuzz.generators.palette import array_shape, filled
from hlo import HloInstruction, Opcode, PrimitiveType
from hlo.attributes import ConvolutionDimensions, DotDimensions, RaggedDotDimensions, WindowDimension

Rule = Callable[[Graph, Opcode], None]

_SCALED = (PrimitiveType.F8E4M3FN, PrimitiveType.F4E2M1FN, PrimitiveType.F8E5M2, PrimitiveType.BF16)
_SCALES = (PrimitiveType.F8E8M0FNU, PrimitiveType.F8E8M0FNU, PrimitiveType.BF16)


def _rounds(kind: PrimitiveType) -> bool:
    return kind.is_float or kind.is_complex


def _dot(graph: Graph, _opcode: Opcode) -> None:
    """A contraction of one dimension; with rank 3 also of batches."""
    x = graph.array(NUMBERS, where=has_rank(1, 3))
    kind, dims = x.array_shape.element_type, x.array_shape.dimensions
    contracting = graph.choice((len(dims) - 1, 0))
    columns = graph.choice(((), (2,), (3,), (1,)))
    if len(dims) == 3 and graph.choice((True, False)):
        contracting = graph.choice((2, 1))
        right = graph.array((kind,), (dims[0], dims[contracting], *columns))
        result = graph.builder.dot(x, right, ((contracting,), (1,)), ((0,), (0,)))
    else:
        right = graph.array((kind,), (dims[contracting], *columns))
        result = graph.builder.dot(x, right, ((contracting,), (0,)))
    graph.add(result, inexact=_rounds(kind))


def _ragged_dot(graph: Graph, _opcode: Opcode) -> None:
    """Groups of rows, each with its own right side, groups of what is contracted, or of batches."""
    x = graph.array(NUMBERS, where=has_rank(2, 3))
    kind, dims = x.array_shape.element_type, x.array_shape.dimensions
    groups, columns = graph.choice((2, 3, 1)), graph.choice((2, 1, 3))
    *batches, rows, depth = range(len(dims))
    ragged = graph.choice((rows, depth, *batches))
    by_rows = ragged == rows
    outer = tuple(dims[d] for d in batches)
    right_dims = (*outer, *((groups,) if by_rows else ()), dims[depth], columns)
    right = graph.array((kind,), right_dims)
    numbers = RaggedDotDimensions(
        DotDimensions((depth,), (len(right_dims) - 2,), tuple(batches), tuple(batches)),
        (ragged,),
        (len(batches),) if by_rows else (),
    )
    result = graph.builder.ragged_dot(x, right, _group_sizes(graph, groups), numbers)
    graph.add(result, inexact=_rounds(kind))


def _group_sizes(graph: Graph, groups: int) -> HloInstruction:
    """Any numbers: groups that are empty, leave something out, or do not fit."""
    kind = graph.choice((PrimitiveType.S32, PrimitiveType.S32, PrimitiveType.S64, PrimitiveType.U8))
    if graph.choice((True, False)):
        return graph.builder.constant(np.array([1, 2, 0][:groups]).astype(kind.numpy))
    return graph.given(kind, (groups,))


def _scaled_dot(graph: Graph, _opcode: Opcode) -> None:
    """Of the narrow types that it is for. A scale covers a row, a column, a half or everything."""
    first, second = graph.choice(_SCALED), graph.choice(_SCALED)
    x = graph.array((first,), where=lambda d: len(d) == 2 and 0 not in d, exact=True)
    rows, depth = x.array_shape.dimensions
    columns = graph.choice((2, 3, 1))
    y = graph.array((second,), (depth, columns), exact=True)
    x_scale, y_scale = _scale(graph, x), _scale(graph, y)
    shape = array_shape(graph.choice((PrimitiveType.F32, PrimitiveType.BF16)), (rows, columns))
    result = graph.builder.scaled_dot(x, y, x_scale, y_scale, DotDimensions((1,), (0,)), shape=shape)
    graph.add(result, inexact=True)


def _scale(graph: Graph, operand: HloInstruction) -> HloInstruction:
    kind = PrimitiveType.BF16
    if operand.array_shape.element_type is not kind:
        kind = graph.choice(_SCALES)
    parts = [(size, 1, *((size // 2,) if size % 2 == 0 else ())) for size in operand.array_shape.dimensions]
    dims = tuple(graph.choice(sizes) for sizes in parts)
    if graph.choice((True, True, False)):
        return graph.builder.constant(filled(kind, dims, graph.choice((1, 2, 3))))
    return graph.array((kind,), dims, exact=True)


def _row(graph: Graph, size: int) -> WindowDimension:
    return WindowDimension(
        size=size,
        stride=graph.choice((1, 1, 2)),
        padding_low=graph.choice((0, 0, 1)),
        padding_high=graph.choice((0, 1, 0)),
        window_dilation=graph.choice((1, 1, 2)),
        base_dilation=graph.choice((1, 1, 1, 2)),
        reversal=graph.choice((False, False, False, True)),
    )


def _convolution(graph: Graph, _opcode: Opcode) -> None:
    """One spatial dimension, features last or in the middle, groups of features or of batches.

    Of exact values, which are seldom infinite: engines differ in whether padding meets infinities.
    """
    x = graph.array((*FLOATS, PrimitiveType.S32), where=lambda d: len(d) == 3 and 0 not in d, exact=True)
    kind, dims = x.array_shape.element_type, x.array_shape.dimensions
    feature, spatial = graph.choice(((2, 1), (1, 2)))
    features = dims[feature]
    feature_groups = graph.choice((1, 1, features))
    batch_groups = graph.choice((1, 1, dims[0])) if feature_groups == 1 else 1
    size = min(graph.choice((2, 1)), dims[spatial])
    made = feature_groups * batch_groups * graph.choice((1, 2))
    kernel = graph.array((kind,), (size, features // feature_groups, made), exact=True)
    numbers = ConvolutionDimensions(
        window=(_row(graph, size),),
        input_batch=0,
        input_feature=feature,
        input_spatial=(spatial,),
        kernel_input_feature=1,
        kernel_output_feature=2,
        kernel_spatial=(0,),
        output_batch=0,
        output_feature=feature,
        output_spatial=(spatial,),
        feature_group_count=feature_groups,
        batch_group_count=batch_groups,
    )
    graph.add(graph.builder.convolution(x, kernel, numbers), inexact=_rounds(kind))


RULES: dict[Opcode, Rule] = {
    Opcode.DOT: _dot,
    Opcode.RAGGED_DOT: _ragged_dot,
    Opcode.SCALED_DOT: _scaled_dot,
    Opcode.CONVOLUTION: _convolution,
}

GAPS: dict[Opcode, str] = {}
