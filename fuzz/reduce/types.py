"""How plain can the element types be?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from fuzz.case import Case
from fuzz.reduce.editing import Candidate, cloned
from hlo import ArrayShape, Literal, Opcode, PrimitiveType, Shape, Token, TupleShape, Value, leaves
from hlo.attributes import Comparison, ConstantValue

_PLAIN = (PrimitiveType.S32, PrimitiveType.F32)


def plainer_types(case: Case) -> Iterator[Candidate]:
    """One element type replaced by s32 or f32 everywhere, values converted as NumPy does."""
    used = {
        shape.element_type: None
        for computation in case.module.computations
        for inst in computation.instructions
        for _, shape in leaves(inst.shape)
        if isinstance(shape, ArrayShape)
    }
    for element_type in used:
        for plain in _PLAIN:
            if element_type not in (plain, PrimitiveType.PRED):
                yield partial(_retype, case, element_type, plain)


def _retype(case: Case, old: PrimitiveType, new: PrimitiveType) -> Case:
    case, _ = cloned(case)
    for computation in case.module.computations:
        for inst in computation.instructions:
            inst.shape = _retype_shape(inst.shape, old, new)
            if inst.opcode is Opcode.CONSTANT:
                inst.attributes = ConstantValue(Literal(_retype_value(inst.literal.value, old, new)))
            elif isinstance(inst.attributes, Comparison):
                inst.attributes = replace(inst.attributes, type="")  # as the element type says
    return replace(
        case,
        inputs=tuple(tuple(_retype_value(value, old, new) for value in inputs) for inputs in case.inputs),
    )


def _retype_shape(shape: Shape, old: PrimitiveType, new: PrimitiveType) -> Shape:
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(_retype_shape(element, old, new) for element in shape.elements))
    if isinstance(shape, ArrayShape) and shape.element_type is old:
        return shape.with_element_type(new)
    return shape


def _retype_value(value: Value, old: PrimitiveType, new: PrimitiveType) -> Value:
    if isinstance(value, tuple):
        return tuple(_retype_value(element, old, new) for element in value)
    if isinstance(value, Token) or value.dtype != old.numpy:
        return value
    with np.errstate(all="ignore"):
        return value.astype(new.numpy)
