"""Does the child process answer, and is it replaced when it dies, hangs, tires or cannot serve?"""

import os
import signal
import sys
import time

import pytest

from hlo import BridgeUnavailable
from hlo.canonical import structure
from hlo.interchange import export_proto, import_proto, read_text
from hlo.isolation import ChildDied
from passes.xla.process import CHILD, XlaProcess, XlaRefused, warm_process
from tests.passes.xla.programs import CALLS, DEAD, child_that

PROTO = export_proto(read_text(DEAD))
LIMIT = 60.0

WITHOUT_HOOK = f"""
import runpy, sys
sys.modules["jaxlib._xla"] = None
sys.argv = ["child", sys.argv[1]]
runpy.run_path({str(CHILD)!r}, run_name="__main__")
"""


def test_it_runs_the_passes_that_are_asked_for_and_says_which_did_anything() -> None:
    xla = warm_process()
    assert len(import_proto(xla.run(PROTO, (), LIMIT).proto).entry_computation) == 2  # MLIR dropped the dead
    before = import_proto(xla.run(export_proto(read_text(CALLS)), (), LIMIT).proto)
    result = xla.run(export_proto(read_text(CALLS)), ("flatten-call-graph",), LIMIT)
    assert len(before.computations) == 2
    assert len(import_proto(result.proto).computations) == 3
    assert result.changed == {"flatten-call-graph"}


def test_a_name_that_is_no_pass_runs_nothing() -> None:
    proto = export_proto(read_text(CALLS))
    xla = warm_process()
    result = xla.run(proto, ("no-such-pass",), LIMIT)
    assert not result.changed
    assert structure(import_proto(result.proto)) == structure(import_proto(xla.run(proto, (), LIMIT).proto))


def test_it_knows_its_passes_and_stays_warm() -> None:
    xla = warm_process()
    assert {"algsimp", "call-inliner", "constant_folding", "dce", "tuple-simplifier"} <= set(xla.passes)
    assert xla.passes.count("dce") > 1
    assert warm_process() is xla


def test_an_interrupt_from_the_keyboard_is_not_for_it() -> None:
    assert os.getpgid(warm_process().process_id) != os.getpgid(0)


def test_a_refusal_costs_nothing() -> None:
    xla = warm_process()
    with pytest.raises(XlaRefused) as caught:
        xla.run(b"\x0a\x01m", (), LIMIT)
    assert caught.value.in_import
    with pytest.raises(XlaRefused, match="FAILED_PRECONDITION: Call graph must be flattened") as caught:
        xla.run(export_proto(read_text(CALLS)), ("copy-insertion",), LIMIT)
    assert not caught.value.in_import
    assert warm_process() is xla
    xla.run(PROTO, (), LIMIT)


def test_one_that_died_is_replaced() -> None:
    xla = warm_process()
    os.kill(xla.process_id, signal.SIGKILL)
    with pytest.raises(ChildDied, match="the XLA process ended with signal 9"):
        xla.run(PROTO, (), LIMIT)
    assert warm_process().process_id != xla.process_id
    warm_process().run(PROTO, (), LIMIT)


def test_one_that_hangs_is_ended_and_replaced() -> None:
    xla = warm_process()
    os.kill(xla.process_id, signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(ChildDied, match=r"no answer in 0\.2 s"):
        xla.run(PROTO, (), 0.2)
    assert time.monotonic() - started < 10
    with pytest.raises(ProcessLookupError):
        os.kill(xla.process_id, 0)
    warm_process().run(PROTO, (), LIMIT)


def test_one_that_served_long_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    xla = warm_process()
    xla.run(PROTO, (), LIMIT)
    monkeypatch.setattr(XlaProcess, "request_limit", 1)
    assert warm_process().process_id != xla.process_id


def test_a_jaxlib_without_the_hook_is_named() -> None:
    with pytest.raises(BridgeUnavailable) as caught:
        XlaProcess((sys.executable, "-c", WITHOUT_HOOK))
    assert caught.value.function == "jaxlib._xla.register_xla_transform"
    assert caught.value.jaxlib_version in str(caught.value)


def test_one_that_does_not_start_says_why() -> None:
    with pytest.raises(ChildDied, match="the XLA process ended with status 3") as caught:
        XlaProcess((sys.executable, "-c", "import sys; print('no luck', file=sys.stderr); sys.exit(3)"))
    assert caught.value.log == "no luck\n"


def test_what_it_prints_does_not_get_between_the_answers() -> None:
    xla = XlaProcess((sys.executable, "-c", child_that('os.write(1, b"surprise")')))
    xla.run(PROTO, (), LIMIT)
    xla.close()
