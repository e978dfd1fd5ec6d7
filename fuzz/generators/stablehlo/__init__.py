"""StableHLO programs whose sizes are unknown, or only seem to be. Hypothesis strategies, valid by construction."""

from fuzz.generators.stablehlo.strategy import (
    RULES,
    AnyDrawn,
    Dynamism,
    SymbolicFeature,
    SymbolicProgram,
    symbolics,
)

__all__ = ["RULES", "AnyDrawn", "Dynamism", "SymbolicFeature", "SymbolicProgram", "symbolics"]
