"""How is an operation on the sizes of dimensions drawn, where every array fills its bounds?"""

from __future__ import annotations

from collections.abc import Callable

from fuzz.generators.graphs.graph import Graph
from fuzz.generators.graphs.palette import ORDINARY
from fuzz.generators.graphs.shape import has_rank
from fuzz.generators.palette import array_shape
from hlo import Opcode, PrimitiveType
from hlo.attributes import Dimensions

Rule = Callable[[Graph, Opcode], None]


def _get_dimension_size(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY, where=has_rank(1))
    graph.add(graph.builder.get_dimension_size(x, graph.choice(range(x.array_shape.rank))))


def _set_dimension_size(graph: Graph, opcode: Opcode) -> None:
    """To its bound, which a result that is not flagged promises."""
    x = graph.array(ORDINARY, where=has_rank(1))
    dimension = graph.choice(range(x.array_shape.rank))
    size = graph.builder.constant(x.array_shape.dimensions[dimension], PrimitiveType.S32)
    attributes = Dimensions((dimension,))
    graph.add(graph.builder.op(opcode, x, size, attributes=attributes, shape=x.array_shape))


def _dynamic_reshape(graph: Graph, opcode: Opcode) -> None:
    x = graph.array(ORDINARY, where=has_rank(1))
    dims = x.array_shape.dimensions
    to = graph.choice((dims[::-1], (x.array_shape.element_count,), (1, *dims)))
    sizes = [graph.builder.constant(size, PrimitiveType.S32) for size in to]
    graph.add(graph.builder.op(opcode, x, *sizes, shape=array_shape(x.array_shape.element_type, to)))


RULES: dict[Opcode, Rule] = {
    Opcode.GET_DIMENSION_SIZE: _get_dimension_size,
    Opcode.SET_DIMENSION_SIZE: _set_dimension_size,
    Opcode.DYNAMIC_RESHAPE: _dynamic_reshape,
}

GAPS: dict[Opcode, str] = {}
