"""Do further engines see the original as we do?

Asked of a sample of the programs that passed every other check. What differs is no fault of a pass: either an engine
is wrong, or our evaluator and our use of JAX are both wrong in the same way, which no other check would see.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo import HloInstruction, HloModule, Opcode
from oracle.checks.values import InputSets, described
from oracle.engine import Engine
from oracle.verdict import Finding, Kind

CHECK = "vote"

_WHOLE_PIPELINE = -1


def seen_alike(module: HloModule, inputs: InputSets, engines: Sequence[Engine]) -> Finding | None:
    """A finding where one of `engines` crashes or gives another value than the first of them, for some input set.

    What stands for the pass is the names of those that differ. No vote is taken on programs that foreign engines are
    known to misread.
    """
    from oracle.vote import sample_vote

    found = None if _is_misread(module) else sample_vote(module, inputs, engines)
    if found is None:
        return None
    one_set, groups = found
    others = [name for group in groups.groups[1:] for name in group.voters]
    broken = [name for name, _ in groups.broken]
    mismatch = groups.groups[1].mismatch if others else None
    suspects = "+".join(sorted(others or broken))
    said = described(mismatch) if mismatch else "; ".join(outcome.reason for _, outcome in groups.broken)
    return Finding(
        check=CHECK,
        kind=Kind.ENGINES,
        message=f"{suspects} sees the original differently: {said}",
        pass_index=_WHOLE_PIPELINE,
        pass_name=suspects,
        before=module,
        after=None,
        inputs=one_set,
        mismatch=mismatch,
        details=groups.lines(),
    )


def _is_misread(module: HloModule) -> bool:
    """Whether a constant start is of an unsigned type and too large for the signed one.

    XLA's import of StableHLO takes it for a negative one (corpus/upstream/xla-import-unsigned-start).
    """
    return any(
        start.opcode is Opcode.CONSTANT and _is_large(start)
        for computation in module.computations
        for inst in computation.instructions
        if inst.opcode in (Opcode.DYNAMIC_SLICE, Opcode.DYNAMIC_UPDATE_SLICE)
        for start in inst.index_operands
    )


def _is_large(constant: HloInstruction) -> bool:
    kind, value = constant.array_shape.element_type, constant.literal.value
    if not kind.is_unsigned or not isinstance(value, np.ndarray):
        return False
    return bool(np.any(value >= 1 << (kind.bit_width - 1)))
