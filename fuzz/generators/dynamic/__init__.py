"""Bounded-dynamic programs: arrays whose sizes are set at run time, by parameters, arithmetic or other arrays."""

from fuzz.generators.dynamic.refusals import REFUSALS
from fuzz.generators.dynamic.strategy import RULES, DynamicFeature, DynamicProfile, dynamics

__all__ = ["REFUSALS", "RULES", "DynamicFeature", "DynamicProfile", "dynamics"]
