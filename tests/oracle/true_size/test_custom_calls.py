"""Do the custom-calls whose padding depends on sizes mean what JAX computes on arrays of just these sizes?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from hlo import HloModule, Opcode, Value
from hlo.evaluator import evaluate
from hlo.verify import verify
from oracle import Agree, Skip, SkipReason, draw_inputs, judge
from oracle.true_size import UndefinedSizes, specialise
from passes import parse_pipeline
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


def value_of(module: HloModule, *inputs: Value) -> np.ndarray:
    specialised = specialise(module, inputs)
    assert verify(specialised.module) == []
    np.testing.assert_array_equal(evaluate(specialised.module, inputs), specialised.value)
    assert isinstance(specialised.value, np.ndarray)
    return specialised.value


@pytest.mark.parametrize("size", [0, 1, 2, 5, 6, 7])
@pytest.mark.parametrize(("window", "stride"), WINDOWS)
def test_a_window_has_one_place_for_each_stride(size: int, window: int, stride: int) -> None:
    out = -(-7 // stride)
    module = program(
        f"""x = f32[2,<=7] parameter(0)
            zero = f32[] constant(0)
            ROOT r = f32[2,<={out}] custom-call(x, zero), window={{size=1x{window} stride=1x{stride}}},
              custom_call_target="DynamicReduceWindowSamePadding", to_apply=add"""
    )
    x = small(2, size)
    expected = lax.reduce_window(x, 0.0, lax.add, (1, window), (1, stride), "SAME")
    np.testing.assert_array_equal(value_of(module, x), expected)


@pytest.mark.parametrize("size", [1, 2, 5, 6, 7])
@pytest.mark.parametrize(("window", "stride"), [(2, 2), (3, 1), (3, 2)])
def test_each_window_hands_its_source_to_its_largest_element(size: int, window: int, stride: int) -> None:
    out = -(-7 // stride)
    module = program(
        f"""x = f32[2,<=7] parameter(0)
            s = f32[2,<={out}] parameter(1)
            zero = f32[] constant(0)
            ROOT r = f32[2,<=7] custom-call(x, s, zero), window={{size=1x{window} stride=1x{stride}}},
              custom_call_target="DynamicSelectAndScatterSamePadding", called_computations={{ge, add}}"""
    )
    x = small(2, size)
    pooled, back = jax.vjp(
        lambda y: lax.reduce_window(y, -jnp.inf, lax.max, (1, window), (1, stride), "SAME"), jnp.asarray(x)
    )
    source = small(*pooled.shape)
    np.testing.assert_array_equal(value_of(module, x, source), back(source)[0])


def test_a_source_of_another_size_has_no_meaning() -> None:
    module = program(
        """x = f32[<=6] parameter(0)
           s = f32[<=3] parameter(1)
           zero = f32[] constant(0)
           ROOT r = f32[<=6] custom-call(x, s, zero), window={size=2 stride=2},
             custom_call_target="DynamicSelectAndScatterSamePadding", called_computations={ge, add}"""
    )
    with pytest.raises(UndefinedSizes, match="the source has size 1 for 2 places"):
        specialise(module, [small(4), small(1)])


def convolved(x: jax.Array, kernel: jax.Array, stride: int, dilation: int, padding: str) -> jax.Array:
    return lax.conv_general_dilated(
        x, kernel, (stride,), padding, rhs_dilation=(dilation,), dimension_numbers=("NWC", "WIO", "NWC")
    )


@pytest.mark.parametrize(("size", "stride", "dilation", "padding"), CONVOLUTIONS)
def test_a_convolution_is_padded_for_the_size_that_is_there(
    size: int, stride: int, dilation: int, padding: str
) -> None:
    module = forward(stride, dilation, padding)
    x, kernel = small(2, size, 2), small(3, 2, 4)
    got = value_of(module, x, kernel)
    assert got.shape == (2, places(size, stride, dilation, padding), 4)
    if got.size:
        expected = convolved(jnp.asarray(x), jnp.asarray(kernel), stride, dilation, padding)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("size", "stride", "dilation", "padding"), [case for case in CONVOLUTIONS if places(*case)]
)
def test_the_gradient_of_the_input_is_as_large_as_the_sizes_asked_for(
    size: int, stride: int, dilation: int, padding: str
) -> None:
    there = places(size, stride, dilation, padding)
    module = input_gradient(stride, dilation, padding)
    gradient, kernel = small(2, there, 4), jnp.asarray(small(3, 2, 4))
    _, back = jax.vjp(
        lambda x: convolved(x, kernel, stride, dilation, padding), jnp.zeros((2, size, 2), jnp.float32)
    )
    got = value_of(module, np.array([2, size, 2], np.int32), gradient, np.asarray(kernel))
    np.testing.assert_array_equal(got, back(jnp.asarray(gradient))[0])


@pytest.mark.parametrize(("size", "stride", "dilation", "padding"), CONVOLUTIONS)
def test_the_gradient_of_the_kernel_sums_over_what_is_there(
    size: int, stride: int, dilation: int, padding: str
) -> None:
    there = places(size, stride, dilation, padding)
    module = kernel_gradient(stride, dilation, padding)
    x, gradient = small(2, size, 2), small(2, there, 4)
    if not there:
        with pytest.raises(UndefinedSizes, match="no place to sum over"):
            specialise(module, [x, gradient])
        return
    _, back = jax.vjp(
        lambda kernel: convolved(jnp.asarray(x), kernel, stride, dilation, padding),
        jnp.zeros((3, 2, 4), jnp.float32),
    )
    np.testing.assert_array_equal(value_of(module, x, gradient), back(jnp.asarray(gradient))[0])


def test_a_dimension_that_nobody_made_dynamic_keeps_the_stated_padding() -> None:
    module = program(
        """x = f32[<=3,4] parameter(0)
           zero = f32[] constant(0)
           ROOT r = f32[<=3,4] custom-call(x, zero), window={size=2x3 pad=0_1x2_0},
             custom_call_target="DynamicReduceWindowSamePadding", to_apply=add"""
    )
    x = small(2, 4)
    expected = lax.reduce_window(x, 0.0, lax.add, (2, 3), (1, 1), [(0, 1), (2, 0)])
    np.testing.assert_array_equal(value_of(module, x), expected)


def test_a_gradient_of_another_size_than_is_asked_for_has_no_meaning() -> None:
    module = program(
        """n = s32[3] parameter(0)
           g = f32[<=3,<=7,4] parameter(1)
           k = f32[3,2,4] parameter(2)
           ROOT r = f32[<=3,<=7,2] custom-call(n, g, k), window={size=3 rhs_reversal=1},
             dim_labels=b0f_0oi->b0f, padding_type=PADDING_SAME,
             custom_call_target="DynamicConvolutionInputGrad" """
    )
    kernel = small(3, 2, 4)
    assert value_of(module, np.array([2, 5, 2], np.int32), small(2, 5, 4), kernel).shape == (2, 5, 2)
    with pytest.raises(UndefinedSizes, match="size 3 is asked for where the gradient has 2"):
        specialise(module, [np.array([3, 5, 2], np.int32), small(2, 5, 4), kernel])


STATIC_CALL = """x = f32[1,4,2] parameter(0)
    k = f32[3,2,4] parameter(1)
    ROOT r = f32[1,{},4] custom-call(x, k), window={{size=3 pad=1_1}}, dim_labels=b0f_0io->b0f,
      padding_type=PADDING_SAME, custom_call_target="DynamicConvolutionForward" """


def test_of_static_arrays_it_is_the_ordinary_operation_that_it_states() -> None:
    module = program(STATIC_CALL.format(4))
    x, kernel = small(1, 4, 2), small(3, 2, 4)
    expected = convolved(jnp.asarray(x), jnp.asarray(kernel), 1, 1, "SAME")
    np.testing.assert_array_equal(value_of(module, x, kernel), expected)
    assert judge(module, parse_pipeline("dynamic"), [(x, kernel)], {}).verdict == Agree()


def test_a_call_that_is_declared_to_give_something_else_has_no_meaning() -> None:
    module = program(STATIC_CALL.format(5))
    with pytest.raises(UndefinedSizes, match=r"it has size 4 in dimension 1 of f32\[1,5,4\]"):
        specialise(module, [small(1, 4, 2), small(3, 2, 4)])


@pytest.mark.parametrize(
    "entry",
    [
        """x = f32[<=2,4,4,<=3] parameter(0)
           ROOT r = f32[<=2,8,8,<=3] custom-call(x), custom_call_target="ResizeNearest" """,
        """x = f32[2,4,4,3] parameter(0)
           n = s32[] parameter(1)
           y = f32[<=2,4,4,3] set-dimension-size(x, n), dimensions={0}
           ROOT r = f32[<=2,8,8,3] custom-call(y), custom_call_target="ResizeBilinear" """,
        """x = f32[<=2,4,4,3] parameter(0)
           y = f32[2,8,8,3] custom-call(x), custom_call_target="ResizeBilinearGrad"
           zero = f32[] constant(0)
           ROOT r = f32[] reduce(y, zero), dimensions={0,1,2,3}, to_apply=add""",
    ],
)
def test_what_resizing_gives_is_for_its_owner_to_say(entry: str) -> None:
    module = program(entry)
    target = next(i for i in module.entry_computation.instructions if i.opcode is Opcode.CUSTOM_CALL)
    verdict = judge(module, parse_pipeline("dynamic"), draw_inputs(module, 1, 3), {}).verdict
    assert isinstance(verdict, Skip)
    assert verdict.reason is SkipReason.FOREIGN_CUSTOM_CALL
    assert target.custom_call_target in verdict.detail
