"""Programs of other projects with inputs and right results, run through the evaluator.

`stablehlo_testdata` has its inputs, results and checks in each program; `bug_cases` has them in a comment. What
an evaluator's gap keeps from being judged must be a gap that is declared.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hlo import Opcode, PrimitiveType, UnsupportedOpcode, Value
from hlo.evaluator import GAPS, evaluate
from hlo.interchange import read_stablehlo, read_text

TYPES = {t.text: t for t in PrimitiveType}
NOT_MODELLED_SIZES = {Opcode.SET_DIMENSION_SIZE, Opcode.DYNAMIC_RESHAPE}


def files(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern))
    assert found, f"no {pattern} in {folder}"
    return found


def units_apart(left: np.ndarray, right: np.ndarray) -> int:
    """The greatest distance of two elements, counted in representable numbers; NaN is at NaN."""
    if np.iscomplexobj(left):
        return max(units_apart(part(left).copy(), part(right).copy()) for part in (np.real, np.imag))
    bits = [x.reshape(-1).view(f"i{x.itemsize}").astype(np.int64) for x in (left, right)]
    lowest = np.iinfo(f"i{left.itemsize}").min
    ranks = [np.where(x < 0, lowest - x, x) for x in bits]
    apart = np.abs(ranks[0] - ranks[1])
    both_nan = (np.isnan(left) & np.isnan(right)).reshape(-1)
    return int(np.where(both_nan, 0, apart).max(initial=0))


def holds(check: str, got: Any, expected: Any) -> bool:
    """What StableHLO's check dialect means by each of its checks: equal, 3 units apart, 0.0001 apart."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return False
    if check == "check.expect_eq" or got.dtype.kind in "biu":
        return bool((got == expected).all())
    if check == "check.expect_close":
        return units_apart(got, expected) <= 3
    parts = (np.real, np.imag) if np.iscomplexobj(got) else (np.real,)
    wide = [[part(x).astype(np.float64) for x in (got, expected)] for part in parts]
    return all(np.allclose(*both, rtol=0.0001, atol=0.0001, equal_nan=True) for both in wide)


def test_stablehlo_programs_give_what_they_expect(shared_data: Path) -> None:
    judged, undeclared = 0, set[str]()
    for path in files(shared_data / "stablehlo_testdata", "*.mlir"):
        module = read_stablehlo(path.read_text(encoding="utf-8"))
        entry = module.entry_computation
        checks = [
            inst
            for inst in entry.instructions
            if inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target.startswith("check.")
        ]
        names = [check.custom_call_target for check in checks]
        pairs = [entry.add_tuple(check.operands) for check in checks]
        entry.set_root(entry.add_tuple(pairs), accept_different_shape=True)
        for check in checks:
            entry.remove_instruction(check)
        try:
            results: Any = evaluate(module, [])
        except UnsupportedOpcode as error:
            undeclared |= {error.opcode} - GAPS.keys()
            continue
        for name, (got, expected) in zip(names, results, strict=True):
            judged += 1
            assert holds(name, got, expected), path.name
    assert not undeclared
    assert judged > 300


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
    for path in files(shared_data / "bug_cases", "*.hlo"):
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
                assert holds("check.expect_close", got, expected), path.name
    assert not undeclared
    assert len(judged) >= 17


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [(1.0, 1.0, 0), (0.0, -0.0, 0), (1.0, 1.0 + 2**-23, 1), (-1e-45, 1e-45, 2), (math.nan, -math.nan, 0)],
)
def test_distances_are_counted_in_numbers_between(left: float, right: float, distance: int) -> None:
    assert units_apart(np.array(left, np.float32), np.array(right, np.float32)) == distance
