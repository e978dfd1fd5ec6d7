"""Which matrices can be factorised or divided by without losing digits?"""

from __future__ import annotations

from typing import Any

import numpy as np

from hlo import ArrayShape

Array = np.ndarray[Any, np.dtype[Any]]


def definite_matrices(rng: np.random.Generator, shape: ArrayShape) -> Array:
    """Hermitian positive definite matrices of small whole numbers, in the last two dimensions of `shape`.

    m mᴴ + n I of an m with entries 0, 1 and -1: no eigenvalue is below n.
    """
    size = shape.dimensions[-1]
    m = _units(rng, shape)
    definite = m @ np.conj(np.swapaxes(m, -1, -2)) + size * np.eye(size)
    return definite.astype(shape.element_type.numpy)


def triangular_matrices(rng: np.random.Generator, shape: ArrayShape) -> Array:
    """Matrices whose diagonal is powers of two, and which otherwise are 0, 1 and -1, in both triangles.

    Dividing by either triangle is exact as long as the numbers that it makes are small.
    """
    size = shape.dimensions[-1]
    diagonal = np.array([0.5, 1.0, 2.0, -1.0, -2.0])[rng.integers(5, size=shape.dimensions[:-1])]
    matrices = np.where(np.eye(size, dtype=np.bool_), diagonal[..., None], _units(rng, shape))
    return matrices.astype(shape.element_type.numpy)


def _units(rng: np.random.Generator, shape: ArrayShape) -> Array:
    real = rng.integers(-1, 2, shape.dimensions).astype(np.float64)
    return real + 1j * rng.integers(-1, 2, shape.dimensions) if shape.element_type.is_complex else real
