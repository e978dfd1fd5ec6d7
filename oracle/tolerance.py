"""How far may two engines that both follow HLO be apart, given what a program computes?

Most operations leave no room: integers, comparisons, moving elements, and the operations that IEEE 754 rounds
correctly (add, subtract, multiply, divide, square root, conversions). Transcendental functions leave a few units
in the last place, and sums and products of many elements leave their order. `tolerance_of` adds up what the
longest path to each leaf of a result leaves; `instruction_tolerance` says it of a single instruction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ml_dtypes

from hlo import (
    ArrayShape,
    HloComputation,
    HloInstruction,
    HloModule,
    Opcode,
    PrimitiveType,
    Shape,
    Value,
    leaves,
)
from hlo.attributes import ScanOptions
from oracle.compare import Tolerance
from oracle.terms import COUNTS, largest_sum

Index = tuple[int, ...]
Units = Mapping[Index, float]
"""For each leaf of a value, by shape index, how much of it rounding may have changed; 0 where there is none."""

_TRANSCENDENTAL = frozenset(
    {
        *(Opcode.ACOS, Opcode.ACOSH, Opcode.ASIN, Opcode.ASINH, Opcode.ATAN2, Opcode.ATANH),
        *(
            Opcode.CBRT,
            Opcode.COS,
            Opcode.COSH,
            Opcode.ERF,
            Opcode.EXP,
            Opcode.EXP2,
            Opcode.EXPM1,
            Opcode.LOG,
            Opcode.LOG1P,
            Opcode.LOG2,
        ),
        *(Opcode.LOGISTIC, Opcode.POWER, Opcode.RSQRT, Opcode.SIN, Opcode.SINH, Opcode.TAN, Opcode.TANH),
    }
)
# Epsilons that two implementations of these may be apart: twice what NumPy and XLA CPU are on a million points of
# [-1e9, 1e9] (measured: 3.7 and less; where it was more, the operation has a row of its own).
_PLACES = 8
_NARROW_PLACES = 4
_COMPLEX_PLACES = 64
_MORE_PLACES: Mapping[tuple[Opcode, PrimitiveType], int] = {
    (Opcode.ATANH, PrimitiveType.F64): 160,
    (Opcode.COSH, PrimitiveType.F32): 32,
    (Opcode.COSH, PrimitiveType.F64): 512,
    (Opcode.EXP2, PrimitiveType.F64): 768,
    (Opcode.LOG1P, PrimitiveType.F64): 256,
    (Opcode.SINH, PrimitiveType.F32): 32,
    (Opcode.SINH, PrimitiveType.F64): 512,
}
# Complex arithmetic is made of several real roundings.
_COMPLEX_ROUNDED = _TRANSCENDENTAL | {Opcode.ABS, Opcode.DIVIDE, Opcode.MULTIPLY, Opcode.SIGN, Opcode.SQRT}

# Their errors are relative to the largest element.
_MATRICES = frozenset({Opcode.CHOLESKY, Opcode.TRIANGULAR_SOLVE})

_LOOP_GROWTH = 64
"""How many times what one iteration adds a loop may add: its trip count is not known here."""

_MEANINGLESS = 0.25
"""No more than this part of a value is ever granted to rounding."""


def epsilon(element_type: PrimitiveType) -> float:
    """The distance from 1 to the next number of a float type (of the parts of a complex one)."""
    if element_type.is_complex:
        element_type = PrimitiveType.F32 if element_type is PrimitiveType.C64 else PrimitiveType.F64
    return float(ml_dtypes.finfo(element_type.numpy).eps)


def _is_inexact(shape: Shape) -> bool:
    return isinstance(shape, ArrayShape) and (shape.element_type.is_float or shape.element_type.is_complex)


def own_units(inst: HloInstruction) -> float:
    """What `inst` itself leaves open, relative to its result: 0 for an operation that leaves no room."""
    inexact = [shape for _, shape in leaves(inst.shape) if _is_inexact(shape)]
    if not inexact:
        return 0.0
    shape = inexact[0]
    assert isinstance(shape, ArrayShape)
    unit = epsilon(shape.element_type)
    if inst.opcode is Opcode.CONVERT:
        # from F64 to a type of 16 bits or less an engine may round twice, through F32
        twice = (
            inst.operand(0).array_shape.element_type is PrimitiveType.F64
            and shape.element_type.bit_width < 32
        )
        return unit if twice else 0.0
    if inst.opcode in COUNTS:
        return unit * COUNTS[inst.opcode](inst)
    if inst.opcode is Opcode.MAP:
        return sum(own_units(called) for called in inst.called_computations[0].instructions)
    return unit * _places(inst.opcode, inst.operand(0) if inst.operands else inst, shape.element_type)


def _places(opcode: Opcode, operand: HloInstruction, result: PrimitiveType) -> int:
    source = operand.shape
    if isinstance(source, ArrayShape) and source.element_type.is_complex:
        return _COMPLEX_PLACES if opcode in _COMPLEX_ROUNDED else 0
    if opcode not in _TRANSCENDENTAL:
        return 0
    return _NARROW_PLACES if result.bit_width < 32 else _MORE_PLACES.get((opcode, result), _PLACES)


def instruction_tolerance(inst: HloInstruction, operands: Sequence[Value]) -> Tolerance:
    """How far two engines may be apart in the value of `inst` when both are given the same `operands`."""
    units = own_units(inst)
    if not units or inst.opcode not in COUNTS:
        return Tolerance(relative=min(units, _MEANINGLESS), absolute=_step_at_zero(inst, units), flushed=True)
    whole = inst.opcode in _MATRICES
    return Tolerance(
        relative=min(units, _MEANINGLESS),
        absolute=0.0 if whole else units * largest_sum(inst, operands),
        of_largest=min(units, _MEANINGLESS) if whole else 0.0,
        flushed=True,
    )


def _step_at_zero(inst: HloInstruction, units: float) -> float:
    """What rounding leaves open next to zero.

    Among the subnormals it matters in types of 8 bits and less. In wide types, computed in their own precision,
    something smaller on the way may have been flushed, and the least normal number with it.
    """
    kind = inst.shape.element_type if isinstance(inst.shape, ArrayShape) else None
    if not units or kind is None or kind.is_complex:
        return 0.0
    limits = ml_dtypes.finfo(kind.numpy)
    if kind.bit_width <= 8:
        return float(limits.smallest_subnormal)
    return float(limits.smallest_normal) if kind.bit_width >= 32 else 0.0


def tolerance_of(module: HloModule) -> Mapping[Index, Tolerance]:
    """What each leaf of the entry's result may be off by, between two engines that both follow HLO.

    Leaves that no rounding reaches must be equal. It is an estimate, not a bound: a sum that cancels or a
    comparison of rounded numbers can turn a last place into anything. Whoever finds two engines further apart
    asks the instructions one by one (`oracle.agreement`).
    """
    entry = module.entry_computation
    units = _Rounding().computation(entry, [{} for _ in entry.parameters])
    return {
        leaf: Tolerance(
            relative=min(2 * units.get(leaf, 0.0), _MEANINGLESS),
            of_largest=min(units.get(leaf, 0.0), _MEANINGLESS),
            flushed=True,
        )
        for leaf, _ in leaves(entry.root.shape)
    }


class _Rounding:
    """Follows rounding through a module. The same call with the same rounding coming in is followed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[HloComputation, tuple[frozenset[tuple[Index, float]], ...]], Units] = {}

    def computation(self, computation: HloComputation, arguments: Sequence[Units]) -> Units:
        """What leaves `computation` when `arguments` come in."""
        key = (computation, tuple(frozenset(units.items()) for units in arguments))
        if key in self._known:
            return self._known[key]
        seen: dict[HloInstruction, Units] = {}
        for inst in computation.make_instruction_post_order():
            if inst.opcode is Opcode.PARAMETER:
                seen[inst] = arguments[inst.parameter_number]
            else:
                seen[inst] = self._instruction(inst, [seen[operand] for operand in inst.operands])
        result = self._known[key] = seen[computation.root]
        return result

    def _instruction(self, inst: HloInstruction, operands: Sequence[Units]) -> Units:
        match inst.opcode:
            case Opcode.TUPLE:
                return {(i, *leaf): u for i, units in enumerate(operands) for leaf, u in units.items()}
            case Opcode.GET_TUPLE_ELEMENT:
                return {leaf[1:]: u for leaf, u in operands[0].items() if leaf[0] == inst.tuple_index}
            case Opcode.CALL | Opcode.FUSION:
                return self.computation(inst.called_computations[0], operands)
            case Opcode.CONDITIONAL:
                branches = zip(inst.called_computations, operands[1:], strict=True)
                return _worst([self.computation(branch, [units]) for branch, units in branches])
            case Opcode.WHILE:
                return self._loop(inst, operands[0])
            case Opcode.SCAN:
                return self._scan(inst, operands)
            case Opcode.COPY | Opcode.OPTIMIZATION_BARRIER | Opcode.CUSTOM_CALL | Opcode.ADD_DEPENDENCY:
                return operands[0] if operands else {}
            case _:
                return _computed(inst, operands)

    def _scan(self, inst: HloInstruction, operands: Sequence[Units]) -> Units:
        """As a loop over the carries. A leaf of an output has what the worst step left in it."""
        scan = inst.attributes
        assert isinstance(scan, ScanOptions)
        (body,) = inst.called_computations
        count = len(operands) - scan.num_carries
        inputs, state = operands[:count], _worst(list(operands[count:]))

        def step(state: Units) -> Units:
            given = self.computation(body, [*inputs, *[state] * scan.num_carries])
            return {(): max(given.values(), default=0.0)}

        once = step(state)
        grown = {leaf: u + _LOOP_GROWTH * max(u - state.get(leaf, 0.0), 0.0) for leaf, u in once.items()}
        units = step(_worst([state, grown])).get((), 0.0)
        return {leaf: units for leaf, shape in leaves(inst.shape) if units and _is_inexact(shape)}

    def _loop(self, inst: HloInstruction, state: Units) -> Units:
        once = self.computation(inst.called_computations[0], [state])
        grown = {leaf: u + _LOOP_GROWTH * max(u - state.get(leaf, 0.0), 0.0) for leaf, u in once.items()}
        # what one element of the state hands to another arrives an iteration later
        return _worst([state, grown, self.computation(inst.called_computations[0], [_worst([state, grown])])])


def _worst(candidates: Sequence[Units]) -> Units:
    found = {leaf for units in candidates for leaf in units}
    return {leaf: max(units.get(leaf, 0.0) for units in candidates) for leaf in found}


def _computed(inst: HloInstruction, operands: Sequence[Units]) -> Units:
    units = max((u for operand in operands for u in operand.values()), default=0.0) + own_units(inst)
    if not units:
        return {}
    return {leaf: units for leaf, shape in leaves(inst.shape) if _is_inexact(shape)}
