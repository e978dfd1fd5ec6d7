"""What does a program use each of its inputs for?

Uses are followed backwards, from the places where a value matters (the start of a slice, a divisor, the bound of a
loop) to the entry's parameters: through tuples, calls, loops, branches, conversions and arithmetic. What reaches
such a place only in part, or by arithmetic, has its role all the same: a role is a hint for drawing values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from hlo import ArrayShape, HloComputation, HloInstruction, HloModule, Opcode

Index = tuple[int, ...]
Leaf = tuple[int, Index]
"""An array among the entry's parameters: parameter number and shape index."""


class Use(Enum):
    """What a value is used for, when it is not just data."""

    START = "start of a slice"
    DIVISOR = "divisor"
    BOUND = "bound of a loop"


@dataclass(frozen=True, slots=True)
class Role:
    """A use; for a start also the size of the dimension and of the slice in it, in elements."""

    use: Use
    dimension: int = 0
    size: int = 0


@dataclass(slots=True)
class _Search:
    callers: dict[HloComputation, list[HloInstruction]]
    found: dict[Leaf, dict[Role, None]] = field(default_factory=dict[Leaf, dict[Role, None]])
    seen: set[tuple[HloInstruction, Index, Role]] = field(
        default_factory=set[tuple[HloInstruction, Index, Role]]
    )


Source = tuple[HloInstruction, Index]

# What these give does not depend on the values of their operands, or not in a way worth following.
_OPAQUE = frozenset({Opcode.CONSTANT, Opcode.IOTA, Opcode.COMPARE, Opcode.IS_FINITE, Opcode.AFTER_ALL})


def roles_of(module: HloModule) -> Mapping[Leaf, tuple[Role, ...]]:
    """The roles of the entry's parameters; a leaf that is only data has none. In an order that is always the same."""
    computations = module.make_computation_post_order()
    search = _Search({computation: [] for computation in computations})
    for computation in computations:
        for inst in computation.instructions:
            for callee in inst.called_computations:
                search.callers[callee].append(inst)
    for computation in computations:
        for inst in computation.instructions:
            for operand, role in _demands(inst):
                _follow(search, operand, role)
    return {leaf: tuple(roles) for leaf, roles in search.found.items()}


def _demands(inst: HloInstruction) -> Iterator[tuple[HloInstruction, Role]]:
    match inst.opcode:
        case Opcode.DYNAMIC_SLICE | Opcode.DYNAMIC_UPDATE_SLICE:
            whole = inst.operand(0).array_shape.dimensions
            sliced = inst.opcode is Opcode.DYNAMIC_SLICE
            part = inst.dynamic_slice_sizes if sliced else inst.operand(1).array_shape.dimensions
            for operand, dimension, size in zip(inst.index_operands, whole, part, strict=True):
                yield operand, Role(Use.START, dimension, size)
        case Opcode.DIVIDE | Opcode.REMAINDER:
            yield inst.operand(1), Role(Use.DIVISOR)
        case Opcode.WHILE:
            condition = inst.called_computations[1]
            yield from ((c, Role(Use.BOUND)) for c in condition.instructions if c.opcode is Opcode.COMPARE)
        case _:
            pass


def _follow(search: _Search, sink: HloInstruction, role: Role) -> None:
    # A loop's bound is what its condition compares; everything else is itself the value that matters.
    first = sink.operands if sink.opcode is Opcode.COMPARE else (sink,)
    pending: list[Source] = [(inst, ()) for inst in first]
    while pending:
        inst, index = pending.pop()
        if (inst, index, role) in search.seen:
            continue
        search.seen.add((inst, index, role))
        if inst.opcode is Opcode.PARAMETER and inst.parent.is_entry:
            search.found.setdefault((inst.parameter_number, index), {})[role] = None
        else:
            pending.extend(_sources(search, inst, index))


def _sources(search: _Search, inst: HloInstruction, index: Index) -> Iterator[Source]:
    """Where the leaf `index` of `inst` comes from, one step back."""
    match inst.opcode:
        case Opcode.PARAMETER:
            for caller in search.callers[inst.parent]:
                yield from _arguments(caller, inst, index)
        case Opcode.TUPLE if index:
            yield inst.operand(index[0]), index[1:]
        case Opcode.GET_TUPLE_ELEMENT:
            yield inst.operand(0), (inst.tuple_index, *index)
        case Opcode.CALL | Opcode.FUSION | Opcode.CONDITIONAL:
            yield from ((callee.root, index) for callee in inst.called_computations)
        case Opcode.WHILE:
            yield inst.operand(0), index
            yield inst.called_computations[0].root, index
        case Opcode.OPTIMIZATION_BARRIER | Opcode.CUSTOM_CALL | Opcode.COPY | Opcode.ADD_DEPENDENCY:
            yield from ((operand, index) for operand in inst.operands[:1])
        case Opcode.DYNAMIC_SLICE | Opcode.DYNAMIC_UPDATE_SLICE:
            yield from ((operand, ()) for operand in inst.operands[: inst.first_index_operand])
        case Opcode.SELECT:
            yield from ((operand, ()) for operand in inst.operands[1:])
        case _:
            if inst.opcode not in _OPAQUE and isinstance(inst.shape, ArrayShape):
                yield from ((operand, ()) for operand in inst.operands)


def _arguments(caller: HloInstruction, parameter: HloInstruction, index: Index) -> Iterator[Source]:
    match caller.opcode:
        case Opcode.CALL | Opcode.FUSION:
            yield caller.operand(parameter.parameter_number), index
        case Opcode.WHILE:
            yield caller, index  # the state after the body, too
        case Opcode.CONDITIONAL:
            for branch, argument in zip(caller.called_computations, caller.operands[1:], strict=True):
                if branch is parameter.parent:
                    yield argument, index
        case _:
            pass  # the computation of a reduce or map: its scalars are elements of arrays
