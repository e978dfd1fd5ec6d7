import sys

import jax
import numpy as np
import pytest

from fuzz.calling import pack_arguments
from fuzz.targets import load_target
from hlo import HloModule, InvalidInput, Opcode, same_bits
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from hlo.verify import verify
from oracle.inputs import draw_inputs

PROGRAM = """
import jax, jax.numpy as jnp

@jax.jit
def inner(x, y):
    return x * y + x

def step(x, y):
    return inner(x, y) - inner(y, x)

def step_example_args():
    return jax.ShapeDtypeStruct((3,), jnp.float32), jnp.ones((3,), jnp.float32)

def list_of(x):
    return x

def list_of_example_args():
    return [1.0]
"""


@pytest.fixture
def program(tmp_path, monkeypatch) -> str:
    (tmp_path / "a_program.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "a_program", raising=False)
    return "a_program"


def test_a_jax_function_is_traced_with_its_companions_arguments(program) -> None:
    target = load_target(f"{program}:step")
    assert entry_types(target.hlo) == ["f32[3]", "f32[3]"]


def entry_types(module: HloModule) -> list[str]:
    return [str(parameter.shape) for parameter in module.entry_computation.parameters]


WIDE = """
import jax, jax.numpy as jnp
SWITCH

def f(x):
    return x + jnp.arange(3)

def f_example_args():
    return (jnp.arange(3),)
"""


@pytest.mark.parametrize(
    ("switch", "kind"), [("", "s32[3]"), ('jax.config.update("jax_enable_x64", True)', "s64[3]")]
)
def test_a_program_has_64_bits_only_where_it_turns_them_on(
    tmp_path, monkeypatch, switch: str, kind: str
) -> None:
    (tmp_path / "wide.py").write_text(WIDE.replace("SWITCH", switch))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wide", raising=False)
    before = jax.config.values["jax_enable_x64"]
    assert entry_types(load_target("wide:f").hlo) == [kind]
    assert jax.config.values["jax_enable_x64"] == before


def test_the_arguments_of_a_call_become_one_tuple(program) -> None:
    packed = load_target(f"{program}:step")
    apart = load_target(f"{program}:step", pack=False)
    assert (bool(packed.packed), apart.packed) == (True, 0)
    assert not verify(packed.hlo)
    calls = [inst for inst in packed.hlo.entry_computation.instructions if inst.opcode is Opcode.CALL]
    assert [call.operand(0).opcode for call in calls] == [Opcode.TUPLE] * 2
    for inputs in draw_inputs(apart.hlo, 0, 2):
        assert same_bits(evaluate(packed.hlo, inputs), evaluate(apart.hlo, inputs))


def test_a_computation_that_a_loop_uses_keeps_its_parameters() -> None:
    text = """HloModule m
f { a = s32[] parameter(0)
 b = s32[] parameter(1)
 ROOT r = s32[] add(a, b) }
ENTRY main { x = s32[4] parameter(0)
 z = s32[] constant(0)
 r = s32[] reduce(x, z), dimensions={0}, to_apply=f
 ROOT c = s32[] call(r, z), to_apply=f }
"""
    module = read_text(text)
    assert pack_arguments(module) == 0
    assert evaluate(module, [np.arange(4, dtype=np.int32)]) == 6


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("stpe", "a_program has no function stpe; did you mean step?"),
        ("inner", "a_program has no function inner_example_args, which returns the arguments to trace"),
        ("list_of", r"list_of_example_args\(\) returns no tuple of arguments"),
    ],
)
def test_a_function_that_cannot_be_used_is_named(program, function: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        load_target(f"{program}:{function}")


def test_an_error_of_the_users_program_comes_through(tmp_path, monkeypatch) -> None:
    (tmp_path / "b_program.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ZeroDivisionError):
        load_target("b_program:f")
