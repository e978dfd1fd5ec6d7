"""What does a rewrite of the padder know, and what may it do?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from hlo import HloComputation, HloInstruction, compatible
from hlo.builder import Builder
from passes.base import Trace
from passes.stock.dynamic_dimension_inference import DynamicSizes, DynamismRefused, SizeArithmetic
from passes.stock.dynamic_padder.sharing import SharingBuilder


@dataclass(frozen=True)
class PaddingSoundness:
    """What the documented algorithm gets wrong and we do not; False restores upstream's behaviour.

    Source: `stock_passes.md` sections 5.9, 5.10, 5.18 and 15.2.
    """

    reducer_identity: bool = True
    mask_static_inputs: bool = True
    mask_both_sides: bool = True
    repeat_everywhere: bool = True
    clamp_to_size: bool = True
    wide_indices: bool = True


@dataclass(eq=False)
class State:
    """One run of the padder."""

    pass_name: str
    trace: Trace
    sound: PaddingSoundness
    sizes: DynamicSizes
    _builders: dict[HloComputation, Builder] = field(default_factory=dict[HloComputation, Builder])

    def builder(self, inst: HloInstruction) -> Builder:
        """Appends to the computation of `inst`."""
        computation = inst.parent
        known = self._builders.get(computation)
        if known is None:
            known = self._builders[computation] = SharingBuilder(computation)
        return known

    def arithmetic(self, inst: HloInstruction) -> SizeArithmetic:
        """Appends arithmetic of sizes to the computation of `inst`."""
        return SizeArithmetic(inst.parent, self.builder(inst))

    def size(self, inst: HloInstruction, dimension: int) -> HloInstruction | None:
        """The size of a dimension of an array, None where it is static."""
        return self.sizes.size(inst, (), dimension)

    def bound_or_size(self, inst: HloInstruction, dimension: int) -> HloInstruction:
        """The size of a dimension, a constant where it is static."""
        size = self.size(inst, dimension)
        return size or self.arithmetic(inst).constant(inst.array_shape.dimensions[dimension])

    def refuse(
        self, inst: HloInstruction, reason: str, *, operand: int | None = None, dimension: int | None = None
    ) -> NoReturn:
        """Raise DynamismRefused."""
        raise DynamismRefused(self.pass_name, inst, reason, operand=operand, dimension=dimension)

    def replace(self, old: HloInstruction, new: HloInstruction, rule: str) -> None:
        """Let `new` stand for `old`, whose sizes it takes over. Raises DynamismRefused where it has other bounds."""
        if not compatible(old.shape, new.shape):
            # nobody checks what a custom-call is declared to give
            self.refuse(old, f"it is declared to give {old.shape}, and gives {new.shape}")
        self.sizes.forward(old, new)
        made_of = _below(new, old)
        for user in old.users:
            if user in made_of:
                continue
            for number, operand in enumerate(user.operands):
                if operand is old:
                    old.parent.replace_operand(user, number, new, accept_different_shape=True)
        if old.is_root:
            old.parent.set_root(new, accept_different_shape=True)
        self.trace.fire(rule)


def _below(inst: HloInstruction, end: HloInstruction) -> set[HloInstruction]:
    """`inst` and what it is computed from, as far as `end`."""
    seen: set[HloInstruction] = set()
    stack = [inst]
    while stack:
        at = stack.pop()
        if at not in seen and at is not end:
            seen.add(at)
            stack.extend(at.operands)
    return seen


Rewrite = Callable[[State, HloInstruction], None]
"""Makes an instruction right for arrays that are as large as their bounds, whatever lies in the padding."""
