from collections.abc import Callable

import numpy as np
import pytest

from hlo import (
    TOKEN,
    ArrayShape,
    HloInstruction,
    HloModule,
    Opcode,
    PrimitiveType,
    Shape,
    TupleShape,
    same_bits,
)
from hlo.attributes import (
    BatchNormOptions,
    Comparison,
    ConvolutionDimensions,
    Dimensions,
    DotDimensions,
    GatherDimensions,
    PaddingConfig,
    RaggedDotDimensions,
    ScanOptions,
    ScatterDimensions,
    SliceBounds,
    SliceSizes,
    TriangularSolveOptions,
    Window,
    WindowDimension,
)
from hlo.builder import Builder
from hlo.infer import ShapeError
from hlo.metadata import OpMetadata
from hlo.verify import verify

F32, S32, PRED = PrimitiveType.F32, PrimitiveType.S32, PrimitiveType.PRED


def f32(*dimensions: int, dynamic: tuple[bool, ...] = ()) -> ArrayShape:
    return ArrayShape(F32, dimensions, dynamic)


@pytest.fixture
def module() -> HloModule:
    module = HloModule("m")
    module.set_entry_computation(module.add_computation("main"))
    return module


@pytest.fixture
def b(module: HloModule) -> Builder:
    return Builder(module.entry_computation)


def callee(module: HloModule, name: str, takes: tuple[Shape, ...], opcode: Opcode) -> Builder:
    """A computation whose root is `opcode` of its parameters."""
    builder = Builder(module.add_computation(name))
    parameters = [builder.parameter(i, shape) for i, shape in enumerate(takes)]
    builder.computation.set_root(builder.op(opcode, *parameters))
    return builder


def test_every_method_builds_what_it_says(module: HloModule, b: Builder) -> None:
    x, value, i = b.parameter(0, f32(8, 4)), b.constant(0, F32), b.constant(1, S32)
    add = callee(module, "add", (f32(), f32()), Opcode.ADD).computation
    built: dict[HloInstruction, tuple[str, str]] = {
        b.slice_(x, (1, 0), (7, 4), (2, 1)): ("f32[3,4]", "slice"),
        b.slice_(x, (1, 0), (7, 4)): ("f32[6,4]", "slice"),
        b.dynamic_slice(x, [i, i], (2, 4)): ("f32[2,4]", "dynamic-slice"),
        b.dynamic_update_slice(x, b.broadcast(value, (1, 4)), [i, i]): ("f32[8,4]", "dynamic-update-slice"),
        b.concatenate([x, x], 1): ("f32[8,8]", "concatenate"),
        b.reshape(x, (32,)): ("f32[32]", "reshape"),
        b.reshape(x, (32,), dynamic=(True,)): ("f32[<=32]", "reshape"),
        b.broadcast(x, (8, 2, 4), (0, 2)): ("f32[8,2,4]", "broadcast"),
        b.transpose(x, (1, 0)): ("f32[4,8]", "transpose"),
        b.reverse(x, (0,)): ("f32[8,4]", "reverse"),
        b.pad(x, value, (1, -1), (0, 0)): ("f32[9,3]", "pad"),
        b.pad(x, value, (0, 0), (0, 0), (1, 2)): ("f32[15,10]", "pad"),
        b.iota(f32(3, 2), 1): ("f32[3,2]", "iota"),
        b.convert(x, S32): ("s32[8,4]", "convert"),
        b.bitcast_convert(x, PrimitiveType.U8): ("u8[8,4,4]", "bitcast-convert"),
        b.compare(x, x, "LT"): ("pred[8,4]", "compare"),
        b.select(b.compare(i, i, "EQ"), x, x): ("f32[8,4]", "select"),
        b.clamp(value, x, value): ("f32[8,4]", "clamp"),
        b.map_(add, x, x): ("f32[8,4]", "map"),
        b.reduce(add, [x], [value], (0,)): ("f32[4]", "reduce"),
        b.dot(x, x, ((1,), (1,))): ("f32[8,8]", "dot"),
        b.dot(x, x, ((1,), (1,)), ((0,), (0,))): ("f32[8]", "dot"),
        b.call(add, value, value): ("f32[]", "call"),
        b.custom_call("target", [x], f32(1), has_side_effect=True): ("f32[1]", "custom-call"),
        b.set_dimension_size(x, i, 0): ("f32[<=8,4]", "set-dimension-size"),
        b.get_dimension_size(x, 0): ("s32[]", "get-dimension-size"),
        b.gte(b.tuple_(x, i), 1): ("s32[]", "get-tuple-element"),
    }
    b.computation.set_root(b.tuple_(*built))
    assert {inst: (str(inst.shape), inst.opcode.value) for inst in built} == built
    assert verify(module) == []


def test_windows_sorts_and_indexed_reads_are_built(module: HloModule, b: Builder) -> None:
    x, value = b.parameter(0, f32(8, 4)), b.constant(0, F32)
    rows, updates = b.parameter(1, ArrayShape(S32, (3,))), b.parameter(2, f32(3, 4))
    add = callee(module, "add", (f32(), f32()), Opcode.ADD).computation
    less = Builder(module.add_computation("less"))
    less.computation.set_root(less.compare(less.parameter(0, f32()), less.parameter(1, f32()), "LT"))
    pairs = Window((WindowDimension(2, stride=2), WindowDimension(1)))
    source = b.reduce_window(add, [x], [value], pairs)
    built: dict[HloInstruction, tuple[str, str]] = {
        source: ("f32[4,4]", "reduce-window"),
        b.select_and_scatter(less.computation, add, x, source, value, pairs): (
            "f32[8,4]",
            "select-and-scatter",
        ),
        b.sort(less.computation, [x], 1, is_stable=True): ("f32[8,4]", "sort"),
        b.topk(x, 2, largest=False): ("(f32[8,2], s32[8,2])", "topk"),
        b.gather(x, rows, GatherDimensions((1,), (0,), (0,), 1, (1, 4))): ("f32[3,4]", "gather"),
        b.scatter(add, [x], rows, [updates], ScatterDimensions((1,), (0,), (0,), 1)): ("f32[8,4]", "scatter"),
        b.reduce_precision(x, 5, 10): ("f32[8,4]", "reduce-precision"),
        b.fusion(add, value, value, kind="kInput"): ("f32[]", "fusion"),
    }
    assert {inst: (str(inst.shape), inst.opcode.value) for inst in built} == built
    b.computation.set_root(b.tuple_(*built))
    assert verify(module) == []


def test_linear_algebra_is_built(module: HloModule, b: Builder) -> None:
    x, each = b.parameter(0, f32(2, 3, 3)), b.parameter(1, f32(3))
    image, kernel = b.parameter(2, f32(2, 3, 5)), b.parameter(3, f32(4, 3, 2))
    numbers = ConvolutionDimensions((WindowDimension(2),), 0, 1, (2,), 1, 0, (2,), 0, 1, (2,))
    wide, options = ArrayShape(PrimitiveType.F64, (2, 4, 4)), BatchNormOptions(0.1, 1)
    built: dict[HloInstruction, tuple[str, str]] = {
        b.convolution(image, kernel, numbers): ("f32[2,4,4]", "convolution"),
        b.convolution(image, kernel, numbers, shape=wide): ("f64[2,4,4]", "convolution"),
        b.fft(x, "RFFT", (3,)): ("c64[2,3,2]", "fft"),
        b.cholesky(x, lower=True): ("f32[2,3,3]", "cholesky"),
        b.triangular_solve(x, x, TriangularSolveOptions(left_side=True)): ("f32[2,3,3]", "triangular-solve"),
        b.batch_norm_training(x, each, each, options): (
            "(f32[2,3,3], f32[3], f32[3])",
            "batch-norm-training",
        ),
        b.batch_norm_inference(x, each, each, each, each, options): ("f32[2,3,3]", "batch-norm-inference"),
        b.batch_norm_grad(x, each, each, each, x, options): (
            "(f32[2,3,3], f32[3], f32[3])",
            "batch-norm-grad",
        ),
    }
    assert {inst: (str(inst.shape), inst.opcode.value) for inst in built} == built
    b.computation.set_root(b.tuple_(*built))
    assert verify(module) == []


def test_scans_and_dots_by_groups_and_blocks_are_built(module: HloModule, b: Builder) -> None:
    x, y, i = b.parameter(0, f32(6, 4)), b.parameter(1, f32(2, 4, 3)), b.parameter(2, ArrayShape(S32, (2,)))
    start, scale = b.parameter(3, f32(4)), b.parameter(4, f32(3, 1))
    body = Builder(module.add_computation("running"))
    total = body.op(Opcode.ADD, body.parameter(0, f32(4)), body.parameter(1, f32(4)))
    body.computation.set_root(body.tuple_(total, total))
    ragged = RaggedDotDimensions(DotDimensions((1,), (1,)), (0,), (0,))
    wide = ArrayShape(PrimitiveType.F64, (6, 6))
    built: dict[HloInstruction, tuple[str, str]] = {
        b.scan(body.computation, [x], [start], 0, is_reverse=True): ("(f32[6,4], f32[4])", "scan"),
        b.ragged_dot(x, y, i, ragged): ("f32[6,3]", "ragged-dot"),
        b.scaled_dot(x, x, scale, scale, DotDimensions((1,), (1,)), shape=wide): ("f64[6,6]", "scaled-dot"),
        b.shuffle(x, (1, 0), (3, -1)): ("f32[6,4]", "shuffle"),
    }
    assert {inst: (str(inst.shape), inst.opcode.value) for inst in built} == built
    b.computation.set_root(b.tuple_(*built))
    assert verify(module) == []
    assert next(iter(built)).attributes == ScanOptions(0, 1, is_reverse=True)


def test_attributes_are_as_given(b: Builder) -> None:
    x, value, i = b.parameter(0, f32(8, 4)), b.constant(0, F32), b.constant(1, S32)
    assert b.slice_(x, (1, 0), (7, 4)).attributes == SliceBounds((1, 0), (7, 4), (1, 1))
    assert b.dynamic_slice(x, [i, i], (2, 4)).attributes == SliceSizes((2, 4))
    assert b.concatenate([x, x], 1).attributes == Dimensions((1,))
    assert b.broadcast(x, (8, 2, 4), (0, 2)).attributes == Dimensions((0, 2))
    assert b.pad(x, value, (1, -1), (0, 0)).attributes == PaddingConfig((1, -1), (0, 0), (0, 0))
    assert b.compare(x, x, "LT", type="TOTALORDER").attributes == Comparison("LT", "TOTALORDER")
    assert b.dot(x, x, ((1,), (1,)), ((0,), (0,))).attributes == DotDimensions((1,), (1,), (0,), (0,))
    assert b.custom_call("t", [x], f32(), has_side_effect=True).has_side_effect


def test_control_flow_has_its_callees_in_the_order_of_the_proto(module: HloModule, b: Builder) -> None:
    s32, pred = ArrayShape(S32), ArrayShape(PRED)
    body = callee(module, "body", (s32,), Opcode.NEGATE).computation
    condition = Builder(module.add_computation("condition"))
    zero = condition.constant(0, S32)
    condition.computation.set_root(condition.compare(condition.parameter(0, s32), zero, "LT"))
    loop = b.while_(condition.computation, body, b.parameter(0, s32))
    assert loop.called_computations == (body, condition.computation)
    choice = b.conditional(b.parameter(1, pred), [body, body], [loop, loop])
    b.computation.set_root(b.conditional(choice, [body], [choice]))
    assert verify(module) == []


def test_broadcast_passes_dynamic_flags_on(b: Builder) -> None:
    x = b.parameter(0, f32(2, 3, dynamic=(False, True)))
    assert str(b.broadcast(x, (3, 4, 2), (2, 0)).shape) == "f32[<=3,4,2]"


def test_reshape_works_out_dynamic_flags_unless_told(b: Builder) -> None:
    assert b.reshape(b.parameter(1, f32(2)), (2, 1)).shape == f32(2, 1)
    x = b.parameter(0, f32(2, 3, dynamic=(False, True)))
    assert str(b.reshape(x, (2, 1, 3)).shape) == "f32[2,1,<=3]"
    assert str(b.reshape(x, (6,), dynamic=()).shape) == "f32[6]"
    with pytest.raises(ShapeError, match="6 elements"):
        b.reshape(x, (7,))


def test_a_declared_shape_is_taken_for_flags_and_layout(b: Builder) -> None:
    x = b.parameter(0, f32(2))
    declared = ArrayShape(F32, (2,), (True,), layout=b"layout")
    assert b.op(Opcode.NEGATE, x, shape=declared).shape is declared


def test_a_declared_shape_that_does_not_fit_is_refused(b: Builder) -> None:
    with pytest.raises(ShapeError, match=r"negate gives f32\[2\], declared f32\[3\]"):
        b.op(Opcode.NEGATE, b.parameter(0, f32(2)), shape=f32(3))


def test_what_does_not_fit_is_refused_and_leaves_no_trace(b: Builder) -> None:
    x = b.parameter(0, f32(2))
    with pytest.raises(ShapeError):
        b.op(Opcode.ADD, x, b.parameter(1, f32(3)))
    assert [inst.opcode for inst in b.computation.instructions] == ["parameter", "parameter"]
    assert x.users == ()


def test_a_map_of_nothing_is_a_shape_error(b: Builder) -> None:
    with pytest.raises(ShapeError, match="no root"):
        b.map_(b.computation)


REFUSED: list[Callable[[Builder, HloInstruction], object]] = [
    lambda b, t: b.reshape(t, (1,)),
    lambda b, t: b.broadcast(t, (1,)),
    lambda b, t: b.convert(t, F32),
    lambda b, t: b.bitcast_convert(t, F32),
    lambda b, t: b.gte(t, 1),
    lambda b, t: b.map_(b.computation, t),
]


@pytest.mark.parametrize("build", REFUSED)
def test_a_tuple_where_an_array_belongs_is_a_shape_error(
    b: Builder, build: Callable[[Builder, HloInstruction], object]
) -> None:
    with pytest.raises(ShapeError):
        build(b, b.parameter(0, TupleShape((f32(1),))))


@pytest.mark.parametrize(
    ("value", "element_type", "expected"),
    [
        (True, PRED, np.array(True)),
        (-1, PrimitiveType.U8, np.array(255, np.uint8)),
        (300, PrimitiveType.S8, np.array(44, np.int8)),
        ([1, 2], F32, np.array([1, 2], np.float32)),
        ((1, 2), F32, np.array([1, 2], np.float32)),
        ([], S32, np.zeros(0, np.int32)),
        (np.int16(3), None, np.array(3, np.int16)),
        (np.ones((2, 0), np.float64), None, np.ones((2, 0), np.float64)),
    ],
)
def test_a_constant_holds_a_frozen_array(
    b: Builder, value: object, element_type: PrimitiveType | None, expected: np.ndarray
) -> None:
    held = b.constant(value, element_type).literal.value  # pyright: ignore[reportArgumentType]
    assert isinstance(held, np.ndarray)
    assert (held.dtype, held.shape, held.tolist()) == (expected.dtype, expected.shape, expected.tolist())
    assert not held.flags.writeable


def test_a_constant_does_not_follow_its_source(b: Builder) -> None:
    source = np.zeros(2, np.int32)
    constant = b.constant(source)
    source[0] = 1
    assert same_bits(constant.literal.value, np.zeros(2, np.int32))


def test_a_constant_may_be_a_tuple(b: Builder) -> None:
    constant = b.constant((np.int32(1), (np.zeros(2, np.float32),)))
    assert str(constant.shape) == "(s32[], (f32[2]))"


@pytest.mark.parametrize("value", [1, [1.0], TOKEN, np.array("text")])
def test_a_constant_without_an_element_type_is_refused(b: Builder, value: object) -> None:
    with pytest.raises(ShapeError):
        b.constant(value)  # pyright: ignore[reportArgumentType]


def test_a_token_is_no_constant_of_any_type(b: Builder) -> None:
    with pytest.raises(ShapeError, match="token"):
        b.constant(TOKEN, F32)


def test_names_and_metadata_are_passed_on(b: Builder) -> None:
    x = b.parameter(0, f32(2), name="x")
    x.metadata = OpMetadata(op_name="here")
    y = b.op(Opcode.NEGATE, x, name="y", like=x)
    assert (x.name, y.name, y.metadata.op_name) == ("x", "y", "here")
    assert b.parameter(1, f32(2)).name == "p1"
    assert b.op(Opcode.NEGATE, x).name == "negate"
