"""What is an array of a bounded-dynamic program, once its sizes are known?

Source: `stock_passes.md` section 1.4: a dynamic array denotes the ordinary array with each dynamic dimension cut to
its size at run time. What lies beyond is padding, and has no meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hlo import HloFuzzError, HloInstruction

Sizes = tuple[int, ...]
"""The elements along each dimension."""


@dataclass(frozen=True, slots=True)
class Sized:
    """An array with its sizes.

    `inst` is an instruction of the specialised program, as large as `sizes` or larger: setting a size cuts nothing
    off, since a later one may be greater. `dynamic` says which dimensions had their size set at run time; the others
    are as large as the program's text says.
    """

    inst: HloInstruction
    sizes: Sizes
    dynamic: tuple[bool, ...]

    @property
    def is_cut(self) -> bool:
        """Whether `inst` is larger than what the array denotes."""
        return self.inst.array_shape.dimensions != self.sizes


@dataclass(frozen=True, slots=True)
class Ordering:
    """A token of the specialised program."""

    inst: HloInstruction


Tree = Sized | Ordering | tuple["Tree", ...]
"""What an instruction of the original gave: an array with its sizes, a token, or a tuple of such."""


def arrays(tree: Tree) -> Iterator[Sized]:
    """The arrays below `tree`, in order."""
    if isinstance(tree, Sized):
        yield tree
    elif isinstance(tree, tuple):
        for element in tree:
            yield from arrays(element)


class UndefinedSizes(HloFuzzError):
    """On arrays cut to their sizes an instruction has no meaning, or its result would show padding.

    The fault of the program for these inputs, not of a pass: nothing can be compared.
    """

    def __init__(self, inst: HloInstruction, message: str) -> None:
        self.instruction = inst.name
        self.message = message
        super().__init__(f"{inst.name} ({inst.opcode}): {message}")
