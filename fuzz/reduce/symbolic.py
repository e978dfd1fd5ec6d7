"""How does a failing case with unknown sizes get small?

The search is that of `fuzz.reduce.driver`; the edits are made on MLIR's own module. A value that takes the place of an
operation is one of its operands, or a new parameter, whose inputs are what the operation gave: so all sizes stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from fuzz.case import SymbolicCase, fits_type
from fuzz.reduce.cost import changed_options, digits, working_instructions
from fuzz.reduce.driver import Reduction, search
from fuzz.reduce.literals import plainer_inputs
from fuzz.reduce.recipe import default_options, fewer_inputs, fewer_switches, with_passes
from hlo import HloFuzzError, InvalidInput, Value
from hlo.interchange.mlir import run_mlir_passes
from hlo.stablehlo import StableHloModule, dialect, ir, type_of
from oracle.running import evaluated
from oracle.symbolic import Assignment, assignment_of, specialise
from passes.neuron.bound_dynamic_dimensions import inline_calls

Edit = Callable[[], SymbolicCase | None]

_DEEP: Final = 3
_FEW: Final = 8


@dataclass(frozen=True, order=True)
class SymbolicCost:
    """As `fuzz.reduce.cost.Cost`."""

    passes: int
    switches: int
    input_sets: int
    working: int
    values: int
    """Operations and parameters."""
    functions: int
    unknown: int
    """Dimensions of the parameters whose size is unknown, and results."""
    elements: int
    """Of the inputs, and the sum of their sizes."""
    text: int
    digits: int


def symbolic_cost(case: SymbolicCase) -> SymbolicCost:
    """How much there is to understand in a case."""
    operations = list(case.module.operations())
    kinds = case.module.parameters
    arrays = [np.asarray(value) for inputs in case.inputs for value in inputs]
    return SymbolicCost(
        passes=sum(1 + changed_options(pass_) for pass_ in case.pipeline.passes),
        switches=len(case.environment),
        input_sets=len(case.inputs),
        working=working_instructions(case.module),
        values=len(operations) + len(kinds),
        functions=sum(op.name == "func.func" for op in operations),
        unknown=sum(kind.dimensions.count(None) for kind in kinds) + len(case.module.entry.type.results),
        elements=sum(1 + array.size + sum(array.shape) for array in arrays),
        text=len(case.module.text),
        digits=sum(map(digits, arrays)),
    )


def reduce_symbolic(
    case: SymbolicCase, holds: Callable[[SymbolicCase], bool], *, seconds: float = 60.0
) -> Reduction[SymbolicCase]:
    """The simplest case for which `holds`, as `fuzz.reduce.driver.reduce_case` finds it."""
    return search(case, holds, TRANSFORMATIONS, symbolic_cost, _is_sound, seconds=seconds)


def smallest_sizes(
    case: SymbolicCase, holds: Callable[[SymbolicCase], bool], *, seconds: float = 10.0
) -> SymbolicCase:
    """The same program with one input set, of the smallest sizes for which `holds`."""
    return search(case, holds, (fewer_inputs, smaller_sizes), symbolic_cost, _is_sound, seconds=seconds).case


def _is_sound(case: SymbolicCase) -> bool:
    """Whether the edit left a valid program whose inputs fit."""
    if case.module.violations():
        return False
    kinds = case.module.parameters
    if not all(len(inputs) == len(kinds) and all(map(fits_type, inputs, kinds)) for inputs in case.inputs):
        return False
    try:
        for assignment in {assignment_of(case.module, inputs) for inputs in case.inputs}:
            specialise(case.module, assignment)
    except InvalidInput:
        return False
    return True


# --- the recipe ----------------------------------------------------------------------------------------


def fewer_passes(case: SymbolicCase) -> Iterator[Edit]:
    """Only the first passes, or without one of those before the last."""
    passes = case.pipeline.passes
    for count in range(1, len(passes)):
        yield partial(with_passes, case, passes[:count])
    for i in range(len(passes) - 1):
        yield partial(with_passes, case, (*passes[:i], *passes[i + 1 :]))


# --- sizes ---------------------------------------------------------------------------------------------


def smaller_sizes(case: SymbolicCase) -> Iterator[Edit]:
    """All unknown sizes of one number made a smaller one, then one of them alone."""
    for at, inputs in enumerate(case.inputs):
        assignment = assignment_of(case.module, inputs)
        for smaller in _smaller(case.module, assignment):
            yield partial(_with_sizes, case, at, smaller)


def _smaller(program: StableHloModule, assignment: Assignment) -> Iterator[Assignment]:
    slots: list[tuple[bool, int, int, int]] = []
    for number, kind in enumerate(program.parameters):
        axes = (axis for axis, size in enumerate(kind.dimensions) if size is None)
        slots += [(False, number, axis, assignment.sizes[number][axis]) for axis in axes]
    for number, elements in assignment.known:
        slots += [(True, number, place, element) for place, element in enumerate(elements)]
    for size in sorted({slot[3] for slot in slots if slot[3] > 0}, reverse=True):
        group = [slot for slot in slots if slot[3] == size]
        for less in range(size):
            yield _changed(assignment, group, less)
            if len(group) > 1:
                yield from (_changed(assignment, [slot], less) for slot in group)


def _changed(assignment: Assignment, slots: Sequence[tuple[bool, int, int, int]], size: int) -> Assignment:
    sizes = [list(dims) for dims in assignment.sizes]
    known = {number: list(elements) for number, elements in assignment.known}
    for is_known, number, place, _ in slots:
        (known if is_known else sizes)[number][place] = size
    return Assignment(
        tuple(map(tuple, sizes)), tuple((number, tuple(elements)) for number, elements in known.items())
    )


def _with_sizes(case: SymbolicCase, at: int, assignment: Assignment) -> SymbolicCase:
    """The arrays of an input set cut to smaller sizes."""
    known = dict(assignment.known)
    cut: list[Value] = []
    for number, (value, sizes) in enumerate(zip(case.inputs[at], assignment.sizes, strict=True)):
        array = np.asarray(value)
        if number in known:
            array = np.array(known[number]).astype(array.dtype).reshape(array.shape)
        cut.append(np.asarray(array[tuple(map(slice, sizes))]))
    return replace(case, inputs=(*case.inputs[:at], tuple(cut), *case.inputs[at + 1 :]))


# --- the program ---------------------------------------------------------------------------------------


def inlined(case: SymbolicCase) -> Iterator[Edit]:
    """No calls."""

    def edit() -> SymbolicCase | None:
        module = case.module.clone()
        functions = {
            op.attributes["sym_name"].value: op for op in module.operations() if op.name == "func.func"
        }
        with module.mlir.context, ir().Location.unknown():
            done = inline_calls(module.entry.operation, functions)
        return _tidied(case, module) if done else None

    if any(op.name == "func.call" for op in case.module.operations()):
        yield edit


def fewer_results(case: SymbolicCase) -> Iterator[Edit]:
    """One result alone, then all but one."""
    count = len(case.module.entry.type.results)
    if count > 1:
        for number in range(count):
            yield partial(_with_results, case, [number])
        for number in range(count):
            yield partial(_with_results, case, [other for other in range(count) if other != number])


def earlier_result(case: SymbolicCase) -> Iterator[Edit]:
    """What some operation gives, in place of all results."""
    for place, op in enumerate(_operations(case.module)):
        if len(op.results) == 1:
            yield partial(_returning, case, place)


def simpler_operations(case: SymbolicCase) -> Iterator[Edit]:
    """An operation replaced by an operand of its type, or by a parameter. The last ones take most with them."""
    operations = _operations(case.module)
    for place in reversed(range(len(operations))):
        op = operations[place]
        if len(op.results) != 1:
            continue
        for path in _like(op):
            yield partial(_by_operand, case, place, path)
        if op.name != "stablehlo.constant":
            yield partial(_by_constant, case, place)
            yield partial(_by_parameter, case, place)


def _like(op: Any) -> Iterator[tuple[int, ...]]:
    """The values of the type of `op` that it is made of, near ones last: each as the numbers of operands on the way."""
    found: list[tuple[int, ...]] = []
    waiting: list[tuple[Any, tuple[int, ...]]] = [(op, ())]
    for maker, path in waiting:
        for number, operand in enumerate(maker.operands):
            if operand.type == op.results[0].type:
                found.append((*path, number))
            if len(path) < _DEEP and not hasattr(operand.owner, "operations"):
                waiting.append((operand.owner, (*path, number)))
    return reversed(found)


def fewer_parameters(case: SymbolicCase) -> Iterator[Edit]:
    """Without the parameters that nothing uses; few integers of known size as a constant."""
    unused = [
        i for i, argument in enumerate(_body(case.module).arguments) if not any(True for _ in argument.uses)
    ]
    for number in unused:
        yield partial(_without_parameter, case, number)
    if len(case.inputs) == 1:
        for number, (kind, value) in enumerate(zip(case.module.parameters, case.inputs[0], strict=True)):
            array = np.asarray(value)
            if kind.is_static and array.size <= _FEW and array.dtype.kind in "iu":
                yield partial(_as_constant, case, number, array)


TRANSFORMATIONS: Final[tuple[Callable[[SymbolicCase], Iterator[Edit]], ...]] = (
    fewer_inputs,
    fewer_passes,
    default_options,
    fewer_switches,
    fewer_results,
    inlined,
    earlier_result,
    simpler_operations,
    fewer_parameters,
    smaller_sizes,
    plainer_inputs,
)


def _body(module: StableHloModule) -> Any:
    return next(iter(module.entry.regions[0].blocks))


def _operations(module: StableHloModule) -> list[Any]:
    """The operations of the entry but the last, which returns."""
    return list(_body(module).operations)[:-1]


def _by_operand(case: SymbolicCase, place: int, path: Sequence[int]) -> SymbolicCase:
    module = case.module.clone()
    op = _operations(module)[place]
    value = op.results[0]
    for number in path:
        value = value.owner.operands[number]
    op.results[0].replace_all_uses_with(value)
    return _tidied(case, module)


def _by_constant(case: SymbolicCase, place: int) -> SymbolicCase | None:
    """What the operation gave, where that is little and of known size."""
    values = _given_by(case, place) if len(case.inputs) == 1 else None
    if values is None:
        return None
    module = case.module.clone()
    op, array = _operations(module)[place], np.asarray(values[0])
    if array.size > _FEW or array.dtype.kind not in "iu" or not type_of(op.results[0].type).is_static:
        return None
    with module.mlir.context, ir().Location.unknown(), ir().InsertionPoint(op):
        kind = op.results[0].type.element_type
        attribute = ir().DenseElementsAttr.get(array, type=kind, shape=array.shape)
        op.results[0].replace_all_uses_with(dialect().constant(attribute))
    return _tidied(case, module)


def _by_parameter(case: SymbolicCase, place: int) -> SymbolicCase | None:
    """Inputs for the new parameter are what the operation gave."""
    values = _given_by(case, place)
    if values is None:
        return None
    module = case.module.clone()
    op, body = _operations(module)[place], _body(module)
    with module.mlir.context, ir().Location.unknown():
        argument = body.add_argument(op.results[0].type, ir().Location.unknown())
    op.results[0].replace_all_uses_with(argument)
    inputs = tuple((*one_set, value) for one_set, value in zip(case.inputs, values, strict=True))
    return _tidied(replace(case, inputs=inputs), module)


def _given_by(case: SymbolicCase, place: int) -> list[Value] | None:
    """What an operation gives for each input set; None where that cannot be run."""
    alone = _returning(case, place).module
    try:
        return [evaluated(specialise(alone, assignment_of(alone, inputs)), inputs) for inputs in case.inputs]
    except HloFuzzError:
        return None


def _returning(case: SymbolicCase, place: int) -> SymbolicCase:
    module = case.module.clone()
    _return(module, [_operations(module)[place].results[0]])
    return _tidied(case, module)


def _with_results(case: SymbolicCase, kept: Sequence[int]) -> SymbolicCase:
    module = case.module.clone()
    given = list(list(_body(module).operations)[-1].operands)
    _return(module, [given[number] for number in kept])
    return _tidied(case, module)


def _return(module: StableHloModule, values: Sequence[Any]) -> None:
    body = _body(module)
    old = list(body.operations)[-1]
    with module.mlir.context, ir().Location.unknown(), ir().InsertionPoint(body):
        old.operation.erase()
        ir().Operation.create("func.return", operands=list(values))


def _without_parameter(case: SymbolicCase, number: int) -> SymbolicCase:
    module = case.module.clone()
    _body(module).erase_argument(number)
    inputs = tuple((*one_set[:number], *one_set[number + 1 :]) for one_set in case.inputs)
    return _tidied(replace(case, inputs=inputs), module)


def _as_constant(case: SymbolicCase, number: int, array: np.ndarray) -> SymbolicCase:
    module = case.module.clone()
    body = _body(module)
    argument = body.arguments[number]
    with module.mlir.context, ir().Location.unknown(), ir().InsertionPoint.at_block_begin(body):
        attribute = ir().DenseElementsAttr.get(array, type=argument.type.element_type, shape=array.shape)
        argument.replace_all_uses_with(dialect().constant(attribute))
    return _without_parameter(replace(case, module=module), number)


def _tidied(case: SymbolicCase, module: StableHloModule) -> SymbolicCase:
    """Without dead operations and functions, and with the type of the entry as it is now."""
    body = _body(module)
    for op in reversed(_operations(module)):
        if not any(True for result in op.results for _ in result.uses):
            op.operation.erase()
    returned = list(body.operations)[-1]
    entry = module.entry
    with module.mlir.context:
        kind = ir().FunctionType.get(
            [argument.type for argument in body.arguments], [value.type for value in returned.operands]
        )
        entry.attributes["function_type"] = ir().TypeAttr.get(kind)
    for name in ("arg_attrs", "res_attrs"):
        if name in entry.attributes:
            del entry.attributes[name]
    run_mlir_passes(module.mlir, "builtin.module(symbol-dce)")
    return replace(case, module=module)
