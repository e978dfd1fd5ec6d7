"""Which types of values say less about sizes than is known of them?

Upstream refines types in passes of their own (`stablehlo-refine-shapes`), only for programs whose parameters are
static. Here each size that is a constant in effect is written down, and who needs the old type gets a cast: the types
of functions and of what is carried through loops and branches stay.
"""

from __future__ import annotations

from typing import Any

from hlo.interchange.mlir import ir
from hlo.stablehlo import StableHloModule
from passes.base import Trace
from passes.stock.canonicalize_dynamism.rewriting import cast, holds, is_cast, is_unknown
from passes.stock.shape_component_analysis import ShapeComponentAnalysis, dimensions

RULE = "refine-result-type"
_KEEP_TYPES = frozenset(
    f"stablehlo.{name}" for name in ("while", "if", "case", "return", "custom_call", "composite")
)
"""Those whose operands' types are also written elsewhere, where the verifier does not look or cannot say."""


def refine(program: StableHloModule, trace: Trace) -> bool:
    """Say in each type what is known of the sizes; users take the value itself where its type suits them."""
    analysis, changed = ShapeComponentAnalysis(), False
    for op in list(program.operations()):
        if is_cast(op):
            changed |= _forward(op)
            continue
        for result in filter(is_unknown, op.results):
            with op.location:
                wanted = _known(result, analysis)
                if wanted is not None and _retype(op, result, wanted):
                    trace.fire(RULE)
                    changed = True
    return changed


def _known(value: Any, analysis: ShapeComponentAnalysis) -> Any | None:
    """The type of `value` with the sizes that are constants; None if it says them already."""
    sizes = analysis.sizes(value)
    said = dimensions(value)
    found = [size.extent if known is None else known for known, size in zip(said, sizes, strict=True)]
    if found == list(said):
        return None
    unknown = ir().ShapedType.get_dynamic_size()
    return ir().RankedTensorType.get(
        [unknown if size is None else size for size in found], value.type.element_type
    )


def _retype(op: Any, value: Any, wanted: Any) -> bool:
    old = value.type
    users = [(use.owner, use.operand_number) for use in value.uses]
    value.set_type(wanted)
    if not holds(op):
        value.set_type(old)
        return False
    needing = [(user, number) for user, number in users if not _takes(user)]
    if needing:
        with ir().InsertionPoint(op):
            other = cast(value, old)
        other.owner.operation.move_after(op)
        for user, number in needing:
            user.operation.operands[number] = other
    return True


def _takes(user: Any) -> bool:
    """Whether an operation is valid with the operands that it has."""
    operation = user.operation
    return operation.name.startswith("stablehlo.") and operation.name not in _KEEP_TYPES and holds(operation)


def _forward(op: Any) -> bool:
    """Give the users of a cast what was cast, where that says as much about sizes."""
    source, result = op.operands[0], op.results[0]
    if any(
        known is None and said is not None
        for known, said in zip(dimensions(source), dimensions(result), strict=True)
    ):
        return False
    changed = False
    for user, number in [(use.owner, use.operand_number) for use in result.uses]:
        user.operation.operands[number] = source
        if source.type == result.type or _takes(user):
            changed = True
        else:
            user.operation.operands[number] = result
    return changed
