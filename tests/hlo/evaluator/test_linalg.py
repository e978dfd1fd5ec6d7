"""Factorisations, triangular systems and Fourier transforms, held against what defines them."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from hlo import ArrayShape, Opcode, PrimitiveType
from hlo.attributes import CholeskyOptions, FftKind, TriangularSolveOptions

F32, F64, C64, C128 = PrimitiveType.F32, PrimitiveType.F64, PrimitiveType.C64, PrimitiveType.C128
TYPES = [PrimitiveType.BF16, PrimitiveType.F16, F32, F64, C64, C128]
UNITS = {PrimitiveType.BF16: 2.0**-8, PrimitiveType.F16: 2.0**-11, F32: 2.0**-24, C64: 2.0**-24}


def matrices(t: PrimitiveType, *shape: int) -> np.ndarray:
    x = np.sin(np.arange(1.0, 1 + math.prod(shape))).reshape(shape)
    return (x + 1j * np.cos(3 * x) if t.is_complex else x).astype(t.numpy)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def unit(t: PrimitiveType) -> float:
    return UNITS.get(t, 2.0**-50)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("t", TYPES)
def test_a_cholesky_factor_times_its_adjoint_is_the_matrix(apply, t: PrimitiveType, lower: bool) -> None:
    root = wide(matrices(t, 2, 4, 4)) + 4 * np.eye(4)
    x = (root @ np.swapaxes(root, -1, -2).conj()).astype(t.numpy)
    triangle = np.tril if lower else np.triu
    # the other triangle is not looked at
    given = np.where(triangle(np.ones((4, 4), bool)), x, np.array(99).astype(t.numpy))
    factor = apply(Opcode.CHOLESKY, given, attributes=CholeskyOptions(lower), shape=ArrayShape(t, x.shape))
    assert (wide(factor) == triangle(wide(factor))).all()
    adjoint = np.swapaxes(wide(factor), -1, -2).conj()
    product = wide(factor) @ adjoint if lower else adjoint @ wide(factor)
    assert np.abs(product - wide(x)).max() < 16 * unit(t) * np.abs(wide(x)).max()


@pytest.mark.parametrize(
    "bad", [[[1, 2], [2, 1]], [[-1, 0], [0, 1]], [[0, 0], [0, 1]], [[1, 0], [0, 0]], [[math.nan, 0], [0, 1]]]
)
def test_a_matrix_that_is_not_positive_definite_gives_nan_and_spares_the_others(apply, bad) -> None:
    x = np.array([np.eye(2), bad, 4 * np.eye(2)], np.float32)
    got = apply(Opcode.CHOLESKY, x, attributes=CholeskyOptions(lower=True), shape=ArrayShape(F32, x.shape))
    assert got[0].tolist() == [[1, 0], [0, 1]]
    assert np.isnan(got[1]).all()
    assert got[2].tolist() == [[2, 0], [0, 2]]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_empty_matrices_have_empty_factors(apply, shape) -> None:
    x = np.zeros(shape, np.float32)
    assert (
        apply(Opcode.CHOLESKY, x, attributes=CholeskyOptions(True), shape=ArrayShape(F32, shape)).shape
        == shape
    )


FORMS = list(
    itertools.product([True, False], [True, False], [True, False], ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
)


@pytest.mark.parametrize(("left_side", "lower", "unit_diagonal", "transpose"), FORMS)
@pytest.mark.parametrize("t", [F32, C64, C128])
def test_a_solution_solves_its_triangular_system(
    apply, t: PrimitiveType, left_side: bool, lower: bool, unit_diagonal: bool, transpose: str
) -> None:
    a = (wide(matrices(t, 2, 3, 3)) + 3 * np.eye(3)).astype(t.numpy)
    b = matrices(t, 2, *((3, 2) if left_side else (2, 3)))
    # neither the other triangle nor, where it is one, the diagonal is looked at
    used = (np.tril if lower else np.triu)(
        np.ones((3, 3), bool), (-1 if lower else 1) if unit_diagonal else 0
    )
    given = np.where(used, a, np.array(np.nan).astype(t.numpy))
    options = TriangularSolveOptions(left_side, lower, unit_diagonal, transpose)
    got = apply(Opcode.TRIANGULAR_SOLVE, given, b, attributes=options, shape=ArrayShape(t, b.shape))
    matrix = np.where(used, wide(a), 0) + (np.eye(3) if unit_diagonal else 0)
    if transpose != "NO_TRANSPOSE":
        matrix = np.swapaxes(matrix, -1, -2)
    if transpose == "ADJOINT":
        matrix = matrix.conj()
    product = matrix @ wide(got) if left_side else wide(got) @ matrix
    assert np.abs(product - wide(b)).max() < 64 * unit(t)


def test_a_zero_on_the_diagonal_divides_as_a_float_does(apply) -> None:
    a, b = np.array([[0, 0], [1, 1]], np.float32), np.array([[1, 0], [1, 1]], np.float32)
    options = TriangularSolveOptions(left_side=True, lower=True)
    got = apply(Opcode.TRIANGULAR_SOLVE, a, b, attributes=options, shape=ArrayShape(F32, (2, 2)))
    assert str(got.tolist()) == "[[inf, nan], [-inf, nan]]"


@pytest.mark.parametrize(("a", "b"), [((0, 0), (0, 2)), ((3, 3), (3, 0)), ((0, 2, 2), (0, 2, 1))])
def test_empty_systems_have_empty_solutions(apply, a, b) -> None:
    options = TriangularSolveOptions(left_side=True, lower=True)
    got = apply(
        *(Opcode.TRIANGULAR_SOLVE, np.zeros(a, np.float32), np.zeros(b, np.float32)),
        attributes=options,
        shape=ArrayShape(F32, b),
    )
    assert got.shape == b


def transform(x: np.ndarray, axis: int, sign: int) -> np.ndarray:
    """The defining sum along one axis."""
    size = x.shape[axis]
    angles = sign * 2j * np.pi * np.outer(np.arange(size), np.arange(size)) / size
    return np.moveaxis(np.tensordot(np.exp(angles), x, (1, axis)), 0, axis)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("t", [C64, C128])
def test_a_transform_is_its_defining_sum(apply, t: PrimitiveType, axes: int) -> None:
    x = matrices(t, 2, 3, 4, 5)
    for name, sign in (("FFT", -1), ("IFFT", 1)):
        kind = FftKind(name, x.shape[-axes:])
        got = apply(Opcode.FFT, x, attributes=kind, shape=ArrayShape(t, x.shape))
        expected = wide(x)
        for axis in range(4 - axes, 4):
            expected = transform(expected, axis, sign)
        if sign > 0:
            expected = expected / math.prod(x.shape[-axes:])
        assert np.abs(got - expected).max() < 256 * unit(t)


@pytest.mark.parametrize("length", [(1,), (4,), (5,), (3, 4), (3, 5)])
def test_a_real_transform_is_half_of_the_complex_one_and_comes_back(apply, length: Any) -> None:
    x = matrices(F64, 2, 3, length[-1])
    half = (2, 3, length[-1] // 2 + 1)
    got = apply(Opcode.FFT, x, attributes=FftKind("RFFT", length), shape=ArrayShape(C128, half))
    expected = wide(x).astype(np.complex128)
    for axis in range(3 - len(length), 3):
        expected = transform(expected, axis, -1)
    assert np.abs(got - expected[..., : half[-1]]).max() < 1e-12
    back = apply(Opcode.FFT, got, attributes=FftKind("IRFFT", length), shape=ArrayShape(F64, x.shape))
    assert np.abs(back - x).max() < 1e-12


@pytest.mark.parametrize(("shape", "length"), [((0, 4), (4,)), ((3, 0, 4), (4,))])
def test_transforms_of_nothing_are_nothing(apply, shape, length) -> None:
    half = (*shape[:-1], 3)
    got = apply(
        Opcode.FFT,
        np.zeros(shape, np.float32),
        attributes=FftKind("RFFT", length),
        shape=ArrayShape(C64, half),
    )
    assert got.shape == half
