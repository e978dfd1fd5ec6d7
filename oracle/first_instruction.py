"""Which single operation does an engine compute differently, whatever stands around it?

Each instruction of the entry becomes a program of its own, whose parameters take the values that the evaluator gave
its operands. The first that the engine sees differently is to blame by itself; where there is none, it takes several
together: a fusion, or a buffer that two of them share.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo import HloInstruction, HloModule, Opcode, Value
from hlo.evaluator import Evaluator
from oracle.compare import compare
from oracle.engine import Engine, Ran
from oracle.tolerance import instruction_tolerance

MOST_INSTRUCTIONS = 40
"""After so many the search gives up: each is compiled."""

_HANDED_ON = frozenset(
    {Opcode.PARAMETER, Opcode.CONSTANT, Opcode.TUPLE, Opcode.GET_TUPLE_ELEMENT, Opcode.IOTA}
)


def first_bad_instruction(
    module: HloModule, inputs: Sequence[Value], engine: Engine
) -> HloInstruction | None:
    """The first instruction of the entry that `engine`, given its operands, computes differently; None: none alone.

    Raises what evaluating `module` raises.
    """
    seen: dict[HloInstruction, tuple[Sequence[Value], Value]] = {}

    def observe(inst: HloInstruction, operands: Sequence[Value], value: Value) -> None:
        if inst.parent.is_entry and inst.opcode not in _HANDED_ON:
            seen[inst] = (operands, value)

    Evaluator(module, observer=observe).run(inputs)
    for inst, (operands, expected) in list(seen.items())[:MOST_INSTRUCTIONS]:
        outcome = engine.run(_alone(module, inst), operands)
        if isinstance(outcome, Ran) and compare(
            expected,
            outcome.value,
            tolerance=instruction_tolerance(inst, operands),
            left="evaluator",
            right=engine.name,
        ):
            return inst
    return None


def _alone(module: HloModule, inst: HloInstruction) -> HloModule:
    """A program of one instruction, its operands the parameters."""
    copy, mapping = module.clone_with_mapping()
    twin = mapping[inst]
    entry = copy.add_computation("alone")
    parameters = [entry.add_parameter(i, operand.shape) for i, operand in enumerate(twin.operands)]
    entry.set_root(entry.add_clone(twin, parameters))
    copy.set_entry_computation(entry)
    copy.carried = b""
    copy.remove_unused_computations()
    return copy
