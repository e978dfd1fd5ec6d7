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


PARTITIONS = 128
"""How many partitions the on-chip buffer of a NeuronCore has."""


@dataclass(frozen=True)
class DynamicCopy:
    """A slice or update at a start that only a run tells: on the device a copy to or from an address in a register.

    Source: `004_a2dddaa7cc47048c.txt`, "What survives into Penguin, and the DMA handoff": such a copy needs scratch in
    the on-chip buffer, sized by `SetDynamicDMASbufBytes` and given to the driver for each partition
    (`dynamic-dma-scratch-size-per-partition`). How large, the page does not say: the figures here are an ESTIMATE, one
    piece as large as what is copied, spread evenly over all partitions.
    """

    name: str
    opcode: str
    shape: str
    bytes: int

    @property
    def bytes_per_partition(self) -> int:
        """Rounded up."""
        return -(-self.bytes // PARTITIONS)

    def __str__(self) -> str:
        size = f"about {self.bytes} bytes, {self.bytes_per_partition} a partition"
        return f"{self.name}: {self.opcode} of {self.shape}, {size}"


def dynamic_copies(module: HloModule) -> tuple[DynamicCopy, ...]:
    """The slices and updates that the entry reaches and whose starts `left_in` calls unknown. In a loop: once."""
    return tuple(_copy(inst) for inst in _reachable(module) if inst.opcode in _SLICES and not _is_known(inst))


def _copy(inst: HloInstruction) -> DynamicCopy:
    piece = inst.array_shape if inst.opcode is Opcode.DYNAMIC_SLICE else inst.operand(1).array_shape
    size = -(-piece.element_count * piece.element_type.bit_width // 8)
    return DynamicCopy(inst.name, str(inst.opcode), str(piece), size)


def _reachable(module: HloModule) -> Iterator[HloInstruction]:
    for computation in module.make_computation_post_order():
        yield from computation.instructions


def _is_known(inst: HloInstruction) -> bool:
    starts = inst.index_operands
    if all(start.opcode is Opcode.CONSTANT for start in starts):
        return True
    tokens = read_indices(inst.metadata.op_name, ITERATION_KEY, anchored=True)
    return len(tokens) >= inst.array_shape.rank
