"""Which programs show the operations that generators hardly draw on their own, or that need a partner?

Of each program the results are what counts: tokens and dynamic shapes, which engines do not hand out, stay inside.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlo import HloModule, Opcode
from hlo.interchange import read_text

_SHAPES = (
    "f32[3,4]",
    "s32[2]",
    "u8[5,2]",
    "bf16[7]",
    "f64[2,2,3]",
    "c64[4]",
    "pred[6]",
    "s64[]",
    "f16[9]",
    "u32[1,8]",
)
_FLOATS = (
    "f32[3,4]",
    "f64[5,2]",
    "f32[8]",
    "bf16[7]",
    "f16[9]",
    "f64[2,3]",
    "f32[2,2,2]",
    "f32[1,6]",
    "f64[4]",
)

_COMPUTATIONS = """\
square { a = SHAPE parameter(0)
 ROOT r = SHAPE multiply(a, a) }
"""

# Bodies with SHAPE for each shape; p0 and p1 are parameters of it
_OF_ANY_SHAPE: dict[Opcode, str] = {
    Opcode.PARAMETER: "ROOT r = (SHAPE, SHAPE) tuple(p1, p0)",
    Opcode.OPTIMIZATION_BARRIER: "ROOT r = SHAPE opt-barrier(p0)",
    Opcode.COPY: "ROOT r = SHAPE copy(p0)",
    Opcode.DOMAIN: 'ROOT r = SHAPE domain(p0), domain={kind="sharding", entry={replicated}, exit={replicated}}',
    Opcode.AFTER_ALL: "t = token[] after-all()\n u = token[] after-all(t, t)\n ROOT r = SHAPE add-dependency(p0, u)",
    Opcode.ADD_DEPENDENCY: "t = token[] after-all()\n ROOT r = SHAPE add-dependency(p0, t)",
    Opcode.BITCAST: "ROOT r = SHAPE bitcast(p0)",
}
_CALLING: dict[Opcode, str] = {
    Opcode.FUSION: "ROOT r = SHAPE fusion(p0), kind=kLoop, calls=square",
    Opcode.CALL: "ROOT r = SHAPE call(p0), to_apply=square",
}
_SIZES = {
    Opcode.GET_DIMENSION_SIZE: "p0 = f32[{n},3] parameter(0)\n ROOT r = s32[] get-dimension-size(p0), dimensions={{0}}",
    Opcode.SET_DIMENSION_SIZE: (
        "p0 = f32[{n},3] parameter(0)\n k = s32[] constant({n})\n"
        " s = f32[<={n},3] set-dimension-size(p0, k), dimensions={{0}}\n"
        " ROOT r = s32[] get-dimension-size(s), dimensions={{0}}"
    ),
    Opcode.DYNAMIC_RESHAPE: (
        "p0 = f32[{n},6] parameter(0)\n a = s32[] constant({n})\n b = s32[] constant(2)\n c = s32[] constant(3)\n"
        " ROOT r = f32[{n},2,3] dynamic-reshape(p0, a, b, c)"
    ),
}


def rare_operations() -> Iterator[tuple[Opcode, HloModule]]:
    """Each with the opcode that it is a case of."""
    for opcode, body in _OF_ANY_SHAPE.items():
        for shape in _SHAPES:
            yield opcode, _program(_with_parameters(body), shape)
    for opcode, body in _CALLING.items():
        for shape in _FLOATS:
            yield opcode, _program(_with_parameters(body), shape, _COMPUTATIONS)
    for opcode, body in _SIZES.items():
        for n in range(1, 11):
            yield opcode, _program(body.format(n=n), "")


def _with_parameters(body: str) -> str:
    return f"p0 = SHAPE parameter(0)\n p1 = SHAPE parameter(1)\n {body}"


def _program(body: str, shape: str, computations: str = "") -> HloModule:
    text = f"HloModule m\n{computations}ENTRY e {{\n {body}\n}}\n"
    return read_text(text.replace("SHAPE", shape))
