from collections.abc import Mapping

from hlo import HloInstruction, Opcode
from hlo.interchange import read_text
from passes import Trace
from passes.stock import CallInliner, inline_all, inline_call

TWICE = """HloModule m
f {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  m = s32[] multiply(a, b)
  ROOT s = s32[] subtract(m, a)
}
ENTRY e {
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  c = s32[] call(x, y), to_apply=f
  ROOT d = s32[] call(y, c), to_apply=f
}"""


def test_each_call_becomes_a_copy_of_the_body_on_its_own_operands(becomes) -> None:
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  m = s32[] multiply(x, y)
  s = s32[] subtract(m, x)
  n = s32[] multiply(y, s)
  ROOT t = s32[] subtract(n, y)
}"""
    assert becomes(CallInliner(), TWICE, after).fired == {"inline": 2}


def test_a_program_without_calls_stays(stays) -> None:
    stays(CallInliner(), "HloModule m\nENTRY e {\n  x = s32[] parameter(0)\n  ROOT r = s32[] negate(x)\n}")


def test_nested_calls_collapse_in_one_run(becomes) -> None:
    before = """HloModule m
g {
  a = s32[] parameter(0)
  ROOT n = s32[] negate(a)
}
f {
  b = s32[] parameter(0)
  c = s32[] call(b), to_apply=g
  ROOT d = s32[] call(c), to_apply=g
}
ENTRY e {
  x = s32[] parameter(0)
  h = s32[] call(x), to_apply=f
  ROOT r = s32[] abs(h)
}"""
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  a = s32[] negate(x)
  b = s32[] negate(a)
  ROOT r = s32[] abs(b)
}"""
    assert becomes(CallInliner(), before, after).fired == {"inline": 3}


def test_an_inlined_call_may_have_readers_in_a_body_that_is_inlined_itself(becomes) -> None:
    before = """HloModule m
g {
  a = s32[] parameter(0)
  ROOT n = s32[] negate(a)
}
f {
  b = s32[] parameter(0)
  c = s32[] call(b), to_apply=g
  ROOT d = s32[] abs(c)
}
ENTRY e {
  x = s32[] parameter(0)
  ROOT h = s32[] call(x), to_apply=f
}"""
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  n = s32[] negate(x)
  ROOT d = s32[] abs(n)
}"""
    becomes(CallInliner(), before, after)


def test_a_body_that_returns_its_parameter_becomes_the_operand(becomes) -> None:
    before = """HloModule m
f {
  a = s32[] parameter(0)
  ROOT b = s32[] parameter(1)
}
ENTRY e {
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  ROOT c = s32[] call(x, y), to_apply=f
}"""
    after = "HloModule m\nENTRY e {\n  x = s32[] parameter(0)\n  ROOT y = s32[] parameter(1)\n}"
    becomes(CallInliner(), before, after)


LOOP = """HloModule m
{callee}body {
  a = s32[] parameter(0)
  ROOT n = s32[] {step}(a){apply}
}
condition {
  b = s32[] parameter(0)
  zero = s32[] constant(0)
  ROOT p = pred[] compare(b, zero), direction=LT
}
ENTRY e {
  x = s32[] parameter(0)
  ROOT w = s32[] while(x), condition=condition, body=body
}"""


def test_calls_inside_loops_are_inlined(becomes) -> None:
    callee = "f {\n  c = s32[] parameter(0)\n  ROOT m = s32[] negate(c)\n}\n"
    before = LOOP.replace("{callee}", callee).replace("{step}", "call").replace("{apply}", ", to_apply=f")
    after = LOOP.replace("{callee}", "").replace("{step}", "negate").replace("{apply}", "")
    becomes(CallInliner(), before, after)


def test_copies_of_a_loop_share_its_computations() -> None:
    looping = LOOP.replace("{callee}", "").replace("{step}", "negate").replace("{apply}", "")
    caller = """ENTRY top {
  y = s32[] parameter(0)
  c = s32[] call(y), to_apply=e
  ROOT d = s32[] call(c), to_apply=e
}"""
    module = read_text(looping.replace("ENTRY e", "e") + caller)
    assert CallInliner().run(module, Trace())
    loops = [inst for inst in module.entry_computation.instructions if inst.opcode is Opcode.WHILE]
    assert len(loops) == 2
    assert loops[0].called_computations == loops[1].called_computations


def test_only_callees_with_one_call_site_on_request(becomes) -> None:
    before = """HloModule m
a {
  p = s32[] parameter(0)
  ROOT n = s32[] negate(p)
}
b {
  q = s32[] parameter(0)
  ROOT o = s32[] not(q)
}
ENTRY e {
  x = s32[] parameter(0)
  c = s32[] call(x), to_apply=a
  d = s32[] call(c), to_apply=a
  ROOT f = s32[] call(d), to_apply=b
}"""
    after = """HloModule m
a {
  p = s32[] parameter(0)
  ROOT n = s32[] negate(p)
}
ENTRY e {
  x = s32[] parameter(0)
  c = s32[] call(x), to_apply=a
  d = s32[] call(c), to_apply=a
  ROOT o = s32[] not(d)
}"""
    assert becomes(CallInliner(single_call_site=True), before, after).declined == {"single-call-site": 4}


def test_a_second_call_site_that_dies_in_the_run_does_not_count(becomes) -> None:
    before = """HloModule m
a {
  p = s32[] parameter(0)
  ROOT n = s32[] negate(p)
}
b {
  q = s32[] parameter(0)
  dead = s32[] call(q), to_apply=a
  ROOT o = s32[] not(q)
}
ENTRY e {
  x = s32[] parameter(0)
  c = s32[] call(x), to_apply=a
  ROOT d = s32[] call(c), to_apply=b
}"""
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  n = s32[] negate(x)
  ROOT o = s32[] not(n)
}"""
    becomes(CallInliner(single_call_site=True), before, after)


MARKED = """HloModule m
f {
  a = s32[] parameter(0)
  ROOT n = s32[] negate(a)
}
ENTRY e {
  x = s32[] parameter(0)
  ROOT c = s32[] call(x), to_apply=fMARK
}"""


def test_a_call_can_forbid_inlining(stays, becomes) -> None:
    marked = MARKED.replace("MARK", ', frontend_attributes={inlineable="false"}')
    assert stays(CallInliner(), marked).declined == {"inlineable": 1}
    allowed = MARKED.replace("MARK", ', frontend_attributes={inlineable="true"}')
    after = "HloModule m\nENTRY e {\n  x = s32[] parameter(0)\n  ROOT n = s32[] negate(x)\n}"
    becomes(CallInliner(), allowed, after)


def test_a_sharded_call_is_inlined() -> None:
    module = read_text(MARKED.replace("MARK", ", sharding={replicated}"))
    assert module.entry_computation.root.carried
    assert CallInliner().run(module, Trace())


def test_a_call_with_a_backend_config_stays(stays) -> None:
    marked = MARKED.replace("MARK", ', backend_config="{}"')
    assert stays(CallInliner(), marked).declined == {"backend-config": 1}


NAMED = """HloModule m
f {
  a = s32[] parameter(0)
  u = s32[] abs(a)
  ROOT n = s32[] negate(u), metadata={op_name="own" source_file="f.py"}
}
ENTRY e {
  x = s32[] parameter(0)
  ROOT c = s32[] call(x), to_apply=f, metadata={op_name="caller"}
}"""


def op_names(pass_: CallInliner, text: str) -> list[str]:
    module = read_text(text)
    pass_.run(module, Trace())
    return [inst.metadata.op_name for inst in module.entry_computation.make_instruction_post_order()]


def test_op_names_are_prefixed_where_both_have_one() -> None:
    assert op_names(CallInliner(), NAMED) == ["", "", "caller/own"]
    assert op_names(CallInliner(prefix_op_names=False), NAMED) == ["", "", "own"]
    unnamed = NAMED.replace(', metadata={op_name="caller"}', "")
    assert op_names(CallInliner(), unnamed) == ["", "", "own"]


def test_the_rest_of_the_metadata_survives() -> None:
    module = read_text(NAMED)
    original = module.computations[0].root.metadata.carried
    CallInliner().run(module, Trace())
    assert original
    assert module.entry_computation.root.metadata.carried == original


def test_control_edges_of_the_body_and_of_the_call_are_kept(becomes) -> None:
    before = """HloModule m
f {
  a = s32[] parameter(0)
  u = s32[] abs(a)
  v = s32[] not(a), control-predecessors={u}
  ROOT n = s32[] add(u, v)
}
ENTRY e {
  x = s32[] parameter(0)
  first = s32[] negate(x)
  c = s32[] call(x), to_apply=f, control-predecessors={first}
  last = s32[] sign(x), control-predecessors={c}
  ROOT r = (s32[], s32[], s32[]) tuple(c, first, last)
}"""
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  first = s32[] negate(x)
  u = s32[] abs(x), control-predecessors={first}
  v = s32[] not(x), control-predecessors={u, first}
  n = s32[] add(u, v), control-predecessors={first}
  last = s32[] sign(x), control-predecessors={n, first}
  ROOT r = (s32[], s32[], s32[]) tuple(n, first, last)
}"""
    becomes(CallInliner(), before, after)


def test_control_edges_of_a_body_are_kept_where_the_call_has_none(becomes) -> None:
    before = """HloModule m
f {
  a = s32[] parameter(0)
  u = s32[] abs(a)
  v = s32[] not(a), control-predecessors={u}
  ROOT n = s32[] add(u, v)
}
ENTRY e {
  x = s32[] parameter(0)
  ROOT c = s32[] call(x), to_apply=f
}"""
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  u = s32[] abs(x)
  v = s32[] not(x), control-predecessors={u}
  ROOT n = s32[] add(u, v)
}"""
    becomes(CallInliner(), before, after)


def test_what_follows_a_call_does_not_wait_for_an_operand_that_the_body_ignores(becomes) -> None:
    before = """HloModule m
f {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT n = s32[] negate(a)
}
ENTRY e {
  x = s32[] parameter(0)
  y = s32[] abs(x)
  c = s32[] call(x, y), to_apply=f
  last = s32[] sign(x), control-predecessors={c}
  ROOT r = (s32[], s32[], s32[]) tuple(c, last, y)
}"""
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  y = s32[] abs(x)
  n = s32[] negate(x)
  last = s32[] sign(x), control-predecessors={n}
  ROOT r = (s32[], s32[], s32[]) tuple(n, last, y)
}"""
    becomes(CallInliner(), before, after)


def test_what_follows_a_call_follows_each_effect_of_its_body() -> None:
    module = read_text("""HloModule m
f {
  a = s32[] parameter(0)
  effect = s32[] custom-call(a), custom_call_target="log", custom_call_has_side_effect=true
  ROOT n = s32[] negate(a)
}
ENTRY e {
  x = s32[] parameter(0)
  c = s32[] call(x), to_apply=f
  last = s32[] sign(x), control-predecessors={c}
  ROOT r = (s32[], s32[]) tuple(c, last)
}""")
    CallInliner().run(module, Trace())
    last = module.find_instruction("last")
    assert last is not None
    assert {before.opcode for before in last.control_predecessors} == {Opcode.CUSTOM_CALL, Opcode.NEGATE}


def test_an_operand_that_the_body_returns_is_not_held_up_by_the_call() -> None:
    module = read_text("""HloModule m
f {
  ROOT a = s32[] parameter(0)
}
ENTRY e {
  x = s32[] parameter(0)
  y = s32[] negate(x)
  first = s32[] abs(y)
  c = s32[] call(y), to_apply=f, control-predecessors={first}
  last = s32[] sign(x), control-predecessors={c}
  ROOT r = (s32[], s32[], s32[]) tuple(c, last, first)
}""")
    CallInliner().run(module, Trace())
    module.entry_computation.make_instruction_post_order()  # raises on a cycle
    last = module.find_instruction("last")
    assert last is not None
    assert {before.name for before in last.control_predecessors} == {"y", "first"}


def test_a_call_in_an_asynchronous_computation_stays() -> None:
    module = read_text("""HloModule m
f {
  a = s32[] parameter(0)
  ROOT n = s32[] negate(a)
}
async {
  b = s32[] parameter(0)
  ROOT c = s32[] call(b), to_apply=f
}
ENTRY e {
  x = s32[] parameter(0)
  start = ((s32[]), s32[], u32[]) async-start(x), calls=async
  ROOT done = s32[] async-done(start)
}""")
    trace = Trace()
    assert not CallInliner().run(module, trace)
    assert trace.declined == {"async": 1}


def test_inline_call_says_what_became_of_each_instruction() -> None:
    module = read_text(TWICE)
    call = module.find_instruction("c")
    assert call is not None
    copies = inline_call(call)
    entry = module.entry_computation
    assert {before.name: after.opcode for before, after in copies.items()} == {
        "a": Opcode.PARAMETER,
        "b": Opcode.PARAMETER,
        "m": Opcode.MULTIPLY,
        "s": Opcode.SUBTRACT,
    }
    assert [after in entry for after in copies.values()] == [True] * 4
    assert call.is_removed


def test_chained_answers_of_inline_all_lead_back_to_the_original() -> None:
    module = read_text("""HloModule m
g {
  a = s32[] parameter(0)
  ROOT n = s32[] negate(a)
}
f {
  b = s32[] parameter(0)
  ROOT c = s32[] call(b), to_apply=g
}
ENTRY e {
  x = s32[] parameter(0)
  h = s32[] call(x), to_apply=f
  ROOT i = s32[] call(h), to_apply=f
}""")
    origin: dict[HloInstruction, HloInstruction] = {}
    calls: list[str] = []

    def follow(call: HloInstruction, copies: Mapping[HloInstruction, HloInstruction]) -> None:
        calls.append(call.name)
        origin.update(
            (copy, origin.get(inst, inst))
            for inst, copy in copies.items()
            if inst.opcode is not Opcode.PARAMETER
        )

    original = module.find_instruction("n")
    assert inline_all(module, follow)
    negations = [i for i in module.entry_computation.instructions if i.opcode is Opcode.NEGATE]
    assert calls == ["c", "h", "i"]
    assert [origin[inst] for inst in negations] == [original, original]
