"""What does a program mean whose shapes are written in the dialects shape, tensor and arith?

The same as with these written in StableHLO, which is what can be made static and run. MHLO's canonicaliser leaves some
such operations behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hlo import InvalidInput
from hlo.interchange.mlir import DYNAMIC
from hlo.stablehlo import StableHloModule, apply_patterns, dialect, integer_constant, ir
from passes.stock.canonicalize_dynamism import DYNAMIC_OPERATIONS

_OTHERS: Final = frozenset({"shape", "tensor", "arith"})


def in_stablehlo(program: StableHloModule) -> StableHloModule:
    """`program` with all its shapes in StableHLO, as 32-bit integers. The program itself stays as it is.

    Raises InvalidInput where an operation of another dialect is left.
    """
    copy = program.clone()
    patterns = [*((name, _shape_operands) for name in sorted(DYNAMIC_OPERATIONS)), ("tensor.cast", _cast)]
    apply_patterns(copy, [*patterns, ("tensor.collapse_shape", _collapse), ("tensor.expand_shape", _expand)])
    left = {op.name for op in copy.operations() if op.name.partition(".")[0] in _OTHERS}
    if left:
        raise InvalidInput(f"no StableHLO for {', '.join(sorted(left))}")
    return copy


def _shape_operands(op: Any, _rewriter: Any) -> bool:
    changed = False
    for number, operand in enumerate(op.operands):
        if _is_foreign(operand):
            op.operands[number] = _integers(operand)
            changed = True
    return changed


def _cast(op: Any, rewriter: Any) -> bool:
    """Of what is no shape: a conversion to the same element type."""
    if "index" in str(op.results[0].type):
        return False
    rewriter.replace_op(op, [dialect().convert(op.results[0].type, op.operands[0])])
    return True


def _collapse(op: Any, rewriter: Any) -> bool:
    sizes: list[Any] = []
    for group in op.attributes["reassociation"]:
        first, *others = (dialect().get_dimension_size(op.operands[0], int(d)) for d in group)
        for other in others:
            first = dialect().multiply(first, other)
        sizes.append(first)
    rewriter.replace_op(op, [dialect().dynamic_reshape(op.results[0].type, op.operands[0], _vector(sizes))])
    return True


def _expand(op: Any, rewriter: Any) -> bool:
    source, *unknown = op.operands
    given = iter(unknown)
    sizes = [
        _integers(next(given)) if size == DYNAMIC else integer_constant(size)
        for size in op.attributes["static_output_shape"]
    ]
    rewriter.replace_op(op, [dialect().dynamic_reshape(op.results[0].type, source, _vector(sizes))])
    return True


def _is_foreign(value: Any) -> bool:
    """Whether an array of integers is not given by StableHLO."""
    op = _producer(value)
    element = str(getattr(value.type, "element_type", ""))
    return element == "index" or (
        op is not None and op.name.partition(".")[0] in _OTHERS and element != "f32"
    )


def _producer(value: Any) -> Any | None:
    owner = value.owner
    return None if isinstance(owner, ir().Block) else owner.operation


def _integers(value: Any) -> Any:
    """A value of integers as a tensor of i32. Raises InvalidInput where it is not known how."""
    op = _producer(value)
    if op is not None and op.name in _WRITTEN:
        return _WRITTEN[op.name](op)
    element = str(getattr(value.type, "element_type", ""))
    if element == "i32":
        return value
    if element in ("i64", "ui32", "ui64"):
        return dialect().convert(_tensor(list(value.type.shape)), value)
    raise InvalidInput(f"no StableHLO for a {value.type}{f' of {op.name}' if op is not None else ''}")


def _tensor(sizes: list[int]) -> Any:
    return ir().RankedTensorType.get(sizes, ir().IntegerType.get_signless(32))


def _vector(scalars: list[Any]) -> Any:
    ones = [dialect().reshape(_tensor([1]), scalar) for scalar in scalars]
    return dialect().concatenate(ones, 0) if ones else integer_constant(np.zeros(0))


def _shape_of(op: Any) -> Any:
    tensor = op.operands[0]
    return _vector([dialect().get_dimension_size(tensor, d) for d in range(tensor.type.rank)])


def _constant(op: Any) -> Any:
    value = op.attributes["value"]
    return integer_constant(int(value) if isinstance(value, ir().IntegerAttr) else np.asarray(value))


def _number(value: Any) -> int:
    op = _producer(value)
    if op is None or op.name != "arith.constant":
        raise InvalidInput("an index that is no constant")
    return int(op.attributes["value"])


def _dim(op: Any) -> Any:
    return dialect().get_dimension_size(op.operands[0], _number(op.operands[1]))


def _extract(op: Any) -> Any:
    place = _number(op.operands[1])
    one = dialect().slice(_integers(op.operands[0]), [place], [place + 1], [1])
    return dialect().reshape(_tensor([]), one)


def _slice(op: Any) -> Any:
    bounds = (list(op.attributes[name]) for name in ("start_indices", "limit_indices", "strides"))
    return dialect().slice(_integers(op.operands[0]), *bounds)


def _same(op: Any) -> Any:
    return _integers(op.operands[0])


_WRITTEN: Final[dict[str, Callable[[Any], Any]]] = {
    "shape.shape_of": _shape_of,
    "shape.to_extent_tensor": _same,
    "tensor.cast": _same,
    "arith.index_cast": _same,
    "arith.constant": _constant,
    "tensor.dim": _dim,
    "tensor.extract": _extract,
    "tensor.from_elements": lambda op: _vector([_integers(operand) for operand in op.operands]),
    "arith.addi": lambda op: dialect().add(*map(_integers, op.operands)),
    "arith.muli": lambda op: dialect().multiply(*map(_integers, op.operands)),
    "stablehlo.slice": _slice,
}
