"""How are the sizes of a program's parameters and results handed over, once both are static?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlo.stablehlo import TensorType, dialect, ir, type_of
from passes.neuron.bound_dynamic_dimensions.analysis import Analysis
from passes.neuron.bound_dynamic_dimensions.extent import Extent
from passes.neuron.bound_dynamic_dimensions.values import (
    SIZE,
    made_static,
    masked,
    parsed,
    sizes_at_bound,
    with_sizes,
    zeros,
)

Slots = tuple[tuple[int, int], ...]


def size_slots(kinds: Sequence[TensorType]) -> Slots:
    """(parameter or result, dimension) of each size that is not known, in the order in which sizes are handed over."""
    return tuple(
        (number, d)
        for number, kind in enumerate(kinds)
        for d, size in enumerate(kind.dimensions)
        if size is None
    )


def add_size_parameters(
    entry: Any, block: Any, wanted: Sequence[TensorType | None], slots: Slots, analysis: Analysis
) -> dict[Extent, Any]:
    """Make the parameters static, as large as the bounds in `wanted`, and append an s32[] for each of `slots`.

    Whatever used a parameter uses it with its sizes set. Of sizes that must be equal, all are set to the first.
    Returns the scalar that has each size.
    """
    parameters = list(block.arguments)
    location = entry.location
    scalars: dict[Extent, Any] = {}
    sizes: dict[tuple[int, int], Any] = {}
    for number, d in slots:
        size = analysis.unknowns.settled(analysis.sizes(parameters[number])[d])
        argument = block.add_argument(parsed(SIZE), location)
        sizes[number, d] = scalars.setdefault(size, argument)
    first = next(iter(block.operations))
    for number, (parameter, kind) in enumerate(zip(parameters, wanted, strict=True)):
        if kind is None or all(place != number for place, _ in slots):
            continue
        declared = type_of(parameter.type)
        own = declared.bounds
        held = kind.with_dimensions(
            [
                size if size is not None else (bound if bound is not None else most)
                for size, bound, most in zip(declared.dimensions, own, sizes_at_bound(kind), strict=True)
            ]
        )
        uses = list(parameter.uses)
        users = [(use.owner, use.operand_number) for use in uses]
        parameter.set_type(parsed(held))
        with ir().InsertionPoint(first), location:
            value = _cut(parameter, held, kind)
            value = with_sizes(value, kind, lambda d, number=number: sizes[number, d])
        analysis.stands_for(value, parameter)
        for owner, place in users:
            owner.operands[place] = value
    return scalars


def _cut(parameter: Any, held: TensorType, kind: TensorType) -> Any:
    """The part of a parameter that counts, where it must be equal to one with a smaller bound."""
    room = sizes_at_bound(kind)
    if held.dimensions == room:
        return parameter
    return dialect().slice(parameter, [0] * len(room), list(room), [1] * len(room))


def static_results(entry: Any, ending: Any, slots: Slots) -> None:
    """Return arrays as large as their bounds, zeros around what counts, and an s32[] for each of `slots`."""
    returned: list[Any] = []
    sizes: dict[tuple[int, int], Any] = {}
    with ir().InsertionPoint(ending), ending.location:
        for number, value in enumerate(ending.operands):
            unknown = [d for place, d in slots if place == number]
            if not unknown:
                returned.append(value)
                continue
            kind = type_of(value.type)
            data, counts = made_static(value)
            dynamic = {d: counts[d] for d, size in enumerate(kind.dimensions) if size is None}
            returned.append(masked(data, dynamic, zeros(kind, ())))
            sizes |= {(number, d): counts[d] for d in unknown}
        new = dialect("func").ReturnOp([*returned, *[sizes[slot] for slot in slots]])
    kind = ir().FunctionType.get(
        [argument.type for argument in entry.regions[0].blocks[0].arguments],
        [value.type for value in new.operation.operands],
    )
    entry.attributes["function_type"] = ir().TypeAttr.get(kind)
    for name in ("arg_attrs", "res_attrs"):
        if name in entry.attributes:
            del entry.attributes[name]  # one for each of the old ones
    ending.erase()
