"""Does the evaluator answer for every opcode, and is every answer a whole one?"""

import pytest

from hlo import SPECS, Opcode
from hlo.evaluator import GAPS, RULES


def test_every_opcode_has_a_rule_or_a_reason() -> None:
    assert RULES.keys() | GAPS.keys() == set(Opcode)
    assert not RULES.keys() & GAPS.keys()
    assert all(reason.strip() for reason in GAPS.values())


ROOMS = {
    "elementwise": {"elementwise", "mapping"},
    "indexing": {"indexing", "gather_scatter"},
    "reduction": {"reduction", "windows", "scan", "sort"},
    "contraction": {"contraction", "convolution", "grouped_dots"},
    "linalg": {"linalg", "batch_norm"},
    "control": {"control", "random_bits"},
}


@pytest.mark.parametrize("family", sorted({spec.family for opcode, spec in SPECS.items() if opcode in RULES}))
def test_a_rule_lives_in_a_module_of_its_family(family: str) -> None:
    modules = {
        RULES[opcode].__module__
        for opcode, spec in SPECS.items()
        if spec.family == family and opcode in RULES
    }
    assert modules <= {f"hlo.evaluator.{room}" for room in ROOMS.get(family, {family})}
