from collections.abc import Callable
from dataclasses import replace

import pytest

from hlo.attributes import BatchNormOptions, CholeskyOptions, FftKind, TriangularSolveOptions

Infer = Callable[..., str]


def test_cholesky_gives_square_matrices_back(infer: Infer, refusal: Infer) -> None:
    for operand in ("f32[2,2]", "c64[<=5,0,0]", "bf16[7,6,2,2]"):
        assert infer("cholesky", operand, attributes=CholeskyOptions()) == operand
    for operand in ("s32[2,2]", "f32[2]", "f32[2,3]", "f32[]", "(f32[2,2])"):
        assert refusal("cholesky", operand, attributes=CholeskyOptions())


LEFT, RIGHT = TriangularSolveOptions(left_side=True), TriangularSolveOptions(left_side=False)


def test_a_triangular_solve_gives_its_right_hand_sides(infer: Infer) -> None:
    for options, sides in ((LEFT, "f32[5,2,4]"), (RIGHT, "f32[5,4,2]"), (LEFT, "f32[<=5,2,0]")):
        assert infer("triangular-solve", "f32[5,2,2]", sides, attributes=options) == sides


@pytest.mark.parametrize(
    ("matrix", "sides", "options", "message"),
    [
        ("f32[2,3]", "f32[2,4]", LEFT, "square"),
        ("s32[2,2]", "s32[2,4]", LEFT, "s32 is not allowed"),
        ("f32[2,2]", "f64[2,4]", LEFT, "element type"),
        ("f32[2,2]", "f32[2]", LEFT, "before the last two"),
        ("f32[5,2,2]", "f32[4,2,2]", LEFT, "before the last two"),
        ("f32[2,2]", "f32[2,4]", RIGHT, "dimension of 4"),
        ("f32[2,2]", "f32[4,2]", LEFT, "dimension of 4"),
        ("f32[2,2]", "f32[2,4]", replace(LEFT, transpose_a=""), "transpose_a ''"),
    ],
)
def test_a_triangular_solve_that_does_not_fit_is_refused(
    refusal: Infer, matrix: str, sides: str, options: TriangularSolveOptions, message: str
) -> None:
    assert message in refusal("triangular-solve", matrix, sides, attributes=options)


@pytest.mark.parametrize(
    ("operand", "kind", "length", "expected"),
    [
        ("c64[2,4]", "FFT", (4,), "c64[2,4]"),
        ("c128[<=2,4]", "IFFT", (2, 4), "c128[<=2,4]"),
        ("f32[2,4]", "RFFT", (4,), "c64[2,3]"),
        ("f64[2,5]", "RFFT", (2, 5), "c128[2,3]"),
        ("f32[0]", "RFFT", (0,), "c64[0]"),
        ("c64[2,3]", "IRFFT", (4,), "f32[2,4]"),
        ("c64[2,3]", "IRFFT", (2, 5), "f32[2,5]"),
        ("c64[0]", "IRFFT", (0,), "f32[0]"),
    ],
)
def test_a_transform_of_reals_keeps_half_of_the_spectrum(
    infer: Infer, operand: str, kind: str, length: tuple[int, ...], expected: str
) -> None:
    assert infer("fft", operand, attributes=FftKind(kind, length)) == expected


@pytest.mark.parametrize(
    ("operand", "kind", "length"),
    [
        ("f32[4]", "FFT", (4,)),
        ("c64[4]", "RFFT", (4,)),
        ("bf16[4]", "RFFT", (4,)),
        ("f32[4]", "IRFFT", (6,)),
        ("c64[4]", "DCT", (4,)),
        ("c64[4]", "FFT", ()),
        ("c64[4]", "FFT", (5,)),
        ("c64[4]", "FFT", (4, 4)),
        ("c64[1,1,1,4]", "FFT", (1, 1, 1, 4)),
        ("f32[4]", "RFFT", (5,)),
        ("c64[4]", "IRFFT", (4,)),
        ("c64[1]", "IRFFT", (0,)),
        ("c64[2,3]", "IRFFT", (3, 4)),
    ],
)
def test_a_transform_that_does_not_fit_is_refused(
    refusal: Infer, operand: str, kind: str, length: tuple[int, ...]
) -> None:
    assert "fft_" in refusal("fft", operand, attributes=FftKind(kind, length))


SECOND = BatchNormOptions(0.1, 1)


def test_batch_normalisations_give_values_and_features(infer: Infer) -> None:
    x, each = "f32[2,<=3]", "f32[3]"
    assert infer("batch-norm-training", x, each, each, attributes=SECOND) == f"({x}, {each}, {each})"
    assert infer("batch-norm-inference", x, each, each, each, "bf16[3]", attributes=SECOND) == x
    gives = infer("batch-norm-grad", x, each, each, each, "f32[2,3]", attributes=SECOND)
    assert gives == f"({x}, {each}, {each})"


@pytest.mark.parametrize(
    ("operands", "index"),
    [
        (("s32[2,3]", "s32[3]", "s32[3]"), 1),
        (("f32[2,3]", "f32[3]", "f32[3]"), 2),
        (("f32[2,3]", "f32[3]", "f32[3]"), -1),
        (("f32[]", "f32[3]", "f32[3]"), 0),
        (("f32[2,3]", "f32[3]", "f32[3]"), 0),
        (("f32[2,3]", "f32[3]", "f32[2]"), 1),
        (("f32[2,3]", "f32[1,3]", "f32[3]"), 1),
        (("f32[2,3]", "f32[3]", "s32[3]"), 1),
        (("(f32[2,3])", "f32[3]", "f32[3]"), 1),
    ],
)
def test_a_batch_normalisation_that_does_not_fit_is_refused(
    refusal: Infer, operands: tuple[str, ...], index: int
) -> None:
    options = BatchNormOptions(0.1, index)
    x, scale, offset = operands
    assert refusal("batch-norm-training", *operands, attributes=options)
    assert refusal("batch-norm-inference", x, scale, offset, scale, scale, attributes=options)
    assert refusal("batch-norm-grad", x, scale, offset, scale, x, attributes=options)


def test_the_gradient_is_of_the_operands_shape(refusal: Infer) -> None:
    each = ["f32[3]"] * 3
    for gradient in ("f32[3,2]", "f32[3]", "s32[2,3]"):
        assert "gradient" in refusal("batch-norm-grad", "f32[2,3]", *each, gradient, attributes=SECOND)
