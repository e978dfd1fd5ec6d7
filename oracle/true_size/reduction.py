"""What do reductions, windows and sorts give on arrays cut to their sizes?"""

from __future__ import annotations

from collections.abc import Sequence

from hlo import HloInstruction, Opcode, TupleShape
from hlo.attributes import Window
from hlo.infer import ShapeError, window_counts
from oracle.true_size.agreement import common_sizes, cut_to
from oracle.true_size.leaf import Sized, UndefinedSizes
from oracle.true_size.rule import Rule
from oracle.true_size.tracing import Tracer, filled


def _reduce(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized | tuple[Sized, ...]:
    new, dynamic = _over_inputs(tracer, inst, leaves, len(leaves) // 2)
    kept = [flag for d, flag in enumerate(dynamic) if d not in inst.dimensions]
    return _results(tracer, inst, new, kept)


def _reduce_window(
    tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]
) -> Sized | tuple[Sized, ...]:
    new, dynamic = _over_inputs(tracer, inst, leaves, len(leaves) // 2)
    return _results(tracer, inst, new, dynamic)


def _sort(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized | tuple[Sized, ...]:
    new, dynamic = _over_inputs(tracer, inst, leaves, len(leaves))
    return _results(tracer, inst, new, dynamic)


def _over_inputs(
    tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized], count: int
) -> tuple[HloInstruction, tuple[bool, ...]]:
    """The first `count` operands have the same sizes; the others are scalars."""
    inputs, rest = leaves[:count], leaves[count:]
    sizes, dynamic = common_sizes(inst, inputs)
    operands = [*(cut_to(tracer, leaf, sizes) for leaf in inputs), *(leaf.inst for leaf in rest)]
    return tracer.emit(inst, operands), dynamic


def _results(
    tracer: Tracer, inst: HloInstruction, new: HloInstruction, dynamic: Sequence[bool]
) -> Sized | tuple[Sized, ...]:
    if not isinstance(inst.shape, TupleShape):
        return filled(new, dynamic)
    return tuple(filled(tracer.element(new, i), dynamic) for i in range(len(inst.shape.elements)))


def _select_and_scatter(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    """The source has one element for each place of the window in the cut operand."""
    operand, source, init = leaves
    window = inst.attributes
    assert isinstance(window, Window)
    try:
        places = window_counts(operand.sizes, window.dimensions)
    except ShapeError as error:
        raise UndefinedSizes(inst, error.message) from error
    for d, count in enumerate(places):
        if source.dynamic[d] and source.sizes[d] != count:
            raise UndefinedSizes(
                inst, f"the source has size {source.sizes[d]} for {count} places of the window"
            )
    operands = [tracer.cut(operand), cut_to(tracer, source, places), init.inst]
    return filled(tracer.emit(inst, operands), operand.dynamic)


RULES: dict[Opcode, Rule] = {
    Opcode.REDUCE: _reduce,
    Opcode.REDUCE_WINDOW: _reduce_window,
    Opcode.SELECT_AND_SCATTER: _select_and_scatter,
    Opcode.SORT: _sort,
}
