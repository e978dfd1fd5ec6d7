"""Passes of ours held against the same passes of XLA."""

from oracle.twins.departures import DEPARTURES, Departure
from oracle.twins.dynamic import DynamicOutcome, PaddersCompared, compare_padders
from oracle.twins.dynamism import (
    MHLO,
    STABLEHLO,
    CanonicalisersCompared,
    Folded,
    OperationCompared,
    compare_canonicalisers,
)
from oracle.twins.dynamism_cases import DYNAMISM_CASES
from oracle.twins.dynamism_reasons import FAILURES, REASONS, Failure, Reason
from oracle.twins.rows import ALONE, TWINS
from oracle.twins.shape_dialects import in_stablehlo
from oracle.twins.twin import Comparison, Difference, Outcome, Twin, explained, hold_together

__all__ = [
    "ALONE",
    "DEPARTURES",
    "DYNAMISM_CASES",
    "FAILURES",
    "MHLO",
    "REASONS",
    "STABLEHLO",
    "TWINS",
    "CanonicalisersCompared",
    "Comparison",
    "Departure",
    "Difference",
    "DynamicOutcome",
    "Failure",
    "Folded",
    "OperationCompared",
    "Outcome",
    "PaddersCompared",
    "Reason",
    "Twin",
    "compare_canonicalisers",
    "compare_padders",
    "explained",
    "hold_together",
    "in_stablehlo",
]
