"""How is a dot or a convolution drawn?"""

from __future__ import annotations

from collections.abc import Callable

from fuzz.generators.graphs.graph import Graph
from fuzz.generators.graphs.palette import FLOATS, NUMBERS
from fuzz.generators.graphs.shape import has_rank
from hlo import Opcode, PrimitiveType
from hlo.attributes import ConvolutionDimensions, WindowDimension

Rule = Callable[[Graph, Opcode], None]

_UNREAD = "the IR does not model its dimension numbers"


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


RULES: dict[Opcode, Rule] = {Opcode.DOT: _dot, Opcode.CONVOLUTION: _convolution}

GAPS: dict[Opcode, str] = {Opcode.RAGGED_DOT: _UNREAD, Opcode.SCALED_DOT: _UNREAD}
