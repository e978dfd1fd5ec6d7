"""In which ways is the result of XLA's `dynamic_padder` wrong? Each a `Departure`, checked against ours or the sizes.

Numbers are those of `stock_passes.md` section 15.2; a departure without one is not in that list, and has its program
in `corpus/upstream`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from hlo import HloInstruction, Opcode
from hlo.attributes import Window, WindowDimension
from oracle.true_size import Sized, Tree

Seen = Mapping[HloInstruction, Tree]
"""What the instructions of a program gave, with their sizes, when it was run."""


def never(_inst: HloInstruction, _seen: Seen) -> bool:
    """Holds for nothing."""
    return False


@dataclass(frozen=True)
class Departure:
    """A way in which XLA's result is wrong.

    With a `guard`, ours without it must give what XLA's gives; without one, `holds` says of the instruction that is
    wrong, and of what was seen when the program ran, whether this is it.
    """

    name: str
    reason: str
    items: tuple[int, ...] = ()
    guard: str = ""
    holds: Callable[[HloInstruction, Seen], bool] = never


def _guarded(guard: str, items: tuple[int, ...], reason: str) -> Departure:
    return Departure(guard.replace("_", "-"), reason, items, guard=guard)


def _returns_a_parameter(inst: HloInstruction, _seen: Seen) -> bool:
    """A tuple of a dynamic parameter as it came in and of another dynamic array, which the entry returns."""
    if inst.opcode is not Opcode.TUPLE:
        return False
    dynamic = [o for o in inst.operands if not o.shape.is_static]
    given = [o for o in dynamic if _is_given(o)]
    return bool(given) and len(given) < len(dynamic)


def _is_given(inst: HloInstruction) -> bool:
    """Whether `inst` is a parameter, a part of one, or a tuple of such, from which nothing is computed."""
    if inst.opcode is Opcode.PARAMETER:
        return all(user.opcode in _HANDS_ON for user in inst.users)
    return inst.opcode in _HANDS_ON and any(
        _is_given(operand) for operand in inst.operands if not operand.shape.is_static
    )


def _updates_by_an_array_whose_size_is_set(inst: HloInstruction, _seen: Seen) -> bool:
    """With a dynamic dimension smaller than the array's."""
    if inst.opcode is not Opcode.DYNAMIC_UPDATE_SLICE:
        return False
    base, update = (operand.array_shape for operand in inst.operands[:2])
    return inst.operand(1).opcode is Opcode.SET_DIMENSION_SIZE and any(
        update.is_dynamic_dimension(d) and update.dimensions[d] < bound
        for d, bound in enumerate(base.dimensions)
    )


def _rows(inst: HloInstruction, seen: Seen) -> Iterator[tuple[WindowDimension, int, int]]:
    """The window of a reduce-window along each dynamic dimension, with the size and the bound there."""
    window = inst.attributes
    if inst.opcode is not Opcode.REDUCE_WINDOW or not isinstance(window, Window):
        return
    operand = seen.get(inst.operand(0))
    if isinstance(operand, Sized):
        bounds = inst.operand(0).array_shape.dimensions
        for row, size, bound, dynamic in zip(
            window.dimensions, operand.sizes, bounds, operand.dynamic, strict=True
        ):
            if dynamic:
                yield row, size, bound


def _places(size: int, row: WindowDimension) -> int:
    base = max((size - 1) * row.base_dilation + 1, 0) + row.padding_low + row.padding_high
    reach = (row.size - 1) * row.window_dilation + 1
    return max((base - reach) // row.stride + 1, 0)


def _has_a_dilated_base(inst: HloInstruction, seen: Seen) -> bool:
    """So that there are other places for the window than without."""
    return any(
        _places(size, row) != _places(size, replace(row, base_dilation=1))
        for row, size, _ in _rows(inst, seen)
    )


def _moves_a_window_of_one(inst: HloInstruction, seen: Seen) -> bool:
    """Over what is padded or dilated, where there are fewer elements than the bound."""
    return any(
        row.size == 1 and size < bound and (row.padding_low, row.padding_high, row.base_dilation) != (0, 0, 1)
        for row, size, bound in _rows(inst, seen)
    )


_HANDS_ON = frozenset({Opcode.GET_TUPLE_ELEMENT, Opcode.TUPLE})

DEPARTURES: tuple[Departure, ...] = (
    _guarded(
        "slice_limit",
        (2,),
        "The size of a slice is computed without its limit, and is negative where the size is less than the start.",
    ),
    _guarded(
        "window_padding",
        (3,),
        "The size of a reduce-window is computed without padding and base dilation, and is negative where the window "
        "does not fit.",
    ),
    _guarded(
        "repeat_everywhere",
        (5,),
        "A single element is repeated to meet a larger operand by operations of two operands only, not by select, "
        "clamp and map.",
    ),
    _guarded(
        "mask_static_inputs",
        (9,),
        "Of the inputs of one reduction only those that have a size themselves are masked.",
    ),
    _guarded(
        "reducer_identity",
        (10,),
        "Padding is masked by the initial value, which counts once more for each element of padding.",
    ),
    _guarded(
        "mask_both_sides",
        (11,),
        "Of the two sides of a contraction only the one with the size is masked by zero, and 0 times NaN is NaN.",
    ),
    _guarded(
        "clamp_to_size",
        (12,),
        "Starts of slices, updates and gathers, and windows of scatters, are clamped by bounds instead of sizes.",
    ),
    _guarded(
        "update_keeps_size",
        (12,),
        "An update that spans a whole dimension gives the array its own size.",
    ),
    _guarded(
        "wide_indices",
        (22,),
        "The greatest index of a narrow type, which should be out of bounds, is not.",
    ),
    Departure(
        "base-dilation",
        "The size of a reduce-window is computed without base dilation. (As of jaxlib 0.12 padding does count.)",
        (3,),
        holds=_has_a_dilated_base,
    ),
    Departure(
        "window-of-one",
        "Where the window is of size 1 nothing is masked, although it may lie on edge padding or on a gap of a dilated "
        "base, where the array's own padding is.",
        holds=_moves_a_window_of_one,
    ),
    Departure(
        "parameter-returned",
        "A dynamic parameter that is returned as it came in gets no size, and then no element of the tuple does: "
        "another one is returned as large as its bound.",
        holds=_returns_a_parameter,
    ),
    Departure(
        "update-flagged",
        "The mask of an update has the shape of the update, and that is still flagged as dynamic where the update's "
        "size was set by set-dimension-size: an internal error.",
        holds=_updates_by_an_array_whose_size_is_set,
    ),
)
"""Guards first, in the order of section 15.2."""
