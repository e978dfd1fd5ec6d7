"""Is each way of breaking a program with unknown sizes seen, and blamed on the pass that did it?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from hlo import HloModule, InvalidInput
from hlo.stablehlo import StableHloModule, apply_patterns, dialect, integer_constant, ir
from oracle.engines import ENGINES
from oracle.symbolic import draw_sized_inputs, judge_symbolic
from oracle.verdict import Agree, Disagree, Finding, Judgement, Kind, Skip, SkipReason
from passes import Exactness, Pass, PassError, Pipeline, StableHloPass, Trace, parse_pipeline

PROGRAM = """module { func.func @main(%x: tensor<?x4xi32>) -> (tensor<?x4xi32>, tensor<i32>) {
  %rows = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xi32>) -> tensor<i32>
  %columns = stablehlo.get_dimension_size %x, dim = 1 : (tensor<?x4xi32>) -> tensor<i32>
  %row = stablehlo.reshape %rows : (tensor<i32>) -> tensor<1xi32>
  %column = stablehlo.reshape %columns : (tensor<i32>) -> tensor<1xi32>
  %shape = stablehlo.concatenate %row, %column, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %y = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi32>) -> tensor<?x4xi32>
  %z = stablehlo.add %x, %y : tensor<?x4xi32>
  return %z, %rows : tensor<?x4xi32>, tensor<i32> } }"""


def judged(*passes: Pass, program: str = PROGRAM, inputs: int = 4, **options: Any) -> Judgement:
    module = StableHloModule.read(program)
    sets, _ = draw_sized_inputs(module, 0, inputs)
    return judge_symbolic(module, Pipeline(passes), sets, {}, **options)


def found(*passes: Pass, **options: Any) -> Finding:
    verdict = judged(*passes, **options).verdict
    assert isinstance(verdict, Disagree)
    return verdict.finding


def rewriting(program: StableHloModule, name: str, rewrite: Callable[[Any, Any], bool]) -> bool:
    before = program.text
    apply_patterns(program, [(f"stablehlo.{name}", rewrite)])
    return program.text != before


@dataclass(frozen=True)
class Nothing(StableHloPass):
    """Changes nothing."""

    name: ClassVar[str] = "nothing"

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        return False


@dataclass(frozen=True)
class FoldSizes(StableHloPass):
    """Folds sizes of static dimensions; with `trap`, dynamic ones to 2."""

    trap: bool = False
    axis: int = 1

    name: ClassVar[str] = "fold-sizes"

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        def fold(op: Any, rewriter: Any) -> bool:
            if int(op.attributes["dimension"]) != 1 and not self.trap:
                return False
            rewriter.replace_op(op, [integer_constant(4 if int(op.attributes["dimension"]) == 1 else 2)])
            trace.fire("fold")
            return True

        return rewriting(program, "get_dimension_size", fold)


@dataclass(frozen=True)
class Subtract(StableHloPass):
    """Makes a difference of each sum."""

    name: ClassVar[str] = "subtract"

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        def swap(op: Any, rewriter: Any) -> bool:
            rewriter.replace_op(op, [dialect().subtract(op.operands[0], op.operands[1])])
            return True

        return rewriting(program, "add", swap)


@dataclass(frozen=True)
class Tags(StableHloPass):
    """Puts a number on the entry: in effect nothing. `lie` turns round what it says of that; `again` does it twice."""

    lie: bool = False
    again: bool = False

    name: ClassVar[str] = "tags"

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        entry = program.entry
        number = int(str(entry.attributes["tag"]).partition(" ")[0]) if "tag" in entry.attributes else 0
        if number and not self.again:
            return self.lie
        with program.mlir.context:
            kind = ir().IntegerType.get_signless(32)
            entry.attributes["tag"] = ir().IntegerAttr.get(kind, number + 1)
        return not self.lie


@dataclass(frozen=True)
class Moody(StableHloPass):
    """Does something else each time."""

    name: ClassVar[str] = "moody"
    times: ClassVar[list[int]] = []

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        self.times.append(1)
        with program.mlir.context:
            program.entry.attributes["tag"] = ir().StringAttr.get("x" * len(self.times))
        return True


@dataclass(frozen=True)
class Crashes(StableHloPass):
    """Raises."""

    name: ClassVar[str] = "crashes"

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        raise ZeroDivisionError("of its own")


@dataclass(frozen=True)
class Refuses(StableHloPass):
    """Raises what is documented."""

    name: ClassVar[str] = "refuses"

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        raise PassError(self.name, "not this one")


@dataclass(frozen=True)
class WrongType(StableHloPass):
    """Says that the second result is of another type, which it is not."""

    name: ClassVar[str] = "wrong-type"

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        with program.mlir.context:
            inputs = program.entry.type.inputs
            wrong = ir().FunctionType.get(inputs, [inputs[0], inputs[0]])
            program.entry.attributes["function_type"] = ir().TypeAttr.get(wrong)
        return True


@dataclass(frozen=True)
class OneResult(StableHloPass):
    """Returns the first result only."""

    name: ClassVar[str] = "one-result"

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        program.assign(
            StableHloModule.read(
                program.text.replace(", tensor<i32>)", ")", 1)
                .replace(", tensor<i32>\n", "\n")
                .replace(", %0 :", " :")
            )
        )
        return True


def test_a_program_that_keeps_its_meaning_agrees_for_all_sizes() -> None:
    judgement = judged(Nothing(), FoldSizes())
    assert isinstance(judgement.verdict, Agree)
    assert judgement.fired == {"fold-sizes:fold": 1}
    assert {"passes", "specialise", "evaluate", "jax"} <= judgement.seconds.keys()


def test_other_values_are_found_with_their_sizes_and_the_programs_around_the_pass() -> None:
    finding = found(Nothing(), Subtract(), FoldSizes())
    assert finding.identity == ("values", Kind.VALUE, "subtract")
    assert finding.pass_index == 1
    assert "confirmed: JAX on the original agrees with the evaluator" in finding.details
    assert finding.around is not None
    assert "stablehlo.add" in str(finding.around.before)
    assert "stablehlo.subtract" in str(finding.around.after)
    assert isinstance(finding.before, HloModule)
    assert np.asarray(finding.inputs[0]).shape == (2, 4)  # one row of numbers from 0 shows nothing
    assert finding.around.sizes == "[2,4]"


def test_a_size_that_is_folded_is_found_where_it_is_another() -> None:
    finding = found(FoldSizes(trap=True))
    assert finding.identity == ("values", Kind.EVALUATION, "fold-sizes")
    assert "the result is no program for sizes" in finding.message
    assert finding.around is not None
    assert finding.around.sizes != "[2,4]"
    assert f"[{','.join(map(str, np.asarray(finding.inputs[0]).shape))}]" == finding.around.sizes


def test_a_folded_size_is_not_to_be_seen_by_that_size_alone() -> None:
    module = StableHloModule.read(PROGRAM)
    inputs = [(np.arange(8, dtype=np.int32).reshape(2, 4),)]
    assert isinstance(judge_symbolic(module, Pipeline((FoldSizes(trap=True),)), inputs, {}).verdict, Agree)


@pytest.mark.parametrize(
    ("pass_", "kind", "message"),
    [
        (Tags(lie=True), Kind.CHANGED_FLAG, "changed the module and said it did not"),
        (Tags(again=True), Kind.NOT_IDEMPOTENT, "a second run changed the program again"),
        (Moody(), Kind.NONDETERMINISTIC, "run twice on the same program"),
        (Crashes(), Kind.CRASH, "raised ZeroDivisionError: of its own"),
        (WrongType(), Kind.INVALID, "the result is not valid StableHLO"),
        (OneResult(), Kind.RESULT_SHAPE, "the entry was"),
    ],
)
def test_a_promise_that_is_broken_is_found_at_the_pass_that_broke_it(
    pass_: StableHloPass, kind: Kind, message: str
) -> None:
    finding = found(FoldSizes(), pass_, Nothing())
    assert (finding.kind, finding.pass_name, finding.pass_index) == (kind, pass_.name, 1)
    assert message in finding.message
    assert finding.around is not None


def test_a_pass_that_does_nothing_and_says_otherwise_is_found() -> None:
    tagged = PROGRAM.replace(
        "(tensor<?x4xi32>, tensor<i32>) {", "(tensor<?x4xi32>, tensor<i32>) attributes {tag = 1 : i32} {"
    )
    assert found(Tags(lie=True), program=tagged).kind is Kind.CHANGED_FLAG


def test_of_two_faults_the_earlier_pass_is_blamed() -> None:
    assert found(Tags(lie=True), Subtract()).pass_name == "tags"
    assert found(Subtract(), Tags(lie=True)).pass_name == "subtract"
    assert found(Subtract(), Crashes()).pass_name == "subtract"


def test_a_documented_refusal_is_a_skip_unless_there_is_something_wrong_before() -> None:
    verdict = judged(FoldSizes(), Refuses()).verdict
    assert isinstance(verdict, Skip)
    assert (verdict.reason, verdict.detail) == (SkipReason.REFUSED, "refuses: not this one")
    assert found(Subtract(), Refuses()).pass_name == "subtract"


def test_a_pass_over_hlo_cannot_have_a_program_of_unknown_sizes() -> None:
    verdict = judged(*parse_pipeline("dce").passes).verdict
    assert isinstance(verdict, Skip)
    assert verdict.reason is SkipReason.UNKNOWN_SIZES


def test_without_sizes_that_fit_promises_are_checked_and_nothing_else() -> None:
    module = StableHloModule.read(PROGRAM)
    verdict = judge_symbolic(module, Pipeline((Subtract(),)), [], {}).verdict
    assert isinstance(verdict, Skip)
    assert verdict.reason is SkipReason.NO_SIZES
    crashed = judge_symbolic(module, Pipeline((Crashes(),)), [], {}).verdict
    assert isinstance(crashed, Disagree)


def test_inputs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidInput):
        judge_symbolic(StableHloModule.read(PROGRAM), Pipeline(), [(np.zeros((2, 5), np.int32),)], {})


def test_engines_vote_on_the_specialised_original() -> None:
    finding = found(Subtract(), inputs=2, engines=ENGINES)
    assert any("xla" in line.lower() for line in finding.details)
    assert isinstance(judged(FoldSizes(), inputs=2, engines=ENGINES, ask_engines=True).verdict, Agree)


def test_a_pass_over_hlo_after_the_last_unknown_size_is_judged_too() -> None:
    static = PROGRAM.replace("?x4", "3x4")
    assert isinstance(judged(FoldSizes(), *parse_pipeline("dce").passes, program=static).verdict, Agree)


@dataclass(frozen=True)
class Regroup(StableHloPass):
    """Adds in another order, which rounds otherwise."""

    name: ClassVar[str] = "regroup"
    promise: ClassVar[Exactness] = Exactness.REASSOCIATES

    def rewrite(self, program: StableHloModule, trace: Trace) -> bool:
        def turn(op: Any, rewriter: Any) -> bool:
            first, last = op.operands
            if getattr(first.owner, "name", "") != "stablehlo.add":
                return False
            a, b = first.owner.operands
            rewriter.replace_op(op, [dialect().add(a, dialect().add(b, last))])
            return True

        return rewriting(program, "add", turn)


SUM = """module { func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %a = stablehlo.add %x, %y : tensor<?xf32>
  %b = stablehlo.add %a, %y : tensor<?xf32>
  return %b : tensor<?xf32> } }"""
UNEVEN = [(np.array([1e8, 3.0], np.float32), np.array([3.0, 0.1], np.float32))]


def test_rounding_is_allowed_to_a_pass_that_says_so() -> None:
    module = StableHloModule.read(SUM)
    assert isinstance(judge_symbolic(module, Pipeline((Regroup(),)), UNEVEN, {}).verdict, Agree)

    class Exact(Regroup):
        """Promises more."""

        promise: ClassVar[Exactness] = Exactness.BITWISE

    verdict = judge_symbolic(module, Pipeline((Exact(),)), UNEVEN, {}).verdict
    assert isinstance(verdict, Disagree)
