"""A child that answers, dies, hangs or eats memory: its parent is told, and goes on."""

import os
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hlo import same_bits
from hlo.isolation import ChildDied, ChildHung, ChildProcess, WarmChild, pack_arrays, unpack_arrays

CHILD = """
import os, sys, time
from hlo.isolation.serving import serve

def start():
    print("native code prints what it likes", flush=True)
    os.write(1, b"anywhere")
    return {"ready": True}, answer

def answer(head, body):
    if head.get("sleep"):
        time.sleep(head["sleep"])
    if head.get("die"):
        sys.stderr.write("so long")
        os._exit(3)
    if head.get("eat"):
        return {"eaten": len(bytearray(head["eat"]))}, b""
    return {"pid": os.getpid()}, body[::-1]

serve(start, 1 << 30)
"""


@pytest.fixture
def command(tmp_path: Path) -> tuple[str, ...]:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    return ("env", f"PYTHONPATH={os.getcwd()}", sys.executable, "-P", str(script))


@pytest.fixture
def warm(command: tuple[str, ...]):
    child = WarmChild(lambda: ChildProcess(command))
    yield child
    child.close()


def test_a_child_answers_whatever_it_prints_besides(warm: WarmChild) -> None:
    process = warm.get()
    assert process.hello == {"ready": True}
    body = os.urandom(1 << 20)
    assert process.ask({}, body, 30) == ({"pid": process.process_id}, body[::-1])
    assert warm.get() is process


def test_a_child_that_dies_says_how_and_is_replaced(warm: WarmChild) -> None:
    process = warm.get()
    with pytest.raises(ChildDied, match="status 3") as died:
        process.ask({"die": True}, b"", 30)
    assert died.value.log == "so long"
    assert warm.get().ask({}, b"ab", 30)[1] == b"ba"


def test_a_child_that_does_not_answer_in_time_is_ended(warm: WarmChild) -> None:
    process = warm.get()
    with pytest.raises(ChildHung, match=r"no answer in 0\.2 s"):
        process.ask({"sleep": 60}, b"", 0.2)
    with pytest.raises(ProcessLookupError):
        os.kill(process.process_id, 0)
    assert warm.get().ask({}, b"", 30)[0] != {"pid": process.process_id}


def test_a_child_that_wants_too_much_memory_dies(warm: WarmChild) -> None:
    assert warm.get().ask({"eat": 1 << 20}, b"", 30) == ({"eaten": 1 << 20}, b"")
    with pytest.raises(ChildDied) as died:
        warm.get().ask({"eat": 4 << 30}, b"", 30)
    assert "MemoryError" in died.value.log


def test_a_child_that_was_killed_between_requests_is_replaced(warm: WarmChild) -> None:
    process = warm.get()
    os.kill(process.process_id, 9)
    with pytest.raises(ChildDied, match="signal 9"):
        process.ask({}, bytes(1 << 20), 30)
    assert warm.get() is not process


def test_a_child_that_does_not_start_is_an_error() -> None:
    with pytest.raises(ChildDied, match="status 7"):
        ChildProcess([sys.executable, "-c", "raise SystemExit(7)"])


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "float32", "complex128", ml_dtypes.bfloat16, ml_dtypes.int4]
)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (2, 0, 3)])
def test_arrays_arrive_as_they_were_sent(dtype: Any, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, np.dtype(dtype))
    first, second = unpack_arrays(*pack_arrays([array, np.array([np.nan, -0.0])]))
    assert same_bits(first, array)
    assert same_bits(second, np.array([np.nan, -0.0]))
    assert not first.flags.writeable
