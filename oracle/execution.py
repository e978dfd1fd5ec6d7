"""What does the compiler of the installed jaxlib compute, whole? The subject `xla:cpu`: compiled and executed.

Importing this module imports JAX.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo import HloModule, Opcode, Value
from oracle.engines import Crashed, Ran, TimedOut, Unsupported, XlaCpu
from oracle.engines.plain import without_bitcasts, without_fusions
from passes import PassCrashed, PassError, Trace
from passes.xla import IMPORT, XlaExecution, xla_pass

_FAULTS = ("INTERNAL:", "UNKNOWN:")
"""Status codes by which XLA says that something went wrong in it, rather than that it does not do this."""


# jaxlib 0.12 has code for these, but for real numbers only, and dies of complex ones.
_NO_COMPLEX_CODE = frozenset(
    {
        *(Opcode.ACOS, Opcode.ACOSH, Opcode.ASIN, Opcode.ASINH, Opcode.ATANH),
        *(Opcode.COSH, Opcode.SINH),
    }
)


def compilable(module: HloModule) -> HloModule:
    """`module`, or a copy without what only the compiler itself may write: fusions and bitcasts. It means the same."""
    return without_bitcasts(without_fusions(module))


def executed(pass_: XlaExecution, module: HloModule, input_sets: Sequence[Sequence[Value]]) -> list[Value]:
    """The result of `module` for each input set, compiled once and executed in a child process.

    Raises PassError for what the compiler does not take, PassCrashed where it dies, hangs (`pass_.timeout` seconds
    for all sets) or admits a fault.
    """
    if not pass_.known_crashes and (reason := _known_crash(module)):
        raise PassError(pass_.name, reason)
    values: list[Value] = []
    for outcome in XlaCpu(time_limit=pass_.timeout).run_sets(module, input_sets):
        match outcome:
            case Ran(value):
                values.append(value)
            case Unsupported(reason) if not reason.startswith(_FAULTS):
                raise PassError(pass_.name, reason)
            case Unsupported(reason) | Crashed(reason) | TimedOut(reason):
                _refuse_what_cannot_be_read(pass_, module)
                raise PassCrashed(pass_.name, reason)
    return values


def _known_crash(module: HloModule) -> str:
    """What in `module` is known to end the compiler: a new process for each such graph would take all the time."""
    for computation in module.computations:
        for inst in computation.instructions:
            if inst.opcode in _NO_COMPLEX_CODE and inst.array_shape.element_type.is_complex:
                return f"complex {inst.opcode} is known to end the compiler; known_crashes=true tries it"
    return ""


def _refuse_what_cannot_be_read(pass_: XlaExecution, module: HloModule) -> None:
    """Raises PassError where XLA does not even take the module in: there is a rule of HLO that we do not know."""
    try:
        xla_pass(IMPORT)(timeout=pass_.timeout).run(module.clone(), Trace())
    except PassError as error:
        raise PassError(pass_.name, error.message) from None
    except PassCrashed:
        pass  # no rule says that
