"""What did the passes do to a program's loops and slices, and what did they leave?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hlo import HloInstruction, HloModule, Opcode
from passes.neuron.tokens import ITERATION_KEY, read_indices

DEEDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "trips unrolled": ("while-loop-unroller", ("copy-body",)),
    "starts resolved": ("neuron-dus-ds-index-simplifier", ("tag-dus", "tag-ds")),
    "slices made static": ("dynamic-slice-mover", ("make-static",)),
    "slices moved": ("dynamic-slice-mover", ("move-static", "move-dynamic")),
    "concats formed": ("neuron-repeated-dus-to-concat", ("concatenate",)),
}
"""What is told of a run: what it is called, the pass that does it, and the rules by which. A slice that leaves two
calls has moved twice."""

_SLICES = (Opcode.DYNAMIC_SLICE, Opcode.DYNAMIC_UPDATE_SLICE)


@dataclass(frozen=True)
class Left:
    """What is in a program still; slices and updates by opcode. A start is known where it is a constant, or tokens say
    what it is; otherwise the program must run first."""

    loops: int
    known: Mapping[str, int]
    unknown: Mapping[str, int]

    @property
    def has_updates(self) -> bool:
        """Whether a dynamic-update-slice is left."""
        return Opcode.DYNAMIC_UPDATE_SLICE in {*self.known, *self.unknown}

    def __str__(self) -> str:
        """For people: "1 loop, 5 dynamic-slices with known starts"; empty where nothing is left."""
        parts = [(self.loops, "loop", "")] if self.loops else []
        for kind, counts in (("known", self.known), ("unknown", self.unknown)):
            parts += [(count, opcode, f" with {kind} starts") for opcode, count in counts.items()]
        return ", ".join(f"{count} {what}{'s' * (count > 1)}{rest}" for count, what, rest in parts)


def work_done(fired: Mapping[str, int], names: set[str]) -> dict[str, int]:
    """The DEEDS of the passes called `names`, by what they are called; `fired` counts by "pass:rule"."""
    return {
        what: sum(fired.get(f"{pass_name}:{rule}", 0) for rule in rules)
        for what, (pass_name, rules) in DEEDS.items()
        if pass_name in names
    }


def left_in(module: HloModule) -> Left:
    """Loops and dynamic slices that the entry reaches. A body with several callers counts once."""
    known, unknown = Counter[str](), Counter[str]()
    loops = 0
    for inst in _reachable(module):
        loops += inst.opcode is Opcode.WHILE
        if inst.opcode in _SLICES:
            counts = known if _is_known(inst) else unknown
            counts[str(inst.opcode)] += 1
    return Left(loops, dict(sorted(known.items())), dict(sorted(unknown.items())))


def _reachable(module: HloModule) -> Iterator[HloInstruction]:
    for computation in module.make_computation_post_order():
        yield from computation.instructions


def _is_known(inst: HloInstruction) -> bool:
    starts = inst.index_operands
    if all(start.opcode is Opcode.CONSTANT for start in starts):
        return True
    tokens = read_indices(inst.metadata.op_name, ITERATION_KEY, anchored=True)
    return len(tokens) >= inst.array_shape.rank
