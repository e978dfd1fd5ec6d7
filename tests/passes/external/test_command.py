"""Is a command a pass, whatever it does: rewrite, copy, refuse, crash, hang or babble?"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import InvalidInput, Opcode
from hlo.canonical import structure
from hlo.interchange import read_text
from oracle.judge import judge
from oracle.verdict import Disagree, Kind
from passes import Exactness, Pass, PassCrashed, PassError, Pipeline, Trace, parse_pipeline
from passes.external import command_pass
from tests.passes.external.programs import ADD

COPY = "sys.stdout.write(sys.stdin.read())"
REWRITE = "sys.stdout.write(sys.stdin.read().replace(' add(', ' subtract('))"
FILES = "open(sys.argv[2], 'wb').write(open(sys.argv[1], 'rb').read().replace(b'add', b'and'))"


def run(pass_: Pass) -> tuple[bool, str, Trace]:
    module, trace = read_text(ADD), Trace()
    changed = pass_.run(module, trace)
    return changed, str(module.entry_computation.root.opcode), trace


def test_a_command_that_copies_changes_nothing(command) -> None:
    module = read_text(ADD)
    assert command(COPY).run(module, Trace()) is False
    assert structure(module) == structure(read_text(ADD))
    copy_bytes = "sys.stdout.buffer.write(sys.stdin.buffer.read())"
    assert command(copy_bytes, options="format=proto").run(module, Trace()) is False


def test_a_command_that_only_prints_it_otherwise_changes_nothing(command) -> None:
    changed, opcode, _ = run(command("sys.stdout.write(sys.stdin.read().replace('%', ''))"))
    assert (changed, opcode) == (False, Opcode.ADD)


def test_a_command_that_rewrites_has_rewritten(command) -> None:
    changed, opcode, trace = run(command(REWRITE))
    assert (changed, opcode) == (True, Opcode.SUBTRACT)
    assert trace.fired == {"rewrite": 1}


@pytest.mark.parametrize("format_", ["text", "proto"])
def test_a_command_can_take_files(command, format_: str) -> None:
    assert run(command(FILES, "{input} {output}", f"format={format_}"))[:2] == (True, Opcode.AND)


def test_a_command_can_take_one_file(command) -> None:
    script = "sys.stdout.write(open(sys.argv[1]).read().replace('add', 'and'))"
    assert run(command(script, "{input}"))[:2] == (True, Opcode.AND)
    script = "open(sys.argv[1][6:], 'w').write(sys.stdin.read().replace('add', 'or'))"
    assert run(command(script, "--out={output}"))[:2] == (True, Opcode.OR)


def test_it_gets_the_variables_that_it_is_given_and_those_of_this_process(command, monkeypatch) -> None:
    monkeypatch.setenv("HLOFUZZ_TEST_OUTER", "and")
    script = "sys.stdout.write(sys.stdin.read().replace('add', os.environ[os.environ['WHICH']]))"
    assert run(command(script, options='env="WHICH=\'HLOFUZZ_TEST_OUTER\' B=\\"2 3\\""'))[1] == Opcode.AND
    assert run(command(script, options='env="WHICH=B B=or"'))[1] == Opcode.OR


def test_there_is_no_shell(command, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    run(command(COPY, f"; touch {witness} $(touch {witness})"))
    assert not witness.exists()


def test_an_exit_code_is_a_crash_unless_it_is_a_refusal(command) -> None:
    script = "sys.stderr.write('cannot do this\\nat all\\n'); sys.exit(3)"
    with pytest.raises(PassCrashed, match="it ended with exit code 3") as crash:
        run(command(script))
    assert crash.value.tail == "cannot do this\nat all"
    with pytest.raises(PassError) as refusal:
        run(command(script, options='refuse_codes="2,3"'))
    assert refusal.value.message == "cannot do this"


def test_a_signal_is_a_crash(command) -> None:
    with pytest.raises(PassCrashed, match="it ended with signal 6"):
        run(command("os.abort()"))


def test_one_that_hangs_is_killed_with_what_it_started(command, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    child = f"open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    script = f"os.fork() or (exec({child!r}))\ntime.sleep(60)"
    started = time.monotonic()
    with pytest.raises(PassCrashed, match="no end in 1 s"):
        run(command(script, options="timeout=1"))
    assert time.monotonic() - started < 20
    assert _is_gone(int(pid.read_text()))


def _is_gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("script", "arguments", "options", "message"),
    [
        ("print('HloModule m { what')", "", "", r"its output cannot be read: .*output\.hlo:"),
        ("print('nonsense')", "", "format=proto", "its output cannot be read: .*output.pb"),
        ("sys.stdin.read()", "", "", "its output cannot be read"),
        ("pass", "{output}", "", "it wrote no output"),
        ("pass", "{input} {output}", "", "it wrote no output"),
    ],
)
def test_an_answer_that_is_none_is_a_crash(
    command, script: str, arguments: str, options: str, message: str
) -> None:
    with pytest.raises(PassCrashed, match=message):
        run(command(script, arguments, options))


def test_text_that_would_kill_our_reader_is_a_crash_of_the_command(command) -> None:
    text = "HloModule m\\nENTRY e {\\n  ROOT p = s32[2] parameter(5)\\n}\\n"
    with pytest.raises(PassCrashed, match="jaxlib dies reading this"):
        run(command(f"print('{text}')"))


def test_one_that_stops_reading_early_is_judged_by_what_it_says(command) -> None:
    module = read_text(ADD)
    entry = module.entry_computation
    for _ in range(4000):  # more than a pipe holds
        entry.add(Opcode.ADD, entry.root.shape, (entry.root, entry.root))
    with pytest.raises(PassCrashed, match="exit code 4"):
        command("sys.exit(4)").run(module, Trace())


def test_the_judge_names_it(command) -> None:
    pass_ = command(REWRITE)
    inputs = [(np.array([1, 2], np.int32), np.array([3, 4], np.int32))]
    verdict = judge(read_text(ADD), Pipeline((pass_,)), inputs, {}).verdict
    assert isinstance(verdict, Disagree)
    assert verdict.finding.identity == ("values", Kind.VALUE, pass_.name)
    verdict = judge(read_text(ADD), Pipeline((command("sys.exit('out of luck')"),)), inputs, {}).verdict
    assert isinstance(verdict, Disagree)
    assert verdict.finding.kind is Kind.CRASH
    assert "out of luck" in verdict.finding.details


def test_it_is_held_to_every_bit_where_it_says_so(command) -> None:
    assert command(COPY).promise is Exactness.REASSOCIATES
    assert command(COPY, options="bitwise=true").promise is Exactness.BITWISE


# --- its text --------------------------------------------------------------------------------------------------

assignments = st.lists(st.from_regex(r"[A-Z_][A-Z0-9_]{0,5}=[a-z0-9.;:/]{0,8}", fullmatch=True), max_size=2)
codes = st.lists(st.integers(0, 255).map(str), max_size=3).map(",".join)


@st.composite
def command_passes(draw: st.DrawFn) -> Pass:
    words = draw(
        st.text(st.characters(exclude_characters="\"'\\\0", exclude_categories=("Cs",)), max_size=20)
    )
    return command_pass(f"{sys.executable} {words}")(
        bitwise=draw(st.booleans()),
        format=draw(st.sampled_from(["text", "proto"])),
        timeout=draw(st.integers(1, 100)),
        env=" ".join(draw(assignments)),
        refuse_codes=draw(codes),
    )


@given(st.lists(command_passes(), max_size=3))
def test_every_pipeline_of_commands_is_read_back_from_its_text(passes: list[Pass]) -> None:
    pipeline = Pipeline(tuple(passes))
    assert parse_pipeline(str(pipeline), allow_code=True) == pipeline
    assert "\n" not in str(pipeline)


def test_a_command_is_written_as_a_user_would() -> None:
    text = 'cmd:"env hlo-opt --passes=dce {input} -o {output}"{format=proto,env="A=1 B=2"},cmd:cat'
    assert str(parse_pipeline(f" {text} ", allow_code=True)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cmd:", "cmd: says no command"),
        ('cmd:""', "cmd: says no command"),
        ("cmd:hlofuzz-no-such-program", "cmd: there is no program 'hlofuzz-no-such-program' to run"),
        ('cmd:"cat \'"', 'the command "cat \'": No closing quotation'),
        ('cmd:"cat', "pipeline 'cmd:\"cat': the quote at character 5 is not closed"),
        ("cmd:cat{format=binary}", "cmd:cat: option format is text or proto, not 'binary'"),
        ("cmd:cat{env=A}", "cmd:cat: option env: 'A' is not NAME=VALUE"),
        ("cmd:cat{timeout=0}", "cmd:cat: option timeout is at least 1, not 0"),
        ("cmd:cat{refuse_codes=x}", "cmd:cat: option refuse_codes is numbers with commas between"),
        ("cmd:cat{timeouts=3}", "pass cmd:cat has no option 'timeouts'; did you mean timeout?"),
    ],
)
def test_a_command_that_cannot_be_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_pipeline(text, allow_code=True)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["cmd:cat", "dce,py:os.path:join"])
def test_text_from_a_file_runs_no_code(text: str) -> None:
    with pytest.raises(InvalidInput, match="would run code of this machine, which is not allowed here"):
        parse_pipeline(text)
