"""Does the page on dynamic shapes name every guard and every refusal?"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from passes.stock import DynamicPadder

ROOT = Path(__file__).resolve().parents[4]
PAGE = (ROOT / "docs" / "dynamic_shapes.md").read_text("utf-8")
SOURCES = sorted((ROOT / "passes" / "stock").glob("dynamic_*/*.py"))


def reasons() -> Iterator[str]:
    """The text, as far as it does not vary, of each reason that is given for a refusal."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "refuse"
            ):
                reason = node.args[1]
                parts = reason.values if isinstance(reason, ast.JoinedStr) else [reason]
                yield from (
                    str(part.value).strip() for part in parts if isinstance(part, ast.Constant) and part.value
                )


REASONS = sorted({reason for reason in reasons() if len(reason) > 3})


def test_the_reasons_are_found_in_the_source() -> None:
    assert "the padding value is dynamic" in REASONS
    assert len(REASONS) > 25


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_is_on_the_page(reason: str) -> None:
    assert reason in PAGE


@pytest.mark.parametrize("guard", DynamicPadder.guards)
def test_each_guard_is_on_the_page_with_its_program(guard: str) -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{guard}` |")]
    name = f"padder-{guard.replace('_', '-')}.hlo"
    assert name in row
    assert (ROOT / "corpus" / "guards" / name).is_file()
