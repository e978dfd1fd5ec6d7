"""Which instructions can be something simpler: an operand, a parameter, the value they have, or nothing?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from fuzz.case import Case
from fuzz.reduce.editing import Candidate, cloned, computations_from_entry, drop_if_dead
from fuzz.reduce.sizes import flag_again
from hlo import (
    HloComputation,
    HloInstruction,
    Opcode,
    TokenShape,
    Value,
    compatible,
)
from oracle.running import instruction_values

_SIMPLEST = (Opcode.PARAMETER, Opcode.CONSTANT)


def no_dead_code(case: Case) -> Iterator[Candidate]:
    """Without everything unused, then without one unused instruction each (a pass may look at dead code)."""
    dead = [
        inst
        for computation in case.module.computations
        for inst in computation.instructions
        if _is_dead(inst)
    ]
    if dead:
        yield partial(_without, case, dead)
    if len(dead) > 1:
        for inst in dead:
            yield partial(_without, case, [inst])
    if len(case.module.make_computation_post_order()) < len(case.module.computations):
        yield partial(_without, case, [])


def simpler_instructions(case: Case) -> Iterator[Candidate]:
    """One instruction replaced by what it evaluates to, by an operand, or by a parameter; last ones first."""
    values = [instruction_values(case.module, inputs) for inputs in case.inputs]
    for computation in computations_from_entry(case.module):
        for inst in reversed(computation.make_instruction_post_order()):
            if inst.opcode in _SIMPLEST or isinstance(inst.shape, TokenShape):
                continue
            if all(inst in seen for seen in values):
                if computation.is_entry:
                    yield partial(_become_parameter, case, inst, [seen[inst] for seen in values])
                yield partial(_become_constant, case, inst, values[0][inst])
            for other in dict.fromkeys((*inst.operands, *computation.parameters)):
                if compatible(other.shape, inst.shape):
                    yield partial(_become, case, inst, other)


def _is_dead(inst: HloInstruction) -> bool:
    return not (inst.users or inst.is_root or inst.opcode is Opcode.PARAMETER)


def _without(case: Case, dead: Sequence[HloInstruction]) -> Case:
    case, copies = cloned(case)
    for inst in dead:
        drop_if_dead(copies[inst])
    case.module.remove_unused_computations()
    return case


def _become(case: Case, inst: HloInstruction, other: HloInstruction) -> Case:
    case, copies = cloned(case)
    return _replaced(case, copies[inst], copies[other])


def _become_constant(case: Case, inst: HloInstruction, value: Value) -> Case | None:
    if isinstance(value, tuple):
        return None
    case, copies = cloned(case)
    return _replaced(case, copies[inst], copies[inst].parent.add_constant(value))


def _become_parameter(case: Case, inst: HloInstruction, values: Sequence[Value]) -> Case:
    case, copies = cloned(case)
    entry = case.module.entry_computation
    parameter = entry.add_parameter(len(entry.parameters), inst.shape)
    inputs = tuple((*given, value) for given, value in zip(case.inputs, values, strict=True))
    return _replaced(replace(case, inputs=inputs), copies[inst], parameter)


def _replaced(case: Case, old: HloInstruction, new: HloInstruction) -> Case:
    computation: HloComputation = old.parent
    is_other = old.shape != new.shape  # not in what is as large as its bound
    computation.replace_all_uses_with(old, new)
    drop_if_dead(old)
    if is_other:
        flag_again(case.module)
    case.module.remove_unused_computations()
    return case
