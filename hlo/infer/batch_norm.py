"""What shape do the batch normalisations have?

Source: `InferBatchNorm…Shape` upstream. Floats may differ in precision; the operand's type comes out.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, BatchNormOptions
from hlo.infer.common import (
    Rule,
    ShapeError,
    Signature,
    array,
    check_dimension,
    expect,
    same_but_for_float_precision,
)
from hlo.opcode import Opcode
from hlo.shape import ArrayShape, Shape, TupleShape


def _features(operand: ArrayShape, attributes: Attributes, others: Sequence[ArrayShape]) -> ArrayShape:
    """The shape of one value for each feature of `operand`, which is what each of `others` must have."""
    if not operand.element_type.is_float:
        raise ShapeError(f"element type {operand.element_type.text} is not allowed here")
    index = expect(attributes, BatchNormOptions).feature_index
    check_dimension(index, operand.rank)
    features = ArrayShape(operand.element_type, (operand.dimensions[index],))
    for other in others:
        if other.dimensions != features.dimensions or not same_but_for_float_precision(
            other.element_type, operand.element_type
        ):
            raise ShapeError(f"{other} is not {features}, one for each feature of {operand}")
    return features


def _training(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], _d: Shape | None
) -> Shape:
    """(operand, scale, offset) -> (normalised, mean, variance)."""
    operand, *others = (array(shape) for shape in operands)
    features = _features(operand, attributes, others)
    return TupleShape((operand, features, features))


def _inference(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], _d: Shape | None
) -> Shape:
    """(operand, scale, offset, mean, variance) -> normalised."""
    operand, *others = (array(shape) for shape in operands)
    _features(operand, attributes, others)
    return operand


def _grad(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], _d: Shape | None
) -> Shape:
    """(operand, scale, mean, variance, gradient of the output) -> gradients of operand, scale and offset."""
    operand, *others, gradient = (array(shape) for shape in operands)
    features = _features(operand, attributes, others)
    if gradient.dimensions != operand.dimensions or not same_but_for_float_precision(
        gradient.element_type, operand.element_type
    ):
        raise ShapeError(f"the gradient {gradient} is not of the shape {operand}")
    return TupleShape((operand, features, features))


RULES: dict[Opcode, Rule] = {
    Opcode.BATCH_NORM_TRAINING: _training,
    Opcode.BATCH_NORM_INFERENCE: _inference,
    Opcode.BATCH_NORM_GRAD: _grad,
}
