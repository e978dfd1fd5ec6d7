"""What shape does a reduce have?

Types follow `InferReduceShape` upstream: the reducer decides the element type.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, Dimensions
from hlo.infer.common import Rule, Signature, array, check_dimensions, expect, result, with_flags_of
from hlo.infer.reducers import accumulators, inputs_and_inits
from hlo.opcode import Opcode
from hlo.shape import Shape, TupleShape


def _reduce(
    operands: Sequence[Shape], attributes: Attributes, called: Sequence[Signature], declared: Shape | None
) -> Shape:
    """N inputs, then N initial values. An array or a tuple of arrays, as the reducer gives a scalar or a tuple."""
    inputs, inits = inputs_and_inits([array(operand) for operand in operands])
    first = inputs[0]
    dimensions = expect(attributes, Dimensions).dimensions
    check_dimensions(dimensions, first.rank)
    scalars = accumulators(called[0], inputs, inits)
    kept = [d for d in range(first.rank) if d not in dimensions]
    sizes = tuple(first.dimensions[d] for d in kept)
    merged = with_flags_of(first, inputs[1:]).dynamic
    flags = tuple(merged[d] for d in kept) if merged else ()
    if not isinstance(called[0].result, TupleShape):
        return result(scalars[0].element_type, sizes, flags, declared)
    return TupleShape(tuple(result(scalar.element_type, sizes, flags, None) for scalar in scalars))


RULES: dict[Opcode, Rule] = {Opcode.REDUCE: _reduce}
