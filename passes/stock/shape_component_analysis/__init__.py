"""Symbolic sizes: which dimensions and which elements of arrays of sizes are the same, or a constant."""

from passes.stock.shape_component_analysis.analysis import ShapeComponentAnalysis
from passes.stock.shape_component_analysis.size import Size, Symbol
from passes.stock.shape_component_analysis.values import (
    dimensions,
    element_count,
    integer_type,
    is_ranked,
    producer,
    producer_named,
    result_number,
)

__all__ = [
    "ShapeComponentAnalysis",
    "Size",
    "Symbol",
    "dimensions",
    "element_count",
    "integer_type",
    "is_ranked",
    "producer",
    "producer_named",
    "result_number",
]
