"""What is said in other words before StableHLO's interpreter sees it?"""

import numpy as np
import pytest

from hlo import same_bits
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from oracle.engine import Ran, Unsupported
from oracle.engines import StableHloInterpreter

INTERPRETER = StableHloInterpreter()

MAPPED = {
    "arithmetic of both operands with a constant": """
 k = f32[] constant(3)
 c = f32[] add(a, k)
 p = pred[] compare(a, b), direction=LT
 s = f32[] select(p, c, b)
 ROOT r = f32[] multiply(s, b)""",
    "an operand as it is": "\n ROOT r = f32[] parameter(1)",
    "a constant": "\n ROOT r = f32[] constant(7)",
}


@pytest.mark.parametrize("body", MAPPED)
def test_a_map_is_what_it_applies_to_each_element(body):
    second = "" if "parameter(1)" in MAPPED[body] else " b = f32[] parameter(1)"
    module = read_text(
        f"HloModule m\nf {{ a = f32[] parameter(0)\n{second}{MAPPED[body]} }}\n"
        "ENTRY e { a = f32[2,2] parameter(0)\n b = f32[2,2] parameter(1)\n"
        " ROOT m = f32[2,2] map(a, b), dimensions={0,1}, to_apply=f }"
    )
    inputs = np.arange(4, dtype=np.float32).reshape(2, 2), np.full((2, 2), 2, np.float32)
    outcome = INTERPRETER.run(module, inputs)
    assert isinstance(outcome, Ran)
    assert same_bits(outcome.value, evaluate(module, inputs))


def test_a_map_that_calls_is_not_taken():
    module = read_text("""HloModule m
g { a = f32[] parameter(0)
 ROOT r = f32[] negate(a) }
f { a = f32[] parameter(0)
 z = s32[] constant(0)
 ROOT r = f32[] conditional(z, a, a), branch_computations={g, g} }
ENTRY e { a = f32[2] parameter(0)
 ROOT m = f32[2] map(a), dimensions={0}, to_apply=f }""")
    assert isinstance(INTERPRETER.run(module, [np.ones(2, np.float32)]), Unsupported)


def test_what_stablehlo_has_no_word_for_is_refused_and_nobody_dies():
    module = read_text("""HloModule m
ENTRY e { a = s32[2] parameter(0)
 ROOT h = s32[2] mulhi(a, a) }""")
    outcome = INTERPRETER.run(module, [np.ones(2, np.int32)])
    assert isinstance(outcome, Unsupported)
    assert outcome.reason


def test_a_dependency_on_a_token_hands_its_value_on():
    module = read_text("""HloModule m
ENTRY e { a = f32[2] parameter(0)
 t = token[] after-all()
 ROOT d = f32[2] add-dependency(a, t) }""")
    outcome = INTERPRETER.run(module, [np.ones(2, np.float32)])
    assert isinstance(outcome, Ran)
    assert same_bits(outcome.value, np.ones(2, np.float32))
