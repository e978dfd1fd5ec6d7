"""Small programs that both Neuron slice passes' tests read, as HLO text."""

ONE_BODY_TWICE = """
HloModule one_body_twice
body {
  p = (s32[], s32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = s32[8] get-tuple-element(p), index=1
  two = s32[] constant(2)
  start = s32[] multiply(i, two)
  window = s32[2] dynamic-slice(x, start), dynamic_slice_sizes={2}
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT out = (s32[], s32[8], s32[2]) tuple(next, x, window)
}
ENTRY main {
  x = s32[8] parameter(0)
  zero = s32[] constant(0)
  first = (s32[], s32[8]) tuple(zero, x)
  a = (s32[], s32[8], s32[2]) call(first), to_apply=body
  i1 = s32[] get-tuple-element(a), index=0
  x1 = s32[8] get-tuple-element(a), index=1
  second = (s32[], s32[8]) tuple(i1, x1)
  b = (s32[], s32[8], s32[2]) call(second), to_apply=body
  wa = s32[2] get-tuple-element(a), index=2
  wb = s32[2] get-tuple-element(b), index=2
  xb = s32[8] get-tuple-element(b), index=1
  ROOT result = (s32[2], s32[2], s32[8]) tuple(wa, wb, xb)
}
"""


def body_once(
    start: str = "i", *, extra: str = "", root: str = "window", metadata: str = "", caller: str = ""
) -> str:
    """One call of one body over (s32[] i = 3, s32[8] x); `start` names the slice's start in the body.

    `root` is the body's result; `extra` are more instructions of the body and `caller` of the entry.
    """
    shapes = {"i": "s32[]", "x": "s32[8]", "window": "s32[2]"}
    shape = shapes.get(root, f"({', '.join(shapes.get(name, 's32[8]') for name in root.split())})")
    result = f"  ROOT out = {shape} tuple({', '.join(root.split())})\n" if root not in shapes else ""
    text = f"""
HloModule body_once
body {{
  p = (s32[], s32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = s32[8] get-tuple-element(p), index=1
  two = s32[] constant(2)
  twice = s32[] multiply(i, two)
  window = s32[2] dynamic-slice(x, {start}), dynamic_slice_sizes={{2}}{metadata}
{extra}{result}}}
ENTRY main {{
  x = s32[8] parameter(0)
  three = s32[] constant(3)
  state = (s32[], s32[8]) tuple(three, x)
{caller}  ROOT done = {shape} call(state), to_apply=body
}}
"""
    return text if result else text.replace(f"  {root} = ", f"  ROOT {root} = ", 1)
