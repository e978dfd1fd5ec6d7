"""Which opcodes has nobody a rule for? Those that one device alone gives no meaning to, and no others."""

import pytest

from fuzz.generators.graphs import GAPS as NOT_DRAWN
from fuzz.generators.graphs import RULES as DRAWN
from hlo import SPECS, Family, Opcode
from hlo.evaluator import GAPS as NOT_EVALUATED
from hlo.evaluator import RULES as EVALUATED
from hlo.infer import GAPS as NOT_INFERRED
from hlo.infer import RULES as INFERRED
from oracle.reference import GAPS as NOT_REFERENCED
from oracle.reference import RULES as REFERENCED

WITHOUT_A_MEANING = {
    "collectives": {
        *(Opcode.ALL_GATHER, Opcode.ALL_GATHER_START, Opcode.ALL_GATHER_DONE, Opcode.ALL_REDUCE),
        *(Opcode.ALL_REDUCE_START, Opcode.ALL_REDUCE_DONE, Opcode.ALL_TO_ALL, Opcode.RAGGED_ALL_TO_ALL),
        *(Opcode.COLLECTIVE_BROADCAST, Opcode.COLLECTIVE_PERMUTE, Opcode.COLLECTIVE_PERMUTE_START),
        *(Opcode.COLLECTIVE_PERMUTE_DONE, Opcode.COLLECTIVE_REDUCE, Opcode.REDUCE_SCATTER),
        *(Opcode.PARTITION_ID, Opcode.REPLICA_ID),
    },
    "transfers": {
        *(Opcode.INFEED, Opcode.OUTFEED, Opcode.SEND, Opcode.SEND_DONE, Opcode.RECV, Opcode.RECV_DONE),
    },
    "asynchronous": {
        *(Opcode.ASYNC_START, Opcode.ASYNC_UPDATE, Opcode.ASYNC_DONE, Opcode.COPY_START, Opcode.COPY_DONE),
    },
    "random by the device": {Opcode.RNG, Opcode.RNG_GET_AND_UPDATE_STATE},
}
GAPS = set().union(*WITHOUT_A_MEANING.values())
MAPS = {
    "evaluator": (EVALUATED, NOT_EVALUATED),
    "reference": ({*REFERENCED, Opcode.PARAMETER}, NOT_REFERENCED),
    "shapes": (INFERRED, NOT_INFERRED),
    "generators": (DRAWN, NOT_DRAWN),
}


@pytest.mark.parametrize("name", MAPS)
def test_only_what_one_device_gives_no_meaning_to_is_without_a_rule(name: str) -> None:
    rules, gaps = MAPS[name]
    assert set(gaps) == GAPS
    assert set(rules) == set(Opcode) - GAPS
    assert all(reason.strip() for reason in gaps.values())


def test_the_family_of_collectives_has_no_rule_anywhere() -> None:
    random = WITHOUT_A_MEANING["random by the device"]
    assert {opcode for opcode, spec in SPECS.items() if spec.family is Family.COLLECTIVE} == GAPS - random
