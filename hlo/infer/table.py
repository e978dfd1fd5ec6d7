"""Which rule infers the shape of which opcode, and which opcodes have none, and why?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from hlo.attributes import NONE, Attributes
from hlo.graph import HloComputation
from hlo.infer import (
    batch_norm,
    contraction,
    control,
    convolution,
    dynamic,
    elementwise,
    gather_scatter,
    indexing,
    linalg,
    reduction,
    scan,
    shape,
    sorting,
    windows,
)
from hlo.infer.common import ShapeError, Signature
from hlo.opcode import SPECS, Opcode, merged
from hlo.shape import Shape

RULES = merged(
    elementwise.RULES,
    shape.RULES,
    indexing.RULES,
    gather_scatter.RULES,
    reduction.RULES,
    windows.RULES,
    sorting.RULES,
    scan.RULES,
    contraction.RULES,
    convolution.RULES,
    control.RULES,
    dynamic.RULES,
    linalg.RULES,
    batch_norm.RULES,
)

_DEVICES = "its result depends on device groups, which are not modelled"
_ASYNC = "its shape is a bundle of buffers that only the back end knows"
_OUTSIDE = "its value comes from outside the program"

GAPS: Mapping[Opcode, str] = MappingProxyType(
    {
        Opcode.ALL_GATHER: _DEVICES,
        Opcode.ALL_GATHER_DONE: _ASYNC,
        Opcode.ALL_GATHER_START: _ASYNC,
        Opcode.ALL_REDUCE: _DEVICES,
        Opcode.ALL_REDUCE_DONE: _ASYNC,
        Opcode.ALL_REDUCE_START: _ASYNC,
        Opcode.ALL_TO_ALL: _DEVICES,
        Opcode.ASYNC_DONE: _ASYNC,
        Opcode.ASYNC_START: _ASYNC,
        Opcode.ASYNC_UPDATE: _ASYNC,
        Opcode.COLLECTIVE_BROADCAST: _DEVICES,
        Opcode.COLLECTIVE_PERMUTE: _DEVICES,
        Opcode.COLLECTIVE_PERMUTE_DONE: _ASYNC,
        Opcode.COLLECTIVE_PERMUTE_START: _ASYNC,
        Opcode.COLLECTIVE_REDUCE: _DEVICES,
        Opcode.COPY_DONE: _ASYNC,
        Opcode.COPY_START: _ASYNC,
        Opcode.INFEED: _OUTSIDE,
        Opcode.OUTFEED: _OUTSIDE,
        Opcode.PARTITION_ID: _OUTSIDE,
        Opcode.RAGGED_ALL_TO_ALL: _DEVICES,
        Opcode.RECV: _OUTSIDE,
        Opcode.RECV_DONE: _OUTSIDE,
        Opcode.REDUCE_SCATTER: _DEVICES,
        Opcode.REPLICA_ID: _OUTSIDE,
        Opcode.RNG: _OUTSIDE,
        Opcode.RNG_GET_AND_UPDATE_STATE: _OUTSIDE,
        Opcode.SEND: _OUTSIDE,
        Opcode.SEND_DONE: _OUTSIDE,
    }
)


def signature(computation: HloComputation) -> Signature:
    """What `computation` takes and gives. Raises ShapeError without a root or with a parameter missing."""
    if not computation.has_root:
        raise ShapeError(f"computation {computation.name} has no root")
    parameters = computation.parameters
    if any(parameter.parameter_number != i for i, parameter in enumerate(parameters)):
        numbers = [parameter.parameter_number for parameter in parameters]
        raise ShapeError(f"parameters of {computation.name} are numbered {numbers}")
    return Signature(tuple(parameter.shape for parameter in parameters), computation.root.shape)


def infer_shape(
    opcode: Opcode,
    operands: Sequence[Shape],
    attributes: Attributes = NONE,
    called: Sequence[HloComputation] = (),
    declared: Shape | None = None,
) -> Shape:
    """The shape of an instruction with these operands. Raises ShapeError where they do not fit together.

    Where operands and attributes do not determine it (parameter, broadcast, reshape, iota, convert,
    custom-call, …, and each opcode in `GAPS`) `declared` is checked as far as possible and returned.
    Elsewhere it is not looked at: comparing it with the result is the caller's part.
    """
    return infer_from_signatures(opcode, operands, attributes, [signature(c) for c in called], declared)


def infer_from_signatures(
    opcode: Opcode,
    operands: Sequence[Shape],
    attributes: Attributes,
    called: Sequence[Signature],
    declared: Shape | None,
) -> Shape:
    """As `infer_shape`, for a caller that knows the signatures of the called computations already."""
    spec = SPECS[opcode]
    if spec.arity is not None and len(operands) != spec.arity:
        raise ShapeError(f"{opcode} takes {spec.arity} operands, got {len(operands)}")
    if spec.called is not None and len(called) != spec.called:
        raise ShapeError(f"{opcode} calls {spec.called} computations, got {len(called)}")
    rule = RULES.get(opcode)
    if rule is not None:
        return rule(operands, attributes, called, declared)
    if declared is None:
        raise ShapeError(f"the shape of {opcode} must be declared: {GAPS[opcode]}")
    return declared
