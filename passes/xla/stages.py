"""What does XLA's whole pipeline make of a program, step by step?"""

from __future__ import annotations

from typing import NamedTuple

from hlo import HloModule
from hlo.interchange import import_proto
from hlo.isolation import ChildDied
from passes.base import PassCrashed, PassError
from passes.xla.process import XlaRefused, warm_process
from passes.xla.restoring import restored
from passes.xla.wrapping import wrapped
from passes.xla.xla_pass import IMPORT, PIPELINE, PREFIX, refuse_what_cannot_go


class Stage(NamedTuple):
    """The program after a pass: the pass's name ("import" for MLIR's passes) and that of the pipeline it ran in."""

    name: str
    pipeline: str
    module: HloModule


def pipeline_stages(module: HloModule, *, timeout: int = 30) -> list[Stage]:
    """What `xla:pipeline` makes of `module`, step by step: after "import", after each pass that changed anything.

    The last is what `xla:pipeline` gives. Raises as `XlaPass.run` does; `module` is left alone.
    """
    origin = wrapped(module, wrap=False, guard_calls=False)
    name = f"{PREFIX}{PIPELINE}"
    refuse_what_cannot_go(name, module)
    xla = warm_process()
    try:
        dumps = xla.stages(origin.proto, None, timeout)
    except XlaRefused as error:
        raise PassError(name, origin.readable(error.message)) from None
    except ChildDied as error:
        raise PassCrashed(name, error.message, error.log) from None
    # XLA also says when a pipeline inside the pipeline ended, which is no step of its own.
    return [
        Stage(step, pipeline, restored(import_proto(proto), module, origin))
        for step, pipeline, proto in dumps
        if step in xla.passes or step == IMPORT
    ]
