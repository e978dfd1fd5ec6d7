"""Convolutions against a loop over every product: groups, strides, dilations, reversal, any order of dimensions."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import ArrayShape, Opcode, PrimitiveType, same_bits
from hlo.attributes import ConvolutionDimensions, WindowDimension
from hlo.evaluator import EvaluationLimit

S8, S32, F32, BF16 = PrimitiveType.S8, PrimitiveType.S32, PrimitiveType.F32, PrimitiveType.BF16


@st.composite
def convolutions(draw) -> dict[str, Any]:
    """Sizes, windows and an order of dimensions: of the image, of the kernel and of the result."""
    rank = draw(st.integers(0, 2))
    spatial = []
    for _ in range(rank):
        size = draw(st.integers(0, 4))
        window = WindowDimension(
            size=draw(st.integers(1, 3)),
            stride=draw(st.integers(1, 2)),
            padding_low=draw(st.integers(-1, 2)),
            padding_high=draw(st.integers(-1, 2)),
            window_dilation=draw(st.integers(1, 2)),
            base_dilation=draw(st.integers(1, 2)),
            reversal=draw(st.booleans()),
        )
        spread = (size - 1) * window.base_dilation + 1 if size else 0
        reach = (window.size - 1) * window.window_dilation + 1
        rest = spread + window.padding_low + window.padding_high - reach
        spatial.append((size, window, max(0, rest // window.stride + 1)))
    groups = draw(st.integers(1, 3))
    by_batch = draw(st.booleans())
    return {
        "spatial": spatial,
        "batch": draw(st.integers(1, 2)),
        "depth": draw(st.integers(1, 2)),
        "channels": draw(st.integers(1, 2)) * groups,
        "feature_groups": 1 if by_batch else groups,
        "batch_groups": groups if by_batch else 1,
        "orders": [draw(st.permutations(range(rank + 2))) for _ in range(3)],
    }


def numbers_of(case: dict[str, Any]) -> ConvolutionDimensions:
    image, kernel, result = map(tuple, case["orders"])
    return ConvolutionDimensions(
        tuple(window for _, window, _ in case["spatial"]),
        *(image[0], image[1], image[2:]),
        *(kernel[0], kernel[1], kernel[2:]),
        *(result[0], result[1], result[2:]),
        feature_group_count=case["feature_groups"],
        batch_group_count=case["batch_groups"],
    )


def arranged(order: list[int], first: int, second: int, rest: list[int]) -> tuple[int, ...]:
    """The sizes (or the place) of an array whose dimensions come in `order`: two of them, then the spatial ones."""
    result = [0] * len(order)
    for d, size in zip(order, (first, second, *rest), strict=True):
        result[d] = size
    return tuple(result)


def products(case: dict[str, Any], x, kernel, batch: int, channel: int, place) -> Any:
    """Every product that one element of the result is the sum of, in order."""
    image_order, kernel_order, _ = case["orders"]
    per_group = case["channels"] // (case["feature_groups"] * case["batch_groups"])
    group = channel // per_group
    for offset in itertools.product(*(range(w.size) for _, w, _ in case["spatial"])):
        at = []
        for (size, w, _), p, o in zip(case["spatial"], place, offset, strict=True):
            o = w.size - 1 - o if w.reversal else o
            y = p * w.stride + o * w.window_dilation - w.padding_low
            if y % w.base_dilation or not 0 <= y // w.base_dilation < size:
                break
            at.append(y // w.base_dilation)
        else:
            for feature in range(case["depth"]):
                b = group * case["batch"] + batch if case["batch_groups"] > 1 else batch
                f = group * case["depth"] + feature if case["feature_groups"] > 1 else feature
                left = x[arranged(image_order, b, f, at)]
                yield int(left) * int(kernel[arranged(kernel_order, feature, channel, list(offset))])


@given(convolutions())
def test_a_convolution_is_the_sum_of_its_products(apply, case: dict[str, Any]) -> None:
    sizes, outputs = [s for s, _, _ in case["spatial"]], [n for _, _, n in case["spatial"]]
    image = arranged(
        case["orders"][0], case["batch"] * case["batch_groups"], case["depth"] * case["feature_groups"], sizes
    )
    weights = arranged(
        case["orders"][1], case["depth"], case["channels"], [w.size for _, w, _ in case["spatial"]]
    )
    shape = arranged(case["orders"][2], case["batch"], case["channels"], outputs)
    x = (np.arange(math.prod(image)) * 3 % 11 - 5).astype(np.int32).reshape(image)
    kernel = (np.arange(math.prod(weights)) * 5 % 7 - 3).astype(np.int32).reshape(weights)
    got = apply(Opcode.CONVOLUTION, x, kernel, attributes=numbers_of(case), shape=ArrayShape(S32, shape))
    for batch, channel in itertools.product(range(case["batch"]), range(case["channels"])):
        for place in itertools.product(*map(range, outputs)):
            total = sum(products(case, x, kernel, batch, channel, place))
            assert got[arranged(case["orders"][2], batch, channel, list(place))] == total


def simple(**window: int) -> ConvolutionDimensions:
    """Dimensions batch, feature, spatial of the image and the result, input, output, spatial of the kernel."""
    dimension = replace(WindowDimension(), **window)
    return ConvolutionDimensions((dimension,), 0, 1, (2,), 0, 1, (2,), 0, 1, (2,))


def test_integers_wrap_in_the_type_of_the_result(apply) -> None:
    x, kernel = np.full((1, 1, 3), 100, np.int8), np.full((1, 1, 3), 100, np.int8)
    narrow = apply(Opcode.CONVOLUTION, x, kernel, attributes=simple(size=3), shape=ArrayShape(S8, (1, 1, 1)))
    wide = apply(Opcode.CONVOLUTION, x, kernel, attributes=simple(size=3), shape=ArrayShape(S32, (1, 1, 1)))
    assert (narrow.item(), wide.item()) == (30_000 - 117 * 256, 30_000)


def test_padding_meets_no_infinite_weight(apply) -> None:
    x, kernel = np.ones((1, 1, 1), np.float32), np.array([[[math.inf, 2.0]]], np.float32)
    got = apply(
        Opcode.CONVOLUTION,
        x,
        kernel,
        attributes=simple(size=2, padding_low=1),
        shape=ArrayShape(F32, (1, 1, 1)),
    )
    assert got.item() == 2


def test_narrow_floats_are_added_in_f32(apply) -> None:
    # 256 + 1 + 1 in BF16 would stay at 256
    x = np.array([[[256, 1, 1]]]).astype(BF16.numpy)
    kernel = np.ones((1, 1, 3)).astype(BF16.numpy)
    got = apply(Opcode.CONVOLUTION, x, kernel, attributes=simple(size=3), shape=ArrayShape(BF16, (1, 1, 1)))
    assert got.item() == 258


@pytest.mark.parametrize("t", [F32, PrimitiveType.F64, PrimitiveType.C64])
def test_an_element_does_not_depend_on_its_neighbours(apply, t: PrimitiveType) -> None:
    x = np.linspace(-1, 2, 2 * 3 * 40).reshape(2, 3, 40).astype(t.numpy)
    kernel = np.linspace(-1, 1, 3 * 5 * 4).reshape(3, 5, 4).astype(t.numpy)
    whole = apply(Opcode.CONVOLUTION, x, kernel, attributes=simple(size=4), shape=ArrayShape(t, (2, 5, 37)))
    part = apply(
        Opcode.CONVOLUTION,
        x[1:, :, 7:11],
        kernel,
        attributes=simple(size=4),
        shape=ArrayShape(t, (1, 5, 1)),
    )
    assert same_bits(part, np.ascontiguousarray(whole[1:, :, 7:8]))


def test_a_convolution_that_would_take_minutes_is_refused(apply) -> None:
    vast = np.broadcast_to(np.float32(1), (1000, 100, 1000))
    with pytest.raises(EvaluationLimit, match="limit of elements"):
        apply(
            Opcode.CONVOLUTION,
            vast,
            np.broadcast_to(np.float32(1), (100, 1, 500)),
            attributes=simple(size=500),
            shape=ArrayShape(F32, (1000, 1, 501)),
        )
