"""What shape do a gather and a scatter have, and which dimension numbers may they have?

Source: `InferGatherShape` and `InferScatterShape` upstream, and for the batching dimensions the constraints of
gather and scatter in the StableHLO specification.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, GatherDimensions, Ints, ScatterDimensions
from hlo.infer.common import Rule, ShapeError, Signature, array, check_dimensions, expect, result
from hlo.infer.reducers import accumulators
from hlo.opcode import Opcode
from hlo.shape import ArrayShape, Shape, TupleShape


def _index_dimensions(indices: ArrayShape, vector: int) -> tuple[int, ...]:
    """Sizes of `indices` with the dimension of the index vectors, which may be an implied last one of 1."""
    if not indices.element_type.is_integral:
        raise ShapeError(f"the indices {indices} are not integral")
    if not 0 <= vector <= indices.rank:
        raise ShapeError(f"index_vector_dim {vector} is not in [0, {indices.rank}]")
    return (*indices.dimensions, 1) if vector == indices.rank else indices.dimensions


def _check_sorted(name: str, dimensions: Ints, rank: int) -> None:
    _check_named(name, dimensions, rank)
    if list(dimensions) != sorted(dimensions):
        raise ShapeError(f"{name} {list(dimensions)} are not sorted")


def _check_named(name: str, dimensions: Ints, rank: int) -> None:
    try:
        check_dimensions(dimensions, rank)
    except ShapeError as error:
        raise ShapeError(f"{name}: {error}") from None


def _check_index_map(
    names: tuple[str, str], index_map: Ints, batching: Ints, dropped: Ints, operand: ArrayShape, length: int
) -> None:
    """`index_map`, one operand dimension for each of the `length` parts of an index vector.

    `names` are those of the index map and of the operand's batching dimensions; `dropped` are the operand
    dimensions that are not in the window.
    """
    if len(index_map) != length:
        raise ShapeError(f"{names[0]} {list(index_map)} is not one for each of {length} parts of an index")
    _check_named(names[0], index_map, operand.rank)
    _check_sorted(names[1], batching, operand.rank)
    if not set(batching).isdisjoint((*index_map, *dropped)):
        raise ShapeError(f"{names[1]} {list(batching)} are mapped or dropped as well")


def _check_batching(
    operand: ArrayShape, batching: Ints, index_sizes: tuple[int, ...], index_batching: Ints, vector: int
) -> None:
    """The batching dimensions of the operand and of the indices go together, pair by pair, and agree in size."""
    _check_named("batching dimensions of the indices", index_batching, len(index_sizes))
    if vector in index_batching:
        raise ShapeError(f"index_vector_dim {vector} is a batching dimension")
    sizes = [operand.dimensions[d] for d in batching]
    theirs = [index_sizes[d] for d in index_batching]
    if sizes != theirs:
        raise ShapeError(f"batching dimensions of {operand} have sizes {sizes}, of the indices {theirs}")


def _check_gather(operand: ArrayShape, index_sizes: tuple[int, ...], numbers: GatherDimensions) -> None:
    vector, collapsed, batching = (
        numbers.index_vector_dim,
        numbers.collapsed_slice_dims,
        numbers.operand_batching_dims,
    )
    _check_sorted("offset_dims", numbers.offset_dims, len(numbers.offset_dims) + len(index_sizes) - 1)
    _check_sorted("collapsed_slice_dims", collapsed, operand.rank)
    names = ("start_index_map", "operand_batching_dims")
    _check_index_map(names, numbers.start_index_map, batching, collapsed, operand, index_sizes[vector])
    _check_batching(operand, batching, index_sizes, numbers.start_indices_batching_dims, vector)
    sizes = numbers.slice_sizes
    if len(sizes) != operand.rank:
        raise ShapeError(f"slice_sizes {list(sizes)} are not one for each dimension of {operand}")
    if len(numbers.offset_dims) + len(collapsed) + len(batching) != operand.rank:
        raise ShapeError(f"offset, collapsed and batching dimensions are not those of {operand}")
    for size, bound in zip(sizes, operand.dimensions, strict=True):
        if not 0 <= size <= bound:
            raise ShapeError(f"slice size {size} does not fit a dimension of {bound} in {operand}")
    for d in (*collapsed, *batching):
        if sizes[d] > 1:
            raise ShapeError(f"dimension {d} of {operand} goes, but has slice size {sizes[d]}")


def _gather(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """Dimensions of the indices without their vector, and at `offset_dims` those of the slice.

    An offset dimension is flagged where it takes a whole flagged dimension, another where the indices' is.
    """
    operand, indices = array(operands[0]), array(operands[1])
    numbers = expect(attributes, GatherDimensions)
    index_sizes = _index_dimensions(indices, numbers.index_vector_dim)
    _check_gather(operand, index_sizes, numbers)
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = iter([d for d in range(operand.rank) if d not in gone])
    batch = iter([d for d in range(len(index_sizes)) if d != numbers.index_vector_dim])
    sizes: list[int] = []
    flags: list[bool] = []
    for i in range(len(numbers.offset_dims) + len(index_sizes) - 1):
        if i in numbers.offset_dims:
            d = next(window)
            sizes.append(numbers.slice_sizes[d])
            flags.append(operand.is_dynamic_dimension(d) and sizes[-1] == operand.dimensions[d])
        else:
            d = next(batch)
            sizes.append(index_sizes[d])
            flags.append(indices.is_dynamic_dimension(d))
    return result(operand.element_type, tuple(sizes), tuple(flags), declared)


def _check_scatter(operand: ArrayShape, index_sizes: tuple[int, ...], numbers: ScatterDimensions) -> None:
    vector, inserted, batching = (
        numbers.index_vector_dim,
        numbers.inserted_window_dims,
        numbers.input_batching_dims,
    )
    window = numbers.update_window_dims
    _check_sorted("update_window_dims", window, len(window) + len(index_sizes) - 1)
    _check_sorted("inserted_window_dims", inserted, operand.rank)
    names = ("scatter_dims_to_operand_dims", "input_batching_dims")
    index_map = numbers.scatter_dims_to_operand_dims
    _check_index_map(names, index_map, batching, inserted, operand, index_sizes[vector])
    _check_batching(operand, batching, index_sizes, numbers.scatter_indices_batching_dims, vector)
    if len(window) + len(inserted) + len(batching) != operand.rank:
        raise ShapeError(f"window, inserted and batching dimensions are not those of {operand}")


def _check_updates(
    operand: ArrayShape, updates: ArrayShape, index_sizes: tuple[int, ...], numbers: ScatterDimensions
) -> None:
    """One window of at most the operand's size for each index vector."""
    if updates.rank != len(numbers.update_window_dims) + len(index_sizes) - 1:
        raise ShapeError(f"the updates {updates} have not the rank that indices and window make")
    gone = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    bounds = [size for d, size in enumerate(operand.dimensions) if d not in gone]
    for d, bound in zip(numbers.update_window_dims, bounds, strict=True):
        if updates.dimensions[d] > bound:
            raise ShapeError(f"window dimension {d} of {updates} does not fit a dimension of {bound}")
    batch = [size for d, size in enumerate(index_sizes) if d != numbers.index_vector_dim]
    theirs = [size for d, size in enumerate(updates.dimensions) if d not in numbers.update_window_dims]
    if theirs != batch:
        raise ShapeError(f"the updates {updates} are not one for each of {batch} indices")


def _scatter(
    operands: Sequence[Shape], attributes: Attributes, called: Sequence[Signature], declared: Shape | None
) -> Shape:
    """N operands, the indices, N updates; one operand gives an array, several give a tuple."""
    count, rest = divmod(len(operands), 2)
    if rest != 1 or not count:
        raise ShapeError(f"{len(operands)} operands are not as many updates as operands, and the indices")
    shapes = [array(operand) for operand in operands]
    into, indices, updates = shapes[:count], shapes[count], shapes[count + 1 :]
    numbers = expect(attributes, ScatterDimensions)
    index_sizes = _index_dimensions(indices, numbers.index_vector_dim)
    for operand, update in zip(into, updates, strict=True):
        _check_scatter(operand, index_sizes, numbers)
        _check_updates(operand, update, index_sizes, numbers)
    accumulators(called[0], updates, into)
    if len({shape.dimensions for shape in into}) + len({shape.dimensions for shape in updates}) > 2:
        raise ShapeError(f"operands or updates differ in dimensions: {', '.join(map(str, shapes))}")
    if count == 1:
        return into[0]
    shape = TupleShape(tuple(into))
    return declared if declared is not None and declared == shape else shape


RULES: dict[Opcode, Rule] = {Opcode.GATHER: _gather, Opcode.SCATTER: _scatter}
