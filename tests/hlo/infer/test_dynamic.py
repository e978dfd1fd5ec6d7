from collections.abc import Callable

from hlo.attributes import Dimensions

Infer = Callable[..., str]


def test_the_size_of_a_dimension_is_an_s32(infer: Infer, refusal: Infer) -> None:
    assert infer("get-dimension-size", "f32[2,<=3]", attributes=Dimensions((1,))) == "s32[]"
    assert "dimension 2" in refusal("get-dimension-size", "f32[2,3]", attributes=Dimensions((2,)))
    assert "exactly one" in refusal("get-dimension-size", "f32[2,3]", attributes=Dimensions((0, 1)))
    assert "does not fit s32" in refusal("get-dimension-size", f"f32[{2**31}]", attributes=Dimensions((0,)))


def test_setting_a_size_makes_the_dimension_dynamic(infer: Infer, refusal: Infer) -> None:
    gives = infer("set-dimension-size", "f32[2,<=3]", "s32[]", attributes=Dimensions((0,)))
    assert gives == "f32[<=2,<=3]"
    for size in ("s64[]", "s32[1]", "u32[]", "(s32[])"):
        assert refusal("set-dimension-size", "f32[2,3]", size, attributes=Dimensions((0,)))


def test_a_dynamic_reshape_takes_a_size_for_each_dimension(infer: Infer, refusal: Infer) -> None:
    assert infer("dynamic-reshape", "f32[6]", "s32[]", "s32[]", declared="f32[<=2,3]") == "f32[<=2,3]"
    assert refusal("dynamic-reshape", "f32[6]", "s32[]", declared="f32[<=2,3]")
    assert refusal("dynamic-reshape", "f32[6]", "s64[]", declared="f32[<=6]")
    assert refusal("dynamic-reshape", "f32[6]", "s32[3]", declared="f32[<=6]")
    assert refusal("dynamic-reshape", "f32[6]", "s32[]", declared="f32[<=5]")
    assert refusal("dynamic-reshape", declared="f32[<=5]")
