"""Passes made up for the purpose: some move a result by rounding, some are wrong, and the judge tells which."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from hlo import HloModule, Opcode
from hlo.interchange import read_text
from oracle.judge import judge
from oracle.verdict import Agree, Disagree, Judgement
from passes import Exactness, Pass, Pipeline, Trace


@dataclass(frozen=True)
class ByReciprocal(Pass):
    """Multiplies by the reciprocal of what a constant divides by, or of another number."""

    off: int = 0
    name: ClassVar[str] = "by-reciprocal"
    promise: ClassVar[Exactness] = Exactness.REASSOCIATES
    idempotent: ClassVar[bool] = False

    def run(self, module: HloModule, trace: Trace) -> bool:
        entry = module.entry_computation
        found = [inst for inst in entry.instructions if inst.opcode is Opcode.DIVIDE]
        for inst in found:
            value = inst.operand(1).literal.value
            assert isinstance(value, np.ndarray)
            constant = entry.add_constant((1 / (value + self.off)).astype(value.dtype))
            product = entry.add(Opcode.MULTIPLY, inst.shape, [inst.operand(0), constant])
            entry.replace_instruction(inst, product)
        return bool(found)


class Promised(ByReciprocal):
    """The same, and promises every bit."""

    name = "promised"
    promise = Exactness.BITWISE


class OnlyWrongInF32(ByReciprocal):
    """Does nothing to other types, so that nothing is to be seen with them."""

    name = "only-wrong-in-f32"

    def run(self, module: HloModule, trace: Trace) -> bool:
        return "f32" in str(module.entry_computation.root.shape) and super().run(module, trace)


class OtherwiseInOtherTypes(ByReciprocal):
    """Leaves the division in other types and does something harmless there."""

    name = "otherwise-in-other-types"

    def run(self, module: HloModule, trace: Trace) -> bool:
        entry = module.entry_computation
        if "f32" in str(entry.root.shape):
            return super().run(module, trace)
        (division,) = [inst for inst in entry.instructions if inst.opcode is Opcode.DIVIDE]
        once = entry.add(Opcode.NEGATE, division.shape, [division.operand(0)])
        twice = entry.add(Opcode.NEGATE, division.shape, [once])
        quotient = entry.add(Opcode.DIVIDE, division.shape, [twice, division.operand(1)])
        entry.replace_instruction(division, quotient)
        return True


def judged(pass_: Pass, kind: str = "f32", after: str = "q", x: float = 5.0) -> Judgement:
    module = read_text(f"""HloModule m
ENTRY main {{
  x = {kind}[2] parameter(0)
  six = {kind}[2] constant({{6, 6}})
  q = {kind}[2] divide(x, six)
  truth = {kind}[2] constant({{0.8333333333333334, 0.8333333333333334}})
  difference = {kind}[2] subtract(q, truth)
  ROOT result = ({kind}[2]) tuple({after})
}}""")
    numbers = module.entry_computation.parameters[0].array_shape.element_type.numpy
    return judge(module, Pipeline((pass_,)), [(np.full(2, x, numbers),)], {}, use_jax=False)


@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
@pytest.mark.parametrize("after", ["q", "difference"])
def test_what_shrinks_with_the_precision_is_rounding_even_where_terms_cancel(kind: str, after: str) -> None:
    assert judged(ByReciprocal(), kind, after).verdict == Agree()


def test_rounding_past_its_estimate_is_remarked() -> None:
    judgement = judged(ByReciprocal())
    assert [line.partition(":")[0] for line in judgement.messages] == [
        "by-reciprocal moved a result by rounding"
    ]


@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
@pytest.mark.parametrize("pass_", [ByReciprocal(off=1), Promised()])
def test_a_wrong_result_stays_wrong_and_a_promise_of_bits_is_held(kind: str, pass_: Pass) -> None:
    assert isinstance(judged(pass_, kind).verdict, Disagree)


@pytest.mark.parametrize("pass_", [OnlyWrongInF32(off=1), OtherwiseInOtherTypes(off=1)])
def test_what_a_pass_does_in_one_type_only_is_looked_at_as_it_is(pass_: Pass) -> None:
    assert isinstance(judged(pass_).verdict, Disagree)


def test_integers_made_of_wrong_floats_are_wrong() -> None:
    module = read_text("""HloModule m
ENTRY main {
  x = s32[] parameter(0)
  y = f32[] convert(x)
  six = f32[] constant(6)
  q = f32[] divide(y, six)
  ROOT z = s32[] convert(q)
}""")
    wrong = judge(module, Pipeline((ByReciprocal(off=-1),)), [(np.array(10, np.int32),)], {}, use_jax=False)
    assert isinstance(wrong.verdict, Disagree)
