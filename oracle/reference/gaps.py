"""Which opcodes has the reference no rule for, and why?"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hlo import SPECS, Family, Opcode

_PEERS = "takes more than one device, or a partner outside of the module"
_SIZES = "sizes known only at run time: such programs are judged on arrays cut to their true sizes"
_RANDOM = "random: no definite value to compare"
_NO_RULE = "no rule yet: neither the slice passes nor the programs they are tried on have it"

_WITHOUT_RULE = (
    *(Opcode.BATCH_NORM_GRAD, Opcode.BATCH_NORM_INFERENCE, Opcode.BATCH_NORM_TRAINING, Opcode.CHOLESKY),
    *(Opcode.CONVOLUTION, Opcode.FFT, Opcode.GATHER, Opcode.RAGGED_DOT, Opcode.REDUCE_PRECISION),
    *(Opcode.REDUCE_WINDOW, Opcode.SCALED_DOT, Opcode.SCAN, Opcode.SCATTER, Opcode.SELECT_AND_SCATTER),
    *(Opcode.SORT, Opcode.TOPK, Opcode.TRIANGULAR_SOLVE),
)
_RANDOM_OPCODES = (
    *(Opcode.RNG, Opcode.RNG_BIT_GENERATOR, Opcode.RNG_GET_AND_UPDATE_STATE, Opcode.STOCHASTIC_CONVERT),
)

GAPS: Mapping[Opcode, str] = MappingProxyType(
    {opcode: _PEERS for opcode, spec in SPECS.items() if spec.family is Family.COLLECTIVE}
    | {opcode: _SIZES for opcode, spec in SPECS.items() if spec.family is Family.DYNAMIC}
    | dict.fromkeys(_RANDOM_OPCODES, _RANDOM)
    | dict.fromkeys(_WITHOUT_RULE, _NO_RULE)
)
"""Opcode and reason. `RULES` has all others but PARAMETER, which the walker binds."""
