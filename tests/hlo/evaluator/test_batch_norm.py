"""Batch normalisation, held against its formulas and, for the gradient, against differences."""

import numpy as np
import pytest

from hlo import ArrayShape, Opcode, PrimitiveType, TupleShape
from hlo.attributes import BatchNormOptions

F32, F64 = PrimitiveType.F32, PrimitiveType.F64
EPSILON = 0.125


def batch(feature: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    shape = [2, 3, 5]
    shape[feature] = 4
    x = np.sin(np.arange(np.prod(shape)) * 1.7).reshape(shape)
    return x, np.linspace(0.5, 2, 4), np.linspace(-1, 1, 4)


def train(apply, x, scale, offset, feature: int, epsilon: float = EPSILON):
    t = PrimitiveType.of(x.dtype)
    shapes = TupleShape((ArrayShape(t, x.shape), ArrayShape(t, scale.shape), ArrayShape(t, scale.shape)))
    options = BatchNormOptions(epsilon, feature)
    return apply(Opcode.BATCH_NORM_TRAINING, x, scale, offset, attributes=options, shape=shapes)


@pytest.mark.parametrize("feature", [0, 1, 2])
def test_training_normalises_each_feature_over_all_the_rest(apply, feature: int) -> None:
    x, scale, offset = batch(feature)
    got, mean, variance = train(apply, x, scale, offset, feature)
    for i in range(4):
        values = np.take(x, i, feature)
        assert mean[i] == pytest.approx(values.mean())
        assert variance[i] == pytest.approx(((values - values.mean()) ** 2).mean())
        expected = (values - mean[i]) / (variance[i] + EPSILON) ** 0.5 * scale[i] + offset[i]
        assert np.take(got, i, feature) == pytest.approx(expected)


def test_inference_takes_the_mean_and_the_variance_it_is_given(apply) -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    scale, offset, mean, variance = (np.array(v, np.float32) for v in ([1, 2], [0, 5], [1, 0], [4, 0.25]))
    got = apply(
        *(Opcode.BATCH_NORM_INFERENCE, x, scale, offset, mean, variance),
        attributes=BatchNormOptions(0.0, 1),
        shape=ArrayShape(F32, (2, 2)),
    )
    assert got.tolist() == [[0, 13], [1, 21]]


@pytest.mark.parametrize("feature", [0, 2])
def test_gradients_are_those_of_training(apply, feature: int) -> None:
    x, scale, offset = batch(feature)
    upstream = np.cos(np.arange(x.size) * 0.3).reshape(x.shape)
    _, mean, variance = train(apply, x, scale, offset, feature)
    shapes = TupleShape((ArrayShape(F64, x.shape), ArrayShape(F64, (4,)), ArrayShape(F64, (4,))))
    gradients = apply(
        *(Opcode.BATCH_NORM_GRAD, x, scale, mean, variance, upstream),
        attributes=BatchNormOptions(EPSILON, feature),
        shape=shapes,
    )
    for which, gradient in enumerate(gradients):
        for place in np.ndindex(gradient.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [x.copy(), scale.copy(), offset.copy()]
                moved[which][place] += step
                ends.append((train(apply, moved[0], moved[1], moved[2], feature)[0] * upstream).sum())
            assert gradient[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)


def test_an_empty_batch_has_no_mean(apply) -> None:
    ones = np.ones(2, np.float32)
    got, mean, variance = train(apply, np.zeros((0, 2), np.float32), ones, ones, 1)
    assert got.shape == (0, 2)
    assert np.isnan(mean).all()
    assert np.isnan(variance).all()
