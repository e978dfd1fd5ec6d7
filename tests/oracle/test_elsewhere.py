"""Is a pass of XLA's blamed for what it did, and not for what runs around it?"""

from dataclasses import dataclass
from importlib.metadata import version
from typing import ClassVar

import numpy as np
import pytest
from packaging.version import Version

from hlo import HloModule, Opcode, Value
from hlo.interchange import read_text
from oracle import elsewhere as room
from oracle.compare import EQUAL, Tolerance
from oracle.elsewhere import open_case
from oracle.judge import judge
from oracle.verdict import Agree, Disagree, Judgement
from passes import Exactness, Pipeline, Trace, parse_pipeline
from passes.xla import XlaPass, behind_layouts, xla_pass

COMPLEX_EXPONENTIALS = """HloModule m
ENTRY e {
  x = c64[1] parameter(0)
  y = c64[1] exponential(x)
  z = c64[1] exponential(x)
  ROOT r = (c64[1], c64[1]) tuple(y, z)
}
"""
"""`cse` merges the two; import has spelled them out before, in real numbers."""

EXPONENTIAL_AND_SUMS = """HloModule m
ENTRY e {
  x = c64[1] parameter(0)
  n = s32[4] parameter(1)
  y = c64[1] exponential(x)
  a = s32[4] add(n, n)
  b = s32[4] add(n, n)
  ROOT r = (c64[1], s32[4], s32[4]) tuple(y, a, b)
}
"""

SOLVE = """HloModule m
ENTRY e {
  a = f32[2,2] parameter(0)
  b = f32[2,2] parameter(1)
  ROOT x = f32[2,2] triangular-solve(a, b), unit_diagonal=true, transpose_a=ADJOINT
}
"""

RESHAPE_OF_TRANSPOSE = """HloModule m
ENTRY e {
  x = s32[2,3] parameter(0)
  t = s32[3,2] transpose(x), dimensions={1,0}
  n = s32[3,2] not(t)
  ROOT r = s32[2,3] reshape(n)
}
"""

X = np.arange(6, dtype=np.int32).reshape(2, 3)
EXPONENT = np.array([6 + 8j], np.complex64)
N = np.arange(4, dtype=np.int32)


def judged(text: str, passes: str, *inputs: Value) -> Judgement:
    return judge(read_text(text), parse_pipeline(passes), [inputs], {})


def remarks(judgement: Judgement) -> str:
    return "\n".join(judgement.messages)


def test_what_import_moves_by_rounding_is_no_fault_of_a_pass_that_promises_bits() -> None:
    judgement = judged(COMPLEX_EXPONENTIALS, "xla:cse", EXPONENT)
    assert judgement.verdict == Agree()
    assert "import has moved by rounding" in remarks(judgement)


@dataclass(frozen=True)
class Spoiling(XlaPass):
    """`xla:cse`, and then every addition becomes a subtraction."""

    name: ClassVar[str] = "xla:cse"
    promise: ClassVar[Exactness] = Exactness.BITWISE
    xla_name: ClassVar[str] = "cse"

    def run(self, module: HloModule, trace: Trace) -> bool:
        changed = super().run(module, trace)
        for computation in module.computations:
            for inst in computation.instructions:
                if inst.opcode is Opcode.ADD:
                    twin = computation.add(Opcode.SUBTRACT, inst.shape, inst.operands)
                    computation.replace_instruction(inst, twin)
                    changed = True
        return changed


def test_beside_what_import_moved_a_pass_still_answers_for_its_own_values() -> None:
    module = read_text(EXPONENTIAL_AND_SUMS)
    good = judge(module, parse_pipeline("xla:cse"), [(EXPONENT, N)], {}).verdict
    bad = judge(module, Pipeline((Spoiling(),)), [(EXPONENT, N)], {}).verdict
    assert good == Agree()
    assert isinstance(bad, Disagree)
    assert bad.finding.pass_name == "xla:cse"


def test_import_is_blamed_where_what_it_made_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wrong import is known with which wrapped programs meet, so that one is made up."""

    class WrongImport(Spoiling):
        """Stands for `xla:nothing`, wrong in the same way as the pass."""

    wrong = type("Nothing", (WrongImport,), {"__doc__": "As above.", "xla_name": "nothing"})
    plain = xla_pass
    monkeypatch.setattr(room, "xla_pass", lambda name: wrong if name == "nothing" else plain(name))
    verdict = judge(read_text(EXPONENTIAL_AND_SUMS), Pipeline((Spoiling(),)), [(EXPONENT, N)], {}).verdict
    assert isinstance(verdict, Disagree)
    assert verdict.finding.check == "values"
    assert verdict.finding.pass_name == "xla:cse (import)"
    assert verdict.finding.message.startswith("xla:cse (import): result")
    assert "xla:cse keeps what import has made of the program" in verdict.finding.details


@pytest.mark.parametrize(("corner", "said"), [(np.nan, "open by definition (triangular-solve of"), (1.0, "")])
def test_a_pass_that_may_round_may_use_what_the_definition_leaves_open(corner: float, said: str) -> None:
    a, b = np.zeros((2, 2), np.float32), np.array([[0, 0], [corner, 0]], np.float32)
    judgement = judged(SOLVE, "xla:triangular_solve_expander", a, b)
    assert judgement.verdict == Agree()
    assert (said in remarks(judgement)) if said else not judgement.messages


def test_a_pass_behind_layout_assignment_is_judged_behind_it() -> None:
    judgement = judged(RESHAPE_OF_TRANSPOSE, "xla:algsimp", X)
    assert judgement.verdict == Agree()
    assert "took layouts for assigned, and is right where they are" in remarks(judgement)


def test_a_pass_that_is_wrong_there_too_is_blamed() -> None:
    text = """HloModule m
ENTRY e {
  x = s32[10] parameter(0)
  i = s32[] parameter(1)
  j = s32[] parameter(2)
  a = s32[5] dynamic-slice(x, i), dynamic_slice_sizes={5}
  ROOT b = s32[3] dynamic-slice(a, j), dynamic_slice_sizes={3}
}
"""
    inputs = (np.arange(10, dtype=np.int32), np.array(7, np.int32), np.array(0, np.int32))
    wrong = isinstance(judged(text, "xla:algsimp", *inputs).verdict, Disagree)
    assert wrong is (Version(version("jaxlib")) < Version("0.12"))


def test_a_place_behind_layout_assignment_brings_all_that_comes_between() -> None:
    names = behind_layouts("algsimp").split("+")
    assert names[0] == "layout-assignment"
    assert names[-1] == "algsimp"
    assert {"reshape-decomposer", "fusion"} < set(names)
    assert "copy-insertion" not in names


@pytest.mark.parametrize(
    "name",
    ["call-inliner", "batchnorm_expander", "layout-assignment", "layout-assignment+algsimp", "nothing"],
)
def test_what_runs_in_front_of_layout_assignment_or_with_it_has_no_place_behind_it(name: str) -> None:
    assert behind_layouts(name) == ""


DIVISION_AND_SUM = """HloModule m
ENTRY e {
  n = s32[4] parameter(0)
  d = s32[4] divide(n, n)
  a = s32[4] add(n, n)
  ROOT r = (s32[4], s32[4]) tuple(d, a)
}
"""


@pytest.mark.parametrize(
    ("n", "moved", "reason"),
    [
        (N, [0], "integer divide by zero"),
        (N + 1, [0], ""),  # nothing is open
        (N, [1], ""),  # the sum is not
        (N, [0, 1], ""),
    ],
)
def test_an_open_case_accounts_for_the_arrays_that_depend_on_it(
    n: np.ndarray, moved: list[int], reason: str
) -> None:
    module = read_text(DIVISION_AND_SUM)
    old = (N, N)
    new = tuple(value + (number in moved) for number, value in enumerate(old))
    assert open_case(module, (n,), old, new, EQUAL) == reason


def test_how_far_an_array_may_be_off_is_said_for_each() -> None:
    module = read_text(
        """HloModule m
ENTRY e {
  n = s32[4] parameter(0)
  x = f32[4] parameter(1)
  d = s32[4] divide(n, n)
  a = f32[4] add(x, x)
  ROOT r = (s32[4], f32[4]) tuple(d, a)
}
"""
    )
    x = np.ones(4, np.float32)
    old, new = (N, x), (N + 1, x * np.float32(1 + 1e-6))
    assert open_case(module, (N, x), old, new, {}) == ""
    assert open_case(module, (N, x), old, new, {(1,): Tolerance(relative=1e-5)}) == "integer divide by zero"


def test_the_case_that_is_told_is_one_that_matters() -> None:
    text = DIVISION_AND_SUM.replace("add(n, n)", "remainder(n, n)")
    assert open_case(read_text(text), (N,), (N, N), (N, N + 1), EQUAL) == "integer remainder by zero"
    assert open_case(read_text(text), (N,), (N, N), (N + 1, N + 1), EQUAL) == "integer divide by zero"
