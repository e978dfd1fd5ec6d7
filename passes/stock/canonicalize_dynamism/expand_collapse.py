"""Which dynamic reshapes only split dimensions, or only join neighbours?

They are spelled with `tensor.expand_shape` and `tensor.collapse_shape`, by which a compiler sees that no element moves.
Both are of a dialect that has no HLO.

Source: `xla/mlir_hlo/stablehlo_ext/transforms/symbolic_shape_optimization.cpp` (materializeReshapeAsExpandAndCollapse).
As there, dimensions are taken from the left as long as one side's product divides the other's, and of those that one
dimension is split into only one may be unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from hlo.interchange.mlir import DYNAMIC, ir
from passes.stock.canonicalize_dynamism.rewriting import Rule, cast, is_bounded
from passes.stock.shape_component_analysis import ShapeComponentAnalysis, Size, Symbol, dimensions

_ONE: Final = Size.of(1)


@dataclass(frozen=True)
class Group:
    """Neighbouring dimensions of the operand that become neighbouring ones of the result: one of each at least.

    One of the two is a single dimension, so that the group is split (`taken` is 1) or joined (`given` is 1).
    """

    taken: int
    given: int


def grouped(operand: Sequence[Size], result: Sequence[Size]) -> tuple[Group, ...] | None:
    """How the dimensions of a reshape go together; None where it does more than split and join."""
    groups: list[Group] = []
    i = j = 0
    while i < len(operand) and j < len(result):
        start = i, j
        left, right = _product(operand[i]), _product(result[j])
        i, j = i + 1, j + 1
        while left is not None and right is not None and left != right:
            if i < len(operand) and _divides(left, right):
                left, i = _times(left, _product(operand[i])), i + 1
            elif j < len(result) and _divides(right, left):
                right, j = _times(right, _product(result[j])), j + 1
            else:
                return None
        if left is None or right is None:
            return None
        i, j = _with_ones(operand, result, start, i, j)
        groups.append(Group(i - start[0], j - start[1]))
    whole = i == len(operand) and j == len(result)
    return tuple(groups) if whole and all(1 in (group.taken, group.given) for group in groups) else None


def _with_ones(
    operand: Sequence[Size], result: Sequence[Size], start: tuple[int, int], i: int, j: int
) -> tuple[int, int]:
    """Take in the ones that follow on one side only, as far as the group stays split or joined."""
    while j - start[1] == 1 and _is_one(operand, i) and not _is_one(result, j):
        i += 1
    while i - start[0] == 1 and _is_one(result, j) and not _is_one(operand, i):
        j += 1
    return i, j


def _is_one(sizes: Sequence[Size], place: int) -> bool:
    return place < len(sizes) and sizes[place] == _ONE


Factors = tuple[int, Counter[Symbol]]


def _product(size: Size) -> Factors | None:
    """The factors of a size that is a product, None for a sum; and for 0, by which nothing can be divided."""
    if len(size.terms) != 1:
        return None
    ((monomial, factor),) = size.terms
    return factor, Counter(monomial)


def _times(one: Factors, other: Factors | None) -> Factors | None:
    return None if other is None else (one[0] * other[0], one[1] + other[1])


def _divides(one: Factors, other: Factors) -> bool:
    return other[0] % one[0] == 0 and one[1] <= other[1]


# --- the rewrite ---------------------------------------------------------------------------------------------------


def _materialize(op: Any, rewriter: Any, analysis: ShapeComponentAnalysis) -> bool:
    operand, shape, result = op.operands[0], op.operands[1], op.results[0]
    if is_bounded(operand) or is_bounded(result):
        return False
    given = analysis.elements(shape)
    if given is None:
        return False
    before, after = analysis.sizes(operand), given
    groups = grouped(before, after) if before and after else _of_scalar(before, after)
    if groups is None or not _is_possible(groups, after):
        return False
    value = operand
    if any(group.given > 1 for group in groups) or not before:
        value = _expanded(value, shape, groups, before, after)
    if any(group.taken > 1 for group in groups) or not after:
        value = _collapsed(value, groups, before, after)
    rewriter.replace_op(op, [cast(value, result.type)])
    return True


def _of_scalar(before: Sequence[Size], after: Sequence[Size]) -> tuple[Group, ...] | None:
    """A scalar and an array of one element."""
    return () if all(size == _ONE for size in (*before, *after)) else None


def _is_possible(groups: Sequence[Group], after: Sequence[Size]) -> bool:
    """Whether each dimension is split into one unknown size at most."""
    place = 0
    for group in groups:
        unknown = sum(size.extent is None for size in after[place : place + group.given])
        if group.given > 1 and unknown > 1:
            return False
        place += group.given
    return True


def _expanded(
    value: Any, shape: Any, groups: Sequence[Group], before: Sequence[Size], after: Sequence[Size]
) -> Any:
    sizes: list[int] = []
    dynamic: list[Any] = []
    taken = given = 0
    for group in groups:
        if group.taken > 1:  # joined afterwards
            joined = dimensions(value)[taken : taken + group.taken]
            sizes += [DYNAMIC if size is None else size for size in joined]
            dynamic += [_dimension(value, taken + n) for n, size in enumerate(joined) if size is None]
        else:
            for place in range(given, given + group.given):
                extent = after[place].extent
                known = dimensions(value)[taken] if group.given == 1 else None
                size = extent if known is None else known
                sizes.append(DYNAMIC if size is None else size)
                if size is None:
                    dynamic.append(_element(shape, place))
        taken, given = taken + group.taken, given + group.given
    if not before:
        sizes = [1] * len(after)
    return _made(
        "tensor.expand_shape",
        [value, *dynamic],
        value,
        sizes,
        reassociation=_numbered(
            [1 if group.taken > 1 else group.given for group in groups for _ in range(group.taken)]
        ),
        static_output_shape=ir().DenseI64ArrayAttr.get(sizes),
    )


def _collapsed(value: Any, groups: Sequence[Group], before: Sequence[Size], after: Sequence[Size]) -> Any:
    counts = [n for group in groups for n in ([group.taken] if group.taken > 1 else [1] * group.given)]
    sizes: list[int] = []
    place = 0
    for count in counts:
        product = 1
        for size in dimensions(value)[place : place + count]:
            product = DYNAMIC if size is None or product == DYNAMIC else product * size
        sizes.append(product)
        place += count
    if not after:
        counts, sizes = [], []
    return _made("tensor.collapse_shape", [value], value, sizes, reassociation=_numbered(counts))


def _made(name: str, operands: list[Any], like: Any, sizes: list[int], **attributes: Any) -> Any:
    kind = ir().RankedTensorType.get(sizes, like.type.element_type)
    return ir().Operation.create(name, results=[kind], operands=operands, attributes=attributes).results[0]


def _numbered(counts: Sequence[int]) -> Any:
    """The dimensions in groups of so many: `[[0], [1, 2]]`."""
    number = ir().IntegerType.get_signless(64)
    groups: list[Any] = []
    place = 0
    for count in counts:
        row = [ir().IntegerAttr.get(number, place + n) for n in range(count)]
        groups.append(ir().ArrayAttr.get(row))
        place += count
    return ir().ArrayAttr.get(groups)


def _index(value: int) -> Any:
    index = ir().IndexType.get()
    attributes = {"value": ir().IntegerAttr.get(index, value)}
    return ir().Operation.create("arith.constant", results=[index], attributes=attributes).results[0]


def _dimension(value: Any, d: int) -> Any:
    operands = [value, _index(d)]
    return ir().Operation.create("tensor.dim", results=[ir().IndexType.get()], operands=operands).results[0]


def _element(shape: Any, place: int) -> Any:
    """An element of an array of sizes as an index."""
    element, index = shape.type.element_type, ir().IndexType.get()
    extracted = ir().Operation.create("tensor.extract", results=[element], operands=[shape, _index(place)])
    if element == index:
        return extracted.results[0]
    return (
        ir()
        .Operation.create("arith.index_cast", results=[index], operands=list(extracted.results))
        .results[0]
    )


RULES = (Rule("materialize-reshape-as-expand-and-collapse", "stablehlo.dynamic_reshape", _materialize),)
