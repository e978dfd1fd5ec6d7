"""StableHLO programs as they are, whose dimensions may be unknown until they run."""

from hlo.interchange.mlir import dialect, ir
from hlo.stablehlo.module import ENTRY, StableHloModule
from hlo.stablehlo.rewriting import Pattern, apply_patterns, integer_constant
from hlo.stablehlo.tensor_type import TensorType, type_of

__all__ = [
    "ENTRY",
    "Pattern",
    "StableHloModule",
    "TensorType",
    "apply_patterns",
    "dialect",
    "integer_constant",
    "ir",
    "type_of",
]
