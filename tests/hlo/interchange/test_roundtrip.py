"""Do real programs come through the IR exactly as they went in?

What is compared is what jaxlib prints, before and after; and, stronger, the whole proto that jaxlib makes of
both, which has the fields that printing leaves out.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hlo.canonical import structure
from hlo.interchange import bridge, export_proto, import_proto, mlir, read_stablehlo, read_text, write_text
from hlo.interchange.schema import HloModuleProto

# Files that come out different, each with the reason. Empty, and the tests hold it to be.
ENZYME_DIFFERENCES: dict[str, str] = {}
# Text, unlike the proto, cannot say that a NaN is in one half of a complex number: jaxlib reads it into both.
LOST_IN_TEXT = (
    "max_complex128_3_3_complex128_3_3.mlir",
    "min_complex128_3_3_complex128_3_3.mlir",
    "min_complex64_3_3_complex64_3_3.mlir",
)


def as_jaxlib_has_it(proto: bytes) -> Any:
    """What jaxlib writes after it has read `proto`, without the number that it gives each module."""
    module = HloModuleProto.FromString(bridge.text_to_proto(bridge.proto_to_text(proto)))
    module.ClearField("id")
    return module


def protos(folder: Path, pattern: str, step: int = 1) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.glob(pattern))[::step]:
        source = path.read_text("utf-8")
        yield (
            path.name,
            (mlir.stablehlo_to_proto(source) if path.suffix == ".mlir" else bridge.text_to_proto(source)),
        )


def comes_out_the_same(proto: bytes) -> bool:
    exported = export_proto(import_proto(proto))
    return bridge.proto_to_text(exported) == bridge.proto_to_text(proto)


def test_the_enzyme_files_print_identically(shared_data: Path) -> None:
    outcome = {name: comes_out_the_same(p) for name, p in protos(shared_data / "enzyme_hlo", "*.hlo")}
    assert len(outcome) == 248
    assert {name for name, same in outcome.items() if not same} == ENZYME_DIFFERENCES.keys()


def test_the_bug_cases_print_identically(shared_data: Path) -> None:
    outcome = {name: comes_out_the_same(p) for name, p in protos(shared_data / "bug_cases", "*.hlo")}
    assert outcome
    assert {name for name, same in outcome.items() if not same} == set()


def test_converted_stablehlo_prints_identically(shared_data: Path) -> None:
    outcome = {
        name: comes_out_the_same(p)
        for name, p in protos(shared_data / "stablehlo_testdata", "*.mlir", step=10)
    }
    assert outcome
    assert {name for name, same in outcome.items() if not same} == set()


def test_no_field_of_the_proto_is_lost(shared_data: Path) -> None:
    for name, proto in protos(shared_data / "enzyme_hlo", "*.hlo", step=4):
        assert as_jaxlib_has_it(export_proto(import_proto(proto))) == as_jaxlib_has_it(proto), name


def test_what_is_written_as_text_is_read_as_the_same_module(shared_data: Path) -> None:
    for name, proto in protos(shared_data / "enzyme_hlo", "*.hlo", step=4):
        module = import_proto(proto)
        assert structure(read_text(write_text(module))) == structure(module), name


def test_only_known_constants_are_lost_in_text(shared_data: Path) -> None:
    folder = shared_data / "stablehlo_testdata"
    for name in LOST_IN_TEXT:
        module = read_stablehlo((folder / name).read_text("utf-8"))
        assert structure(import_proto(export_proto(module))) == structure(module)
        assert structure(read_text(write_text(module))) != structure(module)
