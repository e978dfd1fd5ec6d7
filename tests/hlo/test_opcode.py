"""Does the one table of opcodes have a row for each opcode, and each opcode that the installed XLA has?"""

import pytest

from hlo import SPECS, Opcode, merged
from hlo.attributes import Attributes
from hlo.interchange import bridge
from hlo.interchange.records import RECORDS

# Opcodes that a newer jaxlib than the oldest we support has: reading one raises UnsupportedOpcode.
NEWER = {
    "collective-reduce": "jaxlib 0.12",
    "exp2": "jaxlib 0.12",
    "log2": "jaxlib 0.12",
    "shuffle": "jaxlib 0.12",
}


def test_every_opcode_has_a_row() -> None:
    assert SPECS.keys() == set(Opcode)


def test_the_table_is_the_list_of_the_installed_jaxlib() -> None:
    assert set(bridge.installed_opcodes()) - NEWER.keys() == set(Opcode)


def test_newer_opcodes_leave_the_list_when_they_enter_the_table() -> None:
    assert not NEWER.keys() & set(Opcode)


def test_every_kind_of_attributes_is_used_and_has_its_fields_in_the_proto() -> None:
    assert RECORDS.keys() == set(Attributes.__args__) == {spec.attributes for spec in SPECS.values()}


def test_an_elementwise_row_fixes_its_arity() -> None:
    for opcode, spec in SPECS.items():
        if spec.family == "elementwise" and spec.called == 0:
            assert spec.arity in (1, 2, 3), opcode


def test_two_families_cannot_answer_for_one_opcode() -> None:
    assert merged({Opcode.ADD: 1}, {Opcode.ABS: 2}) == {Opcode.ADD: 1, Opcode.ABS: 2}
    with pytest.raises(ValueError, match="add"):
        merged({Opcode.ADD: 1}, {Opcode.ADD: 2})
