"""How is a program run whose arrays may have sizes that are known at run time only?

A program that works on such arrays means what it means on arrays cut to their sizes (`oracle.true_size`). One that
only has the bridges between them and static arrays runs as it is, but twice: what lies in the padding is up to
whoever fills it, so nothing of it may show. And any other program runs as ever.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from hlo import (
    ArrayShape,
    HloInstruction,
    HloModule,
    Opcode,
    PrimitiveType,
    UnsupportedOpcode,
    Value,
)
from hlo.evaluator import (
    PAD_TO_STATIC,
    EvaluationLimit,
    Evaluator,
    Fill,
    Observer,
    SizeOutOfBounds,
    asks_for_sizes,
    zeros,
)
from oracle.true_size import Sized, Specialised, Specialiser, Tree, UndefinedSizes, has_meaning, specialise

Array = np.ndarray[Any, np.dtype[Any]]

UNABLE = (UnsupportedOpcode, EvaluationLimit, UndefinedSizes, SizeOutOfBounds)
"""What is raised where there is no value for a program."""


class Form(Enum):
    """How a program can be run."""

    STATIC = "no dynamic dimension"
    BRIDGED = "dynamic dimensions only where arrays are handed on or made static"
    DYNAMIC = "works on arrays whose size is known at run time only"


def form_of(module: HloModule) -> Form:
    """How `module` can be run. A size that is set in a shape without dynamic dimensions counts as its bound."""
    if module.dynamic_parameter_binding:
        return Form.DYNAMIC
    found = Form.STATIC
    for computation in module.computations:
        for inst in computation.instructions:
            is_dynamic = asks_for_sizes(inst) or has_meaning(inst)
            if not inst.shape.is_static:
                is_dynamic |= inst.opcode in _SETS_SIZES
                found = Form.BRIDGED
            if is_dynamic:
                return Form.DYNAMIC
            if _pads(inst):
                found = Form.BRIDGED
    return found


_SETS_SIZES = frozenset({Opcode.DYNAMIC_RESHAPE, Opcode.SET_DIMENSION_SIZE})


def _pads(inst: HloInstruction) -> bool:
    return inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target == PAD_TO_STATIC


@lru_cache(maxsize=1024)
def extremes(shape: ArrayShape) -> Array:
    """NaNs; of integers the greatest and the least in turn; of predicates both. Read-only."""
    kind = shape.element_type
    flat = np.empty(shape.element_count, kind.numpy)
    if kind.is_float or kind.is_complex:
        flat[:] = np.nan
    elif kind is PrimitiveType.PRED:
        flat[0::2], flat[1::2] = True, False
    else:
        limits = ml_dtypes.iinfo(kind.numpy)
        flat[0::2], flat[1::2] = limits.max, limits.min
    return _read_only(flat.reshape(shape.dimensions))


@lru_cache(maxsize=1024)
def random_numbers(shape: ArrayShape) -> Array:
    """Small whole numbers, always the same for a shape. Read-only."""
    rng = np.random.default_rng(zlib.crc32(str(shape).encode()))
    kind = shape.element_type
    if kind is PrimitiveType.PRED:
        return _read_only(rng.integers(0, 2, shape.dimensions).astype(np.bool_))
    low = 0 if kind.is_unsigned or kind.bit_width < 8 else -_SMALL
    high = _SMALL if kind.bit_width >= 8 else 1
    return _read_only(rng.integers(low, high + 1, shape.dimensions).astype(kind.numpy))


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


_SMALL = 9

POISONS: Sequence[Fill] = (extremes, random_numbers)
"""What is put into padding, one after the other."""


class Runner:
    """Runs one module any number of times; it must be clean to the verifier, and not change meanwhile.

    `observer` is told of each instruction of a module that the evaluator runs, under each filling.
    """

    def __init__(self, module: HloModule, observer: Observer | None = None) -> None:
        self._module = module
        self.form = form_of(module)
        self._specialiser: Specialiser | None = None
        self._fill: Fill = zeros
        self._has_filled = False
        self._evaluator = Evaluator(module, observer=observer, fill=self._filled)
        self._fills: Sequence[Fill] = POISONS if _has_padding(module) else (zeros,)

    def _filled(self, shape: ArrayShape) -> Array:
        self._has_filled = True
        return self._fill(shape)

    def _fillings(self) -> Iterator[None]:
        """One after the other; the first alone, where the run that it is for has nothing to fill."""
        for fill in self._fills:
            self._fill, self._has_filled = fill, False
            yield
            if not self._has_filled:
                return

    def readings(self, inputs: Sequence[Value]) -> list[Value]:
        """What the module gives under each filling of the padding: one value where there is none for these inputs.

        A dynamic array's value is as large as the array is. Raises InvalidInput for inputs that do not fit, and what
        UNABLE has.
        """
        if self.form is Form.DYNAMIC:
            return [run.value for run in self.specialised(inputs)]
        return [self._evaluator.run(inputs) for _ in self._fillings()]

    def specialised(self, inputs: Sequence[Value]) -> list[Specialised]:
        """The static programs that the module is for these inputs, one for each filling. Raises as `readings` does."""
        if self._specialiser is None:
            self._specialiser = Specialiser(self._module)
        return [self._specialiser(inputs, fill=self._filled) for _ in self._fillings()]

    def run(self, inputs: Sequence[Value]) -> Value:
        """The first of `readings`."""
        return self.readings(inputs)[0]


def _has_padding(module: HloModule) -> bool:
    return any(_pads(inst) for computation in module.computations for inst in computation.instructions)


def evaluated(module: HloModule, inputs: Sequence[Value]) -> Value:
    """What `module` gives for one input set. Raises as `Runner.readings` does."""
    return Runner(module).run(inputs)


def static_program(module: HloModule, inputs: Sequence[Value]) -> HloModule:
    """A program without dynamic dimensions that does what `module` does with `inputs`: mostly `module` itself.

    Takes the same inputs. For engines that know nothing of dynamic dimensions. Raises as `Runner.readings` does.
    """
    if form_of(module) is Form.STATIC:
        return module
    return specialise(module, inputs, fill=POISONS[0]).module


def instruction_values(module: HloModule, inputs: Sequence[Value]) -> Mapping[HloInstruction, Value]:
    """The value that each instruction has when it first runs, for as far as the program can be run.

    Of what specialisation takes over whole, only of the outermost. Raises InvalidInput for inputs that do not fit.
    """
    seen: dict[HloInstruction, Value] = {}
    if form_of(module) is not Form.DYNAMIC:

        def note(inst: HloInstruction, _: Sequence[Value], value: Value) -> None:
            seen.setdefault(inst, value)

        with contextlib.suppress(*UNABLE):  # what ran before is seen
            Evaluator(module, observer=note).run(inputs)
        return seen
    trees: dict[HloInstruction, Tree] = {}

    def watch(inst: HloInstruction, tree: Tree) -> None:
        trees.setdefault(inst, tree)

    try:
        static = specialise(module, inputs, watch=watch).module
    except UNABLE:
        return seen
    parts: dict[HloInstruction, Value] = {}

    def take(inst: HloInstruction, _: Sequence[Value], value: Value) -> None:
        parts.setdefault(inst, value)

    Evaluator(static, observer=take).run(inputs)
    return {inst: _value_of(tree, parts) for inst, tree in trees.items()}


def _value_of(tree: Tree, parts: Mapping[HloInstruction, Value]) -> Value:
    if isinstance(tree, tuple):
        return tuple(_value_of(element, parts) for element in tree)
    value = parts[tree.inst]
    if isinstance(tree, Sized):
        assert isinstance(value, np.ndarray)
        return np.asarray(value[tuple(map(slice, tree.sizes))])
    return value
