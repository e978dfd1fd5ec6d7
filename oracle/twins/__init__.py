"""Passes of ours held against the same passes of XLA."""

from oracle.twins.departures import DEPARTURES, Departure
from oracle.twins.dynamic import DynamicOutcome, PaddersCompared, compare_padders
from oracle.twins.rows import ALONE, TWINS
from oracle.twins.twin import Comparison, Difference, Outcome, Twin, explained, hold_together

__all__ = [
    "ALONE",
    "DEPARTURES",
    "TWINS",
    "Comparison",
    "Departure",
    "Difference",
    "DynamicOutcome",
    "Outcome",
    "PaddersCompared",
    "Twin",
    "compare_padders",
    "explained",
    "hold_together",
]
