"""Which constants does an operation on a constant give?

Ours: the page has the names `replaceConvertsWithConstants` and `replaceBroadcastInDimWithConstants` and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hlo import HloModule, UnsupportedOpcode, Value
from hlo.builder import Builder
from hlo.evaluator import evaluate, evaluate_instruction
from hlo.stablehlo import StableHloModule, dialect, ir, type_of

CONSTANT = "stablehlo.constant"


def converted_constant(op: Any, rewriter: Any) -> bool:
    """The converted values, as HLO defines a conversion."""
    value = _constant(op.operands[0])
    if value is None:
        return False
    after = op.results[0].type
    converted = _converted(_one_of(value) if value.is_splat else value, after)
    if converted is None:
        return False
    if value.is_splat:
        converted = ir().DenseElementsAttr.get_splat(after, converted.get_splat_value())
    rewriter.replace_op(op, [dialect().constant(converted)])
    return True


def broadcast_constant(op: Any, rewriter: Any) -> bool:
    """Of a constant that repeats one value, whose size is known afterwards: the result repeats it, too."""
    value, after = _constant(op.operands[0]), op.results[0].type
    if value is None or not value.is_splat or not type_of(after).is_static:
        return False
    rewriter.replace_op(
        op, [dialect().constant(ir().DenseElementsAttr.get_splat(after, value.get_splat_value()))]
    )
    return True


def _constant(value: Any) -> Any | None:
    """The `ir.DenseElementsAttr` of a value that is a constant."""
    source = value.owner
    if getattr(source, "name", "") != CONSTANT or isinstance(value.type.element_type, ir().ComplexType):
        return None  # jaxlib cannot hand out complex constants
    attribute = source.attributes["value"]
    return attribute if isinstance(attribute, ir().DenseElementsAttr) else None


def _one_of(splat: Any) -> Any:
    """A scalar constant of the value that `splat` repeats."""
    scalar = ir().RankedTensorType.get([], splat.type.element_type)
    return ir().DenseElementsAttr.get_splat(scalar, splat.get_splat_value())


def _converted(value: Any, wanted: Any) -> Any | None:
    """`value`, a dense constant, with the element type of `wanted`; None where the evaluator has no such conversion.

    By way of HLO: NumPy cannot read MLIR's constants of the narrow types.
    """
    array = evaluate(StableHloModule.read(_RETURNED.format(type=value.type, value=value)).to_hlo(), ())
    assert isinstance(array, np.ndarray)
    kind = type_of(wanted).element_type
    builder = Builder(HloModule("conversion").add_computation("main"))
    try:
        result = evaluate_instruction(builder.convert(builder.constant(array), kind), (array,))
    except UnsupportedOpcode:
        return None
    return _attribute_of(result)


def _attribute_of(array: Value) -> Any:
    """A dense constant of these values, also by way of HLO."""
    module = HloModule("constant")
    builder = Builder(module.add_computation("main"))
    builder.computation.set_root(builder.constant(array))
    module.set_entry_computation(builder.computation)
    (constant,) = (op for op in StableHloModule.from_hlo(module).operations() if op.name == CONSTANT)
    return constant.attributes["value"]


_RETURNED = "func.func @main() -> {type} {{ %0 = stablehlo.constant {value}\n return %0 : {type} }}"
