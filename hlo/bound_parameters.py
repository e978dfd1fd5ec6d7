"""How does a binding of parameters to sizes become part of the program itself?

As set-dimension-size at the top of the entry, which is the only form that HLO has now: the proto's field 9, once
`dynamic_parameter_binding`, is reserved, and jaxlib drops it (`stock_passes.md` section 14.2).
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.bounds import is_unbounded
from hlo.builder import Builder
from hlo.graph import HloComputation, HloInstruction
from hlo.infer import ShapeError, infer_shape, merge_flags
from hlo.module import HloModule
from hlo.opcode import Opcode
from hlo.parameter_binding import NO_BINDING, DynamicDimension, DynamicParameterBinding, Index
from hlo.shape import ArrayShape, Shape, TupleShape, compatible, with_element


def materialised(module: HloModule) -> HloModule:
    """`module` itself where it has no binding, otherwise a copy that says the same with set-dimension-size."""
    if not module.dynamic_parameter_binding:
        return module
    copy = module.clone()
    materialise(copy)
    return copy


def materialise(module: HloModule) -> bool:
    """Write set-dimension-size for each bound parameter dimension, and drop the binding. Returns whether there was one.

    Parameters stay as they are; whatever used one uses the array, or the tuple with it, whose sizes are set. What
    the entry computes from it directly is flagged as dynamic, as far as shape inference tells.
    """
    binding = module.dynamic_parameter_binding
    if not binding:
        return False
    module.dynamic_parameter_binding = NO_BINDING
    entry = module.entry_computation
    parameters = entry.parameters
    users = {number: parameters[number].users for number in {bound.parameter for bound, _ in binding}}
    was_root = entry.root
    for number, uses in sorted(users.items()):
        parameter = parameters[number]
        sized = _sized(Builder(entry), parameters, binding, parameter, number, ())
        for user in uses:
            for place, operand in enumerate(user.operands):
                if operand is parameter:
                    entry.replace_operand(user, place, sized, accept_different_shape=True)
        if parameter is was_root:
            entry.set_root(sized, accept_different_shape=True)
    _flag(entry)
    return True


def _sized(
    builder: Builder,
    parameters: Sequence[HloInstruction],
    binding: DynamicParameterBinding,
    inst: HloInstruction,
    number: int,
    index: Index,
) -> HloInstruction:
    """`inst`, which is what is at `index` of a parameter, with its sizes set."""
    below = [
        bound for bound, _ in binding if bound.parameter == number and bound.index[: len(index)] == index
    ]
    if not below:
        return inst
    if isinstance(inst.shape, TupleShape):
        parts = [builder.gte(inst, i) for i in range(len(inst.shape.elements))]
        return builder.tuple_(
            *[_sized(builder, parameters, binding, part, number, (*index, i)) for i, part in enumerate(parts)]
        )
    for bound in below:
        source = binding.size_of(bound)
        assert source is not None
        size = parameters[source.parameter]
        for element in source.index:
            size = builder.gte(size, element)
        inst = builder.set_dimension_size(inst, size, bound.dimension)
    return inst


def _flag(entry: HloComputation) -> None:
    for inst in entry.make_instruction_post_order():
        if inst.opcode is Opcode.PARAMETER or all(operand.shape.is_static for operand in inst.operands):
            continue
        operands = [operand.shape for operand in inst.operands]
        try:
            inferred = infer_shape(
                inst.opcode, operands, inst.attributes, inst.called_computations, inst.shape
            )
        except ShapeError:
            continue  # not for us to complain about
        if compatible(inferred, inst.shape):
            inst.shape = merge_flags(inst.shape, inferred)


def without_flags(shape: Shape, binding: DynamicParameterBinding, number: int) -> Shape:
    """The shape of parameter `number`: as large as its bound in each bound dimension, whose size is elsewhere."""
    for bound, _ in binding:
        if bound.parameter == number:
            shape = _without_flag(shape, bound.index, bound.dimension)
    return shape


def _without_flag(shape: Shape, index: Index, dimension: int) -> Shape:
    if isinstance(shape, TupleShape) and index and index[0] < len(shape.elements):
        return with_element(shape, index[0], _without_flag(shape.elements[index[0]], index[1:], dimension))
    if isinstance(shape, ArrayShape) and not index and shape.dynamic:
        dynamic = tuple(flag and d != dimension for d, flag in enumerate(shape.dynamic))
        return ArrayShape(shape.element_type, shape.dimensions, dynamic, shape.layout)
    return shape


LARGEST = 2**31 - 1
"""The greatest bound whose size fits s32."""


def complaint(bound: DynamicDimension, size: Shape | None, array: Shape | None) -> str:
    """What is wrong with a binding, given the shapes at its ends (None where there is nothing); "" if nothing is."""
    if not (isinstance(size, ArrayShape) and str(size) == "s32[]"):
        return f"the size is {size or 'nowhere'}, not s32[]"
    if not isinstance(array, ArrayShape):
        return f"there is {array or 'nothing'}, not an array"
    if not 0 <= bound.dimension < array.rank:
        return f"{array} has no such dimension"
    if array.is_dynamic_dimension(bound.dimension) or is_unbounded(array):
        return f"{array} is not as large as its bound"
    if array.dimensions[bound.dimension] > LARGEST:
        return f"the bound of {array} does not fit s32"
    return ""
