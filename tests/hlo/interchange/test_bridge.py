"""Does the bridge carry modules across whole, and turn every bad input into one clear error?"""

import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

from hlo.errors import BridgeUnavailable, InvalidInput
from hlo.interchange import bridge, mlir, schema

ADD = """\
HloModule m
ENTRY e {
  a = f32[8,4] parameter(0)
  b = f32[8,4] parameter(1)
  ROOT c = f32[8,4] add(a, b), metadata={op_name="sum"}
}"""
ILL_TYPED = ADD.replace("ROOT c = f32[8,4]", "ROOT c = f32[2,4]")


def test_text_survives_the_round_trip() -> None:
    text = bridge.proto_to_text(bridge.text_to_proto(ADD))
    assert bridge.proto_to_text(bridge.text_to_proto(text)) == text
    assert 'add(%a, %b), metadata={op_name="sum"}' in text


def test_large_constants_are_printed_whole() -> None:
    values = ", ".join(map(str, range(200)))
    text = f"HloModule m\nENTRY e {{\n ROOT c = s32[200] constant({{{values}}})\n}}"
    assert f"constant({{{values}}})" in bridge.proto_to_text(bridge.text_to_proto(text))


def test_a_syntax_error_names_line_and_column() -> None:
    with pytest.raises(InvalidInput) as caught:
        bridge.text_to_proto("HloModule m\nENTRY e {\n  ROOT x = f32[2] foo()\n}")
    error = caught.value.at("m.hlo")
    assert (error.line, error.column) == (3, 19)
    assert str(error) == "m.hlo:3:19: expects opcode but sees: foo, error: Unknown opcode: foo"


@pytest.mark.parametrize(
    "text", ["", "garbage", "HloModule m", "HloModule m\nENTRY e { }", ADD[:-20], "\0", "\ud800"]
)
def test_unusable_text_is_invalid_input_on_one_line(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        bridge.text_to_proto(text)
    assert len(str(caught.value).splitlines()) == 1


def test_a_truncated_proto_is_invalid_input_or_whole() -> None:
    proto = bridge.text_to_proto(ADD)
    for length in range(len(proto)):
        try:
            bridge.proto_to_text(proto[:length])
        except InvalidInput:
            continue
        # Only the module's trailing optional fields may go missing unnoticed.
        assert schema.HloModuleProto.FromString(proto[:length]).computations[0].instructions[2].name == "c"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("operand_ids", [0, 77], r"operands \[77\] are not defined before it"),
        ("called_computation_ids", [5], "a called computation is not defined"),
        ("control_predecessor_ids", [9], "unknown control predecessor"),
        ("operand_ids", [], "add without operands"),
        ("opcode", "scatter", "a scatter of 2 operands"),
        ("opcode", "tuple", "a tuple of 2 operands"),
        ("id", 2**31, "is taken, or too large"),
        ("shape", schema.ShapeProto(element_type=13), "its result is not that of the entry"),
    ],
)
def test_ids_and_counts_are_checked_before_jaxlib_sees_them(field: str, value: object, message: str) -> None:
    module = schema.HloModuleProto.FromString(bridge.text_to_proto(ADD))
    root = module.computations[0].instructions[2]
    root.ClearField(field)
    root.MergeFrom(schema.HloInstructionProto(**{field: value}))
    with pytest.raises(InvalidInput, match=message):
        bridge.proto_to_text(schema.serialize(module))


def test_text_that_kills_the_parser_is_caught_by_the_probe() -> None:
    bridge.probe(ADD)
    with pytest.raises(InvalidInput, match="jaxlib dies reading this: Check failed: param_no"):
        bridge.probe(ADD.replace("parameter(1)", "parameter(5)"))


def test_stablehlo_goes_both_ways() -> None:
    stablehlo = mlir.proto_to_stablehlo(bridge.text_to_proto(ADD))
    assert "stablehlo.add" in stablehlo
    assert "add(" in bridge.proto_to_text(mlir.stablehlo_to_proto(stablehlo))


def test_a_stablehlo_syntax_error_names_line_and_column() -> None:
    with pytest.raises(InvalidInput) as caught:
        mlir.stablehlo_to_proto("module {\n  nonsense\n}")
    assert (caught.value.line, caught.value.column) == (2, 3)


def test_the_verifier_names_the_ill_typed_instruction() -> None:
    assert mlir.verify_with_mlir(bridge.text_to_proto(ADD)) == []
    (complaint,) = mlir.verify_with_mlir(bridge.text_to_proto(ILL_TYPED))
    assert complaint.startswith("sum: 'stablehlo.add' op requires the same shape")
    with pytest.raises(InvalidInput, match="requires the same shape"):
        mlir.proto_to_stablehlo(bridge.text_to_proto(ILL_TYPED))


def test_a_jax_function_becomes_a_module() -> None:
    def double(x: jax.Array) -> jax.Array:
        return x + x

    text = bridge.proto_to_text(bridge.jax_to_proto(double, jnp.zeros((3, 2), jnp.int32)))
    assert "s32[3,2]{1,0} add(" in text


def test_opcodes_are_spelled_as_the_printer_does() -> None:
    def every_odd_name(x: jax.Array) -> jax.Array:
        return jnp.sin(x) + jnp.cos(x) + jnp.exp(x) + jnp.expm1(x) + jnp.log1p(x)

    proto = bridge.jax_to_proto(every_odd_name, jnp.zeros(3, jnp.float32))
    used = {i.opcode for c in schema.HloModuleProto.FromString(proto).computations for i in c.instructions}
    assert {"sine", "cosine", "exponential"} < used
    assert used <= set(bridge.installed_opcodes())
    assert {"dynamic-slice", "opt-barrier", "popcnt", "count-leading-zeros"} < set(bridge.installed_opcodes())


def test_a_missing_function_is_named_with_the_jaxlib_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("jaxlib._hlo.hlo_module_from_text")
    with pytest.raises(BridgeUnavailable, match=r"^jaxlib \d.* has no jaxlib._hlo.hlo_module_from_text$"):
        bridge.text_to_proto(ADD)


def test_mlir_can_be_the_first_thing_that_is_asked_for() -> None:
    code = "from hlo.interchange.mlir import dialect, ir; print(ir().__name__, dialect('func').__name__)"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert asked.stdout.split() == ["jaxlib.mlir.ir", "jaxlib.mlir.dialects.func"]


def test_a_missing_module_is_named_with_the_jaxlib_version() -> None:
    with pytest.raises(BridgeUnavailable, match=r"^jaxlib \d.* has no jaxlib.mlir.dialects.nothing$"):
        mlir.dialect("nothing")
