"""What does it take to map one kind of attribute record to the proto?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hlo.attributes import Attributes
from hlo.graph import HloInstruction


@dataclass(frozen=True, slots=True)
class Record:
    """The proto fields that a record stands for, how it is read from them, and how they are filled in.

    The instruction's operands help to read a comparison.
    """

    fields: tuple[str, ...]
    read: Callable[[Any, Sequence[HloInstruction]], Attributes]
    fill: Callable[[Any, Any], None]
