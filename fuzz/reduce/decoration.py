"""Which names, metadata, attributes and control edges does the failure not need?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from fuzz.case import Case
from fuzz.reduce.editing import Candidate, cloned
from hlo import HloInstruction, HloModule, Opcode
from hlo.attributes import Unmodelled
from hlo.graph import NO_FRONTEND_ATTRIBUTES
from hlo.metadata import NO_METADATA
from hlo.module import NameUniquer


def less_decoration(case: Case) -> Iterator[Candidate]:
    """Without each kind of decoration everywhere, then on one instruction."""
    instructions = [inst for c in case.module.computations for inst in c.instructions]
    if case.module.carried or any(computation.carried for computation in case.module.computations):
        yield partial(_drop_module_fields, case)
    for drop, has in _KINDS:
        decorated = [inst for inst in instructions if has(inst)]
        if decorated:
            yield partial(_apply, case, drop, decorated)
        if len(decorated) > 1:
            for inst in decorated:
                yield partial(_apply, case, drop, [inst])


def shorter_op_names(case: Case) -> Iterator[Candidate]:
    """One `op_name` text simplified wherever it stands: instructions that share it go on sharing it."""
    named: dict[str, list[HloInstruction]] = {}
    for computation in case.module.computations:
        for inst in computation.instructions:
            if inst.metadata.op_name:
                named.setdefault(inst.metadata.op_name, []).append(inst)
    for i, (text, instructions) in enumerate(named.items()):
        head, comma, tokens = text.partition(",")
        shorter = ["", f"n{i}", tokens, f"n{i}{comma}{tokens}", head, text.rpartition("/")[2]]
        for new in dict.fromkeys(shorter):
            yield partial(_apply, case, partial(_set_op_name, new), instructions)


def plain_names(case: Case) -> Iterator[Candidate]:
    """Every instruction named after its opcode, computations after their place."""
    yield partial(_rename, case)


def _drop_module_fields(case: Case) -> Case:
    case, _ = cloned(case)
    case.module.carried = b""
    for computation in case.module.computations:
        computation.carried = b""
    return case


def _apply(
    case: Case, change: Callable[[HloInstruction], None], instructions: Iterable[HloInstruction]
) -> Case:
    case, copies = cloned(case)
    for inst in instructions:
        change(copies[inst])
    return case


def _drop_metadata(inst: HloInstruction) -> None:
    inst.metadata = NO_METADATA


def _drop_location(inst: HloInstruction) -> None:
    inst.metadata = replace(inst.metadata, carried=b"", op_type="")


def _drop_frontend_attributes(inst: HloInstruction) -> None:
    inst.frontend_attributes = NO_FRONTEND_ATTRIBUTES


def _drop_carried(inst: HloInstruction) -> None:
    inst.carried = b""


def _drop_edges(inst: HloInstruction) -> None:
    inst.parent.drop_control_dependencies(inst)


def _set_op_name(text: str, inst: HloInstruction) -> None:
    inst.metadata = replace(inst.metadata, op_name=text)


_KINDS: tuple[tuple[Callable[[HloInstruction], None], Callable[[HloInstruction], bool]], ...] = (
    (_drop_metadata, lambda inst: bool(inst.metadata)),
    (_drop_location, lambda inst: bool(inst.metadata.carried or inst.metadata.op_type)),
    (_drop_frontend_attributes, lambda inst: bool(inst.frontend_attributes)),
    # what the IR does not model may be all that the opcode's attributes are
    (_drop_carried, lambda inst: bool(inst.carried) and not isinstance(inst.attributes, Unmodelled)),
    (_drop_edges, lambda inst: bool(inst.control_predecessors)),
)


def _rename(case: Case) -> Case:
    case, _ = cloned(case)
    module: HloModule = case.module
    module.name = "m"
    module.instruction_names, module.computation_names = NameUniquer(), NameUniquer()
    for computation in module.make_computation_post_order():
        wanted = "main" if computation.is_entry else "f"
        computation.name = module.computation_names.unique(wanted)
        for inst in computation.make_instruction_post_order():
            number = inst.parameter_number if inst.opcode is Opcode.PARAMETER else None
            inst.name = module.instruction_names.unique(inst.opcode if number is None else f"p{number}")
    return case
