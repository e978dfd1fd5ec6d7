"""Which function combines the elements of a window, and may it be given what it starts with more than once?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hlo.stablehlo import dialect, ir
from passes.neuron.bound_dynamic_dimensions.inlining import copy_operations

_IDENTITIES: Mapping[str, tuple[float, ...]] = {
    "stablehlo.add": (0.0,),
    "stablehlo.multiply": (1.0,),
    "stablehlo.maximum": (-np.inf,),
    "stablehlo.minimum": (np.inf,),
}

_MOVES = frozenset({"stablehlo.broadcast_in_dim", "stablehlo.reshape"})


def starts_with_identity(function: Any, start: Any) -> bool:
    """Whether a `func.func` is one operation on its arguments, in which the scalar constant `start` changes nothing."""
    names = [inner.operation.name for inner in function.regions[0].blocks[0].operations]
    source = start.owner
    while getattr(source, "name", "") in _MOVES:
        source = source.operands[0].owner
    if len(names) != 2 or names[0] not in _IDENTITIES or getattr(source, "name", "") != "stablehlo.constant":
        return False
    try:
        value = np.array(source.attributes["value"])
    except TypeError:
        return False  # of a type that NumPy does not read
    if names[0] in ("stablehlo.add", "stablehlo.multiply"):
        return bool(value == _IDENTITIES[names[0]][0])
    if np.issubdtype(value.dtype, np.integer):
        limits = np.iinfo(value.dtype)
        return bool(value == (limits.min if names[0] == "stablehlo.maximum" else limits.max))
    return bool(value == _IDENTITIES[names[0]][0])


def copy_body(function: Any, region: Any) -> None:
    """Write the body of a `func.func` of scalars into the empty `region` of a reducing operation."""
    source = function.regions[0].blocks[0]
    kinds = [argument.type for argument in source.arguments]
    block = region.blocks.append(*kinds, arg_locs=[function.location] * len(kinds))
    with ir().InsertionPoint(block), function.location:
        returned = copy_operations(source, dict(zip(source.arguments, block.arguments, strict=True)))
        dialect().return_(returned)
