"""Which arrays of a program's result depend on what some of its instructions compute?

Through calls, branches and loops, array by array of a tuple; an array is not taken apart.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

from hlo import HloComputation, HloInstruction, HloModule, Opcode, leaves

Index = tuple[int, ...]
Touched = frozenset[Index]
"""The arrays of a value that depend on the sources, by shape index."""

_HANDED_ON = frozenset({Opcode.ADD_DEPENDENCY, Opcode.COPY, Opcode.DOMAIN, Opcode.OPTIMIZATION_BARRIER})
_NOTHING: Touched = frozenset()


def dependent_leaves(module: HloModule, sources: Collection[HloInstruction]) -> Touched:
    """The arrays of the entry's result, by shape index, that may be others if `sources` computed something else."""
    entry = module.entry_computation
    return _Dependence(frozenset(sources)).computation(entry, (_NOTHING,) * len(entry.parameters))


class _Dependence:
    """Follows what depends on `sources`. What is known of a computation is kept by what its arguments depend on."""

    def __init__(self, sources: frozenset[HloInstruction]) -> None:
        self._sources = sources
        self._known: dict[tuple[HloComputation, tuple[Touched, ...]], Touched] = {}
        self._holds = cache(self._holds_a_source)

    def computation(self, computation: HloComputation, arguments: Sequence[Touched]) -> Touched:
        key = (computation, tuple(arguments))
        if key not in self._known:
            seen: dict[HloInstruction, Touched] = {}
            for inst in computation.make_instruction_post_order():
                if inst.opcode is Opcode.PARAMETER:
                    seen[inst] = arguments[inst.parameter_number]
                else:
                    seen[inst] = self._instruction(inst, [seen[operand] for operand in inst.operands])
            self._known[key] = seen[computation.root]
        return self._known[key]

    def _instruction(self, inst: HloInstruction, operands: Sequence[Touched]) -> Touched:
        match inst.opcode:
            case Opcode.TUPLE:
                return frozenset((i, *index) for i, touched in enumerate(operands) for index in touched)
            case Opcode.GET_TUPLE_ELEMENT:
                return frozenset(index[1:] for index in operands[0] if index[0] == inst.tuple_index)
            case Opcode.CALL | Opcode.FUSION:
                return self.computation(inst.called_computations[0], operands)
            case Opcode.CONDITIONAL:
                branches = zip(inst.called_computations, operands[1:], strict=True)
                results = [self.computation(branch, (touched,)) for branch, touched in branches]
                return _all(inst) if operands[0] else _NOTHING.union(*results)
            case Opcode.WHILE:
                return self._loop(inst, operands[0])
            case opcode if opcode in _HANDED_ON:
                return operands[0]
            case _:
                callees = any(map(self._holds, inst.called_computations))
                return _all(inst) if callees or inst in self._sources or any(operands) else _NOTHING

    def _loop(self, inst: HloInstruction, state: Touched) -> Touched:
        body, condition = inst.called_computations
        while True:
            if self.computation(condition, (state,)):
                return _all(inst)  # another number of iterations
            after = state | self.computation(body, (state,))
            if after == state:
                return state
            state = after

    def _holds_a_source(self, computation: HloComputation) -> bool:
        return any(
            inst in self._sources or any(map(self._holds, inst.called_computations))
            for inst in computation.instructions
        )


def _all(inst: HloInstruction) -> Touched:
    return frozenset(index for index, _ in leaves(inst.shape))
