"""HLO's meaning in NumPy: what a module, a computation or an instruction gives for given operand values."""

from hlo.evaluator.bridges import (
    PAD_TO_STATIC,
    SET_BOUND,
    SLICE_TO_DYNAMIC,
    SizeOutOfBounds,
    asks_for_sizes,
    checked_size,
    zeros,
)
from hlo.evaluator.control import BOUNDARY_MARKERS, is_identity
from hlo.evaluator.kernels import Fill
from hlo.evaluator.limits import EvaluationLimit, ForeignCustomCall, Limits, UnsupportedType
from hlo.evaluator.rules import GAPS, RULES
from hlo.evaluator.walker import (
    Evaluator,
    Observer,
    evaluate,
    evaluate_computation,
    evaluate_instruction,
)

__all__ = [
    "BOUNDARY_MARKERS",
    "GAPS",
    "PAD_TO_STATIC",
    "RULES",
    "SET_BOUND",
    "SLICE_TO_DYNAMIC",
    "EvaluationLimit",
    "Evaluator",
    "Fill",
    "ForeignCustomCall",
    "Limits",
    "Observer",
    "SizeOutOfBounds",
    "UnsupportedType",
    "asks_for_sizes",
    "checked_size",
    "evaluate",
    "evaluate_computation",
    "evaluate_instruction",
    "is_identity",
    "zeros",
]
