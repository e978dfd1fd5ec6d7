"""How is a computation of scalars applied to whole arrays, element by element?"""

from __future__ import annotations

import numpy as np

from hlo.evaluator.kernels import Array, Kernel, Machine, sealed
from hlo.graph import HloInstruction


def map_rule(inst: HloInstruction, machine: Machine) -> Kernel:
    """`map`: the callee on the elements at each index."""
    function = machine.function(inst.called_computations[0])
    shape = inst.array_shape

    def apply(*operands: Array) -> Array:
        result = np.empty(shape.element_count, shape.element_type.numpy)
        columns = [sealed(operand.reshape(-1)) for operand in operands]
        for i in range(shape.element_count):
            result[i] = function([column[i, ...] for column in columns])
        return sealed(result.reshape(shape.dimensions))

    return apply
