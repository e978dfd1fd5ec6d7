from collections.abc import Callable
from dataclasses import replace

import pytest

from hlo.attributes import ConvolutionDimensions, WindowDimension

Infer = Callable[..., str]

PLAIN = ConvolutionDimensions((WindowDimension(2),), 0, 1, (2,), 1, 0, (2,), 0, 1, (2,))
"""bf0_oi0->bf0 with a window of 2."""


@pytest.mark.parametrize(
    ("left", "right", "numbers", "expected"),
    [
        ("f32[2,3,5]", "f32[4,3,2]", PLAIN, "f32[2,4,4]"),
        (
            "f32[2,3]",
            "f32[4,3]",
            replace(PLAIN, window=(), input_spatial=(), kernel_spatial=(), output_spatial=()),
            "f32[2,4]",
        ),
        ("f32[5,3,2]", "f32[4,3,2]", replace(PLAIN, input_batch=2, input_spatial=(0,)), "f32[2,4,4]"),
        (
            "f32[2,3,5]",
            "f32[3,4,2]",
            replace(PLAIN, kernel_input_feature=0, kernel_output_feature=1),
            "f32[2,4,4]",
        ),
        ("f32[2,3,5]", "f32[4,3,2]", replace(PLAIN, output_batch=1, output_feature=0), "f32[4,2,4]"),
        ("f32[2,6,5]", "f32[4,3,2]", replace(PLAIN, feature_group_count=2), "f32[2,4,4]"),
        ("f32[6,3,5]", "f32[4,3,2]", replace(PLAIN, batch_group_count=2), "f32[3,4,4]"),
        (
            "f32[2,3,5]",
            "f32[4,3,2]",
            replace(PLAIN, window=(WindowDimension(2, 2, 1, 0, 2, 2),)),
            "f32[2,4,4]",
        ),
        ("bf16[2,3,5]", "f32[4,3,2]", PLAIN, "f32[2,4,4]"),
        ("f32[<=2,<=3,5]", "f32[4,<=3,2]", PLAIN, "f32[<=2,4,4]"),
        ("f32[2,3,<=5]", "f32[4,3,2]", PLAIN, "f32[2,4,<=4]"),
        ("f32[2,3,5]", "f32[4,3,<=2]", PLAIN, "f32[2,4,<=4]"),
    ],
)
def test_a_convolution_has_batch_features_and_places(
    infer: Infer, left: str, right: str, numbers: ConvolutionDimensions, expected: str
) -> None:
    assert infer("convolution", left, right, attributes=numbers) == expected


def test_a_convolution_may_declare_a_wider_type(infer: Infer, refusal: Infer) -> None:
    declared = "s32[2,4,4]"
    assert infer("convolution", "s8[2,3,5]", "s8[4,3,2]", attributes=PLAIN, declared=declared) == declared
    assert refusal("convolution", "s32[2,3,5]", "s32[4,3,2]", attributes=PLAIN, declared="s8[2,4,4]")


@pytest.mark.parametrize(
    ("left", "right", "numbers", "message"),
    [
        ("f32[2,3]", "f32[4,3,2]", PLAIN, "differ in rank"),
        ("f32[2,3,5]", "s32[4,3,2]", PLAIN, "differ in element type"),
        ("f32[2,3,5]", "f32[4,2,2]", PLAIN, "3 input features are not 1 groups of 2"),
        ("f32[2,3,5]", "f32[4,3,3]", PLAIN, "not of the size [3] of the kernel"),
        ("f32[2,3,5]", "f32[<=4,3,2]", PLAIN, "output features of f32[<=4,3,2] are dynamic"),
        ("f32[2,3,5]", "f32[4,3,2]", replace(PLAIN, window=()), "not of the size [2] of the kernel"),
        ("f32[2,3,5]", "f32[4,3,2]", replace(PLAIN, input_batch=1), "input dimensions [1, 1, 2]"),
        ("f32[2,3,5]", "f32[4,3,2]", replace(PLAIN, input_spatial=(3,)), "input dimensions [0, 1, 3]"),
        ("f32[2,3,5]", "f32[4,3,2]", replace(PLAIN, kernel_spatial=()), "kernel dimensions [1, 0]"),
        ("f32[2,3,5]", "f32[4,3,2]", replace(PLAIN, output_spatial=(-1,)), "output dimensions [0, 1, -1]"),
        ("f32[2,3,5]", "f32[4,3,2]", replace(PLAIN, feature_group_count=0), "do not go together"),
        ("f32[2,3,5]", "f32[4,3,2]", replace(PLAIN, batch_group_count=-1), "do not go together"),
        ("f32[2,6,5]", "f32[4,3,2]", replace(PLAIN, feature_group_count=2, batch_group_count=2), "do not go"),
        (
            "f32[2,9,5]",
            "f32[4,3,2]",
            replace(PLAIN, feature_group_count=3),
            "4 output features do not divide",
        ),
        ("f32[6,3,5]", "f32[4,3,2]", replace(PLAIN, batch_group_count=3), "4 output features do not divide"),
        ("f32[3,3,5]", "f32[4,3,2]", replace(PLAIN, batch_group_count=2), "a batch of 3 is not 2 groups"),
        (
            "f32[2,3,5]",
            "f32[4,3,2]",
            replace(PLAIN, window=(WindowDimension(2, stride=0),)),
            "stride 0",
        ),
    ],
)
def test_a_convolution_that_does_not_fit_is_refused(
    refusal: Infer, left: str, right: str, numbers: ConvolutionDimensions, message: str
) -> None:
    assert message in refusal("convolution", left, right, attributes=numbers)
