"""How does a program get in and out as HLO text, StableHLO, a JAX function or a file?"""

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from hlo.bounds import refuse_unbounded
from hlo.errors import InvalidInput
from hlo.interchange import bridge, mlir
from hlo.interchange.exporter import export_proto
from hlo.interchange.importer import import_proto
from hlo.module import HloModule

_SUFFIXES: Final = {".hlo": "text", ".txt": "text", ".pb": "proto", ".bin": "proto", ".mlir": "stablehlo"}
_MLIR_BYTECODE: Final = b"ML\xefR"  # MLIR Bytecode Format, "Magic Number"
_MLIR_TEXT: Final = re.compile(rb"^\s*(builtin\.)?(module|func)\b", re.MULTILINE)
_BINARY: Final = re.compile(rb"[^\t\n\f\r -\x7e\x80-\xff]")  # control characters: protos are full of them

# A constant's line up to the end of its value: what may follow has an "=", and only that has strings.
_CONSTANT: Final = re.compile(r"^ +(?:ROOT )?%\S+ = [^\"\n]* constant\([^=\"\n]*", re.MULTILINE)
_NEGATIVE_ZERO: Final = re.compile(r"(?<=[\s({])-0(?=[\s,)}])")


def read_text(text: str) -> HloModule:
    """The module that HLO text spells. Raises InvalidInput with line and column for a syntax error.

    Shapes are not checked. A constant that was printed as `{...}`, without its value, gets some value of
    jaxlib's choice. Text that nobody here wrote should pass `bridge.probe` first, as `read_file` does.
    """
    return import_proto(bridge.text_to_proto(text))


def write_text(module: HloModule) -> str:
    """The HLO text of `module`, as jaxlib prints it where it can read that again, with constants in full.

    Reading it gives the same module, bit for bit, but for two constants: a NaN in one half of a complex number,
    which jaxlib reads into both, and the smallest f8e8m0fnu. Raises IllegalRewrite for a module that passes left
    broken, and InvalidInput where jaxlib refuses it.
    """
    text = bridge.proto_to_text(export_proto(module))
    # jaxlib prints a custom-call's unspecified API version, and cannot read it.
    text = text.replace(", api_version=API_VERSION_UNSPECIFIED", "")
    # It prints negative zero as "-0", and reads that as the integer 0, without a sign.
    return _CONSTANT.sub(lambda found: _NEGATIVE_ZERO.sub("-0.0", found[0]), text) if "-0" in text else text


def read_stablehlo(source: str | bytes) -> HloModule:
    """The module that StableHLO, text or bytecode, converts to. Raises InvalidInput."""
    return import_proto(mlir.stablehlo_to_proto(source))


def write_stablehlo(module: HloModule) -> str:
    """The StableHLO text of `module`. Raises InvalidInput where it has none or its types are wrong."""
    return mlir.proto_to_stablehlo(export_proto(module))


def from_jax(function: Callable[..., Any], *args: Any) -> HloModule:
    """The unoptimised HLO of a JAX function for these arguments (arrays or `jax.ShapeDtypeStruct`s).

    What the function or the tracing of it raises comes through as it is.
    """
    return import_proto(bridge.jax_to_proto(function, *args))


def read_file(path: str | Path) -> HloModule:
    """The module in a file: HLO text, an HLO proto, or StableHLO.

    The suffix decides (.hlo and .txt; .pb and .bin; .mlir); any other leaves it to the content. Raises
    InvalidInput with the path, also for a file that cannot be read or that would kill jaxlib's reader, and for a
    program with a dimension that has no bound, which nothing here can run.
    """
    path = Path(path)
    with _naming(path):
        data = _content(path)
        module = _FORMATS[_format_of(path.suffix, data)](data)
        refuse_unbounded(module)
        return module


def stablehlo_in(path: str | Path) -> str | bytes | None:
    """The StableHLO, text or bytecode, in a file; None where it has another format. Raises InvalidInput."""
    path = Path(path)
    with _naming(path):
        data = _content(path)
        return _source(data) if _format_of(path.suffix, data) == "stablehlo" else None


@contextmanager
def _naming(path: Path) -> Generator[None]:
    """Name the file in whatever is wrong with it."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(error.strerror or str(error), path=str(path)) from None
    except InvalidInput as error:
        raise error.at(str(path)) from None


def _content(path: Path) -> bytes:
    data = path.read_bytes()
    if not data.strip():
        raise InvalidInput("the file is empty")
    return data


def _format_of(suffix: str, data: bytes) -> str:
    if data.startswith(_MLIR_BYTECODE):
        return "stablehlo"
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if _BINARY.search(data):
        return "proto"
    return "stablehlo" if _MLIR_TEXT.search(data) else "text"


def _read_foreign_text(data: bytes) -> HloModule:
    text = _decode(data)
    bridge.probe(text)
    return read_text(text)


def _read_foreign_proto(data: bytes) -> HloModule:
    module = import_proto(data)
    bridge.probe(export_proto(module))
    return module


def _read_foreign_stablehlo(data: bytes) -> HloModule:
    return read_stablehlo(_source(data))


def _source(data: bytes) -> str | bytes:
    return data if data.startswith(_MLIR_BYTECODE) else _decode(data)


_FORMATS: Final[dict[str, Callable[[bytes], HloModule]]] = {
    "text": _read_foreign_text,
    "proto": _read_foreign_proto,
    "stablehlo": _read_foreign_stablehlo,
}


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise InvalidInput("not UTF-8 text", line=line, column=column) from None
