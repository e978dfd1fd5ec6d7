"""Which instruction do two engines see differently?

The evaluator runs the program, and JAX is given the operand values of each executed instruction: what both make
of the same operands may differ by what that one instruction leaves open: rounding, and on some operands more than that
(`oracle.open_cases`). Rounding that grew, or that tipped a comparison, then stays out of the picture, and a real
difference has a name.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo import HloInstruction, HloModule, Value
from hlo.evaluator import Evaluator
from oracle.checks.values import described
from oracle.compare import compare
from oracle.open_cases import leaves_open
from oracle.reference import Reference
from oracle.tolerance import instruction_tolerance


def first_disagreement(module: HloModule, inputs: Sequence[Value]) -> str | None:
    """The first executed instruction that evaluator and reference see differently, in a line, or None.

    Raises what either engine raises.
    """
    found: list[str] = []
    reference = Reference(module)

    def observe(inst: HloInstruction, operands: Sequence[Value], value: Value) -> None:
        step = None if found else reference.step_of(inst)
        if step is None or leaves_open(inst, operands):
            return
        wrong = compare(
            value,
            step(*operands),
            tolerance=instruction_tolerance(inst, operands),
            left="evaluator",
            right="jax",
        )
        if wrong is not None:
            found.append(f"{inst.name} ({inst.opcode}): {described(wrong)}")

    Evaluator(module, observer=observe).run(inputs)
    return found[0] if found else None
