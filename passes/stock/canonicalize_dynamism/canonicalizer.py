"""Which dynamism of a StableHLO program is only apparent?

Source: Layer A of the page on dynamic shapes (its patterns by name), for which the page refers to
`xla/mlir_hlo/mhlo/IR/hlo_ops.cc`, `hlo_patterns.td`, and StableHLO's `StablehloCanonicalizeDynamism.cpp`.

A dynamic operation whose shape operand contradicts the type of its result, or whose operand does not fit the shape,
has no meaning; such a one may become another. Every size for which the program has a meaning keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from hlo.stablehlo import StableHloModule, apply_patterns
from passes.base import Trace
from passes.stablehlo_pass import StableHloPass
from passes.stock.canonicalize_dynamism import (
    broadcasts,
    constant_operands,
    expand_collapse,
    refinement,
    reshapes,
)
from passes.stock.canonicalize_dynamism.rewriting import Rule
from passes.stock.shape_component_analysis import ShapeComponentAnalysis

_RULES = (*reshapes.RULES, *broadcasts.RULES, *constant_operands.RULES)
_ON_REQUEST = expand_collapse.RULES
DYNAMIC_OPERATIONS = frozenset(
    f"stablehlo.{name}"
    for name in [
        "dynamic_broadcast_in_dim",
        "dynamic_conv",
        "dynamic_gather",
        "dynamic_iota",
        "dynamic_pad",
        "dynamic_reshape",
        "real_dynamic_slice",
    ]
)
"""The operations whose shapes come from operands."""


@dataclass(frozen=True)
class CanonicalizeDynamism(StableHloPass):
    """Replaces dynamic operations by static ones, and drops those that change nothing, where sizes allow it.

    What only they needed goes with them. Types say afterwards what is known of sizes; those of functions stay.
    `expand_collapse`: what is left of dynamic reshapes becomes `tensor.expand_shape` and `tensor.collapse_shape`, where
    they do; such a program cannot become HLO.
    """

    expand_collapse: bool = False

    name: ClassVar[str] = "canonicalize-dynamism"
    rules: ClassVar[tuple[str, ...]] = tuple(
        dict.fromkeys([*(rule.name for rule in (*_RULES, *_ON_REQUEST)), refinement.RULE])
    )

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        """Types and patterns by turns, until neither has anything to say."""
        if not any(map(_is_dynamic, program.operations())):
            return False
        work, before = program.clone(), trace.fired.total()  # MLIR's driver drops dead operations in any case
        rules = (*_RULES, *_ON_REQUEST) if self.expand_collapse else _RULES
        while True:
            refined = refinement.refine(work, trace)
            fired = trace.fired.total()
            apply_patterns(work, [(rule.op, _pattern(rule, trace)) for rule in rules])
            if not refined and trace.fired.total() == fired:
                break
        if fired == before:
            return False
        program.assign(work)
        return True


def _is_dynamic(op: Any) -> bool:
    return op.name in DYNAMIC_OPERATIONS or constant_operands.SHAPE_OPERANDS in op.attributes


def _pattern(rule: Rule, trace: Trace) -> Callable[[Any, Any], bool]:
    def pattern(op: Any, rewriter: Any) -> bool:
        if not rule.rewrite(op, rewriter, ShapeComponentAnalysis()):
            return False
        trace.fire(rule.name)
        return True

    return pattern
