"""What is left in a program that nobody needs, or that is spelled in an old way?

Ours: the page has the names `canonicalizeTupleOp`, `replaceInvalidBackendConfigs` and
`replaceBroadcastsWithBroadcastInDim` and nothing else.
"""

from __future__ import annotations

import json
from typing import Any

from hlo.evaluator import BOUNDARY_MARKERS, PAD_TO_STATIC, SET_BOUND, SLICE_TO_DYNAMIC
from hlo.stablehlo import Pattern, StableHloModule, dialect, ir, type_of

_TUPLE, _ELEMENT = "stablehlo.tuple", "stablehlo.get_tuple_element"
_CONFIGS = ("backend_config", "mhlo.backend_config")

UNCONFIGURED = frozenset({*BOUNDARY_MARKERS, PAD_TO_STATIC, SET_BOUND, SLICE_TO_DYNAMIC, "Sharding"})
"""Custom-calls that take no configuration. That of any other one is a part of what it computes."""


def element_of_tuple(op: Any, rewriter: Any) -> bool:
    """An element of a tuple that is made here is what it was made of."""
    source = op.operands[0].owner
    if getattr(source, "name", "") != _TUPLE:
        return False
    rewriter.replace_op(op, [source.operands[int(op.attributes["index"])]])
    return True


def rebuilt_tuple(op: Any, rewriter: Any) -> bool:
    """A tuple of all the elements of one tuple, in their order, is that tuple."""
    sources = [operand.owner for operand in op.operands]
    if not sources or any(getattr(source, "name", "") != _ELEMENT for source in sources):
        return False
    whole = sources[0].operands[0]
    if whole.type != op.results[0].type or any(source.operands[0] != whole for source in sources):
        return False
    if [int(source.attributes["index"]) for source in sources] != list(range(len(sources))):
        return False
    rewriter.replace_op(op, [whole])
    return True


def explicit_broadcast(op: Any, rewriter: Any) -> bool:
    """`broadcast` puts new dimensions in front: `broadcast_in_dim` says so."""
    operand, result = op.operands[0], op.results[0].type
    added = type_of(result).rank - type_of(operand.type).rank
    kept = list(range(added, type_of(result).rank))
    rewriter.replace_op(op, [dialect().broadcast_in_dim(result, operand, kept)])
    return True


def without_backend_config(program: StableHloModule) -> tuple[tuple[str, Pattern], ...]:
    """For each kind of operation of `program` that has a configuration: drop one that is invalid and not read."""
    names = sorted({op.name for op in program.operations() if any(c in op.attributes for c in _CONFIGS)})
    return tuple((name, _drop_backend_config) for name in names)


def _drop_backend_config(op: Any, rewriter: Any) -> bool:
    if op.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value not in UNCONFIGURED:
        return False
    invalid = [name for name in _CONFIGS if name in op.attributes and not _is_valid(op.attributes[name])]
    for name in invalid:
        del op.attributes[name]
    return bool(invalid)


def _is_valid(config: Any) -> bool:
    """Whether a configuration is a dictionary, or text that is empty or a JSON object."""
    if not isinstance(config, ir().StringAttr):
        return bool(isinstance(config, ir().DictAttr))
    text = ir().StringAttr(config).value
    if not text:
        return True
    try:
        return isinstance(json.loads(text), dict)
    except json.JSONDecodeError:
        return False
