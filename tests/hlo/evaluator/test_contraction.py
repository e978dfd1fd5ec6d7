"""Matrix products against the sum that defines them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import ArrayShape, Opcode, PrimitiveType, same_bits
from hlo.attributes import DotDimensions
from hlo.evaluator import EvaluationLimit

MATRIX = DotDimensions(lhs_contracting=(1,), rhs_contracting=(0,))
BF16, F32 = PrimitiveType.BF16, PrimitiveType.F32


@given(st.data())
def test_a_product_is_its_defining_sum(apply, data: st.DataObject) -> None:
    # letters as in einsum: b batch, i left, j right, k contracted, two of each, in any order of dimensions
    size = {letter: data.draw(st.integers(0, 3), label=letter) for letter in "bBijkK"}
    left = "".join(data.draw(st.permutations("bBikK")))
    right = "".join(data.draw(st.permutations("bBjkK")))
    batch, contracting = data.draw(st.permutations("bB")), data.draw(st.permutations("kK"))
    dimensions = DotDimensions(
        *(tuple(map(side.index, kind)) for kind in (contracting, batch) for side in (left, right))
    )
    x, y = (
        (np.arange(math.prod(size[c] for c in side)) % 7 - 3)
        .astype(np.int32)
        .reshape([size[c] for c in side])
        for side in (left, right)
    )
    got = apply(Opcode.DOT, x, y, attributes=dimensions)
    result = [*batch, *(c for c in left if c in "i"), *(c for c in right if c in "j")]
    for place in itertools.product(*(range(size[c]) for c in result)):
        at = dict(zip(result, place, strict=True))
        total = 0
        for at["k"], at["K"] in itertools.product(range(size["k"]), range(size["K"])):
            total += int(x[tuple(at[c] for c in left)]) * int(y[tuple(at[c] for c in right)])
        assert got[place] == total


def test_integers_wrap(apply) -> None:
    x = np.full((1, 3), 100, np.int8)
    assert apply(Opcode.DOT, x, x.T, attributes=MATRIX).tolist() == [[30_000 - 117 * 256]]  # 48
    wide = apply(Opcode.DOT, x, x.T, attributes=MATRIX, shape=ArrayShape(PrimitiveType.S32, (1, 1)))
    assert wide.tolist() == [[30_000]]


def test_nothing_contracted_is_zero(apply) -> None:
    got = apply(Opcode.DOT, np.ones((2, 0), np.float32), np.ones((0, 3), np.float32), attributes=MATRIX)
    assert got.tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("t", [F32, PrimitiveType.F64, BF16, PrimitiveType.F16, PrimitiveType.C64])
def test_the_product_of_a_slice_is_the_slice_of_the_product(apply, t: PrimitiveType) -> None:
    # a matrix library adds in an order that depends on the sizes and on where the operands lie in memory
    x = np.linspace(-1, 1, 37 * 50).reshape(37, 50).astype(t.numpy)
    y = np.linspace(-1, 2, 50 * 41).reshape(50, 41).astype(t.numpy)
    if t.is_complex:
        x, y = x * (1 + 0.3j), y * (0.7 - 1j)
    x.setflags(write=False)  # a writable view would be copied on the way in
    y.setflags(write=False)
    whole = apply(Opcode.DOT, x, y, attributes=MATRIX)
    assert same_bits(apply(Opcode.DOT, x[5:6], y, attributes=MATRIX), whole[5:6])
    assert same_bits(apply(Opcode.DOT, x, np.asfortranarray(y)[:, 3:9], attributes=MATRIX), whole[:, 3:9])
    assert same_bits(apply(Opcode.DOT, x[::-1], y[:, ::-1], attributes=MATRIX), whole[::-1, ::-1])
    transposed = DotDimensions(lhs_contracting=(0,), rhs_contracting=(1,))
    assert same_bits(apply(Opcode.DOT, x.T, y.T, attributes=transposed), whole)


def test_a_complex_product_does_not_depend_on_how_its_operands_lie_in_memory(apply) -> None:
    angles = np.linspace(0, 6, 401)
    x = np.exp(1j * angles).astype(np.complex64)[:, None]
    x.setflags(write=False)  # a writable view would be copied on the way in
    y = np.array([[0.7 - 1j]], np.complex64)
    whole = apply(Opcode.DOT, x, y, attributes=MATRIX)
    assert same_bits(apply(Opcode.DOT, x[::-1], y, attributes=MATRIX), whole[::-1])


def test_narrow_floats_are_added_in_f32(apply) -> None:
    # 256 + 1 + 1 in BF16 would stay at 256
    x = np.array([[256, 1, 1]]).astype(BF16.numpy)
    assert apply(Opcode.DOT, x, np.ones((3, 1)).astype(BF16.numpy), attributes=MATRIX).tolist() == [[258]]


def test_the_result_may_be_wider_than_the_operands(apply) -> None:
    x = np.array([[256, 1]]).astype(BF16.numpy)
    got = apply(Opcode.DOT, x, x.T, attributes=MATRIX, shape=ArrayShape(F32, (1, 1)))
    assert got.tolist() == [[65537]]


def test_truth_values_multiply_as_conjunctions_and_add_as_disjunctions(apply) -> None:
    x = np.array([[True, False], [True, True], [False, False]])
    assert (
        apply(Opcode.DOT, x, x.T, attributes=MATRIX).tolist()
        == (x.astype(int) @ x.T.astype(int) > 0).tolist()
    )


def test_a_scalar_result(apply) -> None:
    both = DotDimensions(lhs_contracting=(0,), rhs_contracting=(0,))
    assert apply(Opcode.DOT, np.arange(4.0), np.arange(4.0), attributes=both).item() == 14


def test_a_product_that_would_take_minutes_is_refused(apply) -> None:
    vast = np.broadcast_to(np.float32(1), (4_000, 1_000_000))
    with pytest.raises(EvaluationLimit, match="limit of elements") as error:
        apply(Opcode.DOT, vast[:1000], vast[:1000].T, attributes=MATRIX)
    assert error.value.kind == "elements"
