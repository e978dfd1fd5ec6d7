"""Which calls, loops and branches does the failure not need?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fuzz.case import Case
from fuzz.reduce.editing import Candidate, cloned, computations_from_entry
from hlo import HloComputation, HloInstruction, HloModule, Opcode
from passes import Trace
from passes.stock import CallInliner, TupleSimplifier, inline_call


def fewer_calls(case: Case) -> Iterator[Candidate]:
    """Every call inlined, then each by itself; a loop runs its body once; a conditional takes one branch."""
    calls = _of(case.module, Opcode.CALL)
    if len(calls) > 1:
        yield partial(_inline_all, case)
    for call in calls:
        yield partial(_inline, case, call)
    for loop in _of(case.module, Opcode.WHILE):
        yield partial(_call_instead, case, loop, loop.called_computations[0], loop.operands)
    for conditional in _of(case.module, Opcode.CONDITIONAL):
        for branch, argument in zip(conditional.called_computations, conditional.operands[1:], strict=True):
            yield partial(_call_instead, case, conditional, branch, (argument,))


def _of(module: HloModule, opcode: Opcode) -> list[HloInstruction]:
    return [
        inst
        for computation in computations_from_entry(module)
        for inst in reversed(computation.make_instruction_post_order())
        if inst.opcode is opcode
    ]


def _inline_all(case: Case) -> Case:
    case, _ = cloned(case)
    CallInliner(prefix_op_names=False).run(case.module, Trace())
    return _tidied(case)


def _inline(case: Case, call: HloInstruction) -> Case:
    case, copies = cloned(case)
    inline_call(copies[call])
    return _tidied(case)


def _call_instead(
    case: Case, inst: HloInstruction, callee: HloComputation, arguments: tuple[HloInstruction, ...]
) -> Case:
    case, copies = cloned(case)
    old = copies[inst]
    callees = dict(zip(inst.called_computations, old.called_computations, strict=True))
    operands = [copies[argument] for argument in arguments]
    new = old.parent.add(Opcode.CALL, old.shape, operands, called_computations=[callees[callee]], like=old)
    old.parent.replace_instruction(old, new)
    case.module.remove_unused_computations()
    return case


def _tidied(case: Case) -> Case:
    """Without the tuples that only carried arguments and results."""
    TupleSimplifier().run(case.module, Trace())
    case.module.remove_unused_computations()
    return case
