"""What is asked of values of MLIR: which operation gives one, and of which type it is?"""

from __future__ import annotations

from typing import Any, Final

from hlo.interchange.mlir import DYNAMIC, ir

_INDEX_BITS: Final = 64


def producer(value: Any) -> Any | None:
    """The operation that gives `value`, or None for an argument of a block."""
    owner = value.owner
    return None if isinstance(owner, ir().Block) else owner.operation


def producer_named(value: Any, *names: str) -> Any | None:
    """The operation that gives `value`, if it is called one of `names`."""
    op = producer(value)
    return op if op is not None and op.name in names else None


def result_number(value: Any) -> int:
    """Which result of its operation `value` is."""
    return int(ir().OpResult(value).result_number)


def is_ranked(value: Any) -> bool:
    """Whether `value` is a tensor whose rank is known."""
    return isinstance(value.type, ir().RankedTensorType)


def dimensions(value: Any) -> tuple[int | None, ...]:
    """The sizes that the type of a ranked tensor says, None for `?`."""
    return tuple(None if size == DYNAMIC else int(size) for size in value.type.shape)


def integer_type(value: Any) -> tuple[int, bool] | None:
    """The bits of the integers that `value` is or consists of, and whether they are unsigned; None for other types."""
    element = getattr(value.type, "element_type", value.type)
    if isinstance(element, ir().IndexType):
        return _INDEX_BITS, False
    if isinstance(element, ir().IntegerType):
        return int(element.width), bool(element.is_unsigned) or element.width == 1
    return None


def element_count(value: Any) -> int | None:
    """How many elements a static tensor has, 1 for a value that is no tensor; None where only a run tells."""
    if not is_ranked(value):
        return 1 if integer_type(value) else None
    count = 1
    for size in dimensions(value):
        if size is None:
            return None
        count *= size
    return count
