"""Dynamic operations of StableHLO that are not actually dynamic."""

from passes.stock.canonicalize_dynamism.canonicalizer import DYNAMIC_OPERATIONS, CanonicalizeDynamism
from passes.stock.canonicalize_dynamism.refinement import refine

__all__ = ["DYNAMIC_OPERATIONS", "CanonicalizeDynamism", "refine"]
