"""What does a program use each of its inputs for?

Uses are followed backwards, from the places where a value matters (`oracle.demands`) to the entry's parameters:
through tuples, calls, loops, branches, conversions and arithmetic. What reaches such a place only in part, or by
arithmetic, has its role all the same: a role is a hint for drawing values. But a role that leaves little choice
(an initial value, a matrix of a special kind) is not worth it where the value is computed with first; and what the
first computation does with a number says nothing of what later ones do with its result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hlo import SPECS, ArrayShape, HloComputation, HloInstruction, HloModule, Opcode
from oracle.demands import Role, Use, demands, index_array

__all__ = ["Index", "Leaf", "Role", "Use", "roles_of"]

Index = tuple[int, ...]
Leaf = tuple[int, Index]
"""An array among the entry's parameters: parameter number and shape index."""


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


_AS_IT_IS = frozenset({Use.BRANCH, Use.DEFINITE, Use.INIT, Use.SIZE, Use.TRIANGULAR})
_MOVED = frozenset({Use.COMPUTED, Use.FINITE})
"""Uses that are followed as far as numbers are moved unchanged, to whatever place."""
_SAME_VALUES = frozenset(
    {Opcode.BITCAST, Opcode.BROADCAST, Opcode.CONVERT, Opcode.RESHAPE, Opcode.REVERSE, Opcode.TRANSPOSE}
)


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
            for operand, role in demands(inst):
                _follow(search, operand, role)
    return {leaf: tuple(roles) for leaf, roles in search.found.items()}


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
            pending.extend(_sources(search, inst, index, role.use))


def _sources(search: _Search, inst: HloInstruction, index: Index, use: Use) -> Iterator[Source]:
    """Where the leaf `index` of `inst` comes from, one step back, as far as `use` is followed."""
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
        case _ if use in _MOVED:
            if SPECS[inst.opcode].data_movement or inst.opcode is Opcode.SCATTER:
                yield from _computed_from(inst, index)
        case _ if use not in _AS_IT_IS:
            yield from _computed_from(inst, index)
        case _ if inst.opcode in _SAME_VALUES:
            yield inst.operand(0), ()
        case _:
            pass


def _computed_from(inst: HloInstruction, index: Index) -> Iterator[Source]:
    match inst.opcode:
        case Opcode.DYNAMIC_SLICE | Opcode.DYNAMIC_UPDATE_SLICE:
            yield from ((operand, ()) for operand in inst.operands[: inst.first_index_operand])
        case Opcode.GATHER | Opcode.SCATTER:
            # where to read and write has a role of its own
            indices = index_array(inst)
            yield from ((operand, ()) for operand in inst.operands if operand is not indices)
        case Opcode.SORT | Opcode.REDUCE | Opcode.REDUCE_WINDOW if index:
            yield inst.operand(index[0]), ()
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
