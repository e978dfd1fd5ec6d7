"""Does a JAX function give the same results with passes in its compile as without?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fuzz.inside_jax.context import CompiledProgram, inside_jax
from hlo import ArrayShape, HloModule, Value, value_shape
from oracle import (
    Agree,
    Mismatch,
    Skip,
    SkipReason,
    Tolerance,
    Verdict,
    compare,
    draw_inputs,
    judge,
    tolerance_of,
)
from oracle.checks.values import described
from passes import Pipeline, parse_pipeline

_DRAWN = 8
_WITHOUT, _WITH = "JAX without the passes", "JAX with them"


@dataclass(frozen=True)
class Comparison:
    """A verdict, and the programs that JAX compiled with the passes, the function itself last.

    `mismatch` is where the results of the two executables first differ by more than rounding explains, whatever the
    verdict makes of that; its `leaf` counts the arrays of the function's result.
    """

    verdict: Verdict
    programs: tuple[CompiledProgram, ...]
    mismatch: Mismatch | None = None

    @property
    def changed(self) -> bool:
        """Whether the passes did anything to the function."""
        return bool(self.programs) and self.programs[-1].changed


def compare_inside_jax(
    function: Callable[..., Any], *arguments: Any, passes: Pipeline | str, pack: bool = True
) -> Comparison:
    """Run `function`, jitted where it is not, on `arguments` without `passes` in its compile and with them.

    Arguments are copied, so that they may be donated. Results must be equal but for rounding (`oracle.tolerance`),
    since XLA may fuse the rewritten program otherwise. Where they are not, the passes are judged on the program that
    JAX compiled (`oracle.judge`), one by one: the finding names the first bad one. Where they keep what the
    definition of HLO says, it is XLA that compiled one of the two programs differently, and the verdict is a skip.
    Raises as `inside_jax` does, and what the function raises.
    """
    pipeline = parse_pipeline(passes, allow_code=True) if isinstance(passes, str) else passes
    jitted: Any = function if hasattr(function, "lower") else jax.jit(function)
    without = _arrays(jitted(*_copied(arguments)))
    copies = _copied(arguments)  # outside: copying compiles programs, too
    with inside_jax(pipeline, pack=pack) as programs:
        result = jitted(*copies)
    found = tuple(programs)
    if not found:
        return Comparison(Skip(SkipReason.REFUSED, "JAX compiled nothing"), found)
    program = found[-1]
    if program.before is None or program.left_alone:
        return Comparison(Skip(SkipReason.REFUSED, program.left_alone), found)
    mismatch = _mismatch(program.before, without, _arrays(result))
    if mismatch is None:
        return Comparison(Agree(), found)
    return Comparison(_blamed(program.before, pipeline, arguments, mismatch), found, mismatch)


def _mismatch(
    module: HloModule, without: tuple[Value, ...], with_passes: tuple[Value, ...]
) -> Mismatch | None:
    allowed = _tolerances(module, without)
    return compare(without, with_passes, tolerance=allowed, left=_WITHOUT, right=_WITH)


def _tolerances(
    module: HloModule, results: Sequence[Value]
) -> Mapping[tuple[int, ...], Tolerance] | Tolerance:
    """By array of the function's result; the loosest for all where JAX does not compute each of them in `module`."""
    tolerances = tolerance_of(module)
    if len(tolerances) == len(results):
        return {(i,): tolerance for i, tolerance in enumerate(tolerances.values())}
    return max(tolerances.values(), key=lambda tolerance: tolerance.relative + tolerance.of_largest)


def _blamed(module: HloModule, pipeline: Pipeline, arguments: Any, mismatch: Mismatch) -> Verdict:
    """Whose fault a difference is, by the definition of HLO."""
    given = _arrays(arguments)
    wanted = [parameter.shape for parameter in module.entry_computation.parameters]
    # JAX drops arguments that nothing uses, and adds constants.
    fitting = _shapes(given) == wanted
    inputs = [given] if fitting else draw_inputs(module, 0, _DRAWN)
    verdict = judge(module, pipeline, inputs, {}, use_jax=False).verdict
    if not isinstance(verdict, Agree):
        return verdict
    detail = f"the passes keep the meaning, and yet {described(mismatch)}"
    return Skip(SkipReason.ENGINES_DISAGREE, detail)


def _shapes(values: Sequence[Value]) -> list[object]:
    return [_without_layout(value_shape(value)) for value in values]


def _without_layout(shape: object) -> object:
    return ArrayShape(shape.element_type, shape.dimensions) if isinstance(shape, ArrayShape) else shape


def _copied(arguments: Any) -> Any:
    return jax.tree.map(
        lambda leaf: leaf.copy() if isinstance(leaf, jax.Array | np.ndarray) else leaf, arguments
    )


def _arrays(tree: Any) -> tuple[Value, ...]:
    """The arrays of a tree, in order, as NumPy has them."""
    return tuple(_array(leaf) for leaf in jax.tree.leaves(tree))


def _array(leaf: Any) -> Value:
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)
