"""Which instructions have a value that is known before the program runs?

Source: `stock_passes.md` section 8 (HloConstantFolding, newest). Differences: a value with a dynamic
dimension is never folded, since a constant cannot hold its true size; collectives are never folded; and a
result that is a tuple becomes a tuple of constants, since few tools read constant tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hlo import (
    SPECS,
    ArrayShape,
    Family,
    HloComputation,
    HloInstruction,
    HloModule,
    Opcode,
    Shape,
    TupleShape,
    UnsupportedOpcode,
    Value,
    leaves,
    same_bits,
)
from hlo.attributes import ConstantValue
from hlo.evaluator import EvaluationLimit, evaluate_instruction
from hlo.literal import Literal
from passes.base import Pass, Trace

# Never folded, and neither is anything whose callees hold one: beside what has a side effect and collectives.
ILLEGAL = frozenset(
    {
        Opcode.AFTER_ALL,
        Opcode.CUSTOM_CALL,
        Opcode.DOMAIN,
        Opcode.FFT,
        Opcode.GET_DIMENSION_SIZE,
        Opcode.OPTIMIZATION_BARRIER,
        Opcode.RAGGED_DOT,
        Opcode.RNG_BIT_GENERATOR,
    }
)
LEGAL = frozenset(
    opcode
    for opcode, spec in SPECS.items()
    if opcode not in ILLEGAL and not spec.side_effect and spec.family is not Family.COLLECTIVE
)
# Folding these makes a constant that is bigger than what it replaces, or is none.
NOT_WORTH_IT = frozenset({Opcode.BROADCAST, Opcode.CONSTANT, Opcode.IOTA, Opcode.PARAMETER, Opcode.TUPLE})
# What `fold_float_arithmetic=false` still lets through: no rounding can happen.
DATA_MOVEMENT = frozenset(
    {
        Opcode.BITCAST,
        Opcode.BITCAST_CONVERT,
        Opcode.CONCATENATE,
        Opcode.COPY,
        Opcode.DYNAMIC_SLICE,
        Opcode.DYNAMIC_UPDATE_SLICE,
        Opcode.PAD,
        Opcode.RESHAPE,
        Opcode.REVERSE,
        Opcode.SELECT,
        Opcode.SLICE,
        Opcode.TRANSPOSE,
    }
)


@dataclass(frozen=True)
class ConstantFolding(Pass):
    """Replaces instructions on constants by their value, and takes constant arguments into callees.

    `fold_while`: while loops too (upstream's aggressive level). `fold_float_arithmetic`: also what rounds,
    not only what moves floats about. `max_elements`: most elements in the result, and in all operands
    together.
    """

    fold_while: bool = False
    fold_float_arithmetic: bool = True
    max_elements: int = 45_000_000

    name: ClassVar[str] = "constant-folding"
    rules: ClassVar[tuple[str, ...]] = ("fold", "constant-argument")

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Callers first, so that constants flow into callees. What cannot be evaluated stays."""
        folder = _Folder(self, trace)
        changed = False
        # Again, because folding in a callee can bring it within the evaluator's limits for its caller.
        while folder.sweep(module):
            changed = True
        return changed


class _Folder:
    """One run: the options, the trace, and which computations can be evaluated at all."""

    def __init__(self, options: ConstantFolding, trace: Trace) -> None:
        self.options = options
        self.trace = trace
        self._foldable: dict[HloComputation, bool] = {}

    def sweep(self, module: HloModule) -> bool:
        changed = False
        self._foldable.clear()
        callers = _callers(module)
        for computation in reversed(module.make_computation_post_order()):
            # folding adds no calls, but can have removed some
            calls = [call for call in callers.get(computation, ()) if not call.is_removed]
            changed |= self._take_constant_arguments(computation, calls)
            for inst in computation.make_instruction_post_order():
                if self._may_fold(inst):
                    changed |= self._fold(inst)
        return changed

    def _take_constant_arguments(self, computation: HloComputation, calls: Sequence[HloInstruction]) -> bool:
        """Inside, replace each parameter that is the same constant at every one of `calls` by that constant."""
        if not calls or any(call.opcode is not Opcode.CALL for call in calls):
            return False  # no calls: it is the entry, or its last call was folded in this sweep
        arguments = {p: _common_constant(calls, p.parameter_number) for p in computation.parameters}
        if all(argument is not None for argument in arguments.values()):
            return False  # then the calls themselves fold
        changed = False
        for parameter, argument in arguments.items():
            if argument is None or _is_dead(parameter) or argument.shape != parameter.shape:
                continue
            computation.replace_all_uses_with(parameter, computation.add_clone(argument, ()))
            self.trace.fire("constant-argument")
            changed = True
        return changed

    def _may_fold(self, inst: HloInstruction) -> bool:
        if inst.opcode in NOT_WORTH_IT or not all(map(_is_known, inst.operands)):
            return False
        if not any(map(_holds_constant, inst.operands)):
            return False  # broadcasts and iotas only: they are small as they are
        if inst.opcode is Opcode.PAD and inst.operand(0).opcode is Opcode.BROADCAST:
            return False
        if _is_dead(inst) or inst.has_control_dependencies:
            return False
        if not self._is_legal(inst) or not self._float_arithmetic_allowed(inst):
            return False
        if not inst.shape.is_static or not all(operand.shape.is_static for operand in inst.operands):
            return False
        operands = sum(_element_count(operand.shape) for operand in inst.operands)
        if max(operands, _element_count(inst.shape)) > self.options.max_elements:
            self.trace.decline("max-elements")
            return False
        return True

    def _is_legal(self, inst: HloInstruction) -> bool:
        if inst.opcode not in LEGAL or (inst.opcode is Opcode.WHILE and not self.options.fold_while):
            return False
        if inst.opcode in (Opcode.BITCAST, Opcode.BITCAST_CONVERT) and _repacks_small_elements(inst):
            return False
        return all(map(self._is_foldable, inst.called_computations))

    def _is_foldable(self, computation: HloComputation) -> bool:
        if computation not in self._foldable:
            self._foldable[computation] = all(map(self._is_legal, computation.instructions))
        return self._foldable[computation]

    def _float_arithmetic_allowed(self, inst: HloInstruction) -> bool:
        if self.options.fold_float_arithmetic or inst.opcode in DATA_MOVEMENT:
            return True
        return not any(_has_floats(x.shape) for x in (inst, *inst.operands))

    def _fold(self, inst: HloInstruction) -> bool:
        try:
            value = evaluate_instruction(inst, [_known_value(operand) for operand in inst.operands])
        except (UnsupportedOpcode, EvaluationLimit):
            self.trace.decline("evaluator")
            return False
        computation = inst.parent
        known = _materialise(computation, inst.shape, value)
        known.metadata = inst.metadata
        computation.replace_all_uses_with(inst, known)
        computation.remove_instruction_and_unused_operands(inst)
        self.trace.fire("fold")
        return True


def _materialise(computation: HloComputation, shape: Shape, value: Value) -> HloInstruction:
    """A constant of `shape` (its layout kept), or a tuple of constants."""
    if isinstance(shape, TupleShape) and isinstance(value, tuple):
        elements = zip(shape.elements, value, strict=True)
        return computation.add(
            Opcode.TUPLE, shape, [_materialise(computation, *element) for element in elements]
        )
    return computation.add(Opcode.CONSTANT, shape, (), ConstantValue(Literal(value)))


def _callers(module: HloModule) -> dict[HloComputation, list[HloInstruction]]:
    """The instructions that call each computation."""
    callers: dict[HloComputation, list[HloInstruction]] = {}
    for computation in module.computations:
        for inst in computation.instructions:
            for callee in dict.fromkeys(inst.called_computations):
                callers.setdefault(callee, []).append(inst)
    return callers


def _common_constant(calls: Sequence[HloInstruction], number: int) -> HloInstruction | None:
    """The argument `number` of the first call, if it is a constant and every call passes the same value."""
    arguments = [call.operand(number) for call in calls]
    if any(argument.opcode is not Opcode.CONSTANT for argument in arguments):
        return None
    first = arguments[0]
    same = all(same_bits(first.literal.value, other.literal.value) for other in arguments[1:])
    return first if same else None


def _is_dead(inst: HloInstruction) -> bool:
    return not inst.use_count and not inst.is_root


def _is_known(inst: HloInstruction) -> bool:
    """A constant, a broadcast of one, an iota, or a tuple of such."""
    if inst.opcode is Opcode.BROADCAST:
        return inst.operand(0).opcode is Opcode.CONSTANT
    if inst.opcode is Opcode.TUPLE:
        return all(map(_is_known, inst.operands))
    return inst.opcode in (Opcode.CONSTANT, Opcode.IOTA)


def _holds_constant(inst: HloInstruction) -> bool:
    if inst.opcode is Opcode.TUPLE:
        return any(map(_holds_constant, inst.operands))
    return inst.opcode is Opcode.CONSTANT


def _known_value(inst: HloInstruction) -> Value:
    """The value of an instruction that `_is_known`."""
    if inst.opcode is Opcode.CONSTANT:
        return inst.literal.value
    operands = [_known_value(operand) for operand in inst.operands]
    return tuple(operands) if inst.opcode is Opcode.TUPLE else evaluate_instruction(inst, operands)


def _repacks_small_elements(inst: HloInstruction) -> bool:
    """Whether a bitcast changes the width of elements that are smaller than a byte."""
    before, after = (_bit_width(x.shape) for x in (inst.operand(0), inst))
    return before != after and min(before, after) < 8


def _bit_width(shape: Shape) -> int:
    return shape.element_type.bit_width if isinstance(shape, ArrayShape) else 0


def _has_floats(shape: Shape) -> bool:
    arrays = (leaf.element_type for _, leaf in leaves(shape) if isinstance(leaf, ArrayShape))
    return any(element_type.is_float or element_type.is_complex for element_type in arrays)


def _element_count(shape: Shape) -> int:
    if isinstance(shape, ArrayShape):
        return shape.element_count
    return sum(leaf.element_count for _, leaf in leaves(shape) if isinstance(leaf, ArrayShape))
