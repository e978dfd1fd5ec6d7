"""Judges: does a rewritten program mean what the original meant?

`oracle.reference`, which imports JAX, is imported by who needs it.
"""

from oracle.compare import BITWISE, EQUAL, Tolerance, compare
from oracle.inputs import draw_inputs
from oracle.judge import judge
from oracle.tolerance import tolerance_of
from oracle.verdict import (
    Agree,
    Disagree,
    Finding,
    Judgement,
    Kind,
    Mismatch,
    Skip,
    SkipReason,
    Verdict,
)

__all__ = [
    "BITWISE",
    "EQUAL",
    "Agree",
    "Disagree",
    "Finding",
    "Judgement",
    "Kind",
    "Mismatch",
    "Skip",
    "SkipReason",
    "Tolerance",
    "Verdict",
    "compare",
    "draw_inputs",
    "judge",
    "tolerance_of",
]
