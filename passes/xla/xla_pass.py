"""How is a pass of the installed XLA a pass of ours?"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import ClassVar

from hlo import ArrayShape, HloModule, InvalidInput, Opcode, Shape, leaves
from hlo.canonical import structure
from hlo.evaluator import BOUNDARY_MARKERS
from hlo.interchange import import_proto
from hlo.isolation import ChildDied
from passes.base import Exactness, Pass, PassCrashed, PassError, Trace
from passes.pipeline import written
from passes.xla.arriving import moved_bitcast
from passes.xla.catalogue import known_passes
from passes.xla.process import XlaRefused, warm_process
from passes.xla.restoring import restored
from passes.xla.wrapping import INLINER, Wrapped, wrapped

PREFIX = "xla:"
CPU, PIPELINE, ALL, IMPORT, NOTHING = "cpu", "pipeline", "passes", "import", "nothing"
SPECIAL = MappingProxyType(
    {
        CPU: "XLA CPU as a whole: the program is compiled and executed, and its values are judged. Comes last.",
        PIPELINE: "All that jaxlib does to a program before scheduling, its MLIR passes included.",
        ALL: "Every pass of XLA's before scheduling, on the program as it is.",
        IMPORT: "Only what jaxlib's MLIR passes do on the way from StableHLO to HLO.",
        NOTHING: "The way to XLA and back without a pass: what departs here is our fault.",
    }
)
"""What else may stand behind `xla:`, with its description."""

AND = "+"
"""`xla:a+b`: both passes in one run of XLA's pipeline, in its order."""

ALLOWED_CALLS = BOUNDARY_MARKERS | {"PadToStatic", "SliceToDynamic", "Sharding"}
"""The custom-calls that XLA gets to see. What others' targets would do with a module is unknown."""

_FAULTS = ("INTERNAL:", "UNKNOWN:", "bad optional access")
"""Status codes, and a C++ exception, by which XLA says that something went wrong in it, rather than that it does not do
this."""

DCE = "dce"

LAYOUTS = "layout-assignment"
"""The pass that decides where in memory the elements of arrays lie. Passes behind it rely on that."""

_REWRITE = "rewrite"

Passes = tuple[str, ...] | None
"""What runs in XLA; None for everything."""


@dataclass(frozen=True)
class XlaPass(Pass):
    """A pass of the installed XLA, run for real in a child process; see `passes.xla.wrapping` for how.

    A pass that the pipeline has in several places runs in each of them, and one inside a pipeline that is
    repeated until nothing changes is repeated. One class for each pass: `xla_pass`.
    """

    timeout: int = 30
    """Seconds until a run counts as hung."""

    xla_name: ClassVar[str]
    is_whole_pipeline: ClassVar[bool] = False
    """Whether it is all that XLA does before scheduling, so that it has stages (`passes.xla.pipeline_stages`)."""
    idempotent: ClassVar[bool] = False  # XLA promises it for none
    rules: ClassVar[tuple[str, ...]] = (_REWRITE,)

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Raises PassError where XLA refuses the module, PassCrashed where the pass takes XLA along.

        Where XLA says that the pass changed nothing, the module is left as it is. Raises BridgeUnavailable where
        this jaxlib has no hook for passes.
        """
        refuse_what_cannot_go(self.name, module)
        result = self._result(module)
        if result is None or structure(result, names=False) == structure(module, names=False):
            return False
        module.assign(result)
        trace.fire(_REWRITE)
        return True

    def _result(self, module: HloModule) -> HloModule | None:
        """What XLA makes of `module`; None where the passes do nothing."""
        if self.xla_name in (PIPELINE, IMPORT, ALL):
            origin = wrapped(module, wrap=self.xla_name == ALL, guard_calls=False)
            return self._sent(module, origin, () if self.xla_name == IMPORT else None)[0]
        passes = () if self.xla_name == NOTHING else tuple(self.xla_name.split(AND))
        self._look_for(passes)
        origin = wrapped(module, guard_calls=INLINER not in passes)
        # Inlining removes what is dead: `dce` alone goes without it, and nothing is left for it with others.
        result, changed = self._sent(module, origin, passes if passes == (DCE,) else (INLINER, *passes))
        busy = not passes or not changed.isdisjoint(passes)
        if passes == (INLINER,):  # it always changes something: it unwraps
            busy = _calls(result) != _calls(module)
        return result if busy else None

    def _look_for(self, passes: tuple[str, ...]) -> None:
        installed = warm_process()
        for name in passes:
            if name not in installed.passes:
                close = difflib.get_close_matches(name, set(installed.passes), n=1)
                hint = f"; did you mean {close[0]}?" if close else ""
                raise PassError(self.name, f"jaxlib {installed.version} has no pass {name}{hint}")

    def _sent(self, module: HloModule, origin: Wrapped, passes: Passes) -> tuple[HloModule, frozenset[str]]:
        """What `passes` make of `origin`, which is `module` made ready, and which of them say they did anything."""
        if moved := moved_bitcast(module, origin, self.timeout):
            raise PassError(self.name, moved)
        try:
            proto, changed = warm_process().run(origin.proto, passes, self.timeout)
        except (XlaRefused, ChildDied) as error:
            raise self.failure(error, origin, passes) from None
        return restored(import_proto(proto), module, origin), changed

    def failure(
        self, error: XlaRefused | ChildDied, origin: Wrapped, passes: Passes
    ) -> PassError | PassCrashed:
        """Whose fault it is that XLA did not get through with `passes`: a refusal, or a crash of this pass."""
        if isinstance(error, XlaRefused):
            message = origin.readable(error.message)
            refused = error.in_import or not message.startswith(_FAULTS) or self._is_refusal(message)
            if refused or not self._is_theirs(origin, passes):
                return PassError(self.name, message)
            return PassCrashed(self.name, message)
        if passes != _without(passes) and not self._is_theirs(origin, passes):
            message = f"XLA cannot take the module, with or without the pass: {error.message}"
            return PassError(self.name, message)
        return PassCrashed(self.name, error.message, error.log)

    def _is_refusal(self, message: str) -> bool:
        """Whether the pass says, with the status of a fault, that the program is not for it."""
        known = [known_passes().get(name) for name in self.xla_name.split(AND)]
        return any(one is not None and one.refuses and one.refuses in message for one in known)

    def _is_theirs(self, origin: Wrapped, passes: Passes) -> bool:
        """Whether a failure is that of `passes`: XLA takes the module without them."""
        without = _without(passes)
        if passes == without:
            return False
        try:
            warm_process().run(origin.proto, without, self.timeout)
        except (XlaRefused, ChildDied):
            return False
        return True


@dataclass(frozen=True)
class XlaExecution(XlaPass):
    """XLA CPU as a whole: the program is compiled and executed, and its values are judged. Comes last."""

    known_crashes: bool = False
    """Whether it is also given what is known to end the compiler, which is skipped otherwise."""

    name: ClassVar[str] = f"{PREFIX}{CPU}"
    promise: ClassVar[Exactness] = Exactness.REASSOCIATES
    xla_name: ClassVar[str] = CPU
    rules: ClassVar[tuple[str, ...]] = ()

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Leaves the module as it is: there is no program behind it, only values, which the judge asks for."""
        return False


def _without(passes: Passes) -> Passes:
    """What is left of `passes` on the way there and back."""
    return (INLINER,) if passes and INLINER in passes else ()


def _calls(module: HloModule) -> int:
    """How many calls the entry reaches."""
    reached = module.make_computation_post_order()
    return sum(inst.opcode is Opcode.CALL for computation in reached for inst in computation.instructions)


def refuse_what_cannot_go(name: str, module: HloModule) -> None:
    """Foreign custom-calls, and what StableHLO, by way of which a module goes to XLA, cannot say.

    It flags a dimension whose size is set whatever we say, has no mulhi, and its random bits are unsigned. Raises
    PassError in the name of the pass `name`.
    """
    for computation in module.computations:
        for inst in computation.instructions:
            if inst.opcode is Opcode.SET_DIMENSION_SIZE and inst.shape.is_static:
                raise PassError(name, f"{inst.name} sets a size without flagging the dimension")
            if inst.opcode is Opcode.MULHI:
                raise PassError(name, f"{inst.name}: StableHLO has no mulhi")
            if inst.opcode is Opcode.RNG_BIT_GENERATOR and _gives_signed(inst.shape):
                raise PassError(name, f"{inst.name}: StableHLO has no signed random bits")
            if inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target not in ALLOWED_CALLS:
                raise PassError(name, f"{inst.name} calls {inst.custom_call_target}")


def _gives_signed(shape: Shape) -> bool:
    return any(isinstance(leaf, ArrayShape) and leaf.element_type.is_signed for _, leaf in leaves(shape))


@cache
def xla_pass(xla_name: str) -> type[XlaPass]:
    """The class of `xla:NAME`. Always the same for one name, so that equal passes compare equal."""
    if xla_name == CPU:
        return XlaExecution
    parts = [known_passes().get(part) for part in xla_name.split(AND)]
    exact = all(part is not None and part.promise is Exactness.BITWISE for part in parts)
    does = parts[0].does if len(parts) == 1 and parts[0] else SPECIAL.get(xla_name, f"XLA's {xla_name}.")
    namespace = {
        "__doc__": does,
        "__module__": __name__,
        "name": f"{PREFIX}{written(xla_name)}",
        "promise": Exactness.BITWISE if exact else Exactness.REASSOCIATES,
        "xla_name": xla_name,
        "is_whole_pipeline": xla_name == PIPELINE,
    }
    return type(f"XlaPass({xla_name})", (XlaPass,), namespace)


def named_xla_pass(text: str) -> type[XlaPass]:
    """The class of `xla:TEXT`. Asks the installed XLA about a name that `passes.toml` does not have.

    Raises InvalidInput for a pass that is in neither, BridgeUnavailable where XLA cannot be asked.
    """
    for name in text.split(AND):
        if name not in known_passes() and name not in SPECIAL and name not in available_xla_passes():
            version = warm_process().version
            close = difflib.get_close_matches(name, {*available_xla_passes(), *SPECIAL})
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise InvalidInput(f"{PREFIX} neither jaxlib {version} nor passes.toml has a pass {name!r}{hint}")
    if AND in text and (special := SPECIAL.keys() & text.split(AND)):
        raise InvalidInput(f"{PREFIX}{text}: {min(special)} cannot be joined with others")
    return xla_pass(text)


def sweep_passes() -> tuple[str, ...]:
    """The passes of the installed XLA that keep every program's meaning, for `xla:*`. Raises BridgeUnavailable."""
    known = known_passes()
    return tuple(name for name in available_xla_passes() if name in known and known[name].preserves)


def behind_layouts(xla_name: str) -> str:
    """`xla:NAME` as XLA's pipeline runs it behind layout assignment: together with that and all that comes between.

    Empty where it does not run there. Starts the child. Raises BridgeUnavailable where this jaxlib has no hook.
    """
    order, names = warm_process().passes, xla_name.split(AND)
    if LAYOUTS not in order or LAYOUTS in names:
        return ""
    start = order.index(LAYOUTS)
    last = max((place for place, name in enumerate(order) if name in names), default=0)
    return AND.join(dict.fromkeys((*order[start : last + 1], *names))) if last > start else ""


def available_xla_passes() -> tuple[str, ...]:
    """The passes of the installed XLA's CPU pipeline, in the order of their first run. Starts the child.

    Raises BridgeUnavailable where this jaxlib has no hook for passes.
    """
    return tuple(dict.fromkeys(warm_process().passes))
