"""HLO's meaning in NumPy: what a module, a computation or an instruction gives for given operand values."""

from hlo.evaluator.control import BOUNDARY_MARKERS
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
    "RULES",
    "EvaluationLimit",
    "Evaluator",
    "ForeignCustomCall",
    "Limits",
    "Observer",
    "UnsupportedType",
    "evaluate",
    "evaluate_computation",
    "evaluate_instruction",
]
