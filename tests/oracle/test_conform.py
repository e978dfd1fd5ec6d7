"""What each check of a test program allows, which programs can be judged, and StableHLO's own programs."""

import math
from pathlib import Path

import numpy as np
import pytest

import oracle.conform
from hlo import PrimitiveType
from hlo.interchange import read_stablehlo
from oracle.conform import Conformance, Outcome, conform, violation

EQ, CLOSE, ALMOST = "check.expect_eq", "check.expect_close", "check.expect_almost_eq"
EPSILON, TINY = 2.0**-23, 1.401298464324817e-45  # of F32


def holds(check: str, got: complex, expected: complex, dtype: type[np.generic] = np.float32) -> bool:
    return not violation(check, np.array([got], dtype), np.array([expected], dtype))


@pytest.mark.parametrize(
    ("got", "expected", "equal", "close", "almost"),
    [
        (1.0, 1.0, True, True, True),
        (0.0, -0.0, True, True, True),
        (math.nan, math.nan, True, True, True),
        (math.nan, 1.0, False, False, False),
        (math.inf, math.inf, True, True, True),
        (math.inf, -math.inf, False, False, False),
        (math.inf, 3.4028235e38, False, False, False),
        (1 + 3 * EPSILON, 1.0, False, True, True),
        (1 + 4 * EPSILON, 1.0, False, False, True),
        (1.0009, 1.0, False, False, True),
        (1.0011, 1.0, False, False, False),
        (3e10, 3.0001e10, False, False, False),
        (2 * TINY, -TINY, False, True, False),
        (2 * TINY, -2 * TINY, False, False, False),
        (TINY, 0.0, False, True, True),
        (-1e-4, 1e-4, False, False, False),
        (0.0, -1e-4, False, False, False),
    ],
)
def test_a_check_allows_what_stablehlo_allows(got, expected, equal, close, almost) -> None:
    assert (holds(EQ, got, expected), holds(CLOSE, got, expected), holds(ALMOST, got, expected)) == (
        equal,
        close,
        almost,
    )
    assert holds(CLOSE, expected, got) == close


@pytest.mark.parametrize(
    "t", [PrimitiveType.F8E5M2, PrimitiveType.BF16, PrimitiveType.F16, PrimitiveType.F64]
)
def test_distance_is_counted_in_numbers_of_the_type(t: PrimitiveType) -> None:
    bits = f"u{t.numpy.itemsize}"
    one = int(np.ones((), t.numpy).view(bits))
    for apart, close in ((3, True), (4, False)):
        got = np.array([one + apart], bits).view(t.numpy)
        assert bool(violation(CLOSE, got, np.ones(1, t.numpy))) != close


def test_complex_numbers_are_compared_by_part() -> None:
    assert holds(CLOSE, 1 + 1j * (1 + 3 * EPSILON), 1 + 1j, np.complex64)
    assert not holds(CLOSE, 1 + 1j * (1 + 4 * EPSILON), 1 + 1j, np.complex64)
    assert not holds(ALMOST, 1 - 1e-4j, 1 + 1e-4j, np.complex64)


@pytest.mark.parametrize("check", [EQ, CLOSE, ALMOST])
def test_integers_are_equal_or_not_and_so_are_types_and_shapes(check: str) -> None:
    assert holds(check, 5, 5, np.int32)
    assert not holds(check, 5, 6, np.int32)
    assert violation(check, np.zeros(2), np.zeros(2, np.float32)) == "float64[2] for float32[2]"
    assert violation(check, np.zeros((1, 2)), np.zeros(2)) == "float64[1, 2] for float64[2]"
    assert not violation(check, np.zeros((0, 2)), np.zeros((0, 2)))


def test_a_violation_says_how_many_elements_and_which() -> None:
    got, expected = np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3) % 2
    assert violation(EQ, got, expected).startswith("4 of 6 elements: 2 for 0 at [0, 2], 3 for 1 at [1, 0], ")


def program(body: str, *, arguments: str = "", types: str = "(tensor<2xi32>, tensor<2xi32>)") -> Conformance:
    return conform(
        read_stablehlo(f"""
        func.func @main({arguments}) -> tensor<2xi32> {{
          %0 = call @inputs() : () -> tensor<2xi32>
          %1 = call @expected() : () -> tensor<2xi32>
          {body.replace("TYPES", types)}
          return %0 : tensor<2xi32>
        }}
        func.func private @inputs() -> tensor<2xi32> {{
          %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
          return %c : tensor<2xi32>
        }}
        func.func private @expected() -> tensor<2xi32> {{
          %c = stablehlo.constant dense<[2, 4]> : tensor<2xi32>
          return %c : tensor<2xi32>
        }}""")
    )


CHECK = "stablehlo.custom_call @check.expect_eq(%2, %1) {has_side_effect = true} : TYPES -> ()"
SUM = f"%2 = stablehlo.add %0, %0 : tensor<2xi32>\n{CHECK}"


def test_a_program_passes_if_all_of_its_checks_hold() -> None:
    assert program(SUM) == Conformance(Outcome.PASSED)
    assert program(f"{SUM}\n{CHECK}") == Conformance(Outcome.PASSED)


def test_a_program_fails_if_one_of_its_checks_does() -> None:
    result = program(f"{SUM}\n{CHECK.replace('%2', '%0')}")
    assert result.outcome is Outcome.FAILED
    assert result.reason == "check.expect_eq: 2 of 2 elements: 1 for 2 at [0], 2 for 4 at [1]"


@pytest.mark.parametrize(
    ("body", "arguments", "reason"),
    [
        ("", "", "the program checks nothing"),
        (SUM, "%x: tensor<2xi32>", "the program takes arguments"),
        (SUM.replace("expect_eq", "expect_odd"), "", "no such check here: check.expect_odd"),
        (
            SUM.replace("stablehlo.add %0, %0 :", "stablehlo.custom_call @mine(%0) : (tensor<2xi32>) ->"),
            "",
            "evaluator: no rule for opcode 'custom-call mine'",
        ),
    ],
)
def test_what_cannot_be_judged_is_unsupported_and_says_why(body: str, arguments: str, reason: str) -> None:
    assert program(body, arguments=arguments) == Conformance(Outcome.UNSUPPORTED, reason)


@pytest.mark.parametrize("error", [ValueError("no"), ZeroDivisionError("no"), IndexError("no")])
def test_an_evaluator_that_breaks_has_failed(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(oracle.conform, "evaluate", broken)
    reason = f"the evaluator raised {type(error).__name__}: no"
    assert program(SUM) == Conformance(Outcome.FAILED, reason)


def test_stablehlos_own_programs_pass(shared_data: Path) -> None:
    results = {
        path.name: conform(read_stablehlo(path.read_text(encoding="utf-8")))
        for path in sorted((shared_data / "stablehlo_testdata").glob("*.mlir"))
    }
    assert len(results) == 773
    others = {name: result for name, result in results.items() if result.outcome is not Outcome.PASSED}
    assert others == {}
