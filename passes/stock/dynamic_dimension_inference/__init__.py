"""Which dimensions are dynamic, and where their sizes are: an analysis that rewrites as it goes."""

from passes.stock.dynamic_dimension_inference.arithmetic import SizeArithmetic
from passes.stock.dynamic_dimension_inference.inference import (
    SHAPE_CHECKS,
    infer_dynamic_dimensions,
    supports_nothing,
)
from passes.stock.dynamic_dimension_inference.refusal import DynamismRefused
from passes.stock.dynamic_dimension_inference.sizes import DynamicSizes
from passes.stock.dynamic_dimension_inference.state import CustomCallHandler, Soundness, Support, Supports

__all__ = [
    "SHAPE_CHECKS",
    "CustomCallHandler",
    "DynamicSizes",
    "DynamismRefused",
    "SizeArithmetic",
    "Soundness",
    "Support",
    "Supports",
    "infer_dynamic_dimensions",
    "supports_nothing",
]
