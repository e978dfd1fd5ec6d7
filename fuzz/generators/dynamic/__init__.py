"""Bounded-dynamic programs: arrays whose sizes are set at run time, by parameters, arithmetic or other arrays."""

from fuzz.generators.dynamic.refusals import REFUSALS
from fuzz.generators.dynamic.strategy import CUSTOM_CALLS, RULES, DynamicFeature, DynamicProfile, dynamics

__all__ = ["CUSTOM_CALLS", "REFUSALS", "RULES", "DynamicFeature", "DynamicProfile", "dynamics"]
