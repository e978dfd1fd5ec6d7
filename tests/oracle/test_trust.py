"""When is an opcode trusted? And how is a program cut into operations?"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from hlo import HloModule, Opcode
from hlo.evaluator import GAPS, RULES, evaluate
from hlo.interchange import read_text
from hlo.verify import verify
from oracle import trust
from oracle.engine import Lineage, Outcome, Ran, Unsupported
from oracle.inputs import draw_inputs
from oracle.single_ops import SingleOp, single_ops
from oracle.trust import CASES, DISSENT, UNCONFIRMED, Trust, measure, read_trust, rows, written

PROGRAM = read_text("""HloModule m
plus {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b)
}
twice {
  x = s32[4] parameter(0)
  ROOT y = s32[4] add(x, x)
}
ENTRY main {
  x = s32[4] parameter(0)
  zero = s32[] constant(0)
  c = s32[4] call(x), to_apply=twice
  r = s32[] reduce(c, zero), dimensions={0}, to_apply=plus
  ROOT t = (s32[], s32[4]) tuple(r, c)
}
""")
ONE = [SingleOp(Opcode.ADD, PROGRAM, (np.arange(4, dtype=np.int32),))]


class Made:
    """An engine that gives one number, or is silent."""

    def __init__(self, name: str, lineage: Lineage, number: int | None) -> None:
        self.name, self.lineage, self.number = name, lineage, number

    def run(self, module: HloModule, inputs) -> Outcome:
        return Unsupported("no") if self.number is None else Ran(np.array(self.number))


def measured(cases: int, xla: int | None, stablehlo: int | None, jax: int | None = None) -> Trust:
    engines = [
        Made("ours", Lineage.OURS, 1),
        Made("xla", Lineage.XLA, xla),
        Made("jax", Lineage.XLA, jax),
        Made("interpreter", Lineage.STABLEHLO, stablehlo),
    ]
    return measure(ONE * cases, engines)[Opcode.ADD]


def test_two_lineages_on_enough_cases_make_trust() -> None:
    assert measured(CASES, xla=1, stablehlo=1).is_trusted
    assert measured(CASES, xla=2, stablehlo=1, jax=1).is_trusted  # the one engine of XLA's has a bug
    assert not measured(CASES - 1, xla=1, stablehlo=1).is_trusted


def test_one_lineage_makes_no_trust() -> None:
    row = measured(CASES, xla=1, stablehlo=None, jax=1)
    assert not row.is_trusted
    assert row.reason == f"confirmed by {Lineage.XLA.value}, on {CASES} cases"


def test_an_opcode_on_which_two_lineages_agree_against_ours_is_not_trusted() -> None:
    row = measured(CASES, xla=2, stablehlo=2)
    assert not row.is_trusted
    assert row.reason == f"outvoted on {CASES} of {CASES} cases"
    assert measured(CASES, xla=2, stablehlo=3).outvoted == 0
    confirmed = measured(CASES, xla=1, stablehlo=1)
    assert not replace(confirmed, outvoted=1).is_trusted


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "trust.toml"
    table = {Opcode.ADD: measured(CASES, 1, 1), Opcode.CLZ: measured(1, 2, None)}
    path.write_text(written(table, header="two\nlines"))
    assert read_trust(path) == table


def test_every_opcode_has_a_row() -> None:
    assert [row[0] for row in rows()] == [opcode.value for opcode in Opcode]
    trusted = {name for name, word, _ in rows() if word == "trusted"}
    assert {
        "add",
        "dynamic-slice",
        "dynamic-update-slice",
        "slice",
        "concatenate",
        "reshape",
        "while",
    } <= trusted
    assert all(reason for _, _, reason in rows())
    assert trust.TABLE.is_file()


def test_an_opcode_with_a_rule_is_trusted_or_has_a_reason() -> None:
    words = {Opcode(name): word for name, word, _ in rows()}
    unconfirmed = {opcode for opcode in RULES if words[opcode] != "trusted"}
    # of those that a newer jaxlib brought, whoever measures with an older one has no cases
    assert unconfirmed == UNCONFIRMED.keys()
    assert not {opcode for opcode in GAPS if words[opcode] == "trusted"}


def test_whoever_differs_on_an_opcode_has_a_reason() -> None:
    measured = read_trust()
    assert {opcode for opcode, row in measured.items() if row.differ} <= DISSENT.keys()
    reasons = {Opcode(name): reason for name, _, reason in rows()}
    assert all(DISSENT[opcode] in reasons[opcode] for opcode in DISSENT)
    assert all(UNCONFIRMED[opcode] in reasons[opcode] for opcode in UNCONFIRMED)
    assert all(GAPS[opcode] in reasons[opcode] for opcode in GAPS)


def test_each_operation_of_a_program_becomes_a_program() -> None:
    (inputs,) = draw_inputs(PROGRAM, 0, 1)
    cases = single_ops(PROGRAM, inputs, lambda inst: True)
    assert [case.opcode for case in cases].count(Opcode.CALL) == 1
    assert {Opcode.CONSTANT, Opcode.CALL, Opcode.ADD, Opcode.REDUCE, Opcode.TUPLE} == {
        c.opcode for c in cases
    }
    for case in cases:
        assert verify(case.module) == []
        assert case.module.entry_computation.root.opcode is case.opcode
    reduced = next(case for case in cases if case.opcode is Opcode.REDUCE)
    assert evaluate(reduced.module, reduced.inputs) == 2 * sum(np.asarray(inputs[0]).tolist())


def test_only_what_is_wanted_is_taken() -> None:
    (inputs,) = draw_inputs(PROGRAM, 0, 1)
    cases = single_ops(PROGRAM, inputs, lambda inst: inst.opcode is Opcode.REDUCE)
    assert [case.opcode for case in cases] == [Opcode.REDUCE]
