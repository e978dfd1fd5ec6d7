"""Where in a program does it matter what a value is, beyond being data?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from hlo import ArrayShape, HloComputation, HloInstruction, Opcode
from hlo.attributes import GatherDimensions, ScatterDimensions, SortDimension
from hlo.evaluator import SLICE_TO_DYNAMIC
from oracle.open_cases import MANY_STEPS, computes
from oracle.reducers import orders_all_floats, plain_reducer


class Use(Enum):
    """What a value is used for, when it is not just data."""

    START = "start of a slice"
    DIVISOR = "divisor"
    BOUND = "bound of a loop"
    BRANCH = "number of a branch"
    INIT = "initial value of a reduction"
    SIZE = "size of a dimension"
    KEY = "key of a sort"
    VARIANCE = "variance"
    TRIANGULAR = "triangular matrix that divides"
    DEFINITE = "positive definite matrix"
    COMPUTED = "number that is computed with"
    FINITE = "number in arithmetic that leaves infinities open"


@dataclass(frozen=True, slots=True)
class Role:
    """A use, and what goes with it.

    A start has the sizes of the dimension and of the slice in it, in elements; where it is one of many in an array
    of index vectors, it is number `component` along dimension `axis`. `dimension` of a branch is how many there
    are; of a size the bound of the dimension, with `size` the least that it may be. An initial value has the
    opcode of the reduction, where that is a plain one. `unique`: equal keys would leave the order of what is
    sorted with them open. `unordered`: the comparisons give NaNs no place.
    """

    use: Use
    dimension: int = 0
    size: int = 0
    axis: int = -1
    component: int = -1
    opcode: Opcode | None = None
    unique: bool = False
    unordered: bool = False


_OPERANDS: Mapping[Opcode, tuple[int, Use]] = {
    Opcode.BATCH_NORM_GRAD: (3, Use.VARIANCE),
    Opcode.BATCH_NORM_INFERENCE: (4, Use.VARIANCE),
    Opcode.CHOLESKY: (0, Use.DEFINITE),
    Opcode.DIVIDE: (1, Use.DIVISOR),
    Opcode.REMAINDER: (1, Use.DIVISOR),
    Opcode.TOPK: (0, Use.KEY),
    Opcode.TRIANGULAR_SOLVE: (0, Use.TRIANGULAR),
}

Demand = tuple[HloInstruction, Role]


def index_array(inst: HloInstruction) -> HloInstruction:
    """The operand of a gather or scatter that holds index vectors."""
    return inst.operand(1 if inst.opcode is Opcode.GATHER else len(inst.operands) // 2)


def demands(inst: HloInstruction) -> Iterator[Demand]:
    """The operands of `inst` whose values matter, each with its role. For a loop: what its condition compares."""
    yield from _numbers(inst)
    match inst.opcode:
        case Opcode.DYNAMIC_SLICE | Opcode.DYNAMIC_UPDATE_SLICE:
            yield from _slice_starts(inst)
        case Opcode.GATHER | Opcode.SCATTER:
            yield from _index_vectors(inst)
        case Opcode.WHILE:
            condition = inst.called_computations[1]
            yield from ((c, Role(Use.BOUND)) for c in condition.instructions if c.opcode is Opcode.COMPARE)
        case Opcode.CONDITIONAL if inst.operand(0).array_shape.element_type.is_integral:
            yield inst.operand(0), Role(Use.BRANCH, len(inst.called_computations))
        case Opcode.REDUCE | Opcode.REDUCE_WINDOW:
            role = Role(Use.INIT, opcode=plain_reducer(inst.called_computations[0]))
            yield from ((init, role) for init in inst.operands[len(inst.operands) // 2 :])
        case Opcode.SELECT_AND_SCATTER:
            yield inst.operand(2), Role(Use.INIT, opcode=plain_reducer(inst.called_computations[1]))
        case Opcode.SORT:
            yield from _sort_keys(inst)
        case Opcode.SET_DIMENSION_SIZE:
            (dim,) = inst.dimensions
            yield inst.operand(1), _size(inst.array_shape, dim)
        case Opcode.CUSTOM_CALL if inst.custom_call_target == SLICE_TO_DYNAMIC:
            sizes = enumerate(inst.operands[1:])
            yield from ((operand, _size(inst.array_shape, dim)) for dim, operand in sizes)
        case Opcode.DYNAMIC_RESHAPE:
            sizes = enumerate(inst.operands[1:])
            yield from ((operand, _size(inst.array_shape, dim)) for dim, operand in sizes)
        case _ if inst.opcode in _OPERANDS:
            number, use = _OPERANDS[inst.opcode]
            yield inst.operand(number), Role(use)
        case _:
            pass


_COMPUTED = Role(Use.COMPUTED)
_FINITE = Role(Use.FINITE)


def _numbers(inst: HloInstruction) -> Iterator[Demand]:
    if not computes(inst):
        return
    for operand in inst.operands:
        if isinstance(operand.shape, ArrayShape):
            kind = operand.shape.element_type
            if kind.is_float or kind.is_complex:
                yield operand, _COMPUTED
            if kind.is_complex or (kind.is_float and inst.opcode in MANY_STEPS):
                yield operand, _FINITE


def _size(shape: ArrayShape, dim: int) -> Role:
    bound = shape.dimensions[dim]
    return Role(Use.SIZE, bound, 0 if shape.is_dynamic_dimension(dim) else bound)


def _slice_starts(inst: HloInstruction) -> Iterator[Demand]:
    whole = inst.operand(0).array_shape.dimensions
    sliced = inst.opcode is Opcode.DYNAMIC_SLICE
    part = inst.dynamic_slice_sizes if sliced else inst.operand(1).array_shape.dimensions
    starts = inst.index_operands
    if len(starts) == 1 and starts[0].array_shape.rank == 1:  # all starts in one array
        for component, (dimension, size) in enumerate(zip(whole, part, strict=True)):
            yield starts[0], Role(Use.START, dimension, size, 0, component)
        return
    for operand, dimension, size in zip(starts, whole, part, strict=True):
        yield operand, Role(Use.START, dimension, size)


def _index_vectors(inst: HloInstruction) -> Iterator[Demand]:
    dims = inst.attributes
    sizes = inst.operand(0).array_shape.dimensions
    if isinstance(dims, GatherDimensions):
        places, windows = dims.start_index_map, dims.slice_sizes
    else:
        assert isinstance(dims, ScatterDimensions)
        places = dims.scatter_dims_to_operand_dims
        windows = _update_windows(dims, len(sizes), inst.operands[-1].array_shape.dimensions)
    for component, d in enumerate(places):
        yield index_array(inst), Role(Use.START, sizes[d], windows[d], dims.index_vector_dim, component)


def _update_windows(dims: ScatterDimensions, rank: int, update: tuple[int, ...]) -> list[int]:
    """How much of each dimension of the operand one window of a scatter covers, in elements."""
    missing = {*dims.inserted_window_dims, *dims.input_batching_dims}
    given = iter(dims.update_window_dims)
    return [1 if d in missing else update[next(given)] for d in range(rank)]


def _sort_keys(inst: HloInstruction) -> Iterator[Demand]:
    (comparator,) = inst.called_computations
    options = inst.attributes
    assert isinstance(options, SortDimension)
    unique = not options.is_stable and len(inst.operands) > 1
    role = Role(Use.KEY, unique=unique, unordered=not orders_all_floats(comparator))
    for number in sorted({p.parameter_number // 2 for p in comparator.parameters if _is_used(comparator, p)}):
        yield inst.operand(number), role


def _is_used(computation: HloComputation, parameter: HloInstruction) -> bool:
    return computation.root is parameter or bool(parameter.users)
