import pytest

from hlo import HloModule
from hlo.interchange import read_text
from passes import Pass, PassError, Pipeline, Trace, parse_pipeline
from passes.stock import CallInliner, ConstantFolding, Dce, TupleSimplifier

CALL_OF_CONSTANTS = """HloModule m
f {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT n = s32[] add(a, b)
}
ENTRY e {
  x = s32[] parameter(0)
  k = s32[] constant(6)
  c = s32[] call(k, k), to_apply=f, frontend_attributes={inlineable="false"}
  ROOT r = s32[] add(x, c)
}"""


class Diary:
    def __init__(self) -> None:
        self.entries: list[tuple[object, ...]] = []

    def before(self, index: int, pass_: Pass, module: HloModule) -> None:
        self.entries.append(("before", index, pass_.name, module.instruction_count))

    def after(self, index: int, pass_: Pass, module: HloModule, changed: bool) -> None:
        self.entries.append(("after", index, pass_.name, module.instruction_count, changed))


def test_passes_run_in_order_and_observers_hear_of_each() -> None:
    diary = Diary()
    module = read_text(CALL_OF_CONSTANTS)
    pipeline = Pipeline((CallInliner(), ConstantFolding(), Dce()))
    trace = Trace()
    assert pipeline.run_each(module, trace, [diary])
    assert diary.entries == [
        ("before", 0, "call-inliner", 7),
        ("after", 0, "call-inliner", 7, False),
        ("before", 1, "constant-folding", 7),
        ("after", 1, "constant-folding", 6, True),
        ("before", 2, "dce", 6),
        ("after", 2, "dce", 3, True),
    ]
    assert trace.fired == {"fold": 1, "dead-computation": 1}
    assert not pipeline.run(module, Trace())


def test_a_pipeline_changed_what_any_of_its_passes_changed() -> None:
    module = read_text(CALL_OF_CONSTANTS)
    assert Pipeline((ConstantFolding(), CallInliner())).run(module, Trace())
    assert not Pipeline((ConstantFolding(), CallInliner())).run(module, Trace())


def test_a_pipeline_in_a_pipeline_is_its_passes() -> None:
    inner = Pipeline((CallInliner(), Pipeline((Dce(),))))
    assert Pipeline((TupleSimplifier(), inner)) == Pipeline((TupleSimplifier(), CallInliner(), Dce()))


def test_options_are_written_where_they_differ_from_the_default_in_field_order() -> None:
    passes = (Dce(), ConstantFolding(max_elements=5, fold_while=True), CallInliner(prefix_op_names=False))
    text = "dce,constant-folding{fold_while=true,max_elements=5},call-inliner{prefix_op_names=false}"
    assert str(Pipeline(passes)) == text
    assert parse_pipeline(text) == Pipeline(passes)


def test_a_refusal_passes_through() -> None:
    class Refusing(Dce):
        name = "refusing"

        def run(self, module: HloModule, trace: Trace) -> bool:
            raise PassError(self.name, "no")

    diary = Diary()
    with pytest.raises(PassError, match="refusing: no"):
        Pipeline((Refusing(), Dce())).run_each(read_text(CALL_OF_CONSTANTS), Trace(), [diary])
    assert [entry[0] for entry in diary.entries] == ["before"]
