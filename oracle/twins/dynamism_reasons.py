"""Why do our `canonicalize-dynamism` and those of MHLO and StableHLO not fold the same operations?

Each reason has a condition. Where ours does more, it is mostly tried: with the program spelled as upstream's patterns
want it, upstream folds the operation, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hlo import InvalidInput
from hlo.interchange.mlir import run_mlir_passes
from hlo.stablehlo import StableHloModule, dialect, ir
from passes import Trace
from passes.stock.canonicalize_dynamism import DYNAMIC_OPERATIONS, refine
from passes.stock.shape_component_analysis import (
    ShapeComponentAnalysis,
    dimensions,
    integer_type,
    is_ranked,
    producer_named,
)

Edit = Callable[[StableHloModule], None]


@dataclass(frozen=True)
class Case:
    """A dynamic operation `op` of `program`, told by its location, that some of `theirs` fold (`by`)."""

    program: StableHloModule
    op: Any
    theirs: Mapping[str, str]
    by: frozenset[str]
    wrong: frozenset[str]

    def they_fold(self, edit: Edit) -> bool:
        """Whether one of theirs folds the operation once `edit` has been made to the program."""
        spelled = self.program.clone()
        edit(spelled)
        for pipeline in self.theirs.values():
            result = spelled.clone()
            try:
                run_mlir_passes(result.mlir, pipeline)
            except InvalidInput:
                continue
            if place_of(self.op) not in map(place_of, _dynamic(result)):
                return True
        return False


def place_of(op: Any) -> str:
    """Where an operation stands in the text; one that replaces several has the place of the last of these."""
    return re.findall(r'"-":\d+:\d+', str(op.location))[0]


@dataclass(frozen=True)
class Reason:
    """Why only ours folds an operation, or (not `ours`) only theirs.

    `wrong` are those whose result means something else then.
    """

    name: str
    text: str
    ours: bool
    holds: Callable[[Case], bool]
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """A way in which one of theirs makes an invalid program; `holds` of the program and of what MLIR says."""

    name: str
    text: str
    holds: Callable[[StableHloModule, str], bool]


def _dynamic(program: StableHloModule) -> list[Any]:
    return [op for op in program.operations() if op.name in DYNAMIC_OPERATIONS]


def _with_literals(program: StableHloModule) -> None:
    """Write what is a constant in effect as one, in operands and types."""
    refine(program, Trace())
    analysis = ShapeComponentAnalysis()
    for op in _dynamic(program):
        for number, operand in enumerate(op.operands):
            values = analysis.integers(operand) if integer_type(operand) is not None and number else None
            if op.name == "stablehlo.dynamic_iota":
                values = analysis.integers(operand)
            if values is None or producer_named(operand, "stablehlo.constant"):
                continue
            with op.location, ir().InsertionPoint(op):
                attributes = [ir().IntegerAttr.get(operand.type.element_type, value) for value in values]
                op.operands[number] = dialect().constant(ir().DenseElementsAttr.get(attributes, operand.type))


def _with_sums(program: StableHloModule) -> None:
    """Write limits that are as far from their starts as a constant as the sum of both."""
    _with_literals(program)
    analysis = ShapeComponentAnalysis()
    for op in _dynamic(program):
        if op.name != "stablehlo.real_dynamic_slice":
            continue
        starts, limits = (analysis.elements(operand) or () for operand in list(op.operands)[1:3])
        spans = [(limit - start).extent for start, limit in zip(starts, limits, strict=True)]
        if not spans or None in spans:
            continue
        kind = op.operands[1].type
        with op.location, ir().InsertionPoint(op):
            numbers = [ir().IntegerAttr.get(kind.element_type, span or 0) for span in spans]
            sizes = dialect().constant(ir().DenseElementsAttr.get(numbers, kind))
            op.operands[2] = dialect().add(op.operands[1], sizes)


def _with_shape_of(program: StableHloModule) -> None:
    """Write the sizes of an operation's own operand as `shape.shape_of`."""
    _with_literals(program)
    analysis = ShapeComponentAnalysis()
    for op in _dynamic(program):
        if op.name not in _RESHAPING or not _is_own_shape(op, analysis):
            continue
        tensor = op.operands[0]
        with op.location, ir().InsertionPoint(op):
            indices = f"tensor<{tensor.type.rank}xindex>"
            if tensor.type == op.results[0].type:
                op.operands[1] = _made("shape.shape_of", tensor, indices)
            else:
                shape = _made("shape.shape_of", tensor, "!shape.shape")
                extents = _made("shape.to_extent_tensor", shape, "tensor<?xindex>")
                op.operands[1] = _made("tensor.cast", extents, indices)


def _made(name: str, operand: Any, kind: str) -> Any:
    op = ir().Operation.create(name, results=[ir().Type.parse(kind)], operands=[operand])
    return op.results[0]


_RESHAPING = frozenset({"stablehlo.dynamic_reshape", "stablehlo.dynamic_broadcast_in_dim"})


def _is_own_shape(op: Any, analysis: ShapeComponentAnalysis) -> bool:
    return analysis.have_same_shape(analysis.sizes(op.operands[0]), analysis.elements(op.operands[1]))


def _reshapes_to_own_shape(case: Case) -> bool:
    return case.op.name == "stablehlo.dynamic_reshape" and _is_own_shape(case.op, ShapeComponentAnalysis())


def _only_sizes_are_used(case: Case) -> bool:
    users = {use.owner.operation.name for use in case.op.results[0].uses}
    size, reshape = "stablehlo.get_dimension_size", "stablehlo.dynamic_reshape"
    return case.op.name == reshape and size in users and users <= {size, reshape}


def _is_bounded(case: Case) -> bool:
    return any(is_ranked(operand) and operand.type.encoding is not None for operand in case.op.operands)


def _is_transposition(case: Case) -> bool:
    if case.op.name != "stablehlo.dynamic_broadcast_in_dim":
        return False
    along = list(case.op.attributes["broadcast_dimensions"])
    rank = len(dimensions(case.op.results[0]))
    return sorted(along) == list(range(rank)) and along != sorted(along) and bool(case.by & case.wrong)


_NON_EXPANDING = "known_nonexpanding_dimensions"

REASONS: tuple[Reason, ...] = (
    Reason(
        "constant in effect",
        "Upstream wants literal constants and types that say all sizes; ours works them out. Once they are "
        "written, one of upstream's folds it, too.",
        True,
        lambda case: case.they_fold(_with_literals),
    ),
    Reason(
        "size is a constant",
        "Of a slice, upstream wants the limits to be the sum of the starts and a constant, literally. Once "
        "they are, it becomes a dynamic-slice with upstream's, too.",
        True,
        lambda case: case.they_fold(_with_sums),
    ),
    Reason(
        "spelling of a shape",
        "Upstream knows the operand's own shape only as `shape.shape_of`; ours compares sizes. Once it is "
        "written so, upstream folds it, too.",
        True,
        lambda case: case.they_fold(_with_shape_of),
    ),
    Reason(
        "reshape to its own shape",
        "Upstream has no pattern for a reshape to the shape that the operand has, but for those of one "
        "dimension and for those that a reshape gave to the operand of an elementwise operation.",
        True,
        _reshapes_to_own_shape,
    ),
    Reason(
        "sizes of a reshape",
        "Upstream takes the shape that a reshape was given for `shape.shape_of` it, not for its sizes one by "
        "one. Ours does without a reshape of which only these are used, and reshapes of it.",
        True,
        _only_sizes_are_used,
    ),
    Reason(
        "bounded operand",
        "Upstream makes a static reshape of one of a bounded tensor, whose bound may hold more elements: HLO "
        "has no such reshape. Ours leaves it.",
        False,
        _is_bounded,
    ),
    Reason(
        "transposition",
        "Upstream does not look at the dimensions of a broadcast to the operand's own shape, and drops one "
        "that transposes: the result is wrong.",
        False,
        _is_transposition,
        ("MHLO",),
    ),
    Reason(
        "promise of the program",
        "Upstream drops a broadcast whose `known_nonexpanding_dimensions` are all: it believes what the "
        "program says of sizes that only a run tells. Ours wants to know.",
        False,
        lambda case: _NON_EXPANDING in case.op.attributes,
        ("MHLO",),
    ),
)
"""In the order in which they are tried."""


def _has_iota_of_two(program: StableHloModule, said: str) -> bool:
    return "arith.index_cast" in said and any(
        op.name == "stablehlo.dynamic_iota" and op.results[0].type.rank > 1 for op in program.operations()
    )


def _returns_another_type(_program: StableHloModule, said: str) -> bool:
    return "doesn't match function result type" in said


FAILURES: tuple[Failure, ...] = (
    Failure(
        "index cast",
        "MHLO takes an iota of several dimensions apart, and casts its shape as if it consisted of `index`; a "
        "shape of i32 or i64 makes the program invalid.",
        _has_iota_of_two,
    ),
    Failure(
        "returned type",
        "Some patterns of MHLO give a value of another type than the one they replace, without a cast: where "
        "the function returns it, the program is invalid.",
        _returns_another_type,
    ),
)
