from fuzz.case import Case
from fuzz.reduce import cost, reduce_case, working_instructions
from hlo import HloModule, Opcode
from hlo.canonical import structure
from hlo.verify import verify

LARGE = """HloModule large

f {
  p = (f32[8,4], s32[], bf16[3]) parameter(0)
  a = f32[8,4] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1
  z = s32[] constant(0)
  d = f32[2,4] dynamic-slice(a, i, z), dynamic_slice_sizes={2,4}, metadata={op_name="jit(f)/slice"}
  m = f32[2,4] multiply(d, d)
  ROOT r = (f32[2,4], f32[8,4]) tuple(m, a)
}

ENTRY main {
  x = f32[8,4] parameter(0)
  y = bf16[3] parameter(1)
  i = s32[] parameter(2)
  n = f32[8,4] negate(x)
  t = (f32[8,4], s32[], bf16[3]) tuple(n, i, y)
  c = (f32[2,4], f32[8,4]) call(t), to_apply=f
  t2 = (f32[8,4], s32[], bf16[3]) tuple(x, i, y)
  c2 = (f32[2,4], f32[8,4]) call(t2), to_apply=f
  e = f32[2,4] get-tuple-element(c), index=0
  e2 = f32[2,4] get-tuple-element(c2), index=0
  s = f32[2,4] add(e, e2)
  w = f32[8,4] get-tuple-element(c2), index=1
  ROOT r = (f32[2,4], f32[8,4]) tuple(s, w)
}
"""


def opcodes(module: HloModule) -> list[Opcode]:
    return [inst.opcode for c in module.computations for inst in c.instructions]


def slices(case: Case) -> bool:
    return Opcode.DYNAMIC_SLICE in opcodes(case.module)


def test_only_what_the_failure_needs_is_left(make_case) -> None:
    reduction = reduce_case(make_case(LARGE, sets=3), slices)
    module = reduction.case.module
    assert reduction.complete
    assert working_instructions(module) == 1
    assert module.entry_computation.root.opcode is Opcode.DYNAMIC_SLICE
    assert module.entry_computation.root.array_shape.dimensions == (1,)
    assert len(reduction.case.inputs) == 1
    assert not verify(module)


def test_a_call_with_a_tuple_stays_where_the_failure_needs_it(make_case) -> None:
    def slices_in_a_body(case: Case) -> bool:
        return any(
            inst.opcode is Opcode.DYNAMIC_SLICE and inst.operand(0).opcode is Opcode.GET_TUPLE_ELEMENT
            for c in case.module.computations
            if not c.is_entry
            for inst in c.instructions
        )

    module = reduce_case(make_case(LARGE), slices_in_a_body).case.module
    # call, get-tuple-element and slice; the call's tuple is a parameter
    assert working_instructions(module) == 3


def test_every_case_on_the_way_is_valid_and_simpler(make_case) -> None:
    case = make_case(LARGE)
    costs = [cost(case)]

    def holds(candidate: Case) -> bool:
        assert not verify(candidate.module)
        assert cost(candidate) < costs[-1]
        if slices(candidate):
            costs.append(cost(candidate))
        return slices(candidate)

    reduction = reduce_case(case, holds)
    assert len(costs) == reduction.taken + 1


def test_the_same_case_gives_the_same_result(make_case) -> None:
    results = [structure(reduce_case(make_case(LARGE), slices).case.module) for _ in range(2)]
    assert results[0] == results[1]


def test_a_case_that_cannot_be_simpler_stays(make_case) -> None:
    case = make_case(LARGE)
    reduction = reduce_case(case, lambda _: False)
    assert reduction.case is case
    assert reduction.complete
    assert reduction.attempts > 50


def test_time_is_kept(make_case) -> None:
    case = make_case(LARGE)
    ticks = iter(range(10_000))
    reduction = reduce_case(case, slices, seconds=20, clock=lambda: float(next(ticks)))
    assert not reduction.complete
    assert 0 < reduction.attempts < 20
