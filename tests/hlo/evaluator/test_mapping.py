"""Computations of scalars on whole arrays: at once or one by one, the values are the same."""

from typing import Any

import numpy as np
import pytest

from hlo import HloComputation, HloModule, same_bits
from hlo.evaluator import evaluate, mapping
from hlo.evaluator.kernels import Machine
from hlo.interchange import read_text, write_text

F32 = np.float32
X = np.array([[1.5, -2.0, np.nan], [-0.0, np.inf, 3e-40]], F32)
Y = np.array([[2.0, -2.0, 1.0], [0.0, -np.inf, 7.0]], F32)

BODIES = {
    "one operation": "ROOT r = f32[] multiply(a, b)",
    "a choice": """c = pred[] compare(a, b), direction=GE
      s = f32[] select(c, a, b)
      ROOT r = f32[] clamp(b, s, a)""",
    "constants": """k = f32[] constant(3)
      m = f32[] power(a, k)
      n = f32[] constant(-1)
      p = f32[] add(m, n)
      ROOT r = f32[] exponential(p)""",
    "other types": """i = s32[] convert(a)
      w = f64[] convert(b)
      j = s32[] convert(w)
      q = s32[] divide(i, j)
      t = u32[] bitcast-convert(q)
      v = s32[] bitcast-convert(t)
      h = f32[] convert(v)
      ROOT r = f32[] reduce-precision(h), exponent_bits=5, mantissa_bits=3""",
    "a parameter": "ROOT r = f32[] copy(b)",
    "only a constant": "ROOT r = f32[] constant(4)",
    "a call": "ROOT r = f32[] call(a, b), to_apply=inner",
    "moves of one element": """v = f32[1] reshape(a)
      w = f32[] reshape(v)
      ROOT r = f32[] subtract(w, b)""",
    "a loop": """z = s32[] constant(0)
      t = (f32[], s32[]) tuple(a, z)
      l = (f32[], s32[]) while(t), body=body, condition=condition
      ROOT r = f32[] get-tuple-element(l), index=0""",
}
ONE_BY_ONE = {"moves of one element", "a loop"}


def program(body: str) -> HloModule:
    return read_text(
        f"""HloModule m
        inner {{ p = f32[] parameter(0)
          q = f32[] parameter(1)
          ROOT d = f32[] divide(p, q) }}
        body {{ t = (f32[], s32[]) parameter(0)
          x = f32[] get-tuple-element(t), index=0
          i = s32[] get-tuple-element(t), index=1
          y = f32[] add(x, x)
          k = s32[] constant(1)
          j = s32[] add(i, k)
          ROOT r = (f32[], s32[]) tuple(y, j) }}
        condition {{ t = (f32[], s32[]) parameter(0)
          i = s32[] get-tuple-element(t), index=1
          n = s32[] constant(3)
          ROOT c = pred[] compare(i, n), direction=LT }}
        f {{ a = f32[] parameter(0)
          b = f32[] parameter(1)
          {body} }}
        ENTRY e {{ x = f32[2,3] parameter(0)
          y = f32[2,3] parameter(1)
          ROOT m = f32[2,3] map(x, y), dimensions={{0,1}}, to_apply=f }}"""
    )


@pytest.mark.parametrize("name", BODIES)
def test_on_whole_arrays_it_is_what_it_is_on_each_element(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = evaluate(program(BODIES[name]), [X, Y])
    runs: list[str] = []

    def noted(computation: HloComputation, machine: Machine) -> Any:
        runs.append(computation.name)
        return repeated(computation, machine)

    repeated = mapping._repeated
    monkeypatch.setattr(mapping, "_repeated", noted)
    assert same_bits(evaluate(program(BODIES[name]), [X, Y]), at_once)
    assert bool(runs) == (name in ONE_BY_ONE)
    monkeypatch.setattr(mapping, "_lifted", lambda _computation: None)
    assert same_bits(evaluate(program(BODIES[name]), [X, Y]), at_once)
    assert runs


@pytest.mark.parametrize("name", BODIES)
def test_no_element_is_no_work(name: str) -> None:
    module = program(BODIES[name])
    text = write_text(module).replace("f32[2,3]", "f32[0,3]")
    got = evaluate(read_text(text), [X[:0], Y[:0]])
    assert isinstance(got, np.ndarray)
    assert (got.shape, got.dtype) == ((0, 3), np.float32)


def test_a_map_over_a_scalar_gives_a_scalar(run_text) -> None:
    got = run_text(
        """f { p = f32[] parameter(0)
          ROOT d = f32[] add(p, p) }
        ENTRY e { x = f32[] parameter(0)
          ROOT m = f32[] map(x), dimensions={}, to_apply=f }""",
        np.array(2, F32),
    )
    assert got.item() == 4
