"""StableHLO programs as they are, whose dimensions may be unknown until they run."""

from hlo.interchange.mlir import dialect, ir
from hlo.stablehlo.files import export_jax, read_program
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
    "export_jax",
    "integer_constant",
    "ir",
    "read_program",
    "type_of",
]
