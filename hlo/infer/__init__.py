"""What is the shape of an instruction's result? The builder and the verifier ask the same rules."""

from hlo.infer.common import Rule, ShapeError, Signature, is_unbounded
from hlo.infer.dynamic import reshape_flags
from hlo.infer.table import GAPS, RULES, infer_from_signatures, infer_shape, signature

__all__ = [
    "GAPS",
    "RULES",
    "Rule",
    "ShapeError",
    "Signature",
    "infer_from_signatures",
    "infer_shape",
    "is_unbounded",
    "reshape_flags",
    "signature",
]
