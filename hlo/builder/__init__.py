"""How is a computation written down in Python, with shapes worked out?

Each method appends one instruction and returns it. Shapes come from `hlo.infer`, so what a builder built is
well shaped; the verifier asks the same rules.
"""

from hlo.builder.base import Dims
from hlo.builder.contraction import ContractionBuilder
from hlo.builder.control import ControlBuilder
from hlo.builder.dynamic import DynamicBuilder
from hlo.builder.elementwise import ElementwiseBuilder
from hlo.builder.indexing import IndexingBuilder
from hlo.builder.linalg import LinalgBuilder
from hlo.builder.reduction import ReductionBuilder
from hlo.builder.shape import ShapeBuilder

__all__ = ["Builder", "Dims"]


class Builder(
    ControlBuilder,
    IndexingBuilder,
    ShapeBuilder,
    ElementwiseBuilder,
    ReductionBuilder,
    ContractionBuilder,
    LinalgBuilder,
    DynamicBuilder,
):
    """Appends to one computation. Every method raises ShapeError where its arguments do not fit together."""
