"""What the definitions of the operations say where implementations differ first, asked of both engines."""

import numpy as np
import pytest

from hlo.evaluator import evaluate
from hlo.interchange import read_text
from oracle.compare import BITWISE, EQUAL, compare
from oracle.reference import run_jax

NAN, INF = float("nan"), float("inf")
COMPUTATIONS = """HloModule m
add { a = s32[] parameter(0)
 b = s32[] parameter(1)
 ROOT r = s32[] add(a, b) }
minus { a = s32[] parameter(0)
 b = s32[] parameter(1)
 ROOT r = s32[] subtract(a, b) }
ge { a = s32[] parameter(0)
 b = s32[] parameter(1)
 ROOT r = pred[] compare(a, b), direction=GE }
down { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT r = pred[] compare(a, b), direction=GT, type=TOTALORDER }
by_first { a = s32[] parameter(0)
 b = s32[] parameter(1)
 c = s32[] parameter(2)
 d = s32[] parameter(3)
 ROOT r = pred[] compare(a, b), direction=LT }
"""


def s32(*values):
    return np.array(values, np.int32)


def f32(*values):
    return np.array(values, np.float32)


TEN = np.arange(10, dtype=np.int32)
GATHER = (
    "s32[3,4] gather(p0, p1), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0},"
    " index_vector_dim=1, slice_sizes={4}"
)
SCATTER = (
    "s32[10] scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={},"
    " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply="
)

CASES = {
    "a gather clamps its starts so that the slice fits": (
        "s32[10], s32[3,1]",
        GATHER,
        [TEN, s32([-5], [5], [9])],
        s32([0, 1, 2, 3], [5, 6, 7, 8], [6, 7, 8, 9]),
    ),
    "starts of 2^63 and above are past the end": (
        "s32[10], u64[3,1]",
        GATHER,
        [TEN, np.array([[2**63], [2**64 - 1], [0]], np.uint64)],
        s32([6, 7, 8, 9], [6, 7, 8, 9], [0, 1, 2, 3]),
    ),
    "an unsigned start of 8 bits is not negative": (
        "s32[200], u8[3,1]",
        GATHER,
        [np.arange(200, dtype=np.int32), np.array([[128], [255], [195]], np.uint8)],
        s32([128, 129, 130, 131], [196, 197, 198, 199], [195, 196, 197, 198]),
    ),
    "a scatter leaves out windows that are not wholly inside, the others add up": (
        "s32[10], s32[4,1], s32[4,3]",
        SCATTER + "add",
        [0 * TEN, s32([-1], [8], [7], [6]), np.full((4, 3), [[1], [2], [3], [4]], np.int32)],
        s32(0, 0, 0, 0, 0, 0, 4, 7, 7, 3),
    ),
    "a scatter hands its computation what is there, and then the update": (
        "s32[10], s64[1,1], s32[1,3]",
        SCATTER + "minus",
        [TEN, np.array([[7]]), s32([1, 1, 1])],
        s32(0, 1, 2, 3, 4, 5, 6, 6, 7, 8),
    ),
    "padding and holes are no elements of a window": (
        "s32[3], s32[]",
        "s32[6] reduce-window(p0, p1), window={size=2 pad=1_1 lhs_dilate=2}, to_apply=add",
        [s32(1, 2, 3), np.array(0, np.int32)],
        s32(1, 1, 2, 2, 3, 3),
    ),
    "of equal elements the first is selected": (
        "s32[6], s32[2], s32[]",
        "s32[6] select-and-scatter(p0, p1, p2), window={size=3 stride=3}, select=ge, scatter=add",
        [s32(1, 5, 5, 2, 2, 2), s32(10, 20), np.array(1, np.int32)],
        s32(1, 11, 1, 21, 1, 1),
    ),
    "NaNs and zeros have signs in the total order": (
        "f32[7]",
        "f32[7] sort(p0), dimensions={0}, to_apply=down",
        [f32(0.0, -NAN, 1, -0.0, NAN, -INF, INF)],
        f32(NAN, INF, 1, 0.0, -0.0, -INF, -NAN),
    ),
    "equal keys keep their order in a stable sort": (
        "s32[5], s32[5]",
        "(s32[5], s32[5]) sort(p0, p1), dimensions={0}, is_stable=true, to_apply=by_first",
        [s32(2, 1, 2, 1, 0), s32(0, 1, 2, 3, 4)],
        (s32(0, 1, 1, 2, 2), s32(4, 1, 3, 0, 2)),
    ),
    "a NaN is the largest, and of equal elements the first is taken": (
        "f32[6]",
        "(f32[4], s32[4]) topk(p0), k=4, largest=true",
        [f32(3, 7, NAN, 7, -INF, 3)],
        (f32(NAN, 7, 7, 3), s32(2, 1, 3, 0)),
    ),
    "fewer bits round to even, overflow to infinity and flush what is too small": (
        "f32[8]",
        "f32[8] reduce-precision(p0), exponent_bits=5, mantissa_bits=2",
        [f32(1.125, 1.375, -1.4, 57344, 61439, 61440, 2.0**-14, 2.0**-15)],
        f32(1.0, 1.5, -1.5, 57344, 57344, INF, 2.0**-14, 0),
    ),
    "nothing added up is the initial value": (
        "s32[0,3], s32[]",
        "s32[3] reduce(p0, p1), dimensions={0}, to_apply=add",
        [np.zeros((0, 3), np.int32), np.array(5, np.int32)],
        s32(5, 5, 5),
    ),
    "nothing multiplied with nothing is zero": (
        "f32[2,0,3], f32[1,3,4]",
        "f32[2,0,4] convolution(p0, p1), window={size=1}, dim_labels=b0f_0io->b0f",
        [np.zeros((2, 0, 3), np.float32), np.zeros((1, 3, 4), np.float32)],
        np.zeros((2, 0, 4), np.float32),
    ),
    "nothing sorted is nothing": (
        "f32[0]",
        "f32[0] sort(p0), dimensions={0}, to_apply=down",
        [f32()],
        f32(),
    ),
}


@pytest.mark.parametrize("engine", [evaluate, run_jax])
@pytest.mark.parametrize("case", CASES)
def test_what_the_definition_says(case, engine):
    parameters, operation, inputs, wanted = CASES[case]
    lines = [
        f"p{i} = {shape} parameter({i})" for i, shape in enumerate(parameters.replace("], ", "];").split(";"))
    ]
    text = "\n".join([COMPUTATIONS, "ENTRY e {", *lines, f"ROOT r = {operation}", "}"])
    exact = EQUAL if "reduce-precision" in operation else BITWISE
    found = compare(
        wanted, engine(read_text(text), inputs), tolerance=exact, left="definition", right="engine"
    )
    assert found is None, found
