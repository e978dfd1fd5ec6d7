"""Which opcodes has the reference no rule for, and why?"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hlo import SPECS, Family, Opcode

_PEERS = "takes more than one device, or a partner outside of the module"
_RANDOM = "random: no definite value to compare"

_RANDOM_OPCODES = (Opcode.RNG, Opcode.RNG_GET_AND_UPDATE_STATE)

GAPS: Mapping[Opcode, str] = MappingProxyType(
    {opcode: _PEERS for opcode, spec in SPECS.items() if spec.family is Family.COLLECTIVE}
    | dict.fromkeys(_RANDOM_OPCODES, _RANDOM)
)
"""Opcode and reason. `RULES` has all others but PARAMETER, which the walker binds."""
