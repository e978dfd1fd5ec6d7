"""Which programs with rolled loops does a campaign try? Hypothesis strategies of valid HLO with `while`."""

from fuzz.generators.whiles.features import WhileFeature
from fuzz.generators.whiles.profile import WhileProfile
from fuzz.generators.whiles.strategy import whiles

__all__ = ["WhileFeature", "WhileProfile", "whiles"]
