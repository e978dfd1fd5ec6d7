"""Each wrong pass here breaks one promise; the judge must say which, and which pass."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from hlo import ArrayShape, HloModule, InvalidInput, Opcode, OpMetadata, PrimitiveType
from hlo.attributes import CholeskyOptions
from hlo.builder import Builder
from hlo.canonical import structure
from oracle import Agree, Disagree, Kind, Skip, SkipReason, draw_inputs, judge
from oracle.reference import program
from oracle.reference.kernels import Kernel
from passes import Exactness, Pass, PassError, Pipeline, Trace, parse_pipeline
from passes.neuron import DynamicSliceMover, NeuronDusDsIndexSimplifier
from passes.stock import Dce

P = PrimitiveType
NEURON = parse_pipeline("neuron-dus-ds-index-simplifier,dynamic-slice-mover")


def subject() -> HloModule:
    """-(x - y), twice the same negate, with a slice of x at a start that folds to 1 and dead code."""
    module = HloModule("subject")
    entry = module.add_computation("main")
    module.set_entry_computation(entry)
    b = Builder(entry)
    x, y = (b.parameter(i, ArrayShape(P.F32, (4,))) for i in range(2))
    negated = b.op(Opcode.NEGATE, b.op(Opcode.SUBTRACT, x, y), name="negated")
    read = b.dynamic_slice(x, [b.constant(1, P.S32)], [2], name="read")
    b.op(Opcode.ABS, x, name="dead")
    entry.set_root(b.tuple_(negated, read))
    return module


def find(module: HloModule, name: str):
    inst = module.find_instruction(name)
    assert inst is not None
    return inst


@dataclass(frozen=True)
class Nothing(Pass):
    """Change nothing and say so."""

    name: ClassVar[str] = "nothing"

    def run(self, module: HloModule, trace: Trace) -> bool:
        return False


class DropsNegate(Nothing):
    name = "drops-negate"

    def run(self, module, trace):
        inst = find(module, "negated")
        if inst.opcode is Opcode.NEGATE:
            module.entry_computation.replace_instruction(inst, inst.operand(0))
        return True


class SwapsOperands(Nothing):
    name = "swaps-operands"

    def run(self, module, trace):
        (inst,) = (i for i in module.entry_computation.instructions if i.opcode is Opcode.SUBTRACT)
        module.entry_computation.set_operands(inst, inst.operands[::-1])
        return True


class HidesAChange(Nothing):
    name = "hides-a-change"

    def run(self, module, trace):
        Dce().run(module, trace)
        return False


class ClaimsAChange(Nothing):
    name = "claims-a-change"

    def run(self, module, trace):
        return True


class NeverSettles(Nothing):
    name = "never-settles"

    def run(self, module: HloModule, trace: Trace) -> bool:
        entry = module.entry_computation
        entry.set_root(entry.add_clone(entry.root, entry.root.operands))
        return True


class NeverSettlesAndHidesIt(NeverSettles):
    name = "never-settles-and-hides-it"

    def run(self, module, trace):
        again = module.entry_computation.root.name != "tuple"
        super().run(module, trace)
        return not again


class Fails(Nothing):
    name = "fails"

    def run(self, module, trace):
        return {}["missing"]


class FailsTheSecondTime(Nothing):
    name = "fails-the-second-time"

    def run(self, module, trace):
        if not Dce().run(module, trace):
            raise ZeroDivisionError("nothing left to do")
        return True


class ChangesTheResult(Nothing):
    name = "changes-the-result"

    def run(self, module, trace):
        entry = module.entry_computation
        entry.set_root(find(module, "read"), accept_different_shape=True)
        return True


class MakesItInvalid(Nothing):
    name = "makes-it-invalid"

    def run(self, module, trace):
        find(module, "read").shape = ArrayShape(P.F32, (3,))
        return True


class MakesItForeign(Nothing):
    name = "makes-it-foreign"

    def run(self, module, trace):
        entry = module.entry_computation
        x = entry.parameters[0]
        Builder(entry).custom_call("mystery", [x], x.shape)
        return True


class LoopsForever(Nothing):
    name = "loops-forever"

    def run(self, module, trace):
        scalar = ArrayShape(P.PRED)
        body, condition = (module.add_computation(name) for name in ("body", "condition"))
        for computation in (body, condition):
            computation.set_root(computation.add_parameter(0, scalar))
        b = Builder(module.entry_computation)
        b.while_(condition, body, b.constant(True, P.PRED))
        return True


class Refuses(Nothing):
    name = "refuses"

    def run(self, module, trace):
        raise PassError(self.name, "expected to have 1 operand but has 2")


class Stops(Nothing):
    name = "stops"

    def run(self, module, trace):
        raise KeyboardInterrupt


class LeavesAnId(DynamicSliceMover):
    def run(self, module, trace):
        super().run(module, trace)
        find(module, "read").frontend_attributes = {"instruction_id": "7"}
        return True


class LeavesAMarker(NeuronDusDsIndexSimplifier):
    def run(self, module, trace):
        changed = super().run(module, trace)
        entry = module.entry_computation
        if not module.find_instruction("marker"):
            read = find(module, "read")
            Builder(entry).custom_call("NeuronBoundaryMarker-End", [read], read.shape, name="marker")
            return True
        return changed


class WritesAWrongToken(NeuronDusDsIndexSimplifier):
    token: ClassVar[str] = "dsidxnow=2,iterationidx=2"

    def run(self, module, trace):
        inst = find(module, "read")
        before = inst.metadata
        inst.metadata = OpMetadata(self.token)
        return inst.metadata != before


class WritesOneWrongToken(WritesAWrongToken):
    token = "dsidxnow=1,iterationidx=2"


class WritesTooManyTokens(WritesAWrongToken):
    token = "dsidxnow=1,dsidxnow=1,iterationidx=1"


class WritesTheOtherKey(WritesAWrongToken):
    token = "dusidxnow=1,iterationidx=1"


class WritesTheRightToken(WritesAWrongToken):
    token = "dsidxnow=1,iterationidx=1"


class TouchesTheGraph(NeuronDusDsIndexSimplifier):
    def run(self, module, trace):
        return Dce().run(module, trace)


class RenamesTheUsersText(NeuronDusDsIndexSimplifier):
    def run(self, module, trace):
        inst = find(module, "negated")
        changed = inst.metadata.op_name != "mine"
        inst.metadata = OpMetadata("mine")
        return changed


def judged(*passes: Pass, module: HloModule | None = None, environment=None, use_jax=True):
    module = module or subject()
    return judge(module, Pipeline(passes), draw_inputs(module, 1, 2), environment or {}, use_jax=use_jax)


@pytest.mark.parametrize(
    ("wrong", "check", "kind"),
    [
        (DropsNegate(), "values", Kind.VALUE),
        (SwapsOperands(), "values", Kind.VALUE),
        (HidesAChange(), "contracts", Kind.CHANGED_FLAG),
        (ClaimsAChange(), "contracts", Kind.CHANGED_FLAG),
        (NeverSettles(), "contracts", Kind.NOT_IDEMPOTENT),
        (NeverSettlesAndHidesIt(), "contracts", Kind.NOT_IDEMPOTENT),
        (Fails(), "crash", Kind.CRASH),
        (FailsTheSecondTime(), "contracts", Kind.CRASH),
        (ChangesTheResult(), "contracts", Kind.RESULT_SHAPE),
        (MakesItInvalid(), "contracts", Kind.INVALID),
        (MakesItForeign(), "values", Kind.EVALUATION),
        (LeavesAnId(), "contracts", Kind.LEFTOVER),
        (LeavesAMarker(), "contracts", Kind.LEFTOVER),
        (WritesAWrongToken(), "tokens", Kind.TOKEN),
        (WritesOneWrongToken(), "tokens", Kind.TOKEN),
        (WritesTooManyTokens(), "tokens", Kind.TOKEN),
        (WritesTheOtherKey(), "tokens", Kind.TOKEN),
        (TouchesTheGraph(), "live graph", Kind.LIVE_GRAPH),
        (RenamesTheUsersText(), "live graph", Kind.LIVE_GRAPH),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Pass) else "",
)
def test_a_wrong_pass_is_caught_by_kind_and_named(wrong, check, kind):
    verdict = judged(Nothing(), Dce() if kind is Kind.VALUE else Nothing(), wrong).verdict
    assert isinstance(verdict, Disagree), verdict
    finding = verdict.finding
    assert finding.identity == (check, kind, wrong.name), finding
    assert finding.pass_index == 2
    assert wrong.name in finding.message
    assert "\n" not in finding.message


def test_right_passes_are_left_in_peace():
    judgement = judged(WritesTheRightToken(), Dce(), *NEURON.passes)
    assert judgement.verdict == Agree()
    assert judgement.result is not None
    assert judgement.fired["dce:dead-instruction"] == 1
    assert set(judgement.seconds) == {"passes", "evaluate", "jax", "compare", "contracts"}
    assert "Completed handling dynamic slices outside calls." in judgement.messages


def test_the_module_itself_is_never_touched():
    module = subject()
    before = structure(module)
    judged(DropsNegate(), *NEURON.passes, module=module)
    assert structure(module) == before


def test_a_wrong_value_comes_with_place_inputs_and_a_second_opinion():
    verdict = judged(DropsNegate()).verdict
    assert isinstance(verdict, Disagree)
    found = verdict.finding.mismatch
    assert found is not None
    assert (found.leaf, found.index, found.count, found.total) == ((0,), (0,), 4, 4)
    assert found.expected != found.actual
    assert len(verdict.finding.inputs) == 2
    assert any("confirmed: JAX" in detail for detail in verdict.finding.details)
    assert find(verdict.finding.before, "negated").opcode is Opcode.NEGATE
    assert verdict.finding.after is not None
    assert verdict.finding.after.find_instruction("negated") is None


def test_a_crash_brings_the_end_of_its_traceback_and_the_module_before():
    verdict = judged(Dce(), Fails()).verdict
    assert isinstance(verdict, Disagree)
    assert "KeyError: 'missing'" in verdict.finding.message
    assert any("test_judge.py" in line for line in verdict.finding.details)
    assert verdict.finding.after is None
    assert verdict.finding.before.find_instruction("dead") is None


def test_an_interrupt_is_no_finding():
    with pytest.raises(KeyboardInterrupt):
        judged(Stops())


def test_a_documented_refusal_is_a_skip_with_its_message():
    verdict = judged(Refuses()).verdict
    assert verdict == Skip(SkipReason.REFUSED, "refuses: expected to have 1 operand but has 2")


def test_a_result_that_costs_more_is_a_skip_not_a_fault():
    verdict = judged(LoopsForever()).verdict
    assert isinstance(verdict, Skip)
    assert verdict.reason is SkipReason.LOOP_LIMIT


def rounding() -> HloModule:
    """(x + y) + 1e8 in f32: the order of the sum matters."""
    module = HloModule("rounding")
    entry = module.add_computation("main")
    module.set_entry_computation(entry)
    b = Builder(entry)
    x, y = (b.parameter(i, ArrayShape(P.F32)) for i in range(2))
    far = b.constant(1e8, P.F32)
    entry.set_root(b.op(Opcode.ADD, b.op(Opcode.ADD, x, y, name="inner"), far, name="outer"))
    return module


@dataclass(frozen=True)
class Reorders(Nothing):
    """(x + y) + z becomes x + (y + z)."""

    name: ClassVar[str] = "reorders"

    def run(self, module, trace):
        entry = module.entry_computation
        inner, outer = (find(module, name) for name in ("inner", "outer"))
        if inner.operand(0).opcode is not Opcode.PARAMETER or outer.operand(0) is not inner:
            return False
        x, y = inner.operands
        right = entry.add(Opcode.ADD, inner.shape, (y, outer.operand(1)))
        entry.set_operands(outer, (x, right))
        return True


def test_a_pass_is_held_to_its_promise_of_exactness():
    inputs = [(np.array(3, np.float32), np.array(2, np.float32))]
    verdict = judge(rounding(), Pipeline((Reorders(),)), inputs, {}).verdict
    assert isinstance(verdict, Disagree)
    assert verdict.finding.identity == ("values", Kind.VALUE, "reorders")


def exponential() -> HloModule:
    module = HloModule("exponential")
    entry = module.add_computation("main")
    module.set_entry_computation(entry)
    b = Builder(entry)
    entry.set_root(b.op(Opcode.EXP, b.parameter(0, ArrayShape(P.F32, (2,))), name="root"))
    return module


@dataclass(frozen=True)
class ScalesTheResult(Nothing):
    """Multiply the result by a constant."""

    factor: str = "1"

    name: ClassVar[str] = "scales-the-result"
    promise: ClassVar[Exactness] = Exactness.REASSOCIATES
    idempotent: ClassVar[bool] = False

    def run(self, module, trace):
        entry = module.entry_computation
        b = Builder(entry)
        factor = b.broadcast(b.constant(float(self.factor), P.F32), entry.root.array_shape.dimensions, ())
        entry.set_root(b.op(Opcode.MULTIPLY, entry.root, factor))
        return True


def test_a_pass_that_may_round_differently_may_do_so_within_the_tolerance_only():
    module = exponential()
    inputs = [(np.array([1.5, -2.0], np.float32),)]
    near = judge(module, Pipeline((ScalesTheResult(factor="1.0000001"),)), inputs, {}).verdict
    assert near == Agree()
    far = judge(module, Pipeline((ScalesTheResult(factor="1.001"),)), inputs, {}).verdict
    assert isinstance(far, Disagree)
    assert far.finding.kind is Kind.VALUE


def test_many_small_steps_are_seen_by_jax_and_blamed_on_the_pass_that_went_too_far():
    module = exponential()
    inputs = [(np.array([1.5, -2.0], np.float32),)]
    steps = Pipeline((ScalesTheResult(factor="1.000001"),) * 6)
    verdict = judge(module, steps, inputs, {}).verdict
    assert isinstance(verdict, Disagree)
    assert verdict.finding.check == "jax"
    assert 0 < verdict.finding.pass_index < 5


@pytest.fixture
def wrong_jax(monkeypatch):
    """JAX, in which negate does nothing."""
    wrong = {**program.KERNEL_RULES, Opcode.NEGATE: lambda inst, trace: Kernel("wrong", lambda x: x)}
    monkeypatch.setattr(program, "KERNEL_RULES", wrong)


@pytest.mark.usefixtures("wrong_jax")
def test_engines_that_disagree_about_the_original_are_no_fault_of_a_pass():
    verdict = judged(Nothing()).verdict
    assert isinstance(verdict, Skip)
    assert verdict.reason is SkipReason.ENGINES_DISAGREE
    assert verdict.detail.startswith("negated (negate)")


@pytest.mark.usefixtures("wrong_jax")
def test_a_finding_that_jax_contradicts_is_about_the_engines():
    verdict = judged(DropsNegate()).verdict
    assert isinstance(verdict, Skip)
    assert verdict.reason is SkipReason.ENGINES_DISAGREE
    other = judged(SwapsOperands()).verdict
    assert isinstance(other, Skip), "swapping the operands of x - y is what this JAX makes of -(x - y)"
    assert isinstance(judged(DropsNegate(), use_jax=False).verdict, Disagree)


def test_rounding_that_grows_is_no_disagreement():
    """log(exp(y)) - y for y = exp(x): all that is left is the last places of two functions."""
    module = HloModule("cancels")
    entry = module.add_computation("main")
    module.set_entry_computation(entry)
    b = Builder(entry)
    y = b.op(Opcode.EXP, b.parameter(0, ArrayShape(P.F32, (1000,))))
    entry.set_root(b.op(Opcode.SUBTRACT, b.op(Opcode.LOG, b.op(Opcode.EXP, y)), y))
    inputs = [(np.linspace(0.1, 2.0, 1000, dtype=np.float32),)]
    judgement = judge(module, Pipeline((Nothing(),)), inputs, {})
    assert judgement.verdict == Agree()
    assert any("rounding grew past its estimate" in message for message in judgement.messages)


def foreign(side: bool = False) -> HloModule:
    module = subject()
    entry = module.entry_computation
    x = entry.parameters[0]
    Builder(entry).custom_call("mystery", [x], x.shape, name="mystery", has_side_effect=side)
    return module


def test_what_cannot_be_evaluated_is_skipped_but_its_contracts_are_checked():
    skipped = judged(Dce(), module=foreign(side=True)).verdict
    assert isinstance(skipped, Skip)
    assert skipped.reason is SkipReason.FOREIGN_CUSTOM_CALL
    assert "mystery" in skipped.detail
    lied = judged(HidesAChange(), module=foreign(side=True)).verdict
    assert isinstance(lied, Disagree)
    assert lied.finding.kind is Kind.CHANGED_FLAG


def test_an_element_type_that_jax_does_not_take_is_skipped():
    module = HloModule("narrow")
    entry = module.add_computation("main")
    module.set_entry_computation(entry)
    b = Builder(entry)
    x = b.parameter(0, ArrayShape(P.F16, (3, 3)))
    entry.set_root(b.op(Opcode.CHOLESKY, x, attributes=CholeskyOptions(lower=True)))
    verdict = judged(Nothing(), module=module).verdict
    assert isinstance(verdict, Skip)
    assert verdict.reason is SkipReason.UNSUPPORTED_TYPE
    assert judged(Nothing(), module=module, use_jax=False).verdict == Agree()


def test_a_broken_module_and_no_inputs_are_refused():
    broken = subject()
    MakesItInvalid().run(broken, Trace())
    with pytest.raises(InvalidInput, match="read"):
        judged(Nothing(), module=broken)
    with pytest.raises(InvalidInput, match="no inputs"):
        judge(subject(), Pipeline(), [], {})


@dataclass(frozen=True)
class WrongWhenSwitchedOn(DynamicSliceMover):
    """Right as long as the switch is off."""

    def run(self, module, trace):
        if self.disable_movement_of_slice_from_param:
            return DropsNegate().run(module, trace)
        return super().run(module, trace)


@dataclass(frozen=True)
class FailsWhenSwitchedOn(DynamicSliceMover):
    """Right as long as the switch is off."""

    def run(self, module, trace):
        if self.disable_movement_of_slice_from_param:
            raise IndexError("switched on")
        return super().run(module, trace)


@pytest.mark.parametrize("wrong", [WrongWhenSwitchedOn(), FailsWhenSwitchedOn()])
def test_the_other_position_of_a_switch_is_judged_too(wrong):
    verdict = judged(Dce(), wrong, Nothing()).verdict
    assert isinstance(verdict, Disagree)
    assert verdict.finding.identity == ("switches", Kind.SWITCH, "dynamic-slice-mover")
    assert "with NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM=1" in verdict.finding.message
    assert verdict.finding.pass_index == 1


def test_a_switch_in_the_environment_is_the_first_position():
    environment = {"NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM": "1"}
    verdict = judged(WrongWhenSwitchedOn(), environment=environment).verdict
    assert isinstance(verdict, Disagree)
    assert verdict.finding.kind is Kind.VALUE


def test_a_spliced_constant_and_a_stripped_marker_leave_the_live_graph_alone():
    module = HloModule("splice")
    body = module.add_computation("body")
    b = Builder(body)
    i = b.parameter(0, ArrayShape(P.S32))
    body.set_root(b.tuple_(i, b.op(Opcode.ADD, i, b.constant(1, P.S32))))
    entry = module.add_computation("main")
    module.set_entry_computation(entry)
    b = Builder(entry)
    x = b.parameter(0, ArrayShape(P.F32, (5,)))
    called = b.call(body, b.constant(2, P.S32))
    start = b.gte(called, 1, name="start")
    marked = b.custom_call("NeuronBoundaryMarker-Start", [x], x.shape)
    entry.set_root(b.dynamic_slice(marked, [start], [2], name="read"))
    judgement = judged(NeuronDusDsIndexSimplifier(), module=module)
    assert judgement.verdict == Agree()
    assert judgement.fired["neuron-dus-ds-index-simplifier:splice-gte"] == 1
    assert judgement.fired["neuron-dus-ds-index-simplifier:strip-marker"] == 1


def test_a_u64_start_past_the_int64_range_has_a_negative_token():
    module = HloModule("huge")
    entry = module.add_computation("main")
    module.set_entry_computation(entry)
    b = Builder(entry)
    x = b.parameter(0, ArrayShape(P.S32, (5,)))
    entry.set_root(b.dynamic_slice(x, [b.constant(2**64 - 3, P.U64)], [2], name="read"))
    judgement = judged(NeuronDusDsIndexSimplifier(), module=module)
    assert judgement.verdict == Agree()
    assert judgement.result is not None
    assert "dsidxnow=-3" in find(judgement.result, "read").metadata.op_name
