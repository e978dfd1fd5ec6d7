"""Programs that tests of XLA's passes share."""

from passes.xla.process import CHILD


def child_that(does: str) -> str:
    """The text of a child that does something else, too, each time before it runs `passes`."""
    return f"""
import importlib.util, os, sys, time
spec = importlib.util.spec_from_file_location("child", {str(CHILD)!r})
child = importlib.util.module_from_spec(spec)
spec.loader.exec_module(child)
plain = child.Xla.run
def run(self, stablehlo, passes, folder=""):
    {does}
    return plain(self, stablehlo, passes, folder)
child.Xla.run = run
child.main()
"""


FOLDABLE = """HloModule m
ENTRY e {
  x = s32[4] parameter(0)
  one = s32[] constant(1), metadata={op_name="block/one"}
  two = s32[] constant(2)
  sum = s32[] add(one, two), metadata={op_type="add" op_name="block/sum" source_file="a.py" source_line=3}
  wide = s32[4] broadcast(sum), dimensions={}
  zero = s32[4] subtract(x, x)
  y = s32[4] add(wide, zero), metadata={op_name="slash/"}
  back = s32[2,2] reshape(y)
  ROOT forth = s32[4] reshape(back)
}
"""
"""MLIR's canonicaliser would leave a broadcast constant of this."""

DEAD = """HloModule m
ENTRY e {
  x = s32[4] parameter(0)
  dead = s32[4] add(x, x)
  deader = s32[4] add(dead, dead), metadata={op_name="a"}
  ROOT y = s32[4] negate(x)
}
"""

CALLS = """HloModule m
twice {
  a = s32[4] parameter(0)
  ROOT t = s32[4] add(a, a), metadata={op_name="twice/add"}
}
ENTRY e {
  x = s32[4] parameter(0)
  b = s32[4] call(x), to_apply=twice, metadata={op_name="first"}
  ROOT c = s32[4] call(b), to_apply=twice
}
"""

TUPLED = """HloModule m
first {
  t = (s32[4], s32[4]) parameter(0)
  ROOT f = s32[4] get-tuple-element(t), index=0
}
ENTRY e {
  x = s32[4] parameter(0)
  t = (s32[4], s32[4]) tuple(x, x)
  ROOT c = s32[4] call(t), to_apply=first
}
"""
"""Comes back from XLA in another form, also when no pass touches it."""

REDUCER = """HloModule m
odd_sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  zero = f32[] constant(0)
  c = f32[] add(a, zero)
  ROOT s = f32[] add(c, b)
}
ENTRY e {
  x = f32[4,3] parameter(0)
  start = f32[] constant(0)
  ROOT r = f32[4] reduce(x, start), dimensions={1}, to_apply=odd_sum
}
"""

DYNAMIC = """HloModule m
ENTRY e {
  x = s32[4] parameter(0)
  size = s32[] constant(3)
  short = s32[<=4] set-dimension-size(x, size), dimensions={0}
  twice = s32[<=4] add(short, short)
  ROOT n = s32[] get-dimension-size(twice), dimensions={0}
}
"""

NESTED_SLICES = """HloModule m
ENTRY e {
  x = s32[10] parameter(0)
  i = s32[] parameter(1)
  j = s32[] parameter(2)
  outer = s32[5] dynamic-slice(x, i), dynamic_slice_sizes={5}
  ROOT inner = s32[3] dynamic-slice(outer, j), dynamic_slice_sizes={3}
}
"""
