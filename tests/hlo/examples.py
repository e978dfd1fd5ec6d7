"""Which small valid programs cover every opcode that the IR models? Shared by tests that go through all of them."""

# ruff: noqa: E501 - an example is a line

import re
from collections.abc import Iterator

from hlo import NEWER, HloModule, Opcode
from hlo.interchange import installed_opcodes, read_text
from hlo.opcode import ELEMENTWISE_BINARY, ELEMENTWISE_UNARY

CALLEES = {
    "sum": "x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y)",
    "both": (
        "x = f32[] parameter(0)\n i = s32[] parameter(1)\n y = f32[] parameter(2)\n j = s32[] parameter(3)\n"
        " s = f32[] add(x, y)\n t = s32[] add(i, j)\n ROOT b = (f32[], s32[]) tuple(s, t)"
    ),
    "less": "x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT l = pred[] compare(x, y), direction=LT",
    "less_by_first": (
        "x = f32[] parameter(0)\n y = f32[] parameter(1)\n i = s32[] parameter(2)\n j = s32[] parameter(3)\n"
        " ROOT l = pred[] compare(x, y), direction=LT"
    ),
    "negated": "x = f32[3] parameter(0)\n ROOT n = f32[3] negate(x)",
    "first": "x = f32[3] parameter(0)\n y = s32[2] parameter(1)\n ROOT c = f32[3] copy(x)",
    "running": (
        "x = f32[2] parameter(0)\n c = f32[2] parameter(1)\n s = f32[2] add(c, x)\n"
        " ROOT t = (f32[2], f32[2]) tuple(s, s)"
    ),
    "crossed": (
        "x = f32[2,3] parameter(0)\n i = s32[2] parameter(1)\n c = s32[2] parameter(2)\n d = f32[2,3] parameter(3)\n"
        " n = s32[2] subtract(i, c)\n m = f32[2,3] subtract(x, d)\n"
        " ROOT t = (f32[2,3], s32[2], f32[2,3]) tuple(d, n, m)"
    ),
    "next": "i = s32[] parameter(0)\n one = s32[] constant(1)\n ROOT n = s32[] add(i, one)",
    "more": "i = s32[] parameter(0)\n k = s32[] constant(3)\n ROOT m = pred[] compare(i, k), direction=LT",
}

ODD_UNARY = {
    Opcode.CLZ: ("s32", "s32"),
    Opcode.POPULATION_COUNT: ("u8", "u8"),
    Opcode.NOT: ("s32", "s32"),
    Opcode.IMAG: ("c64", "f32"),
    Opcode.REAL: ("c64", "f32"),
    Opcode.IS_FINITE: ("f32", "pred"),
}
ODD_BINARY = {
    Opcode.AND: ("s32", "s32"),
    Opcode.OR: ("u8", "u8"),
    Opcode.XOR: ("pred", "pred"),
    Opcode.COMPLEX: ("f32", "c64"),
    Opcode.MULHI: ("s32", "s32"),
    Opcode.SHIFT_LEFT: ("s32", "s32"),
    Opcode.SHIFT_RIGHT_ARITHMETIC: ("s32", "s32"),
    Opcode.SHIFT_RIGHT_LOGICAL: ("u16", "u16"),
}

ROOTS = """\
pred[2,3] compare(f32[2,3] a, f32[2,3] b), direction=LT
pred[2] compare(f32[2] a, f32[2] b), direction=GE, type=TOTALORDER
pred[2] compare(u8[2] a, u8[2] b), direction=EQ
f32[2,3] select(pred[2,3] a, f32[2,3] b, f32[2,3] c)
f32[2] select(pred[] a, f32[2] b, f32[2] c)
f32[2,3] clamp(f32[] a, f32[2,3] b, f32[2,3] c)
s32[2,3] convert(f32[2,3] a)
u8[3,4] bitcast-convert(f32[3] a)
f32[3] bitcast-convert(u8[3,4] a)
f32[2,3] copy(f32[2,3] a)
f32[2,3] reduce-precision(f32[2,3] a), exponent_bits=5, mantissa_bits=10
s32[2] stochastic-convert(f32[2] a, u32[2] b)
f32[2,3] map(f32[2,3] a, f32[2,3] b), dimensions={0,1}, to_apply=sum
f32[4,2,3] broadcast(f32[2,3] a), dimensions={1,2}
f32[3,2] reshape(f32[2,3] a)
s32[2,3] bitcast(f32[2,3] a)
f32[3,4,2] transpose(f32[2,3,4] a), dimensions={1,2,0}
f32[2,3] reverse(f32[2,3] a), dimensions={1}
f32[2,7] concatenate(f32[2,3] a, f32[2,4] b), dimensions={1}
f32[5,3] pad(f32[2,4] a, f32[] b), padding=1_1_1x0_-1_0
s32[2,3] iota(), iota_dimension=1
f32[2,2] slice(f32[5,3] a), slice={[1:5:2], [0:2]}
f32[2,3] dynamic-slice(f32[5,3] a, s32[] b, s32[] c), dynamic_slice_sizes={2,3}
f32[5,3] dynamic-update-slice(f32[5,3] a, f32[2,3] b, u8[] c, u8[] d)
f32[4,1,3] gather(f32[5,3] a, s32[4,1] b), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}
f32[4,3] gather(f32[5,3] a, s32[4] b), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}
f32[2,4,3] gather(f32[2,5,3] a, s32[2,4,2] b), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1,2}, operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1,3}
f32[5,3] scatter(f32[5,3] a, s32[4,1] b, f32[4,1,2] c), update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
f32[2,5,3] scatter(f32[2,5,3] a, s32[2,4,2] b, f32[2,4,3] c), update_window_dims={2}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1,2}, input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=sum
(f32[5,3], s32[5,3]) scatter(f32[5,3] a, s32[5,3] b, s32[4] c, f32[4,3] d, s32[4,3] e), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=both
f32[2,4] reduce(f32[2,3,4] a, f32[] b), dimensions={1}, to_apply=sum
(f32[3], s32[3]) reduce(f32[2,3] a, s32[2,3] b, f32[] c, s32[] d), dimensions={0}, to_apply=both
f32[3,3] reduce-window(f32[4,5] a, f32[] b), window={size=2x2 stride=1x2 pad=0_0x0_1}, to_apply=sum
f32[4] reduce-window(f32[4] a, f32[] b), window={size=2 pad=1_0 lhs_dilate=2 rhs_dilate=4}, to_apply=sum
(f32[3], s32[3]) reduce-window(f32[4] a, s32[4] b, f32[] c, s32[] d), window={size=2}, to_apply=both
f32[4,5] select-and-scatter(f32[4,5] a, f32[2,2] b, f32[] c), window={size=2x2 stride=2x3}, select=less, scatter=sum
f32[2,3] sort(f32[2,3] a), dimensions={1}, to_apply=less
(f32[2,3], s32[2,3]) sort(f32[2,3] a, s32[2,3] b), dimensions={0}, is_stable=true, to_apply=less_by_first
(f32[3,2], f32[2]) scan(f32[3,2] a, f32[2] b), dimensions={0}, num_carries=1, to_apply=running
(f32[2,4,3], s32[2], f32[2,3]) scan(f32[2,4,3] a, s32[2,4] b, s32[2] c, f32[2,3] d), dimensions={1}, is_reverse=true, num_carries=2, to_apply=crossed
(f32[2,3], s32[2,3]) topk(f32[2,5] a), k=3, largest=true
f32[2,4] dot(f32[2,3] a, f32[3,4] b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
f32[5,2,4] dot(bf16[5,2,3] a, bf16[5,4,3] b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
f32[5,4] ragged-dot(f32[5,3] a, f32[2,3,4] b, s32[2] c), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
f32[2,5,4] ragged-dot(f32[5,3] a, f32[4,3] b, u8[2] c), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={1}
f32[2,3,3] ragged-dot(f32[2,3,4] a, f32[2,4,3] b, s64[2] c), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}, lhs_ragged_dims={0}
bf16[2,3] scaled-dot(f8e4m3fn[2,4] a, f8e5m2[4,3] b, f8e8m0fnu[2,2] c, f8e8m0fnu[1,3] d), lhs_contracting_dims={1}, rhs_contracting_dims={0}
f32[2,4,3,6] convolution(f32[2,5,4,3] a, f32[2,2,3,6] b), window={size=2x2 pad=0_0x0_0}, dim_labels=b01f_01io->b01f
f32[2,6,3] convolution(f32[2,6,5] a, f32[6,2,2] b), window={size=2 stride=2 pad=1_0}, dim_labels=bf0_oi0->bf0, feature_group_count=3
f32[2,4,2] convolution(f32[4,3,5] a, f32[4,3,2] b), window={size=2 pad=0_-1 rhs_dilate=2}, dim_labels=bf0_oi0->bf0, batch_group_count=2
f32[2] parameter()
f32[2,2] constant()
(f32[2], s32[]) tuple(f32[2] a, s32[] b)
s32[] get-tuple-element((f32[2], s32[]) a), index=1
f32[3] call(f32[3] a), to_apply=negated
f32[3] call(f32[3] a, s32[2] b), to_apply=first
f32[3] fusion(f32[3] a), kind=kLoop, calls=negated
s32[] while(s32[] a), condition=more, body=next
f32[3] conditional(pred[] a, f32[3] b, f32[3] c), true_computation=negated, false_computation=negated
f32[3] conditional(s32[] a, f32[3] b, f32[3] c), branch_computations={negated, negated}
f32[2] custom-call(f32[3] a), custom_call_target="t"
f32[2,3] opt-barrier(f32[2,3] a)
(f32[2], s32[]) opt-barrier((f32[2], s32[]) a)
f32[2,3] domain(f32[2,3] a), domain={kind="sharding", entry={replicated}, exit={replicated}}
token[] after-all(token[] a, token[] b)
f32[2] add-dependency(f32[2] a, token[] b)
(u64[2], u32[4]) rng-bit-generator(u64[2] a), algorithm=rng_default
s32[] get-dimension-size(f32[2,3] a), dimensions={1}
f32[2,<=3] set-dimension-size(f32[2,3] a, s32[] b), dimensions={1}
f32[<=3,2] dynamic-reshape(f32[2,3] a, s32[] b, s32[] c)
f32[2,3,3] cholesky(f32[2,3,3] a), lower=true
f32[2,3,4] triangular-solve(f32[2,3,3] a, f32[2,3,4] b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
c64[4,3] triangular-solve(c64[3,3] a, c64[4,3] b), unit_diagonal=true, transpose_a=ADJOINT
c64[2,4] fft(c64[2,4] a), fft_type=FFT, fft_length={4}
c64[2,4] fft(c64[2,4] a), fft_type=IFFT, fft_length={2,4}
c64[2,3] fft(f32[2,4] a), fft_type=RFFT, fft_length={4}
f32[2,5] fft(c64[2,3] a), fft_type=IRFFT, fft_length={5}
(f32[2,3,4], f32[3], f32[3]) batch-norm-training(f32[2,3,4] a, f32[3] b, f32[3] c), epsilon=0.1, feature_index=1
f32[2,3,4] batch-norm-inference(f32[2,3,4] a, f32[3] b, f32[3] c, f32[3] d, f32[3] e), epsilon=0.1, feature_index=1
(f32[2,3,4], f32[3], f32[3]) batch-norm-grad(f32[2,3,4] a, f32[3] b, f32[3] c, f32[3] d, f32[2,3,4] e), epsilon=0.1, feature_index=1
"""

NEWER_ROOTS = {
    Opcode.SHUFFLE: ("f32[2,3] shuffle(f32[2,3] a), dimensions={1,0}, mode=rotate, shifts={1,-1}",)
}

# the two whose operand is not one in HLO text
LITERALS = {
    "f32[2] parameter()": "f32[2] parameter(0)",
    "f32[2,2] constant()": "f32[2,2] constant({{1,2},{3,4}})",
}


def roots() -> Iterator[str]:
    """Each example as its root: the operands, written with their shapes, are parameters.

    Opcodes that the installed jaxlib cannot read are left out.
    """
    absent = NEWER.keys() - set(installed_opcodes())
    for opcode in ELEMENTWISE_UNARY:
        if opcode in absent:
            continue
        takes, gives = ODD_UNARY.get(opcode, ("f32", "f32"))
        yield f"{gives}[2,3] {opcode}({takes}[2,3] a)"
    for opcode in ELEMENTWISE_BINARY:
        takes, gives = ODD_BINARY.get(opcode, ("f32", "f32"))
        yield f"{gives}[2,3] {opcode}({takes}[2,3] a, {takes}[2,3] b)"
    yield from ROOTS.splitlines()
    for opcode, newer in NEWER_ROOTS.items():
        yield from newer if opcode not in absent else ()


def text_of(root: str) -> str:
    """The program whose root is `root`, with the computations of `CALLEES` that it calls."""
    callees = [name for name in CALLEES if re.search(rf"\b{name}\b", root.partition(")")[2])]
    computations = "".join(f"{name} {{\n {CALLEES[name]}\n}}\n" for name in callees)
    if root in LITERALS:
        body = f" ROOT root = {LITERALS[root]}"
    else:
        opcode_at = re.search(r"[\w-]+\((?=[a-z(]|\))", root.removeprefix("("))
        assert opcode_at, root
        shift = len(root) - len(root.removeprefix("("))
        start, end = opcode_at.end() + shift, _closing(root, opcode_at.end() + shift)
        operands = [operand.rsplit(" ", 1) for operand in _split(root[start:end])]
        lines = [f" {name} = {shape} parameter({i})" for i, (shape, name) in enumerate(operands)]
        names = ", ".join(name for _, name in operands)
        body = "\n".join([*lines, f" ROOT root = {root[:start]}{names}{root[end:]}"])
    return f"HloModule m\n{computations}ENTRY e {{\n{body}\n}}\n"


def _closing(text: str, start: int) -> int:
    """Where the parenthesis closes that opened just before `start`."""
    depth = 1
    for i in range(start, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if not depth:
            return i
    raise AssertionError(text)


def _split(operands: str) -> list[str]:
    """Operands, at the commas that are in no brackets."""
    parts, depth = [""], 0
    for character in operands:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def examples() -> Iterator[tuple[str, HloModule]]:
    """Each example by its root, freshly read."""
    for root in roots():
        yield root, read_text(text_of(root))
