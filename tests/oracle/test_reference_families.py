"""Each case is one operation as HLO text, run by the evaluator and by the reference for several element types.

`T` stands for the element type. Computations are there by name: `add` takes two scalars of T, and so on.
"""

import re

import pytest

from hlo import HloModule, Opcode
from hlo.evaluator import RULES as EVALUATOR_RULES
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from hlo.opcode import ELEMENTWISE_BINARY, ELEMENTWISE_UNARY
from hlo.verify import verify
from oracle.compare import compare
from oracle.inputs import Mode, draw_inputs
from oracle.reference import RULES, run_jax
from oracle.tolerance import instruction_tolerance

COMPUTATIONS = {
    **{
        name: f"{name} {{ a = T[] parameter(0)\n b = T[] parameter(1)\n ROOT r = T[] {opcode}(a, b) }}"
        for name, opcode in {
            "add": "add",
            "mul": "multiply",
            "max": "maximum",
            "min": "minimum",
            "sub": "subtract",
            "and": "and",
            "or": "or",
        }.items()
    },
    **{
        name: f"{name} {{ a = T[] parameter(0)\n b = T[] parameter(1)\n"
        f" ROOT r = pred[] compare(a, b), direction={name.upper()} }}"
        for name in ("lt", "gt", "le", "ge")
    },
    "second": "second { a = T[] parameter(0)\n ROOT b = T[] parameter(1) }",
    "total": "total { a = T[] parameter(0)\n b = T[] parameter(1)\n"
    " ROOT r = pred[] compare(a, b), direction=GT, type=TOTALORDER }",
    # of two operands: by the second, downwards
    "by_second": "by_second { a = T[] parameter(0)\n b = T[] parameter(1)\n c = s32[] parameter(2)\n"
    " d = s32[] parameter(3)\n ROOT r = pred[] compare(d, c), direction=LT }",
    # of two operands: by the first, and where those are equal by the second
    "lexicographic": "lexicographic { a = T[] parameter(0)\n b = T[] parameter(1)\n c = s32[] parameter(2)\n"
    " d = s32[] parameter(3)\n less = pred[] compare(a, b), direction=LT\n"
    " same = pred[] compare(a, b), direction=EQ\n then = pred[] compare(c, d), direction=LT\n"
    " ROOT r = pred[] select(same, then, less) }",
    # of two operands: by the first turned round, which leaves equal ones
    "backwards": "backwards { a = T[] parameter(0)\n b = T[] parameter(1)\n c = s32[] parameter(2)\n"
    " d = s32[] parameter(3)\n x = T[] negate(a)\n y = T[] negate(b)\n"
    " ROOT r = pred[] compare(x, y), direction=LT }",
    # the larger element, and where it is
    "argmax": "argmax { a = T[] parameter(0)\n i = s32[] parameter(1)\n b = T[] parameter(2)\n"
    " j = s32[] parameter(3)\n keep = pred[] compare(a, b), direction=GE\n"
    " larger = T[] select(keep, a, b)\n where = s32[] select(keep, i, j)\n"
    " ROOT r = (T[], s32[]) tuple(larger, where) }",
    # of a scan: the sum so far (pred: whether there was any), and of another the element, and then the carry
    "running": "running { a = T[3] parameter(0)\n b = T[3] parameter(1)\n s = T[3] add(b, a)\n"
    " ROOT r = (T[3], T[3]) tuple(s, s) }",
    "crossed": "crossed { a = T[] parameter(0)\n i = s32[] parameter(1)\n c = T[] parameter(2)\n"
    " n = s32[] negate(i)\n d = T[] subtract(c, a)\n ROOT r = (s32[], T[], T[]) tuple(n, c, d) }",
    # of a scatter into two operands
    "both": "both { a = T[] parameter(0)\n i = s32[] parameter(1)\n b = T[] parameter(2)\n"
    " j = s32[] parameter(3)\n s = T[] add(a, b)\n m = s32[] maximum(i, j)\n"
    " ROOT r = (T[], s32[]) tuple(s, m) }",
}

NUMBERS = ["s8", "u8", "s32", "u64", "f16", "bf16", "f32", "f64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
WIDE = ["f32", "f64", "c64", "c128"]
ORDERED = ["pred", "s4", "s8", "u8", "s32", "u64", "f8e5m2", "f16", "bf16", "f32", "f64"]
ANY = ["pred", "s4", "u8", "s32", "u64", "f8e4m3fn", "bf16", "f32", "f64", "c64", "c128"]

# opcode, element types, parameters, operation
CASES: list[tuple[Opcode, list[str], str, str]] = [
    # rows, columns, an index vector in the first dimension, batching, numbers outside of vectors, no index at all
    (
        Opcode.GATHER,
        ANY,
        "T[5,4], s32[3]",
        "T[3,4] gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},"
        " index_vector_dim=1, slice_sizes={1,4}",
    ),
    (
        Opcode.GATHER,
        ["f32"],
        "T[5,4,3], u8[2,6]",
        "T[2,6,3] gather(p0, p1), offset_dims={0,2}, collapsed_slice_dims={1}, start_index_map={2,0},"
        " index_vector_dim=0, slice_sizes={2,1,3}",
    ),
    (
        Opcode.GATHER,
        ["s16"],
        "T[3,7,2], s64[2,3,1]",
        "T[2,3,4] gather(p0, p1), offset_dims={2}, collapsed_slice_dims={2}, start_index_map={1},"
        " operand_batching_dims={0}, start_indices_batching_dims={1}, index_vector_dim=2, slice_sizes={1,4,1}",
    ),
    (
        Opcode.GATHER,
        ["f32"],
        "T[6,3], s8[1,3]",
        "T[2,3] gather(p0, p1), offset_dims={0}, collapsed_slice_dims={}, start_index_map={0},"
        " operand_batching_dims={1}, start_indices_batching_dims={1}, index_vector_dim=0, slice_sizes={2,1}",
    ),
    (
        Opcode.GATHER,
        ["f32"],
        "T[6,3], u64[2]",
        "T[2,3] gather(p0, p1), offset_dims={0,1}, collapsed_slice_dims={}, start_index_map={1,0},"
        " index_vector_dim=0, slice_sizes={2,3}",
    ),
    (
        Opcode.GATHER,
        ["f32"],
        "T[6,3], s32[4,0]",
        "T[4,2] gather(p0, p1), offset_dims={1}, collapsed_slice_dims={1}, start_index_map={},"
        " index_vector_dim=1, slice_sizes={2,1}",
    ),
    *(
        (
            Opcode.SCATTER,
            kinds,
            "T[5,4], s32[3], T[3,4]",
            "T[5,4] scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0},"
            f" scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={combiner}",
        )
        for combiner, kinds in {
            "second": ANY,
            "add": ["pred", *NUMBERS, "c64"],
            "mul": NUMBERS,
            "max": NUMBERS,
            "min": NUMBERS,
            "sub": NUMBERS,
            "or": ["pred", "u8", "s32"],
        }.items()
    ),
    # windows that reach over the edge; several numbers a vector; in either place; batching
    *(
        (
            Opcode.SCATTER,
            ["s32", "f32"],
            "T[6,5], s16[2,4], T[4,2,3]",
            "T[6,5] scatter(p0, p1, p2), update_window_dims={1,2}, inserted_window_dims={},"
            f" scatter_dims_to_operand_dims={{1,0}}, index_vector_dim=0, to_apply={combiner}",
        )
        for combiner in ("add", "sub", "second")
    ),
    *(
        (
            Opcode.SCATTER,
            ["s32"],
            "T[3,7,2], s64[2,3,1], T[4,2,3]",
            "T[3,7,2] scatter(p0, p1, p2), update_window_dims={0}, inserted_window_dims={2},"
            " scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={1},"
            f" index_vector_dim=2, to_apply={combiner}",
        )
        for combiner in ("add", "sub")
    ),
    (
        Opcode.SCATTER,
        ["f32", "s8"],
        "T[6], s32[6], u32[4,1], T[4], s32[4]",
        "(T[6], s32[6]) scatter(p0, p1, p2, p3, p4), update_window_dims={}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=both",
    ),
    (
        Opcode.SCATTER,
        ["f32"],
        "T[0,4], s32[3], T[3,4]",
        "T[0,4] scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sub",
    ),
    *(
        (
            Opcode.SORT,
            ORDERED,
            "T[3,9]",
            f"T[3,9] sort(p0), dimensions={{{dim}}}, is_stable={stable}, to_apply={by}",
        )
        for by, dim, stable in [("lt", 1, "true"), ("gt", 0, "true"), ("le", 1, "false"), ("ge", 1, "true")]
    ),
    (Opcode.SORT, ["f8e5m2", *FLOATS], "T[3,9]", "T[3,9] sort(p0), dimensions={1}, to_apply=total"),
    *(
        (
            Opcode.SORT,
            ["f32", "s8", "pred", "c64"][: 3 if by == "lexicographic" else 4],
            "T[4,12], s32[4,12]",
            f"(T[4,12], s32[4,12]) sort(p0, p1), dimensions={{1}}, is_stable={stable}, to_apply={by}",
        )
        for by in ("by_second", "lexicographic")
        for stable in ("true", "false")
    ),
    (
        Opcode.SORT,
        ["f32", "s8"],
        "T[9,3], s32[9,3]",
        "(T[9,3], s32[9,3]) sort(p0, p1), dimensions={0}, is_stable=true, to_apply=backwards",
    ),
    *(
        (
            Opcode.RNG_BIT_GENERATOR,
            kinds,
            state,
            f"({state}, T[{size}]) rng-bit-generator(p0), algorithm={algorithm}",
        )
        for algorithm, state, kinds, size in [
            ("rng_three_fry", "u64[2]", ["u8", "s16", "u32", "u64", "s32"], "3,5"),
            ("rng_philox", "u64[2]", ["s8", "u16", "u32", "u64", "s64"], "7"),
            ("rng_philox", "u64[3]", ["u8", "u32", "s64"], "7"),
            ("rng_default", "u64[3]", ["s16"], "2,3"),
        ]
    ),
    (Opcode.SORT, ["f32"], "T[0,4]", "T[0,4] sort(p0), dimensions={0}, to_apply=le"),
    *(
        (Opcode.TOPK, ORDERED[1:], "T[3,7]", f"(T[3,3], s32[3,3]) topk(p0), k=3, largest={largest}")
        for largest in ("true", "false")
    ),
    *(
        (
            Opcode.REDUCE_WINDOW,
            kinds,
            "T[4,6], T[]",
            f"T[{size}] reduce-window(p0, p1), window={{{window}}}, to_apply={by}",
        )
        for by, kinds, size, window in [
            ("add", [*NUMBERS, "c64", "pred"], "3,2", "size=2x3 stride=1x2"),
            ("max", NUMBERS, "5,8", "size=2x2 pad=1_1x2_1"),
            ("mul", ["s32", "f32"], "3,4", "size=2x3 rhs_dilate=1x2 pad=0_0x0_2"),
            ("min", ["s32", "f32"], "7,6", "size=3x1 lhs_dilate=2x1 pad=1_1x0_0"),
            ("add", ["s32"], "2,4", "size=2x2 pad=-1_0x0_-1"),
            ("add", ["s32"], "4,6", "size=3x3 pad=1_1x1_1 rhs_reversal=1x0"),
            ("or", ["pred", "u8"], "4,5", "size=1x2"),
        ]
    ),
    (
        Opcode.REDUCE_WINDOW,
        ["f32", "s8"],
        "T[3,6], s32[3,6], T[], s32[]",
        "(T[3,3], s32[3,3]) reduce-window(p0, p1, p2, p3), window={size=1x2 stride=1x2}, to_apply=argmax",
    ),
    *(
        (
            Opcode.SELECT_AND_SCATTER,
            kinds,
            f"T[4,6], T[{size}], T[]",
            f"T[4,6] select-and-scatter(p0, p1, p2), window={{{window}}}, select={select}, scatter={scatter}",
        )
        for kinds, size, window, select, scatter in [
            (NUMBERS, "3,2", "size=2x3 stride=1x2", "ge", "add"),
            (["s32", "f32"], "2,3", "size=2x2 stride=2x2", "gt", "max"),
            (["s32", "f32"], "5,4", "size=2x3 pad=1_1x0_0", "le", "add"),
            (["f32"], "3,4", "size=2x3", "lt", "sub"),
        ]
    ),
    *(
        (Opcode.CONVOLUTION, kinds, f"T[{left}], T[{right}]", f"T[{size}] convolution(p0, p1), {how}")
        for kinds, left, right, size, how in [
            (
                [*NUMBERS, "c64", "c128"],
                "2,5,3",
                "3,3,4",
                "2,3,4",
                "window={size=3}, dim_labels=b0f_0io->b0f",
            ),
            (
                ["s32", "f32"],
                "3,2,6,5",
                "3,4,2,3",
                "4,2,5,3",
                "window={size=2x3 stride=1x2 pad=0_0x1_1}, dim_labels=fb01_io01->fb01",
            ),
            (
                ["f32"],
                "2,7,4",
                "2,2,6",
                "2,11,6",
                "window={size=2 lhs_dilate=2 rhs_dilate=2}, dim_labels=b0f_0io->b0f, feature_group_count=2",
            ),
            (
                ["s16"],
                "4,5,2",
                "2,2,6",
                "2,4,6",
                "window={size=2}, dim_labels=b0f_0io->b0f, batch_group_count=2",
            ),
            (
                ["f64"],
                "1,5,2",
                "3,2,2",
                "1,4,2",
                "window={size=3 pad=2_-1 rhs_reversal=1}, dim_labels=b0f_0io->b0f",
            ),
            (["f32"], "2,3", "3,4", "2,4", "dim_labels=bf_io->bf"),
        ]
    ),
    (
        Opcode.CONVOLUTION,
        ["s8", "u8"],
        "T[2,5,3], T[3,3,4]",
        "s32[2,3,4] convolution(p0, p1), window={size=3}, dim_labels=b0f_0io->b0f",
    ),
    *(
        (Opcode.FFT, ["f32", "f64"], parameter, f"{result} fft(p0), fft_type={kind}, fft_length={{{length}}}")
        for kind, parameter, result, length in [
            ("FFT", "C[2,6]", "C[2,6]", "6"),
            ("IFFT", "C[3,4,5]", "C[3,4,5]", "4,5"),
            ("RFFT", "T[2,7]", "C[2,4]", "7"),
            ("RFFT", "T[3,4,6]", "C[3,4,4]", "3,4,6"),
            ("IRFFT", "C[2,4]", "T[2,7]", "7"),
            ("IRFFT", "C[4,4]", "T[4,6]", "4,6"),
        ]
    ),
    *(
        (
            Opcode.TRIANGULAR_SOLVE,
            WIDE,
            f"T[2,4,4], T[2,{size}]",
            f"T[2,{size}] triangular-solve(p0, p1), left_side={left}, lower={lower}, transpose_a={how},"
            f" unit_diagonal={unit}",
        )
        for left, size in [("true", "4,3"), ("false", "3,4")]
        for lower, how, unit in [
            ("true", "NO_TRANSPOSE", "false"),
            ("false", "TRANSPOSE", "false"),
            ("true", "ADJOINT", "true"),
        ]
    ),
    *(
        (Opcode.CHOLESKY, WIDE, "T[2,5,5]", f"T[2,5,5] cholesky(p0), lower={lower}")
        for lower in ("true", "false")
    ),
    *(
        (
            Opcode.BATCH_NORM_INFERENCE,
            FLOATS,
            f"T[3,4,2], {stats}, {stats}, {stats}, {stats}",
            f"T[3,4,2] batch-norm-inference(p0, p1, p2, p3, p4), epsilon=0.01, feature_index={feature}",
        )
        for feature, stats in [(1, "T[4]"), (2, "T[2]")]
    ),
    (
        Opcode.BATCH_NORM_TRAINING,
        FLOATS,
        "T[3,4,2], T[4], T[4]",
        "(T[3,4,2], T[4], T[4]) batch-norm-training(p0, p1, p2), epsilon=0.01, feature_index=1",
    ),
    (
        Opcode.BATCH_NORM_GRAD,
        FLOATS,
        "T[3,4,2], T[4], T[4], T[4], T[3,4,2]",
        "(T[3,4,2], T[4], T[4]) batch-norm-grad(p0, p1, p2, p3, p4), epsilon=0.01, feature_index=1",
    ),
    *(
        (
            Opcode.REDUCE_PRECISION,
            FLOATS,
            "T[40]",
            f"T[40] reduce-precision(p0), exponent_bits={exponent}, mantissa_bits={mantissa}",
        )
        for exponent, mantissa in [(5, 10), (8, 7), (4, 3), (3, 0), (2, 1)]
    ),
    (Opcode.GET_DIMENSION_SIZE, ANY, "T[3,5]", "s32[] get-dimension-size(p0), dimensions={1}"),
    (
        Opcode.DYNAMIC_RESHAPE,
        ["f32", "s4", "c128"],
        "T[3,4], s32[], s32[]",
        "T[6,2] dynamic-reshape(p0, p1, p2)",
    ),
    (
        Opcode.SET_DIMENSION_SIZE,
        ["f32", "u4"],
        "T[3,5], s32[]",
        "T[3,5] set-dimension-size(p0, p1), dimensions={1}",
    ),
    (Opcode.BITCAST, ["f32", "u8"], "T[3,4]", "T[2,6] bitcast(p0)"),
    (Opcode.FUSION, ["f32", "s32", "f8e5m2"], "T[], T[]", "T[] fusion(p0, p1), kind=kLoop, calls=sub"),
    (
        Opcode.REDUCE,
        ["f32", "s8"],
        "T[3,6], s32[3,6], T[], s32[]",
        "(T[3], s32[3]) reduce(p0, p1, p2, p3), dimensions={1}, to_apply=argmax",
    ),
]

CASES.extend(
    [
        *(
            (
                Opcode.SCAN,
                ANY,
                "T[3,4], T[3]",
                f"(T[3,4], T[3]) scan(p0, p1), dimensions={{1}}, is_reverse={reverse}, num_carries=1, to_apply=running",
            )
            for reverse in ("true", "false")
        ),
        (
            Opcode.SCAN,
            ["f32", "u8"],
            "T[4], s32[4], T[]",
            "(s32[4], T[4], T[]) scan(p0, p1, p2), dimensions={0}, num_carries=1, to_apply=crossed",
        ),
        *(
            (
                Opcode.RAGGED_DOT,
                [*NUMBERS, "c64"],
                f"{left}, {right}, {sizes}",
                f"{result} ragged-dot(p0, p1, p2), {numbers}",
            )
            for left, right, sizes, result, numbers in [
                (
                    *("T[7,3]", "T[2,3,4]", "s32[2]", "T[7,4]"),
                    "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
                ),
                (
                    *("T[2,7,3]", "T[2,4,3,3]", "u8[3]", "T[2,7,4]"),
                    "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2},"
                    " lhs_ragged_dims={1}, rhs_group_dims={3}",
                ),
                (
                    *("T[3,7]", "T[7,4]", "s64[3]", "T[3,3,4]"),
                    "lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}",
                ),
                (
                    *("T[2,3,4]", "T[2,4,3]", "s32[2]", "T[2,3,3]"),
                    "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1},"
                    " lhs_ragged_dims={0}",
                ),
            ]
        ),
        *(
            (
                Opcode.SCALED_DOT,
                ["f8e4m3fn", "f8e5m2", "f4e2m1fn", "bf16", "f32"],
                f"T[3,8], {right}[8,2], {scale}[3,4], {scale}[2,1]",
                "f32[3,2] scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            )
            for right, scale in [("f8e4m3fn", "f8e8m0fnu"), ("T", "bf16"), ("bf16", "f32")]
        ),
    ]
)

COMPLEX = {"f32": "c64", "f64": "c128"}


def module_of(parameters: str, operation: str, kind: str) -> HloModule:
    shapes = parameters.replace("], ", "];").split(";")
    lines = [f" p{i} = {shape} parameter({i})" for i, shape in enumerate(shapes)]
    # the result's shape, and then the opcode and the rest
    lines.append(f" ROOT r = {operation}")
    used = [text for name, text in COMPUTATIONS.items() if re.search(rf"=\b{name}\b", operation)]
    text = "\n".join(["HloModule m", *used, "ENTRY main {", *lines, "}"])
    text = re.sub(r"\bT\[", f"{kind}[", text)
    return read_text(re.sub(r"\bC\[", f"{COMPLEX.get(kind, kind)}[", text))


def assert_agree(module: HloModule, inputs) -> None:
    root = module.entry_computation.root
    tolerance = instruction_tolerance(root, inputs)
    expected, found = evaluate(module, inputs), run_jax(module, inputs)
    wrong = compare(expected, found, tolerance=tolerance, left="evaluator", right="jax")
    assert wrong is None, f"{root}\n{inputs}\n{wrong}"


@pytest.mark.parametrize(
    ("opcode", "kind", "parameters", "operation"),
    [
        pytest.param(opcode, kind, parameters, operation, id=f"{i}-{opcode}-{kind}")
        for i, (opcode, kinds, parameters, operation) in enumerate(CASES)
        for kind in kinds
    ],
)
def test_the_reference_agrees_with_the_evaluator(opcode, kind, parameters, operation):
    module = module_of(parameters, operation, kind)
    assert module.entry_computation.root.opcode is opcode
    assert not verify(module)
    for inputs in draw_inputs(module, 3, 6, (Mode.EXACT, Mode.EXACT, Mode.INTEGER_EXTREME)):
        assert_agree(module, inputs)


ELSEWHERE = {
    *(*ELEMENTWISE_UNARY, *ELEMENTWISE_BINARY, Opcode.COMPARE, Opcode.SELECT, Opcode.CLAMP, Opcode.CONVERT),
    *(Opcode.BITCAST_CONVERT, Opcode.COPY, Opcode.MAP, Opcode.BROADCAST, Opcode.RESHAPE, Opcode.TRANSPOSE),
    *(Opcode.REVERSE, Opcode.CONCATENATE, Opcode.PAD, Opcode.IOTA, Opcode.SLICE, Opcode.DYNAMIC_SLICE),
    *(Opcode.DYNAMIC_UPDATE_SLICE, Opcode.DOT, Opcode.CONSTANT, Opcode.TUPLE, Opcode.GET_TUPLE_ELEMENT),
    *(Opcode.CALL, Opcode.WHILE, Opcode.CONDITIONAL, Opcode.CUSTOM_CALL, Opcode.OPTIMIZATION_BARRIER),
    *(Opcode.SHUFFLE, Opcode.STOCHASTIC_CONVERT),
}
"""Compared in test_reference."""
TOKENS = {Opcode.AFTER_ALL, Opcode.ADD_DEPENDENCY, Opcode.DOMAIN}
"""Nothing is computed."""


def test_every_opcode_that_an_engine_has_is_compared():
    assert RULES.keys() == EVALUATOR_RULES.keys() - {Opcode.PARAMETER}
    assert {opcode for opcode, *_ in CASES} | ELSEWHERE | TOKENS == RULES.keys()
