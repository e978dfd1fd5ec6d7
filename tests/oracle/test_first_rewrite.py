"""Is the rewrite named by which a pass of ours changes what a program computes?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from hlo import HloModule, Opcode
from hlo.interchange import read_text
from oracle.first_rewrite import first_bad_rewrite
from oracle.judge import judge
from oracle.verdict import Disagree
from passes import Pass, PassError, Pipeline, Trace

X = np.array([-1, 2, -3, 4], np.int32)
PROGRAM = """HloModule m
ENTRY e {
  x = s32[4] parameter(0)
  a = s32[4] negate(x)
  b = s32[4] negate(a)
  ROOT d = s32[4] add(b, x)
}
"""


@dataclass(frozen=True)
class Replaces(Pass):
    """Renames each negate, or makes it something else: the `wrong`-th, from 1."""

    wrong: int = 0
    tells_first: bool = False
    halfway: bool = False

    name: ClassVar[str] = "replaces"
    rules: ClassVar[tuple[str, ...]] = ("right", "wrong")

    def run(self, module: HloModule, trace: Trace) -> bool:
        negates = [i for i in module.entry_computation.instructions if i.opcode is Opcode.NEGATE]
        for number, inst in enumerate(negates, start=1):
            rule = "wrong" if number == self.wrong else "right"
            if self.tells_first:
                trace.fire(rule)
            opcode = Opcode.ABS if rule == "wrong" else Opcode.NEGATE
            computation, operand = inst.parent, inst.operand(0)
            new = computation.add(opcode, inst.shape, (operand,))
            computation.replace_all_uses_with(inst, new)
            if not self.tells_first:
                trace.fire(rule)
            computation.remove_instruction(inst)
        if self.halfway:
            raise PassError(self.name, "no more")
        return True


def place(**options: bool | int) -> str | None:
    return first_bad_rewrite(Replaces(**options), read_text(PROGRAM), [X])  # pyright: ignore[reportArgumentType]


def test_the_rewrite_before_which_all_was_well_is_named() -> None:
    assert place(wrong=1) == "the values depart between the start and rewrite 1 (wrong)"
    assert place(wrong=2) == "the values depart between rewrite 1 (right) and rewrite 2 (wrong)"


def test_a_rule_that_tells_of_a_rewrite_when_it_begins_is_the_first_of_the_two_named() -> None:
    assert (
        place(wrong=1, tells_first=True)
        == "the values depart between rewrite 1 (wrong) and rewrite 2 (right)"
    )
    assert place(wrong=2, tells_first=True) == "the values depart between rewrite 2 (wrong) and the end"


def test_a_pass_that_keeps_the_values_departs_nowhere() -> None:
    assert place() is None
    assert place(halfway=True) is None


@pytest.mark.parametrize("use_jax", [False, True])
def test_a_finding_says_it(use_jax: bool) -> None:
    verdict = judge(read_text(PROGRAM), Pipeline((Replaces(wrong=2),)), [(X,)], {}, use_jax=use_jax).verdict
    assert isinstance(verdict, Disagree)
    assert "the values depart between rewrite 1 (right) and rewrite 2 (wrong)" in verdict.finding.details
