from hlo.interchange import read_text
from passes import Trace
from passes.stock import DynamicIndexSplitter


def test_a_slice_gets_one_scalar_for_each_dimension(becomes) -> None:
    before = """HloModule m
ENTRY e {
  x = s32[4,5,6] parameter(0)
  i = s32[3] parameter(1)
  ROOT r = s32[1,2,3] dynamic-slice(x, i), dynamic_slice_sizes={1,2,3}
}"""
    after = """HloModule m
ENTRY e {
  x = s32[4,5,6] parameter(0)
  i = s32[3] parameter(1)
  a = s32[1] slice(i), slice={[0:1]}
  i0 = s32[] reshape(a)
  b = s32[1] slice(i), slice={[1:2]}
  i1 = s32[] reshape(b)
  c = s32[1] slice(i), slice={[2:3]}
  i2 = s32[] reshape(c)
  ROOT r = s32[1,2,3] dynamic-slice(x, i0, i1, i2), dynamic_slice_sizes={1,2,3}
}"""
    assert becomes(DynamicIndexSplitter(), before, after).fired == {"split": 1}


def test_an_update_gets_one_scalar_for_each_dimension(becomes) -> None:
    before = """HloModule m
ENTRY e {
  x = s32[4,5] parameter(0)
  u = s32[2,2] parameter(1)
  i = s32[2] parameter(2)
  ROOT r = s32[4,5] dynamic-update-slice(x, u, i)
}"""
    after = """HloModule m
ENTRY e {
  x = s32[4,5] parameter(0)
  u = s32[2,2] parameter(1)
  i = s32[2] parameter(2)
  a = s32[1] slice(i), slice={[0:1]}
  i0 = s32[] reshape(a)
  b = s32[1] slice(i), slice={[1:2]}
  i1 = s32[] reshape(b)
  ROOT r = s32[4,5] dynamic-update-slice(x, u, i0, i1)
}"""
    assert becomes(DynamicIndexSplitter(), before, after).fired == {"split": 1}


def test_slices_and_updates_of_a_scalar_are_the_scalar(becomes) -> None:
    before = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  u = s32[] parameter(1)
  s = s32[] dynamic-slice(x), dynamic_slice_sizes={}
  d = s32[] dynamic-update-slice(x, u)
  ROOT r = s32[] subtract(s, d)
}"""
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  u = s32[] parameter(1)
  ROOT r = s32[] subtract(x, u)
}"""
    assert becomes(DynamicIndexSplitter(), before, after).fired == {"scalar-operand": 2}


def test_scalar_starts_stay() -> None:
    module = read_text("""HloModule m
ENTRY e {
  x = s32[4] parameter(0)
  i = s32[] parameter(1)
  ROOT r = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}
}""")
    assert not DynamicIndexSplitter().run(module, Trace())


def test_what_is_inside_a_fusion_stays() -> None:
    module = read_text("""HloModule m
f {
  x = s32[4] parameter(0)
  i = s32[1] parameter(1)
  ROOT r = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}
}
ENTRY e {
  x = s32[4] parameter(0)
  i = s32[1] parameter(1)
  ROOT r = s32[2] fusion(x, i), kind=kLoop, calls=f
}""")
    assert not DynamicIndexSplitter().run(module, Trace())
