"""How is a factorisation, a Fourier transform or a normalisation drawn?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzz.generators.graphs.elementwise import alike
from fuzz.generators.graphs.graph import Graph
from fuzz.generators.graphs.palette import COMPLEX, SINGLE_OR_DOUBLE
from fuzz.generators.graphs.shape import has_rank
from hlo import HloInstruction, Opcode
from hlo.attributes import BatchNormOptions, Ints, TriangularSolveOptions

Rule = Callable[[Graph, Opcode], None]

_FIELDS = (*SINGLE_OR_DOUBLE, *COMPLEX)
_SIZES = (2, 3, 1)


def _cholesky(graph: Graph, _opcode: Opcode) -> None:
    """Of a parameter, which its role makes positive definite, or of x·xᵀ + n·I."""
    lower = graph.choice((True, False))
    size = graph.choice(_SIZES)
    if graph.is_entry and graph.choice((True, False)):
        batch = graph.choice(((), (), (2,)))
        matrix = graph.given(graph.element_type(_FIELDS), (*batch, size, size))
    else:
        matrix = _definite(graph, size)
    graph.add(graph.builder.cholesky(matrix, lower=lower), inexact=True)


def _definite(graph: Graph, size: int) -> HloInstruction:
    kind = graph.element_type(SINGLE_OR_DOUBLE)
    x = graph.builder.constant((np.arange(size * size).reshape(size, size) % 3).astype(kind.numpy))
    square = graph.builder.dot(x, graph.builder.transpose(x, (1, 0)), ((1,), (0,)))
    heavy = graph.builder.constant((np.eye(size) * 4 * size).astype(kind.numpy))
    return graph.builder.op(Opcode.ADD, square, heavy)


def _triangular_solve(graph: Graph, _opcode: Opcode) -> None:
    kind, size, columns = graph.element_type(_FIELDS), graph.choice(_SIZES), graph.choice((1, 2))
    batch = graph.choice(((), (), (2,)))
    left_side, lower = graph.choice((True, False)), graph.choice((True, False))
    sides: Ints = (size, columns) if left_side else (columns, size)
    if graph.is_entry:
        matrix = graph.given(kind, (*batch, size, size))
    else:
        matrix = graph.builder.constant(
            np.broadcast_to(np.eye(size) * 2, (*batch, size, size)).astype(kind.numpy)
        )
    transposes = ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
    options = TriangularSolveOptions(left_side, lower, graph.choice((False, True)), graph.choice(transposes))
    right = graph.array((kind,), (*batch, *sides))
    graph.add(graph.builder.triangular_solve(matrix, right, options), inexact=True)


def _fft(graph: Graph, _opcode: Opcode) -> None:
    kind = graph.choice(("FFT", "IFFT", "RFFT", "IRFFT"))
    types = SINGLE_OR_DOUBLE if kind == "RFFT" else COMPLEX
    x = graph.array(types, where=lambda d: has_rank(1, 3)(d) and 0 not in d)
    dims = x.array_shape.dimensions
    count = min(graph.choice((1, 1, 2)), len(dims))
    length = dims[-count:]
    if kind == "IRFFT":
        last = max(2 * dims[-1] - graph.choice((2, 1)), 1)
        length = (*length[:-1], last)
    graph.add(graph.builder.fft(x, kind, length), inexact=True)


def _normalised(graph: Graph) -> tuple[HloInstruction, BatchNormOptions]:
    x = graph.array(SINGLE_OR_DOUBLE, where=lambda d: 2 <= len(d) <= 3 and 0 not in d)
    return x, BatchNormOptions(graph.choice((0.5, 0.125)), graph.choice((1, 0)))


def _features(graph: Graph, x: HloInstruction, options: BatchNormOptions) -> HloInstruction:
    return graph.array((x.array_shape.element_type,), _per_feature(x, options))


def _per_feature(x: HloInstruction, options: BatchNormOptions) -> Ints:
    return (x.array_shape.dimensions[options.feature_index],)


def _variance(graph: Graph, x: HloInstruction, options: BatchNormOptions) -> HloInstruction:
    """Given: its role makes it positive."""
    return graph.given(x.array_shape.element_type, _per_feature(x, options))


def _training(graph: Graph, _opcode: Opcode) -> None:
    x, options = _normalised(graph)
    scale, offset = (_features(graph, x, options) for _ in range(2))
    graph.add(graph.builder.batch_norm_training(x, scale, offset, options), inexact=True)


def _inference(graph: Graph, _opcode: Opcode) -> None:
    x, options = _normalised(graph)
    scale, offset, mean = (_features(graph, x, options) for _ in range(3))
    variance = _variance(graph, x, options)
    result = graph.builder.batch_norm_inference(x, scale, offset, mean, variance, options)
    graph.add(result, inexact=True)


def _grad(graph: Graph, _opcode: Opcode) -> None:
    x, options = _normalised(graph)
    scale, mean = (_features(graph, x, options) for _ in range(2))
    variance = _variance(graph, x, options)
    result = graph.builder.batch_norm_grad(x, scale, mean, variance, alike(graph, x), options)
    graph.add(result, inexact=True)


RULES: dict[Opcode, Rule] = {
    Opcode.CHOLESKY: _cholesky,
    Opcode.TRIANGULAR_SOLVE: _triangular_solve,
    Opcode.FFT: _fft,
    Opcode.BATCH_NORM_TRAINING: _training,
    Opcode.BATCH_NORM_INFERENCE: _inference,
    Opcode.BATCH_NORM_GRAD: _grad,
}

GAPS: dict[Opcode, str] = {}
