"""Is a module well formed? Every broken invariant, by name, without ever raising.

Meant to run after each pass on each graph, so it is quick: one loop a question, and shapes by the rules that
the builder asks, too. Like XLA's own verifier it compares shapes by `compatible`: dynamic flags and layouts
may differ from what inference would say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from hlo.attributes import ParameterNumber
from hlo.bound_parameters import complaint
from hlo.bounds import is_unbounded
from hlo.graph import HloComputation, HloInstruction
from hlo.infer import RULES, Rule, ShapeError, Signature
from hlo.module import HloModule
from hlo.opcode import SPECS, Opcode
from hlo.shape import Shape, compatible, leaves

INVARIANTS: Mapping[str, str] = MappingProxyType(
    {
        "entry": "the module has an entry computation and holds it",
        "name": "no two computations and no two instructions of a module share a name",
        "parent": "computations and instructions know what they are in",
        "root": "each computation has a root, which it holds",
        "parameter": "parameters of a computation are numbered 0, 1, … without gap or double",
        "operand": "operands are in the same computation as their user",
        "users": "users are exactly the operand slots that hold an instruction",
        "control": "control edges are known at both ends, which are in one computation",
        "cycle": "operands and control edges form no cycle",
        "arity": "an opcode has as many operands and callees as the opcode table says",
        "attributes": "an opcode has the attribute record that the opcode table says, well filled",
        "callee": "called computations are in the module",
        "recursion": "no computation calls itself, directly or through others",
        "binding": "a bound size is an s32[] parameter, and what it is bound to an array as large as its bound",
        "shape": "operands, attributes, callees and shape of an instruction fit together",
    }
)
"""What each `Violation.rule` demands."""


@dataclass(frozen=True, slots=True)
class Violation:
    """`rule`, a key of `INVARIANTS`, is broken at `where`, named like an instruction, computation or module."""

    where: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.rule}: {self.message}"


Slots = list[tuple[HloInstruction, tuple[HloInstruction, ...], tuple[HloComputation, ...]]]
"""The instructions of a computation with their operands and callees, read once."""


def verify(module: HloModule) -> list[Violation]:
    """Everything that is wrong with `module`; empty if nothing is. Never raises."""
    everything: dict[HloComputation, Slots] = {
        computation: [(inst, inst.operands, inst.called_computations) for inst in computation.instructions]
        for computation in module.computations
    }
    found = [*_check_entry(module), *_check_names(everything), *_check_recursion(everything)]
    signatures: dict[HloComputation, Signature] = {}
    for computation, slots in everything.items():
        problems = [*_check_root(computation), *_check_parameters(computation, slots)]
        if not problems:
            signatures[computation] = _signature(computation, slots)
        found += problems
    if module.dynamic_parameter_binding and module.has_entry and module.entry_computation in signatures:
        found += _check_binding(module, signatures[module.entry_computation].parameters)
    for computation, slots in everything.items():
        if computation.module is not module:
            found.append(Violation(computation.name, "parent", "it believes to be in another module"))
        found += _check_links(computation, slots)
        found += _check_control(computation, slots)
        found += _check_order(slots)
        found += _check_instructions(slots, everything, signatures)
    return found


def _check_entry(module: HloModule) -> Iterator[Violation]:
    if not module.has_entry:
        yield Violation(module.name, "entry", "no entry computation is set")
    elif module.entry_computation not in module.computations:
        yield Violation(module.name, "entry", f"{module.entry_computation.name} is not in the module")


def _check_names(everything: Mapping[HloComputation, Slots]) -> Iterator[Violation]:
    for kind, names in (
        ("computations", [computation.name for computation in everything]),
        ("instructions", [inst.name for slots in everything.values() for inst, _, _ in slots]),
    ):
        if len(set(names)) != len(names):
            for name, count in Counter(names).items():
                if count > 1:
                    yield Violation(name, "name", f"{count} {kind} have this name")


def _check_root(computation: HloComputation) -> Iterator[Violation]:
    if not computation.has_root:
        yield Violation(computation.name, "root", "no root is set")
    elif computation.root not in computation:
        yield Violation(computation.name, "root", f"the root {computation.root.name} is not in it")


def _check_parameters(computation: HloComputation, slots: Slots) -> Iterator[Violation]:
    numbers = [
        inst.attributes.number if isinstance(inst.attributes, ParameterNumber) else None
        for inst, _, _ in slots
        if inst.opcode is Opcode.PARAMETER
    ]
    if set(numbers) != set(range(len(numbers))):
        yield Violation(computation.name, "parameter", f"the parameters are numbered {numbers}")


def _signature(computation: HloComputation, slots: Slots) -> Signature:
    parameters = {
        inst.attributes.number: inst.shape
        for inst, _, _ in slots
        if inst.opcode is Opcode.PARAMETER and isinstance(inst.attributes, ParameterNumber)
    }
    return Signature(tuple(parameters[i] for i in range(len(parameters))), computation.root.shape)


def _check_binding(module: HloModule, parameters: Sequence[Shape]) -> Iterator[Violation]:
    places = {(n, index): leaf for n, shape in enumerate(parameters) for index, leaf in leaves(shape)}
    for bound, source in module.dynamic_parameter_binding:
        size, array = places.get((source.parameter, source.index)), places.get((bound.parameter, bound.index))
        if message := complaint(bound, size, array):
            yield Violation(module.name, "binding", f"{bound} is bound to {source}: {message}")


def _check_links(computation: HloComputation, slots: Slots) -> Iterator[Violation]:
    """Parents and operands, then users against a recount of the operand slots."""
    uses: dict[HloInstruction, dict[HloInstruction, int]] = {inst: {} for inst, _, _ in slots}
    for inst, operands, _ in slots:
        if inst.is_removed or inst.parent is not computation:
            yield Violation(inst.name, "parent", f"it does not believe to be in {computation.name}")
        for operand in operands:
            counts = uses.get(operand)
            if counts is None:
                yield Violation(inst.name, "operand", f"{operand.name} is not in {computation.name}")
            else:
                counts[inst] = counts.get(inst, 0) + 1
    for inst, counts in uses.items():
        if inst.user_counts != counts:
            yield Violation(
                inst.name,
                "users",
                f"recorded are {_counted(inst.user_counts)}, actual are {_counted(counts)}",
            )


def _counted(counts: Mapping[HloInstruction, int]) -> str:
    return f"{{{', '.join(f'{user.name}: {count}' for user, count in counts.items())}}}"


def _check_control(computation: HloComputation, slots: Slots) -> Iterator[Violation]:
    for inst, _, _ in slots:
        if not inst.has_control_dependencies:
            continue
        for before in inst.control_predecessors:
            if before not in computation:
                yield Violation(
                    inst.name, "control", f"predecessor {before.name} is not in {computation.name}"
                )
            elif inst not in before.control_successors:
                yield Violation(inst.name, "control", f"predecessor {before.name} does not know of it")
        for after in inst.control_successors:
            if after not in computation:
                yield Violation(inst.name, "control", f"successor {after.name} is not in {computation.name}")
            elif inst not in after.control_predecessors:
                yield Violation(inst.name, "control", f"successor {after.name} does not know of it")


def _check_order(slots: Slots) -> Iterator[Violation]:
    """Mostly insertion order is an order of execution, which is quick to see; only else look for a cycle."""
    seen: set[HloInstruction] = set()
    for inst, operands, _ in slots:
        if not seen.issuperset(operands) or not seen.issuperset(inst.control_predecessors):
            break
        seen.add(inst)
    else:
        return
    cycle = _find_cycle(slots)
    if cycle:
        path = " <- ".join(inst.name for inst in (*cycle, cycle[0]))
        yield Violation(cycle[0].name, "cycle", path)


def _find_cycle(slots: Slots) -> list[HloInstruction]:
    """A cycle, each instruction before what it waits for; empty if there is none."""
    done: set[HloInstruction] = set()
    for start, _, _ in slots:
        path: dict[HloInstruction, Iterator[HloInstruction]] = {}
        if start not in done:
            path[start] = _waits_for(start)
        while path:
            inst, pending = next(reversed(path.items()))
            before = next((b for b in pending if b not in done), None)
            if before is None:
                done.add(inst)
                del path[inst]
            elif before in path:
                names = list(path)
                return names[names.index(before) :]
            else:
                path[before] = _waits_for(before)
    return []


def _waits_for(inst: HloInstruction) -> Iterator[HloInstruction]:
    return iter((*inst.operands, *inst.control_predecessors))


def _check_recursion(everything: Mapping[HloComputation, Slots]) -> Iterator[Violation]:
    """Mostly callees come before their callers, which is quick to see.

    Else take away computations that call, or are called by, nothing that is left: the rest goes in circles.
    """
    seen: set[HloComputation] = set()
    for computation, slots in everything.items():
        if any(called and not seen.issuperset(called) for _, _, called in slots):
            break
        seen.add(computation)
    else:
        return
    callees = {
        computation: {callee for _, _, called in slots for callee in called}
        for computation, slots in everything.items()
    }
    while True:
        called = set().union(*callees.values())
        ends = [c for c, mine in callees.items() if c not in called or callees.keys().isdisjoint(mine)]
        if not ends:
            break
        for computation in ends:
            del callees[computation]
    for computation, mine in callees.items():
        names = sorted(callee.name for callee in mine & callees.keys())
        yield Violation(computation.name, "recursion", f"it calls {', '.join(names)}, and that ends nowhere")


_TABLE = {
    opcode: (spec.arity, spec.called, spec.attributes, RULES.get(opcode)) for opcode, spec in SPECS.items()
}
"""What every instruction is held against; one look-up, because each instruction of each graph needs it."""


def _check_instructions(
    slots: Slots,
    members: Container[HloComputation],
    signatures: Mapping[HloComputation, Signature],
) -> Iterator[Violation]:
    """Each instruction by itself: what the opcode table says, then callees, then shapes."""
    for inst, operands, called in slots:
        arity, callees, record, rule = _TABLE[inst.opcode]
        wellformed = True
        if arity is not None and len(operands) != arity:
            yield Violation(inst.name, "arity", f"{inst.opcode} has {len(operands)} operands, not {arity}")
            wellformed = False
        if callees is not None and len(called) != callees:
            yield Violation(inst.name, "arity", f"{inst.opcode} has {len(called)} callees, not {callees}")
            wellformed = False
        if type(inst.attributes) is not record:
            actual = type(inst.attributes).__name__
            yield Violation(inst.name, "attributes", f"{inst.opcode} has {actual}, not {record.__name__}")
            wellformed = False
        for callee in called:
            if callee not in members:
                yield Violation(inst.name, "callee", f"{callee.name} is not in the module")
            # what keeps a member from having a signature is reported where it is
            wellformed = wellformed and callee in signatures
        if rule is not None and wellformed:  # hlo.infer.GAPS says why some have no rule
            violation = _check_shape(rule, inst, operands, [signatures[callee] for callee in called])
            if violation is not None:
                yield violation


def _check_shape(
    rule: Rule, inst: HloInstruction, operands: tuple[HloInstruction, ...], called: Sequence[Signature]
) -> Violation | None:
    shape = inst.shape
    try:
        inferred = rule([operand.shape for operand in operands], inst.attributes, called, shape)
    except ShapeError as error:
        message = f"{inst.opcode}: {error}"
    except (TypeError, AttributeError) as error:
        # a field of the record that is not what its annotation says, such as None for a tuple
        return Violation(inst.name, "attributes", f"{inst.opcode}: {inst.attributes}: {error}")
    else:
        if inferred is shape or compatible(inferred, shape):
            return None
        message = f"{inst.opcode} gives {inferred}, declared {shape}"
    known = [shape, *(operand.shape for operand in operands)]
    known += [theirs for callee in called for theirs in (*callee.parameters, callee.result)]
    if any(map(is_unbounded, known)):
        return None  # the rules do not know such shapes, so what they say of them means nothing
    return Violation(inst.name, "shape", message)
