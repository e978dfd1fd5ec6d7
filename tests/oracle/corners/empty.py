"""What do operations of each family give where a dimension is 0?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hlo import Value
from tests.oracle.corners.table import INTERPRETER, PLAIN, Array, Corner

SAYS = (
    "a shape with a dimension of 0 has no elements, and an operation on it none to compute (StableHLO, types)"
)
F32, S32 = np.float32, np.int32


def _f(*dimensions: int) -> Array:
    return np.arange(np.prod(dimensions, dtype=int), dtype=F32).reshape(dimensions)


def _i(*dimensions: int) -> Array:
    return np.arange(np.prod(dimensions, dtype=int), dtype=S32).reshape(dimensions)


_ZERO, _SEVEN, _NINE = (np.array(n, S32) for n in (0, 7, 9))
_NOTHING = _f(0, 3)

_ROOTS: list[tuple[str, tuple[Array, ...], Value]] = [
    # elementwise
    ("f32[0,3] negate(p0)", (_NOTHING,), _NOTHING),
    ("f32[0,3] add(p0, p1)", (_NOTHING, _NOTHING), _NOTHING),
    ("s32[0] divide(p0, p1)", (_i(0), _i(0)), _i(0)),
    ("pred[0,3] compare(p0, p1), direction=LT", (_NOTHING, _NOTHING), np.zeros((0, 3), np.bool_)),
    ("f32[0] select(p0, p1, p2)", (np.zeros(0, np.bool_), _f(0), _f(0)), _f(0)),
    ("f32[0] clamp(p0, p1, p2)", (np.zeros((), F32), _f(0), np.zeros((), F32)), _f(0)),
    ("s32[0] convert(p0)", (_f(0),), _i(0)),
    ("f32[2,0] exponential(p0)", (_f(2, 0),), _f(2, 0)),
    ("u8[0,4] bitcast-convert(p0)", (_f(0),), np.zeros((0, 4), np.uint8)),
    ("f32[0] reduce-precision(p0), exponent_bits=5, mantissa_bits=2", (_f(0),), _f(0)),
    ("f32[0] map(p0, p1), dimensions={0}, to_apply=add_f32", (_f(0), _f(0)), _f(0)),
    # shape
    ("f32[2,0] broadcast(p0), dimensions={0}", (_f(2),), _f(2, 0)),
    ("f32[0,5] reshape(p0)", (_NOTHING,), _f(0, 5)),
    ("f32[3,0] transpose(p0), dimensions={1,0}", (_NOTHING,), _f(3, 0)),
    ("f32[0,3] reverse(p0), dimensions={0}", (_NOTHING,), _NOTHING),
    ("f32[2,3] concatenate(p0, p1, p2), dimensions={0}", (_NOTHING, _f(2, 3), _NOTHING), _f(2, 3)),
    ("f32[0,3] concatenate(p0, p1), dimensions={0}", (_NOTHING, _NOTHING), _NOTHING),
    ("f32[2,3] pad(p0, p1), padding=1_1x0_0", (_NOTHING, np.ones((), F32)), np.ones((2, 3), F32)),
    ("f32[0] pad(p0, p1), padding=-1_-2", (_f(3), np.ones((), F32)), _f(0)),
    ("s32[0,3] iota(), iota_dimension=1", (), _i(0, 3)),
    # indexing
    ("f32[0] slice(p0), slice={[2:2]}", (_f(5),), _f(0)),
    ("f32[0,2] slice(p0), slice={[0:0], [0:3:2]}", (_NOTHING,), _f(0, 2)),
    ("f32[0] dynamic-slice(p0, p1), dynamic_slice_sizes={0}", (_f(5), _NINE), _f(0)),
    ("f32[0,3] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={0,3}", (_NOTHING, _ZERO, _ZERO), _NOTHING),
    ("f32[5] dynamic-update-slice(p0, p1, p2)", (_f(5), _f(0), _NINE), _f(5)),
    (
        "f32[0,3] gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},"
        " index_vector_dim=1, slice_sizes={1,3}",
        (_f(2, 3), _i(0, 1)),
        _NOTHING,
    ),
    (
        "f32[2,0] gather(p0, p1), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0},"
        " index_vector_dim=1, slice_sizes={0}",
        (_f(5), _i(2, 1)),
        _f(2, 0),
    ),
    (
        "s32[5] scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_s32",
        (_i(5), _i(0, 1), _i(0)),
        _i(5),
    ),
    (
        "s32[0] scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_s32",
        (_i(0), _i(2, 1), _i(2)),
        _i(0),
    ),
    # reduction
    ("s32[0] reduce(p0, p1), dimensions={0}, to_apply=add_s32", (_i(3, 0), _ZERO), _i(0)),
    ("s32[0] reduce-window(p0, p1), window={size=3}, to_apply=add_s32", (_i(2), _ZERO), _i(0)),
    ("s32[0,1] reduce-window(p0, p1), window={size=1x2}, to_apply=add_s32", (_i(0, 2), _ZERO), _i(0, 1)),
    (
        "s32[4] select-and-scatter(p0, p1, p2), window={size=5}, select=ge, scatter=add_s32",
        (_i(4), _i(0), _SEVEN),
        np.full(4, 7, S32),
    ),
    ("f32[0] sort(p0), dimensions={0}, to_apply=up", (_f(0),), _f(0)),
    ("f32[3,0] sort(p0), dimensions={0}, to_apply=up", (_f(3, 0),), _f(3, 0)),
    ("(f32[0,2], s32[0,2]) topk(p0), k=2, largest=true", (_NOTHING,), (_f(0, 2), _i(0, 2))),
    # contraction
    (
        "f32[0,4] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        (_NOTHING, _f(3, 4)),
        _f(0, 4),
    ),
    (
        "f32[0,2,4] dot(p0, p1), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},"
        " rhs_contracting_dims={1}",
        (_f(0, 2, 3), _f(0, 3, 4)),
        _f(0, 2, 4),
    ),
    (
        "f32[2,0,4] convolution(p0, p1), window={size=1}, dim_labels=b0f_0io->b0f",
        (_f(2, 0, 3), _f(1, 3, 4)),
        _f(2, 0, 4),
    ),
    (
        "f32[0,2,4] convolution(p0, p1), window={size=1}, dim_labels=b0f_0io->b0f",
        (_f(0, 2, 3), _f(1, 3, 4)),
        _f(0, 2, 4),
    ),
    # control
    ("f32[0,3] call(p0), to_apply=handed", (_NOTHING,), _NOTHING),
    ("f32[0,3] while(p0), condition=never, body=handed", (_NOTHING,), _NOTHING),
    (
        "f32[0,3] conditional(p0, p1, p2), branch_computations={handed, handed}",
        (_ZERO, _NOTHING, _NOTHING),
        _NOTHING,
    ),
    ("(f32[0,3], s32[]) tuple(p0, p1)", (_NOTHING, _ZERO), (_NOTHING, _ZERO)),
    ("f32[0,3] opt-barrier(p0)", (_NOTHING,), _NOTHING),
    # linear algebra and normalisation
    ("f32[0,0] cholesky(p0), lower=true", (_f(0, 0),), _f(0, 0)),
    ("f32[0,2,2] cholesky(p0), lower=true", (_f(0, 2, 2),), _f(0, 2, 2)),
    (
        "f32[2,0] triangular-solve(p0, p1), left_side=true, lower=true, transpose_a=NO_TRANSPOSE",
        (np.eye(2, dtype=F32), _f(2, 0)),
        _f(2, 0),
    ),
    (
        "c64[0,4] fft(p0), fft_type=FFT, fft_length={4}",
        (np.zeros((0, 4), np.complex64),),
        np.zeros((0, 4), "c8"),
    ),
    (
        "f32[0,3] batch-norm-inference(p0, p1, p2, p3, p4), epsilon=0.5, feature_index=1",
        (_NOTHING, _f(3), _f(3), _f(3), _f(3)),
        _NOTHING,
    ),
]


_NOT_INTERPRETED = ("cholesky(", "triangular-solve(", "fft(", "batch-norm")


def rows() -> Iterator[Corner]:
    """Each family, with the operand, the index array, the window or the update empty."""
    for root, inputs, right in _ROOTS:
        silent = {}
        if any(name in root for name in _NOT_INTERPRETED):
            silent = {INTERPRETER: "it does not have the operation"}
        elif "topk(" in root:
            silent = {PLAIN: "it ends the process"}
        yield Corner(SAYS, root, inputs, right, silent=silent)
