"""What is a rule of specialisation?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlo import HloInstruction
from oracle.true_size.leaf import Sized
from oracle.true_size.tracing import Tracer

Rule = Callable[[Tracer, HloInstruction, Sequence[Sized]], Sized | tuple[Sized, ...]]
"""(tracer, an instruction of the original, its operands with their sizes) -> its result with sizes.

Appends the instruction on cut operands, with attributes that fit them. Raises UndefinedSizes.
"""
