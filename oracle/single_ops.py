"""How is a whole program cut into cases of one operation each?

The evaluator runs the program, and each executed instruction becomes a module of its own: parameters of its
operands' shapes, itself, and the computations that it calls. Its inputs are the values that it met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo import HloComputation, HloInstruction, HloModule, Opcode, Value
from hlo.evaluator import Evaluator


@dataclass(frozen=True, eq=False)
class SingleOp:
    """One instruction as a program, and one input set."""

    opcode: Opcode
    module: HloModule
    inputs: tuple[Value, ...]


def single_ops(
    module: HloModule, inputs: Sequence[Value], wanted: Callable[[HloInstruction], bool]
) -> list[SingleOp]:
    """The instructions that running `module` executes and that are `wanted`, asked once for each execution.

    Raises what the evaluator raises.
    """
    cases: list[SingleOp] = []

    def observe(inst: HloInstruction, operands: Sequence[Value], _value: Value) -> None:
        if inst.opcode is not Opcode.PARAMETER and wanted(inst):
            cases.append(SingleOp(inst.opcode, alone(inst), tuple(operands)))

    Evaluator(module, observer=observe).run(inputs)
    return cases


def alone(inst: HloInstruction) -> HloModule:
    """A module whose entry applies `inst` to its parameters."""
    module = HloModule("single")
    entry = module.add_computation("main")
    twins: dict[HloComputation, HloComputation] = {}
    called = [_copied(computation, module, twins) for computation in inst.called_computations]
    operands = [entry.add_parameter(i, operand.shape) for i, operand in enumerate(inst.operands)]
    entry.set_root(entry.add_clone(inst, operands, called_computations=called))
    module.set_entry_computation(entry)
    return module


def _copied(
    source: HloComputation, module: HloModule, twins: dict[HloComputation, HloComputation]
) -> HloComputation:
    if source in twins:
        return twins[source]
    twin = twins[source] = module.add_computation(source.name)
    mapping: dict[HloInstruction, HloInstruction] = {}
    for inst in source.make_instruction_post_order():
        called = [_copied(computation, module, twins) for computation in inst.called_computations]
        mapping[inst] = twin.add_clone(inst, [mapping[o] for o in inst.operands], called_computations=called)
    twin.set_root(mapping[source.root])
    return twin
