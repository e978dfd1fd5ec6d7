import pytest

from hlo import ArrayShape, PrimitiveType, Shape, TupleShape
from hlo.bounds import dynamic_shape_is_compatible, upstream_dynamic_shape_is_compatible

S32, F32 = PrimitiveType.S32, PrimitiveType.F32


def shape(*dimensions: int, dynamic: tuple[bool, ...] = (), kind: PrimitiveType = S32) -> ArrayShape:
    return ArrayShape(kind, dimensions, dynamic)


BOUND = shape(4, 5, dynamic=(True, False))

CASES = [
    # actual, bound, ours, upstream's
    (shape(4, 5), BOUND, True, True),
    (shape(0, 5), BOUND, True, True),
    (shape(5, 5), BOUND, False, True),  # upstream does not look at a static leaf
    (shape(4, 4), BOUND, False, True),
    (shape(5, 5, dynamic=(True, False)), BOUND, False, False),
    (shape(3, 5, dynamic=(True, False)), BOUND, True, True),
    (shape(3, 4, dynamic=(True, False)), BOUND, False, True),  # nor at the flags of the bound
    (shape(4), BOUND, False, True),
    (shape(4, dynamic=(True,)), BOUND, False, False),
    (shape(4, 5, kind=F32), BOUND, False, True),
    (shape(3, 5, dynamic=(True, False), kind=F32), BOUND, False, True),
    (TupleShape((shape(),)), TupleShape((shape(), shape(2))), False, True),
    (TupleShape((shape(), shape(2))), TupleShape((shape(),)), False, False),
    (TupleShape((TupleShape((shape(1, 5),)),)), TupleShape((TupleShape((BOUND,)),)), True, True),
    (TupleShape(()), shape(), False, False),
    (shape(), TupleShape(()), False, False),
]


@pytest.mark.parametrize(("actual", "bound", "ours", "upstream"), CASES)
def test_a_concrete_shape_fits_a_bounded_one_leaf_by_leaf(
    actual: Shape, bound: Shape, ours: bool, upstream: bool
) -> None:
    assert dynamic_shape_is_compatible(actual, bound) is ours
    assert upstream_dynamic_shape_is_compatible(actual, bound) is upstream


def test_ours_accepts_nothing_that_upstream_refuses() -> None:
    assert all(upstream for _, _, ours, upstream in CASES if ours)
