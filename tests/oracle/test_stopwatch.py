import time

from oracle.stopwatch import Stopwatch


def test_a_stage_inside_another_is_taken_off_it(monkeypatch):
    clock = iter([0.0, 1.0, 3.0, 7.0, 20.0, 21.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    watch = Stopwatch()
    with watch.measure("outer"), watch.measure("inner"):
        pass
    with watch.measure("outer"):
        pass
    assert watch.seconds == {"outer": 1.0 + 4.0 + 1.0, "inner": 2.0}
