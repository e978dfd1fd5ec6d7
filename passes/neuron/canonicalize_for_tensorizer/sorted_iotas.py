"""When does a sort only count?

Ours: the page has the name `fuseIotaSort` and nothing else.
"""

from __future__ import annotations

from typing import Any

from hlo.stablehlo import dialect, ir, type_of

_KEEPS, _REVERSES = "LT", "GT"


def sort_by_iota(op: Any, rewriter: Any) -> bool:
    """A sort whose order is that of an iota along the sorted dimension: its operands, or their reverse.

    The numbers of an integer iota that does not wrap are all different, so that it does not matter what the sort
    does with equals.
    """
    key = _compared(op)
    if key is None:
        return False
    place, direction = key
    dimension = int(op.attributes["dimension"])
    if not all(type_of(operand.type).is_static for operand in op.operands):
        return False
    if not _counts_along(op.operands[place], dimension):
        return False
    operands = list(op.operands)
    if direction == _REVERSES:
        operands = [dialect().reverse(operand, [dimension]) for operand in operands]
    rewriter.replace_op(op, operands)
    return True


def _compared(op: Any) -> tuple[int, str] | None:
    """The operand whose elements alone the sort compares, and which of two goes first; None where it is not so."""
    block = op.regions[0].blocks[0]
    body = list(block.operations)
    if [inner.operation.name for inner in body] != ["stablehlo.compare", "stablehlo.return"]:
        return None
    compare = body[0].operation
    if body[1].operation.operands[0] != compare.results[0]:
        return None
    places = [ir().BlockArgument(x).arg_number for x in compare.operands if isinstance(x, ir().BlockArgument)]
    direction = str(compare.attributes["comparison_direction"]).split()[-1].rstrip(">")
    if len(places) != 2 or places[0] // 2 != places[1] // 2 or places[0] == places[1]:
        return None
    # argument 2i is the left one of operand i
    swapped = places[0] > places[1]
    first = {_KEEPS: _REVERSES, _REVERSES: _KEEPS}.get(direction) if swapped else direction
    return (places[0] // 2, first) if first in (_KEEPS, _REVERSES) else None


def _counts_along(value: Any, dimension: int) -> bool:
    """Whether `value` is an iota along `dimension` whose numbers are all different, and compare as they count."""
    source = value.owner
    if getattr(source, "name", "") != "stablehlo.iota":
        return False
    kind = type_of(value.type)
    element, size = kind.element_type, kind.dimensions[dimension]
    is_integer = element.is_signed or element.is_unsigned
    if int(source.attributes["iota_dimension"]) != dimension or not is_integer or size is None:
        return False
    return size <= 2 ** (element.bit_width - element.is_signed)
