"""What is a rule of the reference?"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from hlo import HloComputation, HloInstruction
from oracle.reference.kernels import JaxFunction, Kernel

Trace = Callable[[HloComputation], tuple[JaxFunction, Hashable]]
"""A computation as a function on traced arrays, and a key that is equal for equal functions."""

Rule = Callable[[HloInstruction, Trace], Kernel]
"""Makes the kernel of one instruction. `trace` is for the opcodes that call computations element by element."""
