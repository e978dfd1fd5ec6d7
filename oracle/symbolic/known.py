"""Which parameters must be known for the shapes of a program to be known?

The size of an array can be computed: from sizes of other arrays, which are known once those are, or from what a
parameter holds. JAX's older exports, for one, take the sizes of their symbolic dimensions as scalars.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hlo import InvalidInput
from hlo.stablehlo import StableHloModule, type_of

_OF_SHAPE: Final[Mapping[str, tuple[int, ...]]] = {
    "stablehlo.dynamic_reshape": (1,),
    "stablehlo.dynamic_broadcast_in_dim": (1,),
    "stablehlo.dynamic_iota": (0,),
    "stablehlo.dynamic_pad": (2, 3, 4),
    "stablehlo.dynamic_gather": (2,),
    "stablehlo.dynamic_conv": (2,),
    "stablehlo.real_dynamic_slice": (1, 2, 3),
}
"""The operands that say how large the result is (StableHLO specification, the operations of these names)."""

_ATTRIBUTES: Final = frozenset(
    {"stablehlo.dynamic_pad", "stablehlo.dynamic_gather", "stablehlo.dynamic_conv"}
)
"""Those whose operands have to be known even for a result of known size: they are attributes in HLO."""

_OF_CUSTOM_CALLS: Final[Mapping[str, tuple[int, ...]]] = {
    "stablehlo.dynamic_reduce_window": (-5, -4, -3, -2, -1),
    "stablehlo.dynamic_rng_bit_generator": (1,),
    "stablehlo.dynamic_top_k": (1,),
}
"""The same for the operations that StableHLO has as custom-calls only, by their target."""


def shape_parameters(program: StableHloModule) -> frozenset[int]:
    """The numbers of the entry's parameters whose elements go into the size of an array.

    Raises InvalidInput for a program without an entry.
    """
    walk = _Walk(program)
    for op in program.operations():
        for value in _shape_operands(op):
            walk.follow(value)
    return frozenset(walk.found)


def _shape_operands(op: Any) -> Iterator[Any]:
    if op.name == "stablehlo.custom_call":
        numbers = _OF_CUSTOM_CALLS.get(op.attributes["call_target_name"].value, ())
    elif op.name in _ATTRIBUTES or not all(map(_is_static, op.results)) or _is_free_slice(op):
        numbers = _OF_SHAPE.get(op.name, ())
    else:
        numbers = ()
    operands = list(op.operands)
    return (operands[number] for number in numbers if -len(operands) <= number < len(operands))


def _is_free_slice(op: Any) -> bool:
    """Whether a slice ends elsewhere than a constant behind its start: HLO has no such slice, however large it is."""
    if op.name != "stablehlo.real_dynamic_slice":
        return False
    start, limit = op.operands[1], op.operands[2]
    maker = limit.owner
    return getattr(maker, "name", "") != "stablehlo.add" or start not in list(maker.operands)


def _is_static(value: Any) -> bool:
    try:
        return type_of(value.type).is_static
    except InvalidInput:
        return True


class _Walk:
    """From values back to the entry's parameters, through calls and regions."""

    def __init__(self, program: StableHloModule) -> None:
        self.found: set[int] = set()
        self._seen: set[Any] = set()
        self._entry = program.entry.operation
        self._functions: dict[str, Any] = {}
        self._calls: dict[str, list[Any]] = {}
        for op in program.operations():
            if op.name == "func.func":
                self._functions[op.attributes["sym_name"].value] = op
            elif op.name == "func.call":
                self._calls.setdefault(op.attributes["callee"].value, []).append(op)

    def follow(self, value: Any) -> None:
        """Find the parameters that `value` is computed from; an array's size is no part of what it is computed from."""
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if value not in self._seen:
                self._seen.add(value)
                waiting.extend(self._sources(value))

    def _sources(self, value: Any) -> Iterator[Any]:
        owner = value.owner
        if hasattr(owner, "operations"):  # a block: the value is an argument of it
            yield from self._given(owner.owner.operation, value.arg_number)
        elif owner.name == "func.call":
            function = self._functions.get(owner.attributes["callee"].value)
            if function is not None:
                number = list(owner.results).index(value)
                (body,) = function.regions[0].blocks
                yield body.operations[len(body.operations) - 1].operands[number]
        elif owner.name != "stablehlo.get_dimension_size":
            yield from owner.operands
            for region in owner.regions:
                for block in region.blocks:
                    yield from block.operations[len(block.operations) - 1].operands

    def _given(self, holder: Any, number: int) -> Iterator[Any]:
        """What an argument of a region can hold."""
        if holder == self._entry:
            self.found.add(number)
        elif holder.name == "func.func":
            for call in self._calls.get(holder.attributes["sym_name"].value, []):
                yield call.operands[number]
        else:
            yield from holder.operands
