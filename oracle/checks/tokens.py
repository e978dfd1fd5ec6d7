"""Does every token say the start that was really used?

The simplifier writes the start indices that it worked out into `op_name`, and later passes cut static slices by
them. So each execution of an instruction that carries tokens must have had exactly these starts: before clamping,
widened to int64 as the simplifier does, where a u64 of 2^63 or more becomes negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hlo import HloInstruction, HloModule, Opcode, Value
from oracle.checks.base import PassRun
from oracle.verdict import Finding, Kind
from passes.neuron import NeuronDusDsIndexSimplifier
from passes.neuron.tokens import DS_KEY, DUS_KEY, ITERATION_KEY, read_indices

CHECK = "tokens"

_KEY = {Opcode.DYNAMIC_SLICE: DS_KEY, Opcode.DYNAMIC_UPDATE_SLICE: DUS_KEY}

Tokens = dict[str, list[int]]
"""The integers that each key introduces, for the keys that are there."""


@dataclass(frozen=True)
class _Wrong:
    inst: HloInstruction
    tokens: Tokens
    starts: list[int]
    inputs: tuple[Value, ...]


class TokenWatch:
    """Watches the evaluation of what the simplifier left. Set `inputs` before each input set."""

    def __init__(self, run: PassRun, tokens: dict[HloInstruction, Tokens]) -> None:
        self.inputs: tuple[Value, ...] = ()
        self._run = run
        self._tokens = tokens
        self._wrong: _Wrong | None = None

    @classmethod
    def of(cls, run: PassRun) -> TokenWatch | None:
        """A watch for `run`, or None where the pass writes no tokens or there are none."""
        if not isinstance(run.pass_, NeuronDusDsIndexSimplifier):
            return None
        tokens = _all_tokens(run.after)
        return cls(run, tokens) if tokens else None

    def observe(self, inst: HloInstruction, operands: Sequence[Value], value: Value) -> None:
        """An observer for the evaluator."""
        tokens = self._tokens.get(inst)
        if tokens is None or self._wrong is not None:
            return
        starts = [_as_int64(start) for start in operands[inst.first_index_operand :]]
        # Another key than the instruction's own means what it does not do: right only for no start at all.
        own = (_KEY[inst.opcode], ITERATION_KEY)
        if any(indices != (starts if key in own else []) for key, indices in tokens.items()):
            self._wrong = _Wrong(inst, tokens, starts, self.inputs)

    def finding(self) -> Finding | None:
        """The first execution whose starts were not those of the tokens."""
        wrong = self._wrong
        if wrong is None:
            return None
        said = ", ".join(f"{key}{index}" for key, indices in wrong.tokens.items() for index in indices)
        message = f"{wrong.inst.name} says {said}, but starts at {wrong.starts}"
        details = (f"op_name: {wrong.inst.metadata.op_name}",)
        return self._run.finding(CHECK, Kind.TOKEN, message, inputs=wrong.inputs, details=details)


def _all_tokens(module: HloModule) -> dict[HloInstruction, Tokens]:
    found: dict[HloInstruction, Tokens] = {}
    for computation in module.computations:
        for inst in computation.instructions:
            if inst.opcode in _KEY and (tokens := _tokens(inst.metadata.op_name)):
                found[inst] = tokens
    return found


def _tokens(op_name: str) -> Tokens:
    lists = ((key, read_indices(op_name, key, anchored=True)) for key in (DS_KEY, DUS_KEY, ITERATION_KEY))
    return {key: indices for key, indices in lists if indices}


def _as_int64(start: Value) -> int:
    assert isinstance(start, np.ndarray)
    number = int(start)
    return number - (1 << 64) if number >= 1 << 63 else number
