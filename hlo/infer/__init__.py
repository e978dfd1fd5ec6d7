"""What is the shape of an instruction's result? The builder and the verifier ask the same rules."""

from hlo.infer.common import Rule, ShapeError, Signature, merge_flags
from hlo.infer.dynamic import common_factors, reshape_flags
from hlo.infer.table import GAPS, RULES, infer_from_signatures, infer_shape, signature
from hlo.infer.windows import window_counts

__all__ = [
    "GAPS",
    "RULES",
    "Rule",
    "ShapeError",
    "Signature",
    "common_factors",
    "infer_from_signatures",
    "infer_shape",
    "merge_flags",
    "reshape_flags",
    "signature",
    "window_counts",
]
