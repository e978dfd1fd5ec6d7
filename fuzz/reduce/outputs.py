"""Which part of the result does the failure need?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fuzz.case import Case
from fuzz.reduce.editing import Candidate, cloned, drop_if_dead
from hlo import HloInstruction, Opcode, TokenShape


def smaller_root(case: Case) -> Iterator[Candidate]:
    """The entry returns an earlier value, or some elements of its tuple."""
    root = case.module.entry_computation.root
    elements = root.operands if root.opcode is Opcode.TUPLE else ()
    for element in dict.fromkeys(elements):
        yield partial(_return, case, element)
    half = len(elements) // 2
    if half > 1:
        yield partial(_return_tuple, case, elements[:half])
        yield partial(_return_tuple, case, elements[half:])
    for i in range(len(elements)):
        yield partial(_return_tuple, case, (*elements[:i], *elements[i + 1 :]))
    for inst in case.module.entry_computation.make_instruction_post_order():
        if inst is not root and inst not in elements and not isinstance(inst.shape, TokenShape):
            yield partial(_return, case, inst)


def _return(case: Case, inst: HloInstruction) -> Case:
    case, copies = cloned(case)
    return _set_root(case, copies[inst])


def _return_tuple(case: Case, elements: tuple[HloInstruction, ...]) -> Case:
    case, copies = cloned(case)
    return _set_root(case, case.module.entry_computation.add_tuple([copies[element] for element in elements]))


def _set_root(case: Case, root: HloInstruction) -> Case:
    entry = case.module.entry_computation
    old = entry.root
    entry.set_root(root, accept_different_shape=True)
    drop_if_dead(old)
    case.module.remove_unused_computations()
    return case
