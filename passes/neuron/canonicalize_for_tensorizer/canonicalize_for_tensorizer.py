"""What is tidied up in a StableHLO program before the Tensorizer gets it, and in which order?

Source: `004_a2dddaa7cc47048c.txt`, "CanonicalizeForTensorizer::replaceGetDimensionSize": the order of the seven is the
page's, and so is all of `replace-get-dimension-size` (`neuron_passes.md` section 7). Of the other six the page gives
the names only; each is what its name says in plain words, as far as no program can tell the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from hlo.stablehlo import Pattern, StableHloModule, apply_patterns, integer_constant, ir, type_of
from passes.base import PassError, Trace
from passes.neuron.canonicalize_for_tensorizer.constants import broadcast_constant, converted_constant
from passes.neuron.canonicalize_for_tensorizer.leftovers import (
    element_of_tuple,
    explicit_broadcast,
    rebuilt_tuple,
    without_backend_config,
)
from passes.neuron.canonicalize_for_tensorizer.sorted_iotas import sort_by_iota
from passes.stablehlo_pass import StableHloPass

K_DYNAMIC = -(2**63)
"""What `getShape` says of a dimension whose size is not known (`ShapedType::kDynamic`), bounded or not."""


class NotATensor(PassError):
    """The size of something is asked for that has no dimensions: the page's `report_fatal_error`."""

    def __init__(self, pass_name: str, operand_type: str) -> None:
        self.operand_type = operand_type
        super().__init__(
            pass_name, f"get_dimension_size of {operand_type}, which is not a tensor of known rank"
        )


@dataclass(frozen=True)
class CanonicalizeForTensorizer(StableHloPass):
    """Folds the sizes of static dimensions and conversions of constants, and takes away what the Tensorizer knows not.

    Documented by the page: `replace-get-dimension-size`. It folds a dimension whose size is known, to S32; a bounded
    one (`?` with `#stablehlo.bounds`) is as unknown as any `?`, and stays. Ours, because the page has only the name:

    - `fuse-iota-sort`: a sort that compares an iota along its dimension and nothing else is its operands, or reverses
      them.
    - `canonicalize-tuple-op`: an element of a tuple is what the tuple was made of; a tuple of all the elements of one
      tuple is that tuple.
    - `replace-converts-with-constants`: a converted constant is a constant.
    - `replace-invalid-backend-configs`: text that is no JSON object, where nothing reads it, is dropped.
    - `replace-broadcast-in-dim-with-constants`: a constant of one value, spread, is a constant of one value.
    - `replace-broadcasts-with-broadcast-in-dim`: the old `broadcast` is spelled as the new one.

    `static_dims_only` is a guard. Without it every dimension is folded, which the page calls the trap: a dynamic one to
    its bound, and one without a bound to what S32 keeps of `kDynamic`, 0.
    """

    static_dims_only: bool = True

    name: ClassVar[str] = "canonicalize-for-tensorizer"
    # what a later rewrite makes, an earlier one may like: the page runs each once
    idempotent: ClassVar[bool] = False
    rules: ClassVar[tuple[str, ...]] = (
        "fuse-iota-sort",
        "canonicalize-tuple-op",
        "replace-get-dimension-size",
        "replace-converts-with-constants",
        "replace-invalid-backend-configs",
        "replace-broadcast-in-dim-with-constants",
        "replace-broadcasts-with-broadcast-in-dim",
    )
    guards: ClassVar[tuple[str, ...]] = ("static_dims_only",)

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        """Raises NotATensor for the size of something that is not a tensor of known rank."""
        before = program.text
        sizes = partial(self._size, trace=trace)
        for rule, patterns in (
            ("fuse-iota-sort", (("stablehlo.sort", sort_by_iota),)),
            (
                "canonicalize-tuple-op",
                (("stablehlo.get_tuple_element", element_of_tuple), ("stablehlo.tuple", rebuilt_tuple)),
            ),
            ("replace-get-dimension-size", (("stablehlo.get_dimension_size", sizes),)),
            ("replace-converts-with-constants", (("stablehlo.convert", converted_constant),)),
            ("replace-invalid-backend-configs", without_backend_config(program)),
            (
                "replace-broadcast-in-dim-with-constants",
                (("stablehlo.broadcast_in_dim", broadcast_constant),),
            ),
            ("replace-broadcasts-with-broadcast-in-dim", (("stablehlo.broadcast", explicit_broadcast),)),
        ):
            apply_patterns(program, [(name, _counted(pattern, rule, trace)) for name, pattern in patterns])
        return program.text != before  # what is dead is gone, too

    def _size(self, op: Any, rewriter: Any, *, trace: Trace) -> bool:
        operand = op.operands[0].type
        if not isinstance(operand, ir().RankedTensorType):
            raise NotATensor(self.name, str(operand))
        dimension = int(op.attributes["dimension"])
        tensor = ir().RankedTensorType(operand)
        if not tensor.is_dynamic_dim(dimension):
            size = tensor.shape[dimension]
        elif self.static_dims_only:
            return False
        else:
            size = type_of(tensor).bounds[dimension] or int(np.int64(K_DYNAMIC).astype(np.int32))
        rewriter.replace_op(op, [integer_constant(size)])
        return True


def _counted(pattern: Pattern, rule: str, trace: Trace) -> Callable[[Any, Any], bool]:
    def run(op: Any, rewriter: Any) -> bool:
        rewrote = pattern(op, rewriter)
        if rewrote:
            trace.fire(rule)
        return rewrote

    return run
