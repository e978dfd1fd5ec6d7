"""What does a scan give?"""

from __future__ import annotations

import numpy as np

from hlo.attributes import ScanOptions
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, sealed
from hlo.graph import HloInstruction
from hlo.literal import Value
from hlo.opcode import Opcode
from hlo.shape import ArrayShape, TupleShape


def _scan(inst: HloInstruction, machine: Machine) -> Kernel:
    """The computation on one slice of each input after the other, from the last one where it runs in reverse.

    Whether it is called associative changes nothing here: one after the other is an order that all allow.
    Source: `ScanExpander` upstream.
    """
    options = inst.attributes
    if not isinstance(options, ScanOptions):
        raise TypeError(f"{inst.name} has no scan options")
    function = machine.function(inst.called_computations[0])
    is_tuple = isinstance(inst.shape, TupleShape)
    shapes = inst.shape.elements if isinstance(inst.shape, TupleShape) else (inst.shape,)
    outputs = [
        shape for shape in shapes[: len(shapes) - options.num_carries] if isinstance(shape, ArrayShape)
    ]
    dimension = options.dimension
    size = inst.operand(0).array_shape.dimensions[dimension]
    order = range(size)[:: -1 if options.is_reverse else 1]

    def scan(*operands: Array) -> Value:
        count = len(operands) - options.num_carries
        inputs = [np.moveaxis(x, dimension, 0) for x in operands[:count]]
        carries: tuple[Value, ...] = operands[count:]
        results = [np.empty(shape.dimensions, shape.element_type.numpy) for shape in outputs]
        rows = [np.moveaxis(result, dimension, 0) for result in results]
        for place in order:
            machine.spend_iteration(inst)
            value = function([*[x[place, ...] for x in inputs], *carries])
            values = value if isinstance(value, tuple) else (value,)
            for row, element in zip(rows, values[: len(rows)], strict=True):
                row[place] = element
            carries = values[len(rows) :]
        whole = (*map(sealed, results), *carries)
        return whole if is_tuple else whole[0]

    return scan


RULES: dict[Opcode, Rule] = {Opcode.SCAN: _scan}
