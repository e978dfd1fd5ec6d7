from collections.abc import Callable
from dataclasses import replace

import pytest

from hlo.attributes import GatherDimensions, ScatterDimensions

Infer = Callable[..., str]

ADD = "(f32[], f32[]) -> f32[]"
BOTH = "(f32[], s32[], f32[], s32[]) -> (f32[], s32[])"

ROWS = GatherDimensions((1,), (0,), (0,), 1, (1, 3))
"""Rows of 3 by one index each."""
BATCHED = GatherDimensions((2,), (1,), (1, 2), 2, (1, 1, 2), (0,), (0,))
"""In each batch, windows of 2 by index pairs."""


@pytest.mark.parametrize(
    ("operand", "indices", "numbers", "expected"),
    [
        ("f32[5,3]", "s32[4]", ROWS, "f32[4,3]"),
        ("f32[5,3]", "u8[4,1]", ROWS, "f32[4,3]"),
        ("f32[5,3]", "s32[4]", replace(ROWS, offset_dims=(0,)), "f32[3,4]"),
        ("f32[5,3]", "s32[4]", replace(ROWS, offset_dims=(0, 2), collapsed_slice_dims=()), "f32[1,4,3]"),
        ("f32[5,3]", "s32[]", replace(ROWS, offset_dims=(0,), index_vector_dim=0), "f32[3]"),
        ("f32[5,3]", "s32[1,4]", replace(ROWS, index_vector_dim=0), "f32[4,3]"),
        ("f32[5,3]", "s32[4]", replace(ROWS, slice_sizes=(0, 3)), "f32[4,3]"),
        ("f32[0,3]", "s32[4]", replace(ROWS, slice_sizes=(0, 3)), "f32[4,3]"),
        ("f32[7,5,3]", "s32[7,4,2]", BATCHED, "f32[7,4,2]"),
        ("f32[5,<=3]", "s32[<=4]", ROWS, "f32[<=4,<=3]"),
        ("f32[<=5,<=3]", "s32[4]", replace(ROWS, slice_sizes=(1, 2)), "f32[4,2]"),
    ],
)
def test_a_gather_has_a_slice_for_each_index(
    infer: Infer, operand: str, indices: str, numbers: GatherDimensions, expected: str
) -> None:
    assert infer("gather", operand, indices, attributes=numbers) == expected


@pytest.mark.parametrize(
    ("operand", "indices", "numbers", "message"),
    [
        ("f32[5,3]", "f32[4]", ROWS, "not integral"),
        ("f32[5,3]", "s32[4]", replace(ROWS, index_vector_dim=2), "index_vector_dim 2"),
        ("f32[5,3]", "s32[4]", replace(ROWS, index_vector_dim=-1), "index_vector_dim -1"),
        ("f32[5,3]", "s32[4]", replace(ROWS, offset_dims=(0,), index_vector_dim=0), "each of 4 parts"),
        ("f32[5,3]", "s32[4]", replace(ROWS, start_index_map=()), "not one for each of 1 parts"),
        ("f32[5,3]", "s32[4]", replace(ROWS, start_index_map=(2,)), "start_index_map: dimension 2"),
        ("f32[5,3]", "s32[4,2]", replace(ROWS, start_index_map=(0, 0)), "start_index_map: dimensions [0, 0]"),
        ("f32[5,3]", "s32[4]", replace(ROWS, offset_dims=(2,)), "offset_dims: dimension 2"),
        (
            "f32[5,3]",
            "s32[4]",
            replace(ROWS, offset_dims=(2, 0), collapsed_slice_dims=()),
            "offset_dims [2, 0] are not sorted",
        ),
        ("f32[5,3]", "s32[4]", replace(ROWS, offset_dims=(1, 1)), "offset_dims: dimensions [1, 1] repeat"),
        ("f32[5,3]", "s32[4]", replace(ROWS, offset_dims=()), "not those of f32[5,3]"),
        ("f32[5,3]", "s32[4]", replace(ROWS, collapsed_slice_dims=(2,)), "collapsed_slice_dims: dimension 2"),
        ("f32[5,3]", "s32[4]", replace(ROWS, collapsed_slice_dims=(1, 0)), "not sorted"),
        ("f32[5,3]", "s32[4]", replace(ROWS, collapsed_slice_dims=(1,)), "dimension 1 of f32[5,3] goes"),
        ("f32[5,3]", "s32[4]", replace(ROWS, slice_sizes=(1,)), "not one for each dimension"),
        ("f32[5,3]", "s32[4]", replace(ROWS, slice_sizes=(1, 4)), "slice size 4"),
        ("f32[5,3]", "s32[4]", replace(ROWS, slice_sizes=(1, -1)), "slice size -1"),
        ("f32[0,3]", "s32[4]", ROWS, "slice size 1"),
        ("f32[7,5,3]", "s32[6,4,2]", BATCHED, "have sizes [7], of the indices [6]"),
        ("f32[7,5,3]", "s32[7,4,2]", replace(BATCHED, slice_sizes=(2, 1, 2)), "dimension 0 of"),
        (
            "f32[7,5,3]",
            "s32[7,4,2]",
            replace(BATCHED, start_indices_batching_dims=()),
            "of the indices []",
        ),
        (
            "f32[7,5,3]",
            "s32[7,4,2]",
            replace(BATCHED, start_indices_batching_dims=(2,)),
            "2 is a batching dimension",
        ),
        (
            "f32[7,5,3]",
            "s32[7,4,2]",
            replace(BATCHED, start_indices_batching_dims=(3,)),
            "dimensions of the indices: dimension 3",
        ),
        (
            "f32[7,5,3]",
            "s32[7,4,2]",
            replace(BATCHED, start_index_map=(0, 2)),
            "mapped or dropped as well",
        ),
        (
            "f32[7,5,3]",
            "s32[7,4,2]",
            replace(BATCHED, operand_batching_dims=(1,)),
            "mapped or dropped as well",
        ),
    ],
)
def test_a_gather_that_does_not_fit_is_refused(
    refusal: Infer, operand: str, indices: str, numbers: GatherDimensions, message: str
) -> None:
    assert message in refusal("gather", operand, indices, attributes=numbers)


INTO_ROWS = ScatterDimensions((1,), (0,), (0,), 1)
BATCHED_INTO = ScatterDimensions((2,), (1,), (1, 2), 2, (0,), (0,))


def test_a_scatter_gives_its_operands(infer: Infer) -> None:
    def scatter(*operands: str, numbers: ScatterDimensions = INTO_ROWS, reducer: str = ADD) -> str:
        return infer("scatter", *operands, attributes=numbers, called=[reducer])

    assert scatter("f32[5,<=3]", "s32[4]", "f32[4,3]") == "f32[5,<=3]"
    assert scatter("f32[5,3]", "s32[4]", "f32[4,2]") == "f32[5,3]"
    assert scatter("bf16[5,3]", "s32[4]", "f32[4,2]") == "bf16[5,3]"
    assert scatter("f32[7,5,3]", "s32[7,4,2]", "f32[7,4,3]", numbers=BATCHED_INTO) == "f32[7,5,3]"
    operands = ("f32[5,3]", "s32[5,3]", "u8[4]", "f32[4,3]", "s32[4,3]")
    assert scatter(*operands, reducer=BOTH) == "(f32[5,3], s32[5,3])"


@pytest.mark.parametrize(
    ("operands", "numbers", "message"),
    [
        ((), INTO_ROWS, "0 operands"),
        (("s32[4]",), INTO_ROWS, "1 operands"),
        (("f32[5,3]", "s32[4]"), INTO_ROWS, "2 operands"),
        (("f32[5,3]", "f32[4]", "f32[4,3]"), INTO_ROWS, "not integral"),
        (("s32[5,3]", "s32[4]", "f32[4,3]"), INTO_ROWS, "meets s32[5,3]"),
        (("f32[5,3]", "s32[4]", "s32[4,3]"), INTO_ROWS, "not an element of s32[4,3]"),
        (("f32[5,3]", "s32[4]", "f32[4,4]"), INTO_ROWS, "does not fit a dimension of 3"),
        (("f32[5,3]", "s32[4]", "f32[3,3]"), INTO_ROWS, "not one for each of [4] indices"),
        (("f32[5,3]", "s32[4]", "f32[4]"), INTO_ROWS, "have not the rank"),
        (("f32[5,3]", "s32[4]", "f32[4,3]"), replace(INTO_ROWS, index_vector_dim=2), "index_vector_dim 2"),
        (
            ("f32[5,3]", "s32[4]", "f32[4,3]"),
            replace(INTO_ROWS, update_window_dims=(2,)),
            "update_window_dims: dimension 2",
        ),
        (
            ("f32[5,3]", "s32[4]", "f32[4,3]"),
            replace(INTO_ROWS, inserted_window_dims=(1, 0)),
            "inserted_window_dims [1, 0] are not sorted",
        ),
        (("f32[5,3]", "s32[4]", "f32[4,3]"), replace(INTO_ROWS, inserted_window_dims=()), "not those of"),
        (
            ("f32[5,3]", "s32[4]", "f32[4,3]"),
            replace(INTO_ROWS, scatter_dims_to_operand_dims=(2,)),
            "scatter_dims_to_operand_dims: dimension 2",
        ),
        (("f32[7,5,3]", "s32[6,4,2]", "f32[6,4,3]"), BATCHED_INTO, "have sizes [7], of the indices [6]"),
        (
            ("f32[7,5,3]", "s32[7,4,2]", "f32[7,4,3]"),
            replace(BATCHED_INTO, input_batching_dims=(1,)),
            "input_batching_dims [1] are mapped or dropped",
        ),
    ],
)
def test_a_scatter_that_does_not_fit_is_refused(
    refusal: Infer, operands: tuple[str, ...], numbers: ScatterDimensions, message: str
) -> None:
    assert message in refusal("scatter", *operands, attributes=numbers, called=[ADD])


def test_operands_of_one_scatter_are_of_the_same_dimensions(refusal: Infer) -> None:
    for operands in (
        ("f32[5,3]", "s32[6,3]", "s32[4]", "f32[4,3]", "s32[4,3]"),
        ("f32[5,3]", "s32[5,3]", "s32[4]", "f32[4,3]", "s32[4,2]"),
    ):
        message = refusal("scatter", *operands, attributes=INTO_ROWS, called=[BOTH])
        assert "differ in dimensions" in message
