import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples import training_step
from fuzz.inside_jax import PassFailed, compare_inside_jax, inside_jax
from hlo import BridgeUnavailable, HloModule, Opcode
from oracle import Agree, Disagree, Kind, Skip, SkipReason
from passes import PassError

ROOT = Path(__file__).resolve().parents[3]
DOUBLED, KEPT, BROKEN, NARROWED, CRASHES, REFUSES = (
    f"py:passes_of_this_test:{name}"
    for name in ("doubled", "kept", "broken", "narrowed", "crashes", "refuses")
)


def doubled(module: HloModule) -> bool:
    """Wrong on purpose, so that one can see whether it ran: x + y becomes x + x."""
    changed = False
    for computation in module.computations:
        for inst in computation.instructions:
            if inst.opcode is Opcode.ADD and inst.operand(0) is not inst.operand(1):
                computation.replace_instruction(inst, computation.add_clone(inst, [inst.operand(0)] * 2))
                changed = True
    return changed


def kept(module: HloModule) -> bool:
    """Changes the program and not its meaning: a tuple around the result, which is taken apart again."""
    entry = module.entry_computation
    if entry.root.opcode is not Opcode.TUPLE:
        entry.set_root(entry.add_get_tuple_element(entry.add_tuple([entry.root]), 0))
    else:
        entry.set_root(entry.add_tuple(entry.root.operands))
    return True


def broken(module: HloModule) -> bool:
    root = module.entry_computation.root
    module.entry_computation.set_operands(root, [*root.operands, root.operand(0)])
    return True


def narrowed(module: HloModule) -> bool:
    entry = module.entry_computation
    entry.set_root(entry.add_tuple([entry.root]), accept_different_shape=True)
    entry.set_root(entry.add_tuple([entry.parameters[0], entry.root]), accept_different_shape=True)
    return True


def crashes(module: HloModule) -> bool:
    raise ZeroDivisionError(f"of {module.name}")


def refuses(module: HloModule) -> bool:
    raise PassError("refuses", "no thank you")


@pytest.fixture(autouse=True)
def passes_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("passes_of_this_test")
    for function in (doubled, kept, broken, narrowed, crashes, refuses):
        setattr(module, function.__name__, function)
    monkeypatch.setitem(sys.modules, module.__name__, module)


def adder(**options: Any) -> Any:
    return jax.jit(lambda x, y: x + y, **options)


X, Y = np.float32(1), np.float32(10)


def test_the_pass_runs_on_a_function_that_was_compiled_before() -> None:
    add = adder()
    assert float(add(X, Y)) == 11
    with inside_jax(DOUBLED) as programs:
        assert float(add(X, Y)) == 2
    assert [(program.name, program.changed) for program in programs] == [("jit__lambda", True)]


def test_what_was_compiled_inside_is_not_used_outside() -> None:
    add = adder()
    with inside_jax(DOUBLED):
        assert float(add(X, Y)) == 2
    assert float(add(X, Y)) == 11


def test_each_time_inside_compiles_anew() -> None:
    add = adder()
    with inside_jax(DOUBLED):
        assert float(add(X, Y)) == 2
    with inside_jax("dce") as programs:
        assert float(add(X, Y)) == 11
    assert len(programs) == 1


def test_inside_a_function_is_compiled_once() -> None:
    add = adder()
    with inside_jax(KEPT) as programs:
        assert [float(add(X, Y)) for _ in range(3)] == [11, 11, 11]
    assert len(programs) == 1


def test_contexts_nest() -> None:
    add = adder()
    with inside_jax(DOUBLED):
        with inside_jax("dce"):
            assert float(add(X, Y)) == 11
        assert float(add(X, Y)) == 2
    assert float(add(X, Y)) == 11


def test_a_program_may_be_lowered_and_compiled_by_hand() -> None:
    add, lowered = adder(), adder().lower(X, Y)
    with inside_jax(DOUBLED):
        assert float(lowered.compile()(X, Y)) == 2
        assert float(add.lower(X, Y).compile()(X, Y)) == 2
    assert float(add.lower(X, Y).compile()(X, Y)) == 11


def test_other_threads_are_left_alone() -> None:
    from concurrent.futures import ThreadPoolExecutor

    add = adder()
    with inside_jax(DOUBLED), ThreadPoolExecutor(1) as pool:
        assert float(pool.submit(add, X, Y).result()) == 11
        assert float(add(X, Y)) == 2


def test_jax_is_as_before_when_the_last_one_has_left() -> None:
    import jax._src.compiler as compiler

    before = compiler.compile_or_get_cached
    with inside_jax("dce"), inside_jax("dce"):
        assert compiler.compile_or_get_cached is not before
    assert compiler.compile_or_get_cached is before


_ON_DISK = """
import sys
import jax
from fuzz.inside_jax import inside_jax
from tests_of_this_file import doubled
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event) if event.endswith("/cache_hits") else None)
add = jax.jit(lambda x, y: x + y)
def with_pass():
    with inside_jax("py:tests_of_this_file:doubled"):
        return float(add(1.0, 10.0))
def without():
    return float(add(1.0, 10.0))
print(*[(with_pass if word == "with" else without)() for word in sys.argv[2:]], len(hits))
"""


def on_disk(folder: Path, *order: str) -> list[str]:
    """The results of a process of its own that has its compilation cache in `folder`, and how often that served."""
    (folder / "tests_of_this_file.py").write_text(Path(__file__).read_text("utf-8"), "utf-8")
    path = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(ROOT)!r}]\n"
    command = [sys.executable, "-c", path + _ON_DISK, str(folder / "cache"), *order]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout.split()


def test_the_compilation_cache_on_disk_neither_hides_the_pass_nor_keeps_its_work_for_others(
    tmp_path: Path,
) -> None:
    assert on_disk(tmp_path, "with") == ["2.0", "0"]
    assert on_disk(tmp_path, "without", "with") == ["11.0", "2.0", "1"]  # the rewritten one, by its own key
    assert on_disk(tmp_path, "with", "without") == ["2.0", "11.0", "2"]


def test_donated_arguments_are_donated_still() -> None:
    add = adder(donate_argnums=0)
    x = jnp.arange(4.0)
    with inside_jax(KEPT) as programs:
        assert add(x, Y).tolist() == [10, 11, 12, 13]
    assert programs[0].changed
    assert x.is_deleted()


def test_results_may_be_trees() -> None:
    function = jax.jit(lambda x: {"a": (x + 1, [x * 2]), "b": (), "c": x})
    with inside_jax(KEPT) as programs:
        result = function(X)
    assert result == {"a": (2, [2]), "b": (), "c": 1}
    assert programs[-1].changed


def test_a_pass_that_crashes_is_named_and_leaves_jax_usable() -> None:
    add = adder()
    with inside_jax(CRASHES), pytest.raises(PassFailed) as caught:
        add(X, Y)
    assert (
        str(caught.value) == f"{CRASHES}, while JAX compiled jit__lambda: ZeroDivisionError: of jit__lambda"
    )
    assert caught.value.before.entry_computation.root.opcode is Opcode.ADD
    assert float(add(X, Y)) == 11


@pytest.mark.parametrize(
    ("pass_", "complaint"), [(BROKEN, "the result is not valid HLO"), (NARROWED, "have other types now")]
)
def test_xla_never_sees_a_broken_program(pass_: str, complaint: str) -> None:
    add = adder()
    with inside_jax(pass_), pytest.raises(PassFailed, match=complaint):
        add(X, Y)
    assert float(add(X, Y)) == 11


def test_what_a_pass_refuses_is_compiled_as_it_is_with_a_warning() -> None:
    add = adder()
    with inside_jax(REFUSES) as programs, pytest.warns(UserWarning, match="no thank you"):
        assert float(add(X, Y)) == 11
    assert programs[0].left_alone == "refuses: no thank you"


def test_a_jax_without_the_place_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import jax._src.compiler as compiler

    monkeypatch.setattr(compiler, "compile_or_get_cached", lambda module: None)
    with pytest.raises(BridgeUnavailable, match=r"jax\._src\.compiler\.compile_or_get_cached"):
        inside_jax("dce").__enter__()
    monkeypatch.delattr(compiler, "compile_or_get_cached")
    with pytest.raises(BridgeUnavailable):
        inside_jax("dce").__enter__()


# --- comparing ---------------------------------------------------------------------------------------------


def test_a_training_step_means_the_same_with_the_neuron_passes() -> None:
    comparison = compare_inside_jax(training_step.train, *training_step.example_arguments(), passes="neuron")
    assert comparison.verdict == Agree()
    fired = comparison.programs[-1].fired
    assert fired["dynamic-slice-mover:move-static"]
    assert fired["neuron-dus-ds-index-simplifier:tag-dus"]


def test_a_wrong_pass_is_found_on_a_training_step_and_named() -> None:
    comparison = compare_inside_jax(
        training_step.train, *training_step.example_arguments(), passes=f"call-inliner,{DOUBLED}"
    )
    assert isinstance(comparison.verdict, Disagree)
    assert comparison.verdict.finding.pass_name == DOUBLED
    assert comparison.verdict.finding.kind is Kind.VALUE
    assert comparison.mismatch is not None


def test_comparing_leaves_the_arguments_alone() -> None:
    x = jnp.arange(4.0)
    comparison = compare_inside_jax(adder(donate_argnums=0), x, Y, passes=KEPT)
    assert comparison.verdict == Agree()
    assert comparison.changed
    assert x.tolist() == [0, 1, 2, 3]


def test_keys_of_random_numbers_can_be_compared() -> None:
    comparison = compare_inside_jax(lambda key: jax.random.split(key), jax.random.key(1), passes=KEPT)
    assert comparison.verdict == Agree()
    assert comparison.changed


def test_a_refusal_is_no_agreement() -> None:
    with pytest.warns(UserWarning, match="no thank you"):
        comparison = compare_inside_jax(adder(), X, Y, passes=REFUSES)
    assert comparison.verdict == Skip(SkipReason.REFUSED, "refuses: no thank you")


def test_where_the_passes_keep_the_meaning_it_is_xla_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    turned = iter([1.0, 2.0])
    function = jax.jit(lambda x: jax.pure_callback(lambda _: np.float32(next(turned)), x, x) + 1)
    comparison = compare_inside_jax(function, X, passes=KEPT)
    assert isinstance(comparison.verdict, Skip)
    assert comparison.mismatch is not None
