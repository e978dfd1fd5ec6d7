"""Do custom-calls whose padding depends on sizes give, padded, what they mean, whatever lies in the padding?"""

from typing import Any

import numpy as np
import pytest

from hlo import ArrayShape, HloModule, UnsupportedOpcode, Value
from hlo.evaluator import evaluate
from hlo.verify import verify
from oracle.true_size import UndefinedSizes, specialise
from passes import Trace
from passes.stock import DynamicPadder
from passes.stock.dynamic_dimension_inference import DynamismRefused, infer_dynamic_dimensions
from tests.oracle.true_size.same_padding import (
    CONVOLUTIONS,
    WINDOWS,
    forward,
    input_gradient,
    kernel_gradient,
    places,
    program,
    small,
)

INF, NAN = np.inf, np.nan


def filled(value: float) -> Any:
    return lambda shape: np.full(shape.dimensions, value).astype(shape.element_type.numpy)


def random(shape: ArrayShape) -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).integers(-9, 9, shape.dimensions).astype(shape.element_type.numpy)


def check(module: HloModule, *inputs: Value) -> None:
    """The padded program gives what the program means under every filling of the padding."""
    expected = specialise(module, inputs).value
    trace = Trace()
    padded = module.clone()
    assert DynamicPadder().run(padded, trace)
    assert set(trace.fired) <= set(DynamicPadder.rules)
    assert verify(padded) == []
    calls = [
        i.custom_call_target for c in padded.computations for i in c.instructions if i.opcode == "custom-call"
    ]
    assert set(calls) <= {"PadToStatic", "SliceToDynamic"}
    for fill in (filled(NAN), filled(1e30), random):
        np.testing.assert_array_equal(evaluate(padded, inputs, fill=fill), expected)


def special(*dims: int) -> np.ndarray:
    """Values that a filler may be mistaken for."""
    values = np.array([-INF, 1, NAN, -INF, -2, INF, 0], np.float32)
    return np.resize(values, dims)


@pytest.mark.parametrize("size", [0, 1, 2, 5, 7])
@pytest.mark.parametrize(("window", "stride"), WINDOWS)
@pytest.mark.parametrize("values", [small, special])
def test_windows_over_what_is_there(size: int, window: int, stride: int, values: Any) -> None:
    module = program(
        f"""x = f32[<=3,<=7] parameter(0)
            five = f32[] constant(5)
            ROOT r = f32[<=3,<={-(-7 // stride)}] custom-call(x, five),
              window={{size=1x{window} stride=1x{stride}}},
              custom_call_target="DynamicReduceWindowSamePadding", to_apply=add"""
    )
    check(module, values(2, size))


@pytest.mark.parametrize("size", [1, 2, 5, 7])
@pytest.mark.parametrize(("window", "stride"), WINDOWS)
@pytest.mark.parametrize("values", [small, special])
def test_selection_among_what_is_there(size: int, window: int, stride: int, values: Any) -> None:
    module = program(
        f"""x = f32[<=3,<=7] parameter(0)
            s = f32[<=3,<={-(-7 // stride)}] parameter(1)
            one = f32[] constant(1)
            ROOT r = f32[<=3,<=7] custom-call(x, s, one), window={{size=1x{window} stride=1x{stride}}},
              custom_call_target="DynamicSelectAndScatterSamePadding", called_computations={{ge, add}}"""
    )
    check(module, values(2, size), small(2, -(-size // stride)))


THERE = [case for case in CONVOLUTIONS if places(*case)]


@pytest.mark.parametrize(("size", "stride", "dilation", "padding"), CONVOLUTIONS)
@pytest.mark.parametrize("weights", [small, special])
def test_a_convolution_of_what_is_there(
    size: int, stride: int, dilation: int, padding: str, weights: Any
) -> None:
    module = forward(stride, dilation, padding, "<=2")
    for features in (1, 2):
        check(module, small(2, size, features), weights(3, 2, 4))


@pytest.mark.parametrize(("size", "stride", "dilation", "padding"), THERE)
@pytest.mark.parametrize("weights", [small, special])
def test_the_gradient_of_an_input(size: int, stride: int, dilation: int, padding: str, weights: Any) -> None:
    module = input_gradient(stride, dilation, padding)
    gradient = small(2, places(size, stride, dilation, padding), 4)
    check(module, np.array([2, size, 2], np.int32), gradient, weights(3, 2, 4))


@pytest.mark.parametrize(("size", "stride", "dilation", "padding"), THERE)
@pytest.mark.parametrize("values", [small, special])
def test_the_gradient_of_a_kernel(size: int, stride: int, dilation: int, padding: str, values: Any) -> None:
    module = kernel_gradient(stride, dilation, padding)
    check(module, values(2, size, 2), small(2, places(size, stride, dilation, padding), 4))


PLANE = [(0, 3), (1, 1), (2, 5), (4, 2), (4, 5)]


@pytest.mark.parametrize("sizes", PLANE)
def test_a_convolution_over_a_plane(sizes: tuple[int, int]) -> None:
    module = program(
        """x = f32[1,<=4,<=5,2] parameter(0)
           k = f32[3,2,2,3] parameter(1)
           ROOT r = f32[1,<=2,<=5,3] custom-call(x, k), window={size=3x2 stride=2x1 rhs_reversal=1x0},
             dim_labels=b01f_01io->b01f, padding_type=PADDING_SAME,
             custom_call_target="DynamicConvolutionForward" """
    )
    check(module, small(1, *sizes, 2), special(3, 2, 2, 3))


@pytest.mark.parametrize("sizes", [s for s in PLANE if all(s)])
def test_the_gradient_of_a_kernel_over_a_plane(sizes: tuple[int, int]) -> None:
    module = program(
        """x = f32[<=2,<=4,<=5,2] parameter(0)
           g = f32[<=2,<=2,<=5,3] parameter(1)
           ROOT r = f32[3,2,2,3] custom-call(x, g), window={size=2x5 rhs_dilate=2x1},
             dim_labels=f01b_i01o->01bf, padding_type=PADDING_SAME,
             custom_call_target="DynamicConvolutionKernelGrad" """
    )
    rows, columns = sizes
    check(module, special(1, rows, columns, 2), small(1, -(-rows // 2), columns, 3))


@pytest.mark.parametrize("padding", ["2_1", "-1_0", "-1_2", "4_-2", "0_-1"])
@pytest.mark.parametrize("size", [1, 3, 6])
def test_a_valid_convolution_keeps_the_stated_padding(padding: str, size: int) -> None:
    low, high = map(int, padding.split("_"))
    module = program(
        f"""x = f32[1,<=6,2] parameter(0)
            k = f32[2,2,3] parameter(1)
            ROOT r = f32[1,<={5 + low + high},3] custom-call(x, k), window={{size=2 pad={padding}}},
              dim_labels=b0f_0io->b0f, padding_type=PADDING_VALID,
              custom_call_target="DynamicConvolutionForward" """
    )
    check(module, small(1, size, 2), special(2, 2, 3))


@pytest.mark.parametrize(("kind", "result"), [("bf16", "bf16"), ("f16", "f16"), ("s8", "s32")])
def test_sums_are_kept_in_the_result_or_wider(kind: str, result: str) -> None:
    module = program(
        f"""x = {kind}[1,<=6,2] parameter(0)
            k = {kind}[2,2,3] parameter(1)
            ROOT r = {result}[1,<=6,3] custom-call(x, k), window={{size=2}},
              dim_labels=b0f_0io->b0f, padding_type=PADDING_SAME,
              custom_call_target="DynamicConvolutionForward" """
    )
    element = module.entry_computation.parameters[0].array_shape.element_type.numpy
    rng = np.random.default_rng(5)  # products and sums beyond the precision of either float
    inputs = tuple(rng.integers(-120, 120, dims).astype(element) for dims in ((1, 4, 2), (2, 2, 3)))
    padded = module.clone()
    DynamicPadder().run(padded, Trace())
    wide = [np.asarray(x, np.float32) for x in inputs]
    x, k = np.pad(wide[0], ((0, 0), (0, 1), (0, 0))), wide[1]
    expected = np.einsum("bof,fc->boc", x[:, :-1], k[0]) + np.einsum("bof,fc->boc", x[:, 1:], k[1])
    got = evaluate(padded, inputs, fill=random)
    assert isinstance(got, np.ndarray)
    np.testing.assert_array_equal(got, expected.astype(got.dtype))


REFUSED = [
    (
        """x = f32[<=4,<=4] parameter(0)
           z = f32[] constant(0)
           ROOT r = f32[<=4,<=4] custom-call(x, z), custom_call_target="DynamicReduceWindowSamePadding",
             window={size=2}, to_apply=add""",
        (None, None),
    ),
    (
        """x = f32[<=4] parameter(0)
           z = f32[] constant(0)
           ROOT r = f32[<=7] custom-call(x, z), custom_call_target="DynamicReduceWindowSamePadding",
             window={size=2 lhs_dilate=2}, to_apply=add""",
        (0, 0),
    ),
    (
        """x = f32[4] parameter(0)
           s = f32[<=2] parameter(1)
           z = f32[] constant(0)
           ROOT r = f32[4] custom-call(x, s, z), custom_call_target="DynamicSelectAndScatterSamePadding",
             window={size=2 stride=2}, called_computations={ge, add}""",
        (1, 0),
    ),
    (
        """x = f32[1,<=4,2] parameter(0)
           k = f32[<=2,2,3] parameter(1)
           ROOT r = f32[1,<=4,3] custom-call(x, k), custom_call_target="DynamicConvolutionForward",
             window={size=2}, dim_labels=b0f_0io->b0f, padding_type=PADDING_SAME""",
        (1, 0),
    ),
    (
        """x = f32[1,<=4,2] parameter(0)
           k = f32[2,1,4] parameter(1)
           ROOT r = f32[1,<=4,4] custom-call(x, k), custom_call_target="DynamicConvolutionForward",
             window={size=2}, dim_labels=b0f_0io->b0f, padding_type=PADDING_SAME, feature_group_count=2""",
        (None, None),
    ),
    (
        """x = f32[1,<=4,2] parameter(0)
           k = f32[2,2,4] parameter(1)
           ROOT r = f32[1,<=4,4] custom-call(x, k), custom_call_target="DynamicConvolutionForward" """,
        (None, None),
    ),
    (
        """n = s32[3] parameter(0)
           g = f32[1,<=4,2] parameter(1)
           k = f32[2,2,3] parameter(2)
           ROOT r = f32[1,4,3] custom-call(n, g, k), custom_call_target="DynamicConvolutionInputGrad",
             window={size=2}, dim_labels=b0f_0io->b0f, padding_type=PADDING_SAME""",
        (1, 1),
    ),
    (
        """x = f32[1,<=4,2] parameter(0)
           g = f32[1,4,3] parameter(1)
           ROOT r = f32[2,2,3] custom-call(x, g), custom_call_target="DynamicConvolutionKernelGrad",
             window={size=4}, dim_labels=f0b_i0o->0bf, padding_type=PADDING_SAME""",
        (0, 1),
    ),
    (
        """x = f32[1,4,2] parameter(0)
           g = f32[1,4,<=3] parameter(1)
           ROOT r = f32[2,2,3] custom-call(x, g), custom_call_target="DynamicConvolutionKernelGrad",
             window={size=4}, dim_labels=f0b_i0o->0bf, padding_type=PADDING_SAME""",
        (1, 2),
    ),
    (
        """x = f32[<=2,<=4,4,1] parameter(0)
           ROOT r = f32[<=2,8,8,1] custom-call(x), custom_call_target="ResizeNearest" """,
        (0, 1),
    ),
]


@pytest.mark.parametrize(("entry", "place"), REFUSED)
def test_what_cannot_be_right_is_refused_with_its_place(entry: str, place: tuple[Any, Any]) -> None:
    module = program(entry)
    call = module.entry_computation.root.name
    with pytest.raises(DynamismRefused) as caught:
        DynamicPadder().run(module, Trace())
    error = caught.value
    assert error.instruction == call
    assert (error.operand, error.dimension) == place


MALFORMED = [
    ("k, x", "its dimension numbers do not fit its operands"),
    ("x", "it has not 2 operands and 0 called computations"),
    ("t, k", "it takes or gives a tuple"),
]


@pytest.mark.parametrize(("operands", "complaint"), MALFORMED)
def test_a_call_that_is_not_well_formed_is_refused_and_has_no_meaning(operands: str, complaint: str) -> None:
    module = program(
        f"""x = f32[1,<=6,2] parameter(0)
            k = f32[2,2] parameter(1)
            t = (f32[1,<=6,2]) tuple(x)
            ROOT r = f32[1,<=6,3] custom-call({operands}), window={{size=2}}, dim_labels=b0f_0io->b0f,
              padding_type=PADDING_SAME, custom_call_target="DynamicConvolutionForward" """
    )
    with pytest.raises(DynamismRefused, match=complaint):
        DynamicPadder().run(module.clone(), Trace())
    with pytest.raises((UndefinedSizes, UnsupportedOpcode)):
        specialise(module, [small(1, 4, 2), small(2, 2)])


def test_resizing_leaves_batch_and_features_as_they_are() -> None:
    module = program(
        """x = f32[<=2,4,4,<=3] parameter(0)
           ROOT r = f32[<=2,8,8,<=3] custom-call(x), custom_call_target="ResizeNearest" """
    )
    sizes = infer_dynamic_dimensions(module, Trace())
    (x,) = module.entry_computation.root.operands
    assert sizes.sizes(module.entry_computation.root) == sizes.sizes(x)
    assert [size is not None for size in sizes.sizes(x)] == [True, False, False, True]
