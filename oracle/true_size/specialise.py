"""What does a bounded-dynamic program mean for given inputs? The static program on arrays cut to their sizes.

Source: `stock_passes.md` section 1.4. Sizes may come from parameters, from arithmetic or from data, so the program
is run once, and what ran is written down: a module without dynamic dimensions, which the evaluator, JAX and every
engine can run like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hlo import ArrayShape, HloInstruction, HloModule, InvalidInput, Shape, TupleShape, Value, leaves
from hlo.bound_parameters import materialised
from hlo.bounds import refuse_unbounded
from hlo.evaluator import Fill, Limits, zeros
from oracle.true_size.leaf import Tree, UndefinedSizes, arrays
from oracle.true_size.tracing import Tracer
from oracle.true_size.walker import Layout, Walker, Watch


@dataclass(frozen=True, eq=False, slots=True)
class Specialised:
    """A dynamic program at one input set.

    `module` is static and takes the same inputs; its entry gives `value`, whose arrays are cut to their sizes.
    """

    module: HloModule
    value: Value
    result: Tree


def specialise(
    module: HloModule,
    inputs: Sequence[Value],
    *,
    fill: Fill = zeros,
    watch: Watch | None = None,
    limits: Limits | None = None,
) -> Specialised:
    """Run `module` on `inputs`, one for each parameter, and write down what ran.

    The value of a parameter with dynamic dimensions is an array as large as it is at run time, at most the bounds.
    Sizes that are bound to parameters (`dynamic_parameter_binding`) count as set at the top of the entry, and `watch`
    is then told of the instructions of a copy that says so. `fill` is what PadToStatic leaves beyond the sizes, where
    there is any. Raises InvalidInput for inputs that do not fit and dimensions without a bound, UndefinedSizes and
    SizeOutOfBounds where sizes make no sense, UnsupportedOpcode and EvaluationLimit.
    """
    return Specialiser(module)(inputs, fill=fill, watch=watch, limits=limits)


class Specialiser:
    """`specialise` for any number of input sets of one module, which must not change meanwhile."""

    def __init__(self, module: HloModule) -> None:
        """Raises InvalidInput for dimensions without a bound."""
        refuse_unbounded(module)
        self._module = materialised(module)
        self._layout = Layout()

    def __call__(
        self,
        inputs: Sequence[Value],
        *,
        fill: Fill = zeros,
        watch: Watch | None = None,
        limits: Limits | None = None,
    ) -> Specialised:
        """See `specialise`."""
        entry = self._module.entry_computation
        parameters = entry.parameters
        if len(inputs) != len(parameters):
            raise InvalidInput(f"{len(inputs)} inputs for the {len(parameters)} parameters of {entry.name}")
        for parameter, value in zip(parameters, inputs, strict=True):
            if not fits(value, parameter.shape):
                raise InvalidInput(f"the input for {parameter.name} does not fit {parameter.shape}")
        tracer = Tracer(self._module.name, limits or Limits())
        walker = Walker(tracer, fill, self._layout, watch)
        with np.errstate(all="ignore"):
            arguments = [walker.argument(v, p.shape) for p, v in zip(parameters, inputs, strict=True)]
            result = walker.run(entry, arguments)
            _refuse_unflagged(entry.root, result)
            root = walker.whole(result)
        tracer.builder.computation.set_root(root)
        return Specialised(tracer.module, tracer.value_of(root), result)


def _refuse_unflagged(root: HloInstruction, result: Tree) -> None:
    """Raise UndefinedSizes for an array of the result that is smaller than its type, which does not say that it may."""
    types = [leaf for _, leaf in leaves(root.shape) if isinstance(leaf, ArrayShape)]
    for array, shape in zip(arrays(result), types, strict=True):
        for d, (size, bound) in enumerate(zip(array.sizes, shape.dimensions, strict=True)):
            if size != bound and not shape.is_dynamic_dimension(d):
                raise UndefinedSizes(root, f"its size is {size} in dimension {d} of {shape}, which is static")


def fits(value: Value, shape: Shape) -> bool:
    """Whether `value` can be given for a parameter of `shape`: equal where static, at most the bound elsewhere."""
    if isinstance(shape, TupleShape):
        return (
            isinstance(value, tuple)
            and len(value) == len(shape.elements)
            and all(map(fits, value, shape.elements))
        )
    if not isinstance(shape, ArrayShape):
        return not isinstance(value, tuple | np.ndarray)
    return (
        isinstance(value, np.ndarray)
        and value.dtype == shape.element_type.numpy
        and value.ndim == shape.rank
        and all(
            size <= bound if shape.is_dynamic_dimension(d) else size == bound
            for d, (size, bound) in enumerate(zip(value.shape, shape.dimensions, strict=True))
        )
    )


def is_dynamic(module: HloModule) -> bool:
    """Whether an array anywhere in `module` has a dimension whose size is known at run time only."""
    return bool(module.dynamic_parameter_binding) or any(
        isinstance(leaf, ArrayShape) and not leaf.is_static
        for computation in module.computations
        for inst in computation.instructions
        for _, leaf in leaves(inst.shape)
    )
