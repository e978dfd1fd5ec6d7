"""What does a transformation of the reducer give, and how does it touch a module?

A transformation looks at a case and yields candidates, those that take most away first. A candidate makes its
edit, on a clone, when it is called: most of them are never built. It may give nonsense: the driver verifies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from fuzz.case import Case, SymbolicCase
from hlo import HloComputation, HloInstruction, HloModule, Opcode

Candidate = Callable[[], Case | None]
"""Builds a smaller case, or None where the edit turns out to be impossible. May raise IllegalRewrite."""

Transformation = Callable[[Case], Iterator[Candidate]]

C = TypeVar("C", Case, SymbolicCase)
"""A case in either form, for what looks at neither program."""

Copies = Mapping[HloInstruction, HloInstruction]


def cloned(case: Case) -> tuple[Case, Copies]:
    """The case on a clone of its module, and where each instruction went."""
    module, copies = case.module.clone_with_mapping()
    return replace(case, module=module), copies


def callers(computation: HloComputation) -> list[HloInstruction] | None:
    """The calls of `computation` if a call is all that ever uses it, else None (a while, a reduce, …)."""
    found = list(computation.caller_instructions)
    return found if all(inst.opcode is Opcode.CALL for inst in found) else None


def drop_if_dead(inst: HloInstruction) -> None:
    """Remove `inst` if nothing uses it, and whatever of its operands is then dead; parameters stay."""
    if not inst.is_removed and inst.opcode is not Opcode.PARAMETER:
        inst.parent.remove_instruction_and_unused_operands(inst)


def computations_from_entry(module: HloModule) -> list[HloComputation]:
    """The entry first, callees after their callers: what is near the entry takes most with it."""
    return list(reversed(module.make_computation_post_order()))
