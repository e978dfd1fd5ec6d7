"""Which parameters go into the size of an array?"""

import pytest

from hlo.stablehlo import StableHloModule
from oracle.symbolic import known_parameters

ONE = "tensor<1xi32>"


def program(
    body: str, *, parameters: str = "%n: tensor<i32>, %k: tensor<i32>, %x: tensor<?xf32>"
) -> StableHloModule:
    return StableHloModule.read(
        f"module {{ func.func @main({parameters}) -> tensor<?xf32> {{ {body} }} {OTHERS} }}"
    )


OTHERS = """
func.func private @twice(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
  %s = stablehlo.add %a, %a : tensor<i32>
  return %s : tensor<i32>
}"""


def spread(size: str) -> str:
    return f"""%shape = stablehlo.reshape {size} : (tensor<i32>) -> {ONE}
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      %y = stablehlo.dynamic_broadcast_in_dim %one, %shape, dims = [] : (tensor<f32>, {ONE}) -> tensor<?xf32>
      return %y : tensor<?xf32>"""


def test_a_parameter_that_says_a_size_must_be_known() -> None:
    assert known_parameters(program(spread("%n"))) == [0]


def test_so_must_one_that_a_size_is_computed_from_and_no_other() -> None:
    assert known_parameters(program("%m = stablehlo.add %k, %k : tensor<i32>\n" + spread("%m"))) == [1]


def test_the_size_of_an_array_is_no_part_of_what_it_holds() -> None:
    body = "%m = stablehlo.get_dimension_size %x, dim = 0 : (tensor<3xi32>) -> tensor<i32>\n" + spread("%m")
    assert known_parameters(program(body, parameters="%x: tensor<3xi32>")) == []


def test_a_call_hands_on_what_its_function_uses_only() -> None:
    body = "%m = func.call @twice(%k, %n) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n" + spread("%m")
    assert known_parameters(program(body)) == [1]


def test_what_a_loop_carries_is_followed_into_it() -> None:
    body = """%m = stablehlo.while(%i = %n) : tensor<i32> cond {
        %yes = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %yes : tensor<i1>
      } do {
        %j = stablehlo.add %i, %i : tensor<i32>
        stablehlo.return %j : tensor<i32>
      }
    """ + spread("%m")
    assert known_parameters(program(body)) == [0, 1]


SLICE = f"""%two = stablehlo.constant dense<2> : {ONE}
  %one = stablehlo.constant dense<1> : {ONE}
  %start = stablehlo.reshape %n : (tensor<i32>) -> {ONE}
  %limit = LIMIT
  %y = stablehlo.real_dynamic_slice %x, %start, %limit, %one : (tensor<?xf32>, {ONE}, {ONE}, {ONE}) -> tensor<2xf32>
  %z = stablehlo.convert %y : (tensor<2xf32>) -> tensor<?xf32>
  return %z : tensor<?xf32>"""


@pytest.mark.parametrize(
    ("limit", "known"),
    [
        (f"stablehlo.add %start, %two : {ONE}", []),  # a dynamic-slice, whose start may be anything
        (f"stablehlo.reshape %k : (tensor<i32>) -> {ONE}", [0, 1]),
    ],
)
def test_a_slice_of_known_size_may_begin_anywhere_if_its_end_follows_from_that(
    limit: str, known: list[int]
) -> None:
    assert known_parameters(program(SLICE.replace("LIMIT", limit))) == known
