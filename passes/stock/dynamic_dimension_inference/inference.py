"""Which dimensions of a program are dynamic, and which scalar has the size of each?

Source: `stock_passes.md` section 4 (the modern version, which rewrites as it goes). Unlike upstream it starts at the
entry and follows the calls of loops and branches, so that nothing is visited before its parameters have sizes.
"""

from __future__ import annotations

from collections.abc import Mapping

from hlo import HloComputation, HloInstruction, HloModule, Opcode, TokenShape, merged
from hlo.attributes import CustomCallTarget
from hlo.bounds import is_unbounded
from hlo.builder import Builder
from passes.base import Trace
from passes.stock.dynamic_dimension_inference import (
    contraction,
    control,
    dynamic,
    elementwise,
    indexing,
    reduction,
    shape,
)
from passes.stock.dynamic_dimension_inference.bridges import pad_to_static
from passes.stock.dynamic_dimension_inference.sizes import DynamicSizes
from passes.stock.dynamic_dimension_inference.state import (
    CustomCallHandler,
    Rule,
    Soundness,
    State,
    Support,
    Supports,
)

RULES: Mapping[Opcode, Rule] = merged(
    contraction.RULES, elementwise.RULES, indexing.RULES, reduction.RULES, shape.RULES
)
"""For what has an operand with a size. Where there is no rule the program is refused."""

ALWAYS: Mapping[Opcode, Rule] = merged(control.RULES, dynamic.RULES)
"""For what may bring in a size of its own."""

HANDED_ON = frozenset(
    {
        *(Opcode.CALL, Opcode.CONDITIONAL, Opcode.GET_TUPLE_ELEMENT, Opcode.PARAMETER, Opcode.TUPLE),
        Opcode.WHILE,
    }
)
"""What no back end is asked about: it moves arrays, and computes nothing."""

SHAPE_CHECKS = ("ignore", "compile-time", "run-time")
ASSERTION = "DynamicShapeAssertion"
"""The target of the custom-call that is handed the conjunction of a computation's run-time checks."""


def supports_nothing(inst: HloInstruction) -> Support:
    """A back end on which every array is as large as its bound."""
    return Support.NONE


def infer_dynamic_dimensions(
    module: HloModule,
    trace: Trace,
    *,
    pass_name: str = "dynamic-dimension-inference",
    sound: Soundness | None = None,
    shape_check: str = "ignore",
    supports: Supports = supports_nothing,
    custom_call: CustomCallHandler | None = None,
) -> DynamicSizes:
    """The sizes of all dynamic dimensions that the entry reaches.

    Dynamic parameters and results of custom-calls are made static by PadToStatic, loops and branches are widened,
    sizes that are asked for become known: `changed` of the result says whether anything was rewritten. `shape_check`
    is one of SHAPE_CHECKS: what to do where two sizes that must be equal are different instructions. `supports` says
    what the back end runs on arrays that are really smaller than their bounds; what gives such an array has no size
    here until PadToStatic. Raises DynamismRefused.
    """
    visitor = _Visitor(pass_name, trace, sound or Soundness(), shape_check, supports, custom_call)
    visitor.visit(module.entry_computation)
    return visitor.sizes


class _Visitor:
    def __init__(
        self,
        pass_name: str,
        trace: Trace,
        sound: Soundness,
        shape_check: str,
        supports: Supports,
        custom_call: CustomCallHandler | None,
    ) -> None:
        self._state = State(pass_name, trace, sound, shape_check, supports, custom_call, self.visit)

    @property
    def sizes(self) -> DynamicSizes:
        """What is known so far."""
        return self._state.sizes

    def visit(self, computation: HloComputation) -> None:
        """Infer `computation`, operands before users, and append the checks that came up."""
        for inst in computation.make_instruction_post_order():
            if not inst.is_removed:
                self._infer(inst)
        if checks := self._state.checks.pop(computation, None):
            builder = Builder(computation)
            together = self._state.arithmetic(checks[0]).all_of(checks)
            target = CustomCallTarget(ASSERTION, has_side_effect=True)
            builder.op(Opcode.CUSTOM_CALL, together, attributes=target, shape=TokenShape())
            self._state.sizes.changed = True

    def _infer(self, inst: HloInstruction) -> None:
        state = self._state
        if is_unbounded(inst.shape):
            state.refuse(inst, "it has a dimension without a bound")
        if self._runs_on_dynamic_arrays(inst):
            state.sizes.on_dynamic_arrays[inst] = None
            pad_to_static(state, inst)
        elif rule := ALWAYS.get(inst.opcode):
            rule(state, inst)
        elif any(state.sizes.has_dynamic(operand) for operand in inst.operands):
            rule = RULES.get(inst.opcode)
            if rule is None:
                number, _, dimension, _ = next(state.operand_sizes(inst))
                state.refuse(
                    inst, "it has no rule for dynamic dimensions", operand=number, dimension=dimension
                )
            rule(state, inst)

    def _runs_on_dynamic_arrays(self, inst: HloInstruction) -> bool:
        """Whether the back end must run `inst` so, or can and is given an array without a size here."""
        if inst.opcode in HANDED_ON:
            return False
        support = self._state.supports(inst)
        if support is Support.OPTIONAL:
            sizes = self._state.sizes
            return any(not o.shape.is_static and not sizes.has_dynamic(o) for o in inst.operands)
        return support is Support.REQUIRED
