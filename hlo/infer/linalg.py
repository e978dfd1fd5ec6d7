"""What shape do matrix decompositions and Fourier transforms have?

Source: `InferCholeskyShape`, `InferTriangularSolveShape` and `InferFftShape` upstream.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, CholeskyOptions, FftKind, TriangularSolveOptions
from hlo.infer.common import Rule, ShapeError, Signature, array, expect, result
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape

_COMPLEX_OF = {PrimitiveType.F32: PrimitiveType.C64, PrimitiveType.F64: PrimitiveType.C128}
_REAL_OF = {composed: component for component, composed in _COMPLEX_OF.items()}
_TRANSPOSES = ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
_MOST_FFT_DIMENSIONS = 3


def _check_square(shape: ArrayShape) -> None:
    """Matrices in the last two dimensions, of real or complex floats."""
    if not (shape.element_type.is_float or shape.element_type.is_complex):
        raise ShapeError(f"element type {shape.element_type.text} is not allowed here")
    if shape.rank < 2 or shape.dimensions[-1] != shape.dimensions[-2]:
        raise ShapeError(f"{shape} does not end in square matrices")


def _cholesky(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], _d: Shape | None
) -> Shape:
    expect(attributes, CholeskyOptions)
    operand = array(operands[0])
    _check_square(operand)
    return operand


def _triangular_solve(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], _d: Shape | None
) -> Shape:
    """Triangular matrices and right-hand sides, whose shape the solution has."""
    matrix, sides = array(operands[0]), array(operands[1])
    options = expect(attributes, TriangularSolveOptions)
    _check_square(matrix)
    if sides.element_type is not matrix.element_type:
        raise ShapeError(f"{matrix} and {sides} differ in element type")
    if sides.rank != matrix.rank or sides.dimensions[:-2] != matrix.dimensions[:-2]:
        raise ShapeError(f"{matrix} and {sides} differ in the dimensions before the last two")
    shared = sides.dimensions[-2 if options.left_side else -1]
    if shared != matrix.dimensions[-1]:
        raise ShapeError(f"{matrix} does not go with a dimension of {shared} in {sides}")
    if options.transpose_a not in _TRANSPOSES:
        raise ShapeError(f"transpose_a {options.transpose_a!r} is none of {', '.join(_TRANSPOSES)}")
    return sides


def _fft(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """`length` are the sizes, on the real side, of the innermost dimensions.

    Unlike upstream we check them for FFT and IFFT, too, where a transform of another length has no meaning.
    """
    operand = array(operands[0])
    kind = expect(attributes, FftKind)
    if not 1 <= len(kind.length) <= _MOST_FFT_DIMENSIONS or operand.rank < len(kind.length):
        raise ShapeError(f"fft_length {list(kind.length)} does not name one to three dimensions of {operand}")
    element_type = _fft_type(kind.type, operand.element_type)
    *outer, last = kind.length
    half = last // 2 + 1 if last else 0  # a transform to or from real numbers keeps half of the spectrum
    expected = (*outer, half if kind.type == "IRFFT" else last)
    if operand.dimensions[-len(expected) :] != expected:
        raise ShapeError(f"fft_length {list(kind.length)} wants {list(expected)} at the end of {operand}")
    gives = half if kind.type == "RFFT" else last
    return result(element_type, (*operand.dimensions[:-1], gives), operand.dynamic, declared)


def _fft_type(kind: str, element_type: PrimitiveType) -> PrimitiveType:
    """The element type of the transform `kind` of an operand of `element_type`."""
    if kind == "RFFT" and element_type in _COMPLEX_OF:
        return _COMPLEX_OF[element_type]
    if kind == "IRFFT" and element_type.is_complex:
        return _REAL_OF[element_type]
    if kind in ("FFT", "IFFT") and element_type.is_complex:
        return element_type
    raise ShapeError(f"fft_type {kind!r} does not transform {element_type.text}")


RULES: dict[Opcode, Rule] = {
    Opcode.CHOLESKY: _cholesky,
    Opcode.TRIANGULAR_SOLVE: _triangular_solve,
    Opcode.FFT: _fft,
}
