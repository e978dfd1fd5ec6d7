"""Which whole graphs does a campaign try? Hypothesis strategies of valid HLO out of all families of operations."""

from fuzz.generators.graphs.profile import GraphProfile
from fuzz.generators.graphs.rules import DRAWN, GAPS, RULES
from fuzz.generators.graphs.strategy import graphs

__all__ = ["DRAWN", "GAPS", "RULES", "GraphProfile", "graphs"]
