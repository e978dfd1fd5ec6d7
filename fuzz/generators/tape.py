"""How does one Hypothesis draw become many decisions?

A draw costs about 25 µs, a byte of `st.binary` about 3. So a recipe is drawn as a tape of a fixed number of
bytes, and each byte is one decision: an index into options that stand simplest first. Hypothesis shrinks every
byte by itself towards 0, so every decision shrinks by itself towards its first option. No byte's place on the
tape depends on another byte's value: that would let one shrunk decision reshuffle all the later ones.

All tapes of a strategy have one length. Hypothesis makes new examples out of old ones by copying one draw over
another of its kind; over a draw of another length the copy would not fit, and be replaced by zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

TAPE_BYTES = 55  # what an unrolled loop takes, the longest recipe


def tapes(size: int = TAPE_BYTES) -> st.SearchStrategy[bytes]:
    """What a `Tape` reads."""
    return st.binary(min_size=size, max_size=size)


class Tape:
    """Reads the decisions of one draw, in order."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def choice(self, options: Sequence[T]) -> T:
        """One of `options` (at most 256), the first for byte 0; a repeated option is likelier.

        Raises IndexError where the tape is shorter than the recipe that reads it.
        """
        byte = self._data[self._position]
        self._position += 1
        return options[byte * len(options) >> 8]

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return len(self._data) - self._position


def weighted(weights: Mapping[T, int]) -> tuple[T, ...]:
    """The options of a mapping, simplest first, each repeated as often as its weight says."""
    return tuple(option for option, weight in weights.items() for _ in range(weight))
