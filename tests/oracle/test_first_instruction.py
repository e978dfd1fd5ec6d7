"""Is the operation named that an engine computes differently by itself?"""

from collections.abc import Sequence

import numpy as np

from hlo import HloModule, Opcode, Value
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from hlo.verify import verify
from oracle.engine import Lineage, Outcome, Ran, Unsupported
from oracle.first_instruction import first_bad_instruction

X = np.array([1, 2, 3, 4], np.int32)
PROGRAM = """HloModule m
plus {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT s = s32[] add(a, b)
}
ENTRY e {
  x = s32[4] parameter(0)
  zero = s32[] constant(0)
  n = s32[4] negate(x)
  sum = s32[] reduce(n, zero), dimensions={0}, to_apply=plus
  pair = (s32[4], s32[]) tuple(n, sum)
  back = s32[] get-tuple-element(pair), index=1
  ROOT m = s32[] multiply(back, back)
}
"""


class Wrong:
    """Computes what the evaluator does, but for programs that end in a certain operation."""

    name = "wrong"
    lineage = Lineage.XLA

    def __init__(self, *opcodes: Opcode, silent: bool = False) -> None:
        self.opcodes = opcodes
        self.silent = silent
        self.programs: list[HloModule] = []

    def run(self, module: HloModule, inputs: Sequence[Value]) -> Outcome:
        self.programs.append(module)
        assert verify(module) == []
        value = evaluate(module, inputs)
        assert isinstance(value, np.ndarray)
        if module.entry_computation.root.opcode not in self.opcodes:
            return Ran(value)
        return Unsupported("no") if self.silent else Ran(value + 1)


def found(engine: Wrong) -> str | None:
    inst = first_bad_instruction(read_text(PROGRAM), [X], engine)
    return None if inst is None else inst.name


def test_the_first_operation_that_is_wrong_by_itself_is_named() -> None:
    assert found(Wrong(Opcode.REDUCE)) == "sum"
    assert found(Wrong(Opcode.REDUCE, Opcode.NEGATE)) == "n"
    assert found(Wrong(Opcode.MULTIPLY)) == "m"


def test_where_each_is_right_by_itself_none_is_named() -> None:
    assert found(Wrong()) is None
    assert found(Wrong(Opcode.REDUCE, silent=True)) is None


def test_what_is_only_handed_on_is_not_asked() -> None:
    engine = Wrong()
    found(engine)
    roots = [program.entry_computation.root.opcode for program in engine.programs]
    assert roots == [Opcode.NEGATE, Opcode.REDUCE, Opcode.MULTIPLY]
    assert [len(program.computations) for program in engine.programs] == [1, 2, 1]


def test_the_program_itself_stays_as_it_is() -> None:
    module = read_text(PROGRAM)
    count = module.instruction_count
    first_bad_instruction(module, [X], Wrong(Opcode.MULTIPLY))
    assert module.instruction_count == count
    assert module.entry_computation.name == "e"
