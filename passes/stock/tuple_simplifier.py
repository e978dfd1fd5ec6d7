"""Which tuples are built only to be taken apart again, or the other way round?

Source: `stock_passes.md` section 10 (TupleSimplifier). One difference: upstream compares shapes without their
dynamic flags and so can change the flags of a result; here the shapes must agree in them, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlo import HloComputation, HloInstruction, HloModule, Opcode
from passes.base import Pass, Trace
from passes.carried import sharding


@dataclass(frozen=True)
class TupleSimplifier(Pass):
    """Forwards elements of tuples to their readers, and tuples that were taken apart and rebuilt unchanged.

    `exclude_entry_computation` leaves the entry computation alone.
    """

    exclude_entry_computation: bool = False

    name: ClassVar[str] = "tuple-simplifier"
    rules: ClassVar[tuple[str, ...]] = ("element-of-tuple", "tuple-of-elements")

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Control edges of what goes are kept between its neighbours and what replaces it."""
        changed = False
        for computation in module.make_computation_post_order():
            if self.exclude_entry_computation and computation.is_entry:
                continue
            changed |= _sweep(computation, trace)
        return changed


def forward_elements(computation: HloComputation, trace: Trace) -> bool:
    """Forward elements of tuples to their readers, in one computation. Returns whether there was one."""
    return _sweep(computation, trace, rebuilt=False)


def _sweep(computation: HloComputation, trace: Trace, *, rebuilt: bool = True) -> bool:
    """One pass is enough: both rules look at operands only, and operands come before their users."""
    changed = False
    for inst in computation.make_instruction_post_order():
        if inst.opcode is Opcode.GET_TUPLE_ELEMENT:
            rule, replacement = "element-of-tuple", _element(inst)
        elif inst.opcode is Opcode.TUPLE and rebuilt:
            rule, replacement = "tuple-of-elements", _rebuilt(inst)
        else:
            continue
        if replacement is None or replacement.shape != inst.shape:
            continue
        if sharding(inst) != sharding(replacement):
            trace.decline("sharding")
            continue
        _replace(computation, inst, replacement)
        trace.fire(rule)
        changed = True
    return changed


def _element(read: HloInstruction) -> HloInstruction | None:
    """What went into the tuple where `read` takes it out, if `read` can see that."""
    built = read.operand(0)
    return built.operand(read.tuple_index) if built.opcode is Opcode.TUPLE else None


def _rebuilt(built: HloInstruction) -> HloInstruction | None:
    """The tuple whose elements, all of them and in order, are the operands of `built`, if there is one."""
    if not built.operands or built.operand(0).opcode is not Opcode.GET_TUPLE_ELEMENT:
        return None
    source = built.operand(0).operand(0)
    for index, element in enumerate(built.operands):
        if element.opcode is not Opcode.GET_TUPLE_ELEMENT:
            return None
        if element.operand(0) is not source or element.tuple_index != index:
            return None
    return source


def _replace(computation: HloComputation, old: HloInstruction, new: HloInstruction) -> None:
    """`new` was computed before `old`, so what had to follow `old` must go on following `new`."""
    for after in old.control_successors:
        computation.add_control_dependency(new, after)
    computation.replace_all_uses_with(old, new)
    computation.remove_instruction_and_unused_operands(old)
