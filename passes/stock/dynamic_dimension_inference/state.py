"""What does a rule of the inference know, and what may it do?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NoReturn

from hlo import HloComputation, HloInstruction
from passes.base import Trace
from passes.stock.dynamic_dimension_inference.arithmetic import SizeArithmetic
from passes.stock.dynamic_dimension_inference.refusal import DynamismRefused
from passes.stock.dynamic_dimension_inference.sizes import DynamicSizes, Index


class Support(Enum):
    """How the back end runs an instruction: can it be given arrays that are really smaller than their bounds?

    NONE: no. OPTIONAL: these as well as padded ones. REQUIRED: only these. What is given such an array gives one.
    Source: `stock_passes.md` section 4.1, `op_supports_dynamism_handler`.
    """

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


Supports = Callable[[HloInstruction], Support]
"""What the back end says of each instruction."""

CustomCallHandler = Callable[[HloInstruction, DynamicSizes], None]
"""Records the sizes of a custom-call that has operands with sizes, in place of the rules here; or refuses it."""


@dataclass(frozen=True)
class Soundness:
    """What the documented algorithm gets wrong and we do not; False restores upstream's behaviour.

    Source: the points marked UNSOUND in `stock_passes.md` sections 4.7, 5.9, 5.10, 5.18 and 15.2.
    """

    slice_limit: bool = True
    window_padding: bool = True
    update_keeps_size: bool = True


@dataclass(eq=False)
class State:
    """One inference in the making."""

    pass_name: str
    trace: Trace
    sound: Soundness
    shape_check: str
    supports: Supports
    custom_call: CustomCallHandler | None
    visit: Callable[[HloComputation], None]
    """Infers a computation whose parameters have their sizes already."""
    sizes: DynamicSizes = field(default_factory=DynamicSizes)
    checks: dict[HloComputation, list[HloInstruction]] = field(
        default_factory=dict[HloComputation, list[HloInstruction]]
    )
    _arithmetic: dict[HloComputation, SizeArithmetic] = field(
        default_factory=dict[HloComputation, SizeArithmetic]
    )

    def arithmetic(self, inst: HloInstruction) -> SizeArithmetic:
        """Arithmetic in the computation of `inst`."""
        computation = inst.parent
        known = self._arithmetic.get(computation)
        if known is None:
            known = self._arithmetic[computation] = SizeArithmetic(computation)
        return known

    def operand_sizes(self, inst: HloInstruction) -> Iterator[tuple[int, Index, int, HloInstruction]]:
        """Every dynamic dimension among the operands: operand number, shape index, dimension, size."""
        for number, operand in enumerate(inst.operands):
            for index, dimension, size in tuple(self.sizes.of(operand)):
                yield number, index, dimension, size

    def array_sizes(self, inst: HloInstruction, operand: int) -> list[tuple[int, HloInstruction]]:
        """The dynamic dimensions of one operand, an array: dimension and size."""
        return [(dimension, size) for _, dimension, size in self.sizes.of(inst.operand(operand))]

    def record(self, inst: HloInstruction, dimension: int, size: HloInstruction, index: Index = ()) -> None:
        """Let `size` be that of a dimension of the result."""
        self.sizes.set_size(inst, index, dimension, size)

    def refuse(
        self, inst: HloInstruction, reason: str, *, operand: int | None = None, dimension: int | None = None
    ) -> NoReturn:
        """Raise DynamismRefused."""
        raise DynamismRefused(self.pass_name, inst, reason, operand=operand, dimension=dimension)


Rule = Callable[[State, HloInstruction], None]
"""Records the sizes of an instruction's result; may rewrite it, or refuse."""
