"""The IR: HLO modules in Python, with interchange, shape inference, a verifier and NumPy semantics."""

from hlo.errors import BridgeUnavailable, HloFuzzError, IllegalRewrite, InvalidInput, UnsupportedOpcode
from hlo.graph import HloComputation, HloInstruction
from hlo.literal import TOKEN, Literal, Token, Value, same_bits, scalar, value_shape
from hlo.metadata import OpMetadata
from hlo.module import HloModule
from hlo.opcode import NEWER, SPECS, Family, Opcode, OpSpec, merged
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, OpaqueShape, Shape, TokenShape, TupleShape, compatible, leaves

__all__ = [
    "NEWER",
    "SPECS",
    "TOKEN",
    "ArrayShape",
    "BridgeUnavailable",
    "Family",
    "HloComputation",
    "HloFuzzError",
    "HloInstruction",
    "HloModule",
    "IllegalRewrite",
    "InvalidInput",
    "Literal",
    "OpMetadata",
    "OpSpec",
    "OpaqueShape",
    "Opcode",
    "PrimitiveType",
    "Shape",
    "Token",
    "TokenShape",
    "TupleShape",
    "UnsupportedOpcode",
    "Value",
    "compatible",
    "leaves",
    "merged",
    "same_bits",
    "scalar",
    "value_shape",
]
