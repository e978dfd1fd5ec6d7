"""Public bug reports as programs with inputs and right results, run through the evaluator.

What an evaluator's gap keeps from being judged must be a gap that is declared.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from hlo import Opcode, PrimitiveType, UnsupportedOpcode, Value
from hlo.evaluator import GAPS, evaluate
from hlo.interchange import read_text
from oracle.conform import violation

TYPES = {t.text: t for t in PrimitiveType}
NOT_MODELLED_SIZES = {Opcode.SET_DIMENSION_SIZE, Opcode.DYNAMIC_RESHAPE}


def array(case: dict[str, Any]) -> np.ndarray:
    """An array of a case: its elements as `value`, one for all as `fill`, or i × mul % mod as `mod`."""
    t, shape = TYPES[case["type"]], case["shape"]
    count = math.prod(shape)
    if "fill" in case:
        return np.full(shape, number(case["fill"])).astype(t.numpy)
    if "mod" in case:
        multiplier, modulus = case["mod"]
        return (np.arange(count) * multiplier % modulus).astype(t.numpy).reshape(shape)
    numbers = case["value"] if isinstance(case["value"], list) else [case["value"]]
    if t.is_integral:
        return np.array(numbers, t.numpy).reshape(shape)
    return np.array([number(x) for x in numbers]).astype(t.numpy).reshape(shape)


def number(x: float | str) -> float:
    if isinstance(x, str):
        return float.fromhex(x) if "0x" in x else float(x)
    return x


def test_public_bug_reports_come_out_right(shared_data: Path) -> None:
    judged, undeclared = set[str](), set[str]()
    paths = sorted((shared_data / "bug_cases").glob("*.hlo"))
    for path in paths:
        text = path.read_text(encoding="utf-8")
        line = re.search(r"^// CASE-JSON: (.*)$", text, re.MULTILINE)
        assert line is not None, path.name
        module = read_text(text)
        for run in json.loads(line[1])["runs"]:
            try:
                results = evaluate(module, [array(x) for x in run["inputs"]])
            except UnsupportedOpcode as error:
                undeclared |= {error.opcode} - GAPS.keys() - NOT_MODELLED_SIZES
                break
            judged.add(path.name)
            values: tuple[Value, ...] = results if isinstance(results, tuple) else (results,)
            for got, expected in zip(values, map(array, run["expected"]), strict=True):
                assert isinstance(got, np.ndarray)
                assert not violation("check.expect_close", got, expected), path.name
    assert not undeclared
    assert len(judged) >= 17
