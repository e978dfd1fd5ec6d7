"""Do our shape rules and MLIR's verifier, written independently, say the same?

MLIR sees the module as StableHLO, so the tables below are limited to what converts without crashing jaxlib.
"""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import ArrayShape, HloInstruction, HloModule, Opcode, PrimitiveType
from hlo.builder import Builder
from hlo.interchange import export_proto, read_text
from hlo.interchange.mlir import verify_with_mlir
from hlo.verify import verify

AGREED_GOOD = """\
f32[2] select(pred[] a, f32[2] b, f32[2] c)
f32[2] clamp(f32[] a, f32[2] b, f32[] c)
f32[2] clamp(f32[2] a, f32[2] b, f32[] c)
u32[] negate(u32[] a)
pred[] add(pred[] a, pred[] b)
pred[] multiply(pred[] a, pred[] b)
c64[] maximum(c64[] a, c64[] b)
s32[] power(s32[] a, s32[] b)
c64[] tan(c64[] a)
c64[] cbrt(c64[] a)
f32[] real(f32[] a)
f32[] imag(c64[] a)
f32[] convert(c64[] a)
f32[2] convert(pred[2] a)
u8[2,4] bitcast-convert(f32[2] a)
s4[2,2] bitcast-convert(u8[2] a)
pred[2] compare(c64[2] a, c64[2] b), direction=EQ
f32[3,2] broadcast(f32[2,3] a), dimensions={1,0}
bf16[3] iota(), iota_dimension=0
f32[0,1] dynamic-slice(f32[4,4] a, u8[] b, u8[] c), dynamic_slice_sizes={0,1}
f32[4,4] dynamic-update-slice(f32[4,4] a, f32[0,4] b, s64[] c, s64[] d)
f32[2] slice(f32[4] a), slice={[0:3:2]}
f32[4,4] dot(bf16[4,2] a, bf16[2,4] b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
s32[4,4] dot(s8[4,2] a, u8[2,4] b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
f32[0] pad(f32[4] a, f32[] b), padding=-2_-2
f32[4] pad(f32[4] a, f32[] b), padding=-3_0_1
f32[4,2] opt-barrier(f32[4,2] a)
u8[] popcnt(u8[] a)
s32[] get-dimension-size(f32[<=4] a), dimensions={0}
f32[<=4] set-dimension-size(f32[4] a, s32[] b), dimensions={0}
f32[4] add(f32[<=4] a, f32[4] b)
"""

AGREED_BAD = """\
u32[] abs(u32[] a)
u32[] sign(u32[] a)
pred[] negate(pred[] a)
pred[] subtract(pred[] a, pred[] b)
s32[] atan2(s32[] a, s32[] b)
f32[] shift-left(f32[] a, f32[] b)
c64[] erf(c64[] a)
s32[] sqrt(s32[] a)
c64[] floor(c64[] a)
f32[2] not(f32[2] a)
pred[] count-leading-zeros(pred[] a)
pred[] is-finite(s32[] a)
c64[] complex(f16[] a, f16[] b)
f32[4] add(bf16[4] a, f32[4] b)
f32[2,4] add(f32[8,4] a, f32[8,4] b)
s32[8,4] add(f32[8,4] a, f32[8,4] b)
f32[2] select(pred[1] a, f32[2] b, f32[2] c)
f32[2] select(s32[2] a, f32[2] b, f32[2] c)
f32[2] clamp(f32[1] a, f32[2] b, f32[] c)
f64[2] bitcast-convert(c64[2] a)
u8[2] bitcast-convert(f32[2] a)
f32[3] convert(s32[2] a)
f32[2,2] broadcast(f32[2,2] a), dimensions={0,0}
f32[3] broadcast(f32[2] a), dimensions={0}
pred[2] iota(), iota_dimension=0
s32[] iota(), iota_dimension=0
f32[1,1] dynamic-slice(f32[4,4] a, s32[] b, s64[] c), dynamic_slice_sizes={1,1}
f32[1] dynamic-slice(f32[4] a, pred[] b), dynamic_slice_sizes={1}
f32[5] dynamic-slice(f32[4] a, s32[] b), dynamic_slice_sizes={5}
f32[2] dynamic-slice(f32[4] a, s32[] b), dynamic_slice_sizes={1}
f32[4] dynamic-update-slice(f32[4] a, f32[5] b, s32[] c)
f32[4] dynamic-update-slice(f32[4] a, s32[1] b, s32[] c)
f32[1] slice(f32[4] a), slice={[0:1:0]}
f32[5] slice(f32[4] a), slice={[0:5]}
f32[2] slice(f32[4] a), slice={[0:3]}
f32[4] reverse(f32[4] a), dimensions={0,0}
f32[4,2] transpose(f32[4,2] a), dimensions={1,0}
f32[9] concatenate(f32[4] a, f32[4] b), dimensions={0}
f32[8] concatenate(f32[4] a, s32[4] b), dimensions={0}
f32[5,3] concatenate(f32[2,3] a, f32[3,4] b), dimensions={0}
f32[6] pad(f32[4] a, f32[] b), padding=1_0
f32[5] pad(f32[4] a, s32[] b), padding=1_0
f32[4,4] dot(f32[4,2] a, f32[3,4] b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
f32[4,3] dot(f32[4,2] a, f32[2,4] b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
"""

# What we refuse and MLIR lets pass: XLA's rules are stricter on broadcast and dot, and a complex number has no
# order, nor a float a sign bit to compare by.
ONLY_OURS = """\
pred[2] compare(f32[2] a, f32[2] b), direction=LT, type=SIGNED
f32[2] broadcast(f32[1] a), dimensions={0}
pred[2] compare(c64[2] a, c64[2] b), direction=LT
s8[4,4] dot(s32[4,2] a, s32[2,4] b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
"""


def module_of(root: str) -> HloModule:
    """A module whose root is `root`; operands, written with their shapes, become parameters."""
    shape_and_opcode, rest = root.split("(", 1)
    operands, attributes = rest.split(")", 1)
    typed = [operand.split(" ") for operand in operands.split(", ") if operand]
    lines = [f"  {name} = {shape} parameter({i})" for i, (shape, name) in enumerate(typed)]
    names = ", ".join(name for _, name in typed)
    body = "\n".join([*lines, f"  ROOT root = {shape_and_opcode}({names}){attributes}"])
    return read_text(f"HloModule m\nENTRY e {{\n{body}\n}}")


@pytest.mark.parametrize("root", AGREED_GOOD.splitlines())
def test_both_find_it_good(root: str) -> None:
    module = module_of(root)
    assert verify(module) == []
    assert verify_with_mlir(export_proto(module)) == []


@pytest.mark.parametrize("root", AGREED_BAD.splitlines())
def test_both_find_it_bad(root: str) -> None:
    module = module_of(root)
    assert [violation.where for violation in verify(module)] == ["root"]
    assert verify_with_mlir(export_proto(module))


@pytest.mark.parametrize("root", ONLY_OURS.splitlines())
def test_only_we_find_it_bad(root: str) -> None:
    module = module_of(root)
    assert [violation.where for violation in verify(module)] == ["root"]
    assert verify_with_mlir(export_proto(module)) == []


# random programs, well shaped by construction

Draw = st.DrawFn
Grow = Callable[[Draw, Builder, HloInstruction], HloInstruction]

TYPES = [PrimitiveType.F32, PrimitiveType.S32, PrimitiveType.BF16, PrimitiveType.U8]


def grow_slice(draw: Draw, b: Builder, x: HloInstruction) -> HloInstruction:
    starts = tuple(draw(st.integers(0, size)) for size in x.array_shape.dimensions)
    limits = tuple(
        draw(st.integers(s, size)) for s, size in zip(starts, x.array_shape.dimensions, strict=True)
    )
    return b.slice_(x, starts, limits, tuple(draw(st.integers(1, 3)) for _ in starts))


def grow_dynamic(draw: Draw, b: Builder, x: HloInstruction) -> HloInstruction:
    sizes = tuple(draw(st.integers(0, size)) for size in x.array_shape.dimensions)
    starts = [b.constant(draw(st.integers(-2, 5)), PrimitiveType.S32)] * len(sizes)
    part = b.dynamic_slice(x, starts, sizes)
    return b.dynamic_update_slice(x, part, starts) if draw(st.booleans()) else part


def grow_pad(draw: Draw, b: Builder, x: HloInstruction) -> HloInstruction:
    dimensions = x.array_shape.dimensions
    low = tuple(draw(st.integers(-size, 2)) for size in dimensions)
    high = tuple(draw(st.integers(0, 2)) for _ in dimensions)
    interior = tuple(draw(st.integers(0, 2)) for _ in dimensions)
    return b.pad(x, b.constant(0, x.array_shape.element_type), low, high, interior)


def grow_rank(draw: Draw, b: Builder, x: HloInstruction) -> HloInstruction:
    dimensions = x.array_shape.dimensions
    if draw(st.booleans()):
        return b.reshape(x, (x.array_shape.element_count,))
    return b.broadcast(x, (2, *dimensions, 3), tuple(range(1, x.array_shape.rank + 1)))


def grow_order(draw: Draw, b: Builder, x: HloInstruction) -> HloInstruction:
    order = draw(st.permutations(range(x.array_shape.rank)))
    return b.transpose(b.reverse(x, order[:1]), order)


def grow_joined(draw: Draw, b: Builder, x: HloInstruction) -> HloInstruction:
    if x.array_shape.is_scalar:
        return b.op(Opcode.MULTIPLY, x, x)
    return b.concatenate([x, x, x], draw(st.integers(0, x.array_shape.rank - 1)))


def grow_elements(draw: Draw, b: Builder, x: HloInstruction) -> HloInstruction:
    other = b.op(Opcode.ADD, x, b.op(Opcode.NEGATE, x))
    chosen = b.select(b.compare(x, other, "LT"), b.clamp(x, other, x), x)
    to = draw(st.sampled_from(TYPES))
    if to.bit_width > x.array_shape.element_type.bit_width or draw(st.booleans()):
        return b.convert(chosen, to)
    return b.bitcast_convert(chosen, to)


def grow_reduced(draw: Draw, b: Builder, x: HloInstruction) -> HloInstruction:
    module, element = b.computation.module, ArrayShape(x.array_shape.element_type)
    count = draw(st.integers(1, 2))
    f = Builder(module.add_computation("reducer"))
    kept = [f.parameter(i, element) for i in range(2 * count)][:count]
    f.computation.set_root(f.tuple_(*kept) if count > 1 else kept[0])
    inits = [b.constant(0, element.element_type)] * count
    dimensions = draw(st.sets(st.integers(0, max(x.array_shape.rank - 1, 0)), max_size=x.array_shape.rank))
    reduced = b.reduce(f.computation, [x] * count, inits, tuple(sorted(dimensions)))
    return b.gte(reduced, 1) if count > 1 else reduced


def grow_dot(draw: Draw, b: Builder, x: HloInstruction) -> HloInstruction:
    order = draw(st.permutations(range(x.array_shape.rank)))
    contracting = draw(st.integers(0, len(order)))
    batch = draw(st.integers(contracting, len(order)))
    both = tuple(order[:contracting]), tuple(order[contracting:batch])
    return b.dot(x, x, (both[0], both[0]), (both[1], both[1]))


GROW: list[Grow] = [
    grow_slice,
    grow_dynamic,
    grow_pad,
    grow_rank,
    grow_order,
    grow_joined,
    grow_elements,
    grow_reduced,
    grow_dot,
]


@st.composite
def modules(draw: Draw) -> HloModule:
    module = HloModule("m")
    b = Builder(module.add_computation("main"))
    module.set_entry_computation(b.computation)
    dimensions = tuple(draw(st.lists(st.integers(0, 4), max_size=3)))
    pool = [b.parameter(0, ArrayShape(draw(st.sampled_from(TYPES)), dimensions))]
    for grow in draw(st.lists(st.sampled_from(GROW), min_size=1, max_size=6)):
        small = [inst for inst in pool if inst.array_shape.rank < 6 and inst.array_shape.element_count < 500]
        pool.append(grow(draw, b, draw(st.sampled_from(small))))
    b.computation.set_root(b.tuple_(*pool))
    return module


@given(modules())
def test_what_the_builder_builds_is_good_to_both(module: HloModule) -> None:
    assert verify(module) == []
    assert verify_with_mlir(export_proto(module)) == []
