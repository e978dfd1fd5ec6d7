"""Does the one table of opcodes have a row for each opcode, and each opcode that the installed XLA has?"""

import numpy as np
import pytest

from hlo import NEWER, SPECS, ArrayShape, HloModule, InvalidInput, Opcode, PrimitiveType, merged
from hlo.attributes import Attributes
from hlo.builder import Builder
from hlo.canonical import structure
from hlo.evaluator import evaluate
from hlo.interchange import export_proto, import_proto, installed_opcodes, read_text
from hlo.interchange.records import RECORDS


def test_every_opcode_has_a_row() -> None:
    assert SPECS.keys() == set(Opcode)


def test_the_table_is_the_list_of_the_installed_jaxlib_but_for_what_came_later() -> None:
    installed = set(installed_opcodes())
    assert installed <= set(Opcode)
    assert set(Opcode) - installed <= NEWER.keys()


def test_an_opcode_that_the_installed_jaxlib_lacks_is_named_with_the_version_that_has_it() -> None:
    missing = sorted(NEWER.keys() - set(installed_opcodes()))
    for opcode in missing or [None]:
        text = f"HloModule m\nENTRY e {{\n x = f32[2] parameter(0)\n ROOT y = f32[2] {opcode or 'frobnicate'}(x)\n}}"
        with pytest.raises(InvalidInput) as raised:
            read_text(text)
        assert "Unknown opcode" in str(raised.value)
        assert ("(in jaxlib 0.12; this is " in str(raised.value)) is (opcode is not None)
        assert "\n" not in str(raised.value)


def test_a_module_with_such_an_opcode_is_built_and_evaluated_all_the_same() -> None:
    module = HloModule("m")
    entry = module.add_computation("e")
    build = Builder(entry)
    x = build.parameter(0, ArrayShape(PrimitiveType.F32, (2,)))
    entry.set_root(build.shuffle(build.op(Opcode.LOG2, build.op(Opcode.EXP2, x)), (0,), (1,)))
    module.set_entry_computation(entry)
    again = import_proto(export_proto(module))
    assert structure(again) == structure(module)
    np.testing.assert_array_equal(evaluate(again, [np.array([3, -1], np.float32)]), [-1, 3])


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
