"""How does a program of any size become one of at most a given size, which HLO can hold?

Source: `004_a2dddaa7cc47048c.txt`, the note under "Representation": unbounded forms must be bounded before they get to
HLO, or are rejected. How, the page does not say; this is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hlo import HloModule, InvalidInput
from hlo.interchange import mlir
from hlo.stablehlo import ENTRY, StableHloModule, ir, type_of
from passes.base import Trace
from passes.neuron.bound_dynamic_dimensions.analysis import ASSERTION, Analysis, is_ranked, is_unknown, named
from passes.neuron.bound_dynamic_dimensions.entry import add_size_parameters, size_slots, static_results
from passes.neuron.bound_dynamic_dimensions.inlining import inline_calls
from passes.neuron.bound_dynamic_dimensions.lowering import Lowering
from passes.neuron.bound_dynamic_dimensions.refusal import NotBounded
from passes.neuron.bound_dynamic_dimensions.values import parsed
from passes.stablehlo_pass import StableHloPass

_COMPOSITES = "builtin.module(func.func(stablehlo-legalize-composite-to-call))"
_UNUSED = "builtin.module(symbol-dce)"


@dataclass(frozen=True)
class BoundDynamicDimensions(StableHloPass):
    """Gives each size that is not known a bound, and each operation that is told its sizes a form that HLO holds.

    Each `?` of a parameter is at most `bound`, or what its own `#stablehlo.bounds` say; so is an integer parameter that
    sizes are computed from. The entry then takes arrays as large as the bounds, and behind all parameters an s32[] for
    each `?`, in the order of parameters and dimensions: their sizes. It gives arrays as large as the bounds, zeros
    around what counts, and behind all results an s32[] for each `?`. Inside, `set_dimension_size` says what counts,
    and `PadToStatic` at the end takes it apart.

    Functions are inlined. JAX's shape assertions are believed and dropped, each with a message: what they check is
    now the caller's to keep, equal sizes included.

    A program of HLO is bounded already, and stays as it is.
    """

    bound: int = 8

    name: ClassVar[str] = "bound-dynamic-dimensions"
    bounds_parameters: ClassVar[bool] = True
    """The entry takes and gives something else afterwards, as told above."""
    rules: ClassVar[tuple[str, ...]] = (
        "size-parameter",
        "size-result",
        "drop-assertion",
        "bound-type",
        "lower",
    )

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Does nothing."""
        return False

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        """Raises NotBounded naming the operation, and operand or dimension, that stands in the way."""
        if not _has_unknown_sizes(program):
            return False
        mlir.run_mlir_passes(program.mlir, _COMPOSITES)
        with ir().Location.unknown(program.mlir.context):
            _Bounding(self.name, self.bound, program, trace).run()
        self._refuse_what_is_no_hlo(program)
        return True

    def _refuse_what_is_no_hlo(self, program: StableHloModule) -> None:
        """Operands whose sizes are not known to be equal may have different bounds."""
        complaints = program.violations()
        try:
            if not complaints:
                program.to_hlo()
        except InvalidInput as error:
            complaints = [error.message]
        if complaints:
            raise NotBounded(self.name, "the program with bounds", complaints[0])


class _Bounding:
    """One run on one program."""

    def __init__(self, pass_name: str, bound: int, program: StableHloModule, trace: Trace) -> None:
        self._pass_name = pass_name
        self._program = program
        self._trace = trace
        self._entry = program.entry.operation
        functions = self._functions = {
            op.operation.attributes["sym_name"].value: op.operation
            for op in program.mlir.body.operations
            if op.operation.name == "func.func"
        }
        if not inline_calls(self._entry, functions):
            raise NotBounded(pass_name, "func.call", "a function calls itself")
        self._analysis = Analysis(pass_name, self._entry, bound)
        self._lowering = Lowering(pass_name, self._analysis, functions)
        self._dead: list[Any] = []

    def run(self) -> None:
        block = self._entry.regions[0].blocks[0]
        slots = size_slots(self._program.parameters), size_slots(self._program.results)
        wanted = [
            self._analysis.bounded_type(parameter, where=f"parameter {number}")
            if is_ranked(parameter.type)
            else None
            for number, parameter in enumerate(block.arguments)
        ]
        operations = list(block.operations)
        self._lowering.parameters = add_size_parameters(self._entry, block, wanted, slots[0], self._analysis)
        self._rewrite([wrapped.operation for wrapped in operations[:-1]])
        static_results(self._entry, operations[-1].operation, slots[1])
        for _ in slots[0]:
            self._trace.fire("size-parameter")
        for _ in slots[1]:
            self._trace.fire("size-result")
        for op in reversed(self._dead):
            op.erase()
        for name, function in self._functions.items():
            if name != ENTRY:
                function.attributes["sym_visibility"] = ir().StringAttr.get("private")
        mlir.run_mlir_passes(self._program.mlir, _UNUSED)

    def _rewrite(self, operations: Sequence[Any]) -> None:
        for op in operations:
            for region in op.regions:
                for inner in region.blocks:
                    self._bound_arguments(inner)
                    self._rewrite([wrapped.operation for wrapped in inner.operations])
            self._rewrite_one(op)

    def _rewrite_one(self, op: Any) -> None:
        if op.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value == ASSERTION:
            self._trace.fire("drop-assertion")
            self._trace.log(f"believed, and checked no more: {_said(op)}")
            self._dead.append(op)
            return
        with ir().InsertionPoint(op), op.location:
            new = self._lowering.lowered(op)
        if new is not None:
            self._analysis.stands_for(new, op.results[0])
            op.results[0].replace_all_uses_with(new)
            self._dead.append(op)
            self._trace.fire("lower")
            return
        for result in op.results:
            if is_unknown(result.type):
                result.set_type(parsed(self._analysis.bounded_type(result, where=named(op))))
                self._trace.fire("bound-type")

    def _bound_arguments(self, block: Any) -> None:
        for argument in block.arguments:
            if is_unknown(argument.type):
                argument.set_type(parsed(self._analysis.bounded_type(argument, where="an argument")))


def _said(assertion: Any) -> str:
    """What an assertion of JAX's complains of, without the advice around it."""
    message = (
        str(assertion.attributes["error_message"].value) if "error_message" in assertion.attributes else ""
    )
    core = message.partition(" Using the following")[0]
    return core.removeprefix("Input shapes do not match the polymorphic shapes specification. ") or ASSERTION


def _has_unknown_sizes(program: StableHloModule) -> bool:
    """Whether a parameter or result is not static, or anything has neither a size nor a bound."""
    if not all(kind.is_static for kind in (*program.parameters, *program.results)):
        return True
    return any(
        is_unknown(result.type) and type_of(result.type).is_unbounded
        for op in program.operations()
        for result in op.results
    )
