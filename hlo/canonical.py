"""Are two modules the same program text, as far as printing would show?

`structure` turns a module into nested tuples that differ exactly where the printed text would, at a fraction of
the cost of printing. A pass that says "unchanged" must leave it as it was; a pass that runs twice on the same
input must produce it twice. Numbers stand for instructions, and they come from the links alone: where an
instruction lies in its computation's list does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from hlo.graph import NO_FRONTEND_ATTRIBUTES, HloComputation, HloInstruction
from hlo.module import HloModule
from hlo.shape import ArrayShape, layouts

T = TypeVar("T", HloInstruction, HloComputation)
Tree = tuple[object, ...]  # of values that compare and hash by what they mean
Callees = tuple[HloComputation, ...]


def structure(module: HloModule, *, names: bool = True) -> Tree:
    """All that printing `module` shows, as nested tuples to compare or to hash. About 2 µs an instruction.

    That is, of each instruction: opcode, shape with dynamic dimensions and layout, operands, control
    predecessors and callees by number, attributes, constants by their bits, metadata, frontend attributes,
    carried fields; of each computation: root and carried fields; of the module: entry, binding of parameters
    and carried fields;
    and all their names. With `names=False` the names and the `op_name` in metadata are left out.

    An instruction's number is its place in a post order of operands and control predecessors, from the root
    first and then from what nothing uses, in the computation's order; a computation's is its place in the post
    order of calls, those that the entry does not reach last. Broken modules, with cycles or links that leave
    the module, have a structure, too.
    """
    bodies = {computation: _body(computation, names) for computation in module.computations}
    numbers = _computation_numbers(
        module, {computation: calls for computation, (_, _, calls) in bodies.items()}
    )
    computations: list[Tree] = []
    for computation in numbers:
        root, rows, calls = bodies[computation]
        for index, callees in calls.items():
            rows[index] += (tuple([numbers.get(callee, -1) for callee in callees]),)
        computations.append((computation.name if names else "", root, computation.carried, *rows))
    entry = numbers[module.entry_computation] if module.has_entry else -1
    binding = module.dynamic_parameter_binding
    bound = (binding,) if binding else ()
    return (module.name if names else "", entry, module.carried, *bound, *computations)


def _body(computation: HloComputation, names: bool) -> tuple[int, list[Tree], dict[int, Callees]]:
    """The root's number, a row for each instruction, and the callees of those that call, by number."""
    numbers, links = _instruction_numbers(computation)
    rows: list[Tree] = []
    calls: dict[int, Callees] = {}
    for inst, number in numbers.items():
        if called := inst.called_computations:
            calls[number] = called
        shape = inst.shape
        metadata = inst.metadata
        frontend = inst.frontend_attributes
        rows.append(
            (
                inst.name if names else "",
                inst.opcode,
                shape,
                shape.layout if isinstance(shape, ArrayShape) else layouts(shape),
                tuple([numbers[link] for link in links[inst]]),
                # The last of the links are control predecessors: how many?
                len(inst.control_predecessors) if inst.has_control_dependencies else 0,
                inst.attributes,
                metadata if names else (metadata.op_type, metadata.carried),
                () if frontend is NO_FRONTEND_ATTRIBUTES else tuple(sorted(frontend.items())),
                inst.carried,
            )
        )
    return numbers[computation.root] if computation.has_root else -1, rows, calls


def _instruction_numbers(
    computation: HloComputation,
) -> tuple[dict[HloInstruction, int], dict[HloInstruction, Sequence[HloInstruction]]]:
    """The number of each instruction, and the operands and control predecessors of each."""
    numbers: dict[HloInstruction, int] = {}
    links: dict[HloInstruction, Sequence[HloInstruction]] = {}
    if computation.has_root:
        _number(computation.root, _before, numbers, links)
    if len(numbers) < len(computation):
        rest = [inst for inst in computation.instructions if inst not in numbers]
        unused = [inst for inst in rest if not inst.users and not inst.control_successors]
        for start in (*unused, *rest):  # nothing but cycles is left to start from when `unused` are done
            _number(start, _before, numbers, links)
    return numbers, links


def _before(inst: HloInstruction) -> Sequence[HloInstruction]:
    if inst.has_control_dependencies:
        return (*inst.operands, *inst.control_predecessors)
    return inst.operands


def _computation_numbers(
    module: HloModule, calls: Mapping[HloComputation, Mapping[int, Callees]]
) -> dict[HloComputation, int]:
    """The number of each computation, given what the instructions of each call."""
    callees = {
        computation: [callee for called in found.values() for callee in called if callee in calls]
        for computation, found in calls.items()
    }
    called = {callee for found in callees.values() for callee in found}
    uncalled = [computation for computation in callees if computation not in called]
    entry = [module.entry_computation] if module.has_entry else []
    numbers: dict[HloComputation, int] = {}
    for start in (*entry, *uncalled, *callees):  # nothing but recursion is left when `uncalled` are done
        _number(start, callees.__getitem__, numbers, {})
    return numbers


def _number(
    start: T, before: Callable[[T], Sequence[T]], numbers: dict[T, int], links: dict[T, Sequence[T]]
) -> None:
    """Number what `start` reaches through `before`, what is before first, and note in `links` what that is."""
    stack = [start]
    while stack:
        node = stack[-1]
        if node in numbers:
            stack.pop()
        elif node in links:  # seen before: whatever it waited for is numbered
            stack.pop()
            numbers[node] = len(numbers)
        else:
            links[node] = found = before(node)
            stack += [n for n in reversed(found) if n not in links]
