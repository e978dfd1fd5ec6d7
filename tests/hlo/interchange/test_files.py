"""Does every kind of file come in by its suffix or its content, and every bad one as one line with its path?"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlo import HloModule
from hlo.canonical import structure
from hlo.errors import InvalidInput, UnsupportedOpcode
from hlo.interchange import (
    bridge,
    from_jax,
    read_file,
    read_stablehlo,
    read_text,
    write_stablehlo,
    write_text,
)
from hlo.interchange.wire import tagged

TEXT = "HloModule m\nENTRY e {\n  a = f32[3] parameter(0)\n  ROOT b = f32[3] negate(a)\n}\n"
PROTO = bridge.text_to_proto(TEXT)
STABLEHLO = """\
// a comment
module @m {
  func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
    %b = stablehlo.negate %a : tensor<3xf32>
    return %b : tensor<3xf32>
  }
}
"""
FILES = {
    "m.hlo": TEXT.encode(),
    "m.txt": TEXT.encode(),
    "text": b"// a comment\n" + TEXT.encode(),
    "m.pb": PROTO,
    "m.bin": tagged(1, PROTO),
    "proto": PROTO,
    "m.mlir": STABLEHLO.encode(),
    "stablehlo": STABLEHLO.encode(),
}


def operations(module: HloModule) -> list[tuple[str, str]]:
    return [(str(inst.opcode), str(inst.shape)) for inst in module.entry_computation.instructions]


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_by_its_suffix_or_its_content(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    assert operations(read_file(tmp_path / name)) == [("parameter", "f32[3]"), ("negate", "f32[3]")]


def test_stablehlo_bytecode_is_recognised(tmp_path: Path) -> None:
    bytecode = jax.export.export(jax.jit(jnp.negative))(
        jax.ShapeDtypeStruct((3,), np.float32)
    ).mlir_module_serialized
    module = read_stablehlo(bytecode)
    assert operations(module)[-1] == ("negate", "f32[3]")


BAD: dict[str, tuple[bytes, str]] = {
    "empty.hlo": (b"", "the file is empty"),
    "blank.hlo": (b" \n\n", "the file is empty"),
    "syntax.hlo": (TEXT.replace("negate(a)", "negate(a").encode(), ""),
    "opcode.hlo": (TEXT.replace("negate", "frobnicate").encode(), ""),
    "latin.hlo": ("HloModule m\n// é".encode("latin-1"), ":2:4: not UTF-8 text"),
    "junk.hlo": (bytes(range(128)) * 4, ""),
    "junk.pb": (bytes(range(256)) * 4, ": not an HLO module proto"),
    "junk": (bytes(range(256)), ": not an HLO module proto"),
    "truncated.pb": (PROTO[:-40], ": "),
    "text.pb": (TEXT.encode(), ": not an HLO module proto"),
    "proto.hlo": (PROTO, ""),
    "snapshot.pb": (tagged(1, tagged(1, PROTO)), ": an HloSnapshot"),
    "syntax.mlir": (STABLEHLO.replace("return", "retur").encode(), ""),
    "type.mlir": (STABLEHLO.replace("-> tensor<3xf32> {", "-> tensor<4xf32> {").encode(), ""),
    "unbounded.hlo": (
        TEXT.replace("f32[3]", "f32[?]").encode(),
        "Invalid dimension size -9223372036854775808, is_dynamic=true",
    ),
    "unbounded.mlir": (
        b"func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }",
        "Invalid dimension size -9223372036854775808, is_dynamic=true",
    ),
    "fatal.hlo": (TEXT.replace("parameter(0)", "parameter(5)").encode(), ": jaxlib dies reading this"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_line_with_its_path(name: str, tmp_path: Path) -> None:
    content, message = BAD[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        read_file(path)
    assert caught.value.path == str(path)
    assert "\n" not in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["syntax.hlo", "opcode.hlo", "syntax.mlir", "type.mlir"])
def test_a_mistake_in_a_text_has_its_line_and_column(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(BAD[name][0])
    with pytest.raises(InvalidInput) as caught:
        read_file(path)
    assert (caught.value.line or 0) > 2
    assert (caught.value.column or 0) > 0


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.hlo", tmp_path):
        with pytest.raises(InvalidInput) as caught:
            read_file(path)
        assert str(caught.value).startswith(f"{path}: ")


def test_an_unknown_opcode_in_a_proto_is_unsupported_not_invalid(tmp_path: Path) -> None:
    path = tmp_path / "m.pb"
    path.write_bytes(PROTO.replace(b"\x12\x06negate", b"\x12\x06foobar"))
    with pytest.raises(UnsupportedOpcode, match="foobar"):
        read_file(str(path))


def test_a_jax_function_is_read() -> None:
    def step(cache: jax.Array, row: jax.Array, index: int) -> jax.Array:
        return jax.lax.dynamic_update_slice(cache, row, (index, 0))

    module = from_jax(step, jnp.zeros((4, 2), jnp.float32), jnp.ones((1, 2), jnp.float32), 1)
    assert ("dynamic-update-slice", "f32[4,2]") in operations(module)
    assert structure(
        from_jax(step, jnp.zeros((4, 2), jnp.float32), jnp.ones((1, 2), jnp.float32), 1)
    ) == structure(module)


def test_stablehlo_is_written_and_read_back() -> None:
    module = read_text(TEXT)
    assert operations(read_stablehlo(write_stablehlo(module))) == operations(module)


def test_text_written_is_what_jaxlib_prints() -> None:
    assert write_text(read_text(TEXT)) == bridge.proto_to_text(PROTO)
