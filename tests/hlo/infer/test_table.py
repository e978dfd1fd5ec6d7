import pytest

from hlo import ArrayShape, Family, HloModule, Opcode, PrimitiveType, Shape, TupleShape
from hlo.attributes import NONE, UNMODELLED, Dimensions, SliceBounds, SliceSizes, TupleIndex
from hlo.infer import (
    GAPS,
    RULES,
    ShapeError,
    batch_norm,
    contraction,
    control,
    convolution,
    dynamic,
    elementwise,
    gather_scatter,
    indexing,
    infer_shape,
    linalg,
    reduction,
    scan,
    shape,
    signature,
    sorting,
    windows,
)
from hlo.opcode import SPECS

VECTOR = ArrayShape(PrimitiveType.F32, (2,))


def test_every_opcode_has_a_rule_or_a_reason() -> None:
    assert RULES.keys() | GAPS.keys() == set(Opcode)
    assert not RULES.keys() & GAPS.keys()
    assert all(reason.strip() for reason in GAPS.values())


ROOMS = {
    Family.ELEMENTWISE: [elementwise],
    Family.SHAPE: [shape],
    Family.INDEXING: [indexing, gather_scatter],
    Family.REDUCTION: [reduction, windows, scan, sorting],
    Family.CONTRACTION: [contraction, convolution],
    Family.CONTROL: [control],
    Family.DYNAMIC: [dynamic],
    Family.LINALG: [linalg, batch_norm],
    Family.COLLECTIVE: [],
}


@pytest.mark.parametrize("family", Family)
def test_rules_of_a_family_are_in_its_files(family: Family) -> None:
    rules = {opcode for room in ROOMS[family] for opcode in room.RULES}
    assert rules == {opcode for opcode in RULES if SPECS[opcode].family is family}


def test_a_gap_trusts_the_declared_shape_and_needs_one() -> None:
    assert infer_shape(Opcode.ALL_GATHER, [VECTOR], UNMODELLED, declared=VECTOR) is VECTOR
    with pytest.raises(ShapeError, match="all-gather must be declared: its result depends on device groups"):
        infer_shape(Opcode.ALL_GATHER, [VECTOR], UNMODELLED)


@pytest.mark.parametrize("opcode", [opcode for opcode, spec in SPECS.items() if spec.arity is not None])
def test_the_number_of_operands_is_checked(opcode: Opcode) -> None:
    with pytest.raises(ShapeError, match="operands, got 7"):
        infer_shape(opcode, [VECTOR] * 7, NONE, declared=VECTOR)


def test_the_number_of_callees_is_checked() -> None:
    with pytest.raises(ShapeError, match="calls 1 computations, got 0"):
        infer_shape(Opcode.REDUCE, [VECTOR, VECTOR], Dimensions((0,)))


def test_attributes_of_another_kind_are_refused() -> None:
    with pytest.raises(ShapeError, match="expected Dimensions attributes, got TupleIndex"):
        infer_shape(Opcode.REVERSE, [VECTOR], TupleIndex(0))


def test_a_callee_is_read_by_parameter_number_and_root() -> None:
    scalar = ArrayShape(PrimitiveType.S32)
    callee = HloModule("m").add_computation("f")
    second = callee.add_parameter(1, VECTOR)
    with pytest.raises(ShapeError, match="has no root"):
        signature(callee)
    callee.set_root(second)
    with pytest.raises(ShapeError, match=r"numbered \[1\]"):
        signature(callee)
    callee.add_parameter(0, scalar)
    assert infer_shape(Opcode.CALL, [scalar, VECTOR], called=[callee]) == VECTOR
    with pytest.raises(ShapeError, match="argument 0"):
        infer_shape(Opcode.CALL, [VECTOR, VECTOR], called=[callee])


def test_the_declared_shape_is_handed_back_where_it_is_equal() -> None:
    declared = ArrayShape(PrimitiveType.F32, (4,), layout=b"layout")
    inferred = infer_shape(Opcode.CONCATENATE, [VECTOR, VECTOR], Dimensions((0,)), declared=declared)
    assert inferred is declared


def test_a_shape_whose_flags_are_all_off_equals_a_static_one() -> None:
    dynamic = ArrayShape(PrimitiveType.F32, (4,), (True,))
    declared = ArrayShape(PrimitiveType.F32, (2,))
    inferred = infer_shape(Opcode.SLICE, [dynamic], SliceBounds((0,), (4,), (4,)))
    assert inferred == ArrayShape(PrimitiveType.F32, (1,))
    sizes, index = SliceSizes((2,)), ArrayShape(PrimitiveType.S32)
    assert infer_shape(Opcode.DYNAMIC_SLICE, [dynamic, index], sizes, declared=declared) is declared


@pytest.mark.parametrize(
    "declared",
    [
        ArrayShape(PrimitiveType.S32, (4,)),
        ArrayShape(PrimitiveType.F32, (2, 2)),
        ArrayShape(PrimitiveType.F32, (4,), (True,)),
        TupleShape(),
    ],
)
def test_a_declared_shape_that_differs_is_not_believed(declared: Shape) -> None:
    inferred = infer_shape(Opcode.CONCATENATE, [VECTOR, VECTOR], Dimensions((0,)), declared=declared)
    assert inferred == ArrayShape(PrimitiveType.F32, (4,))
