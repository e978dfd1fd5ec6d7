"""How is a StableHLO program rewritten? MLIR's patterns, and the constants that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlo.interchange.mlir import dialect, ir, mlir_context, rewriting
from hlo.stablehlo.module import StableHloModule

Pattern = Callable[[Any, Any], bool]
"""Takes an operation and MLIR's PatternRewriter; rewrites and says True, or leaves all as it was and says False."""


def apply_patterns(program: StableHloModule, patterns: Sequence[tuple[str, Pattern]]) -> None:
    """Apply patterns, each to the operations of one name, until none applies; earlier ones first.

    Nothing is folded beside what the patterns do; operations without effect that nothing uses go. What a pattern
    raises comes through.
    """
    raised: list[BaseException] = []
    rewrite, context = rewriting(), mlir_context()
    with context:
        found = rewrite.RewritePatternSet(context=context)
        for rank, (name, pattern) in enumerate(patterns):
            found.add(name, _guarded(pattern, raised), len(patterns) - rank)
        config = rewrite.GreedyRewriteConfig()
        config.enable_folding = False
        config.enable_constant_cse = False
        config.region_simplification_level = rewrite.GreedySimplifyRegionLevel.DISABLED
        rewrite.apply_patterns_and_fold_greedily(program.mlir.operation, found.freeze(), config)
    if raised:
        raise raised[0]


def _guarded(pattern: Pattern, raised: list[BaseException]) -> Callable[[Any, Any], bool]:
    """As MLIR wants it: true is failure, and no exception may pass through its C++."""

    def run(op: Any, rewriter: Any) -> bool:
        if raised:
            return True
        try:
            with rewriter.ip, op.location:
                return not pattern(op, rewriter)
        except Exception as error:  # noqa: BLE001 - raised again when MLIR has returned
            raised.append(error)
            return True

    return run


def integer_constant(values: Any, dtype: type[np.integer[Any]] = np.int32) -> Any:
    """A `stablehlo.constant` of these integers, where the insertion point is."""
    return dialect().constant(ir().DenseElementsAttr.get(np.asarray(values, dtype)))
