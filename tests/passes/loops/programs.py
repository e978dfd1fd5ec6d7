"""While loops as HLO text, for the tests of everything that looks at loops."""


def loop(
    *,
    type_: str = "s32",
    init: int | str = 0,
    bound: int | str = 5,
    direction: str = "LT",
    compare: str = "i, n",
    step: int = 1,
    update: str = "add(i, step)",
    config: str = "",
) -> str:
    """A loop over (counter, s32[8] x, s32[] sum) that adds to sum what x has at the counter.

    `init` and `bound` are constants, or the name of the entry's parameter `k`.
    """
    start = f"constant({init})" if isinstance(init, int) else f"copy({init})"
    limit = f"constant({bound})" if isinstance(bound, int) else "get-tuple-element(p), index=3"
    extra, read, given = "", "", ""
    if isinstance(bound, str):
        extra, given = f", {type_}[]", ", n"
        read = f"  n = {type_}[] get-tuple-element(p), index=3\n"
    entry_bound = f"  n = {type_}[] copy({bound})\n" if isinstance(bound, str) else ""
    state = f"({type_}[], s32[8], s32[]{extra})"
    return f"""
HloModule counted
body {{
  p = {state} parameter(0)
  i = {type_}[] get-tuple-element(p), index=0
  x = s32[8] get-tuple-element(p), index=1
  sum = s32[] get-tuple-element(p), index=2
{read}  step = {type_}[] constant({step})
  next = {type_}[] {update}
  piece = s32[1] dynamic-slice(x, i), dynamic_slice_sizes={{1}}
  value = s32[] reshape(piece)
  three = s32[] constant(3)
  more = s32[] multiply(sum, three)
  total = s32[] add(more, value)
  ROOT out = {state} tuple(next, x, total{given})
}}
cond {{
  p = {state} parameter(0)
  i = {type_}[] get-tuple-element(p), index=0
  n = {type_}[] {limit}
  ROOT more = pred[] compare({compare}), direction={direction}
}}
ENTRY main {{
  x = s32[8] parameter(0)
  k = {type_}[] parameter(1)
  start = {type_}[] {start}
  zero = s32[] constant(0)
{entry_bound}  state = {state} tuple(start, x, zero{given})
  w = {state} while(state), condition=cond, body=body{config}
  i = {type_}[] get-tuple-element(w), index=0
  sum = s32[] get-tuple-element(w), index=2
  ROOT out = ({type_}[], s32[]) tuple(i, sum)
}}
"""


def known_trip_count(count: object) -> str:
    """The `backend_config` that claims `count` iterations, for `loop(config=…)`."""
    return f', backend_config={{"known_trip_count":{{"n":"{count}"}}}}'


NESTED = """
HloModule nested
inner_body {
  p = (s32[], s32[], s32[4,4], s32[]) parameter(0)
  j = s32[] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1
  x = s32[4,4] get-tuple-element(p), index=2
  sum = s32[] get-tuple-element(p), index=3
  one = s32[] constant(1)
  next = s32[] add(j, one)
  piece = s32[1,1] dynamic-slice(x, i, j), dynamic_slice_sizes={1,1}
  value = s32[] reshape(piece)
  twice = s32[] add(sum, sum)
  total = s32[] add(twice, value)
  ROOT out = (s32[], s32[], s32[4,4], s32[]) tuple(next, i, x, total)
}
inner_cond {
  p = (s32[], s32[], s32[4,4], s32[]) parameter(0)
  j = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT more = pred[] compare(j, n), direction=LT
}
outer_body {
  p = (s32[], s32[4,4], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = s32[4,4] get-tuple-element(p), index=1
  sum = s32[] get-tuple-element(p), index=2
  first = s32[] constant(0)
  state = (s32[], s32[], s32[4,4], s32[]) tuple(first, i, x, sum)
  w = (s32[], s32[], s32[4,4], s32[]) while(state), condition=inner_cond, body=inner_body
  total = s32[] get-tuple-element(w), index=3
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT out = (s32[], s32[4,4], s32[]) tuple(next, x, total)
}
outer_cond {
  p = (s32[], s32[4,4], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(4)
  ROOT more = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = s32[4,4] parameter(0)
  zero = s32[] constant(0)
  state = (s32[], s32[4,4], s32[]) tuple(zero, x, zero)
  w = (s32[], s32[4,4], s32[]) while(state), condition=outer_cond, body=outer_body
  ROOT sum = s32[] get-tuple-element(w), index=2
}
"""

# The inner loop runs as often as the outer counter says.
TRIANGLE = NESTED.replace("  n = s32[] constant(3)\n", "  n = s32[] get-tuple-element(p), index=1\n").replace(
    "HloModule nested", "HloModule triangle"
)
