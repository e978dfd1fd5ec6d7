"""How does a program become one function? jaxlib's MLIR does not know how to inline `func.call`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hlo.stablehlo import ir

_MOST_CALLS = 10_000
"""A program that has more is taken to call itself."""


def inline_calls(entry: Any, functions: Mapping[str, Any]) -> bool:
    """Put the body of the function in place of each call below `entry`. Returns whether none is left.

    `functions` are the `func.func` operations of the program, by name.
    """
    for _ in range(_MOST_CALLS):
        call = next(_calls(entry), None)
        if call is None:
            return True
        _inline(call, functions[call.attributes["callee"].value].regions[0].blocks[0])
    return False


def _calls(op: Any) -> Iterator[Any]:
    for region in op.regions:
        for block in region.blocks:
            for wrapped in block.operations:
                inner = wrapped.operation
                if inner.name == "func.call":
                    yield inner
                yield from _calls(inner)


def _inline(call: Any, body: Any) -> None:
    became = dict(zip(body.arguments, call.operands, strict=True))
    with ir().InsertionPoint(call):
        returned = copy_operations(body, became)
    for result, value in zip(call.results, returned, strict=True):
        result.replace_all_uses_with(value)
    call.erase()


def copy_operations(block: Any, became: dict[Any, Any]) -> list[Any]:
    """Copy all of `block` but its end to the insertion point; return what became of the operands of the end.

    `became` says what stands for the values that `block` has from outside, and hears of each copy.
    """
    *operations, end = (wrapped.operation for wrapped in block.operations)
    for op in operations:
        copy = op.clone()
        _replace_operands(copy, became)
        became |= dict(zip(op.results, copy.results, strict=True))
    return [became[value] for value in end.operands]


def _replace_operands(op: Any, became: Mapping[Any, Any]) -> None:
    """In `op` and in all inside it."""
    for number, operand in enumerate(op.operands):
        if operand in became:
            op.operands[number] = became[operand]
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _replace_operands(inner.operation, became)
