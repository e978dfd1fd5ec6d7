"""Which chains of updates write a value completely, piece by piece, and are a concatenation of the pieces?

Source: `neuron_passes.md` section 6, for the consumer of `dusidxnow=` tokens that page 000 calls
`NeuronRepeatedDusToConcat`. A chain of dynamic-update-slices on one base, each with one user but the last, whose
updates tile one dimension without overlap and fill all others, becomes one concatenate of the updates in index order.

The updates of an unrolled loop are in the bodies of its calls (`update_chains`). The body then returns the update
instead of the updated value, its caller concatenates, and nobody reads the base any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from hlo import HloComputation, HloInstruction, HloModule, Opcode, PrimitiveType, Shape, TupleShape
from hlo.attributes import Dimensions
from passes.base import Pass, Trace
from passes.carried import only_sharding
from passes.loops import KnownValues, Place
from passes.neuron.tokens import DUS_KEY, read_indices, strip_indices
from passes.neuron.update_chains import Link, UpdateChains

_WRAPPED = 1 << 64


@dataclass(frozen=True)
class NeuronRepeatedDusToConcat(Pass):
    """Replace updates that write a value piece by piece, and all of it, by one concatenate of the pieces.

    fresh_tokens: a token is believed only where it is what the update's start is known to be. Without it, whatever
    text looks like a token is believed.
    """

    fresh_tokens: bool = True

    name: ClassVar[str] = "neuron-repeated-dus-to-concat"
    rules: ClassVar[tuple[str, ...]] = ("concatenate", "return-update")
    legality: ClassVar[tuple[str, ...]] = (
        "start-not-constant",
        "not-one-dimension",
        "overlap",
        "gap",
        "other-users",
        "dynamic-shape",
        "control-dependencies",
    )
    guards: ClassVar[tuple[str, ...]] = ("fresh_tokens",)

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Rewrite in place, callees first. Why a chain was left is told of its last update."""
        changed = False
        search = _Search(module, self)
        for computation in module.make_computation_post_order():
            while (chain := search.find(computation)) is not None:
                _Rewrite(computation, chain, trace).run()
                changed, search = True, _Search(module, self)
        for reason in search.refusals():
            trace.decline(reason)
        return changed


@dataclass(frozen=True)
class _Chain:
    """Updates, last first, that together write all of dimension `dimension`; `starts` are clamped."""

    links: tuple[Link, ...]
    starts: tuple[int, ...]
    dimension: int


class _Search:
    """Looks for chains in a module that does not change in the meantime."""

    def __init__(self, module: HloModule, options: NeuronRepeatedDusToConcat) -> None:
        self._module = module
        self._options = options
        self._chains = UpdateChains(module)
        self._known = KnownValues(module)
        self._starts: dict[HloInstruction, tuple[int, ...] | str] = {}

    def find(self, computation: HloComputation) -> _Chain | None:
        """The first chain that ends in `computation`, from its end."""
        found = (self._chain(end) for end in self._chains.ends(computation))
        return next((chain for chain in found if isinstance(chain, _Chain)), None)

    def refusals(self) -> list[str]:
        """Why nothing is made of each two updates or more that follow each other. Each such chain is told of once."""
        told: set[HloInstruction] = set()
        reasons: list[str] = []
        for computation in reversed(self._module.make_computation_post_order()):
            for end in self._chains.ends(computation):
                before = list(self._chains.links_before(end))
                if before and end.update not in told:
                    found = self._chain(end)
                    reasons += [found] if isinstance(found, str) else []
                told.update(link.update for link in before if isinstance(link, Link))
        return reasons

    def _chain(self, end: Link) -> _Chain | str:
        """The chain that ends with `end`, or why there is none."""
        dimension = _written_dimension(end)
        if dimension is None:
            return "not-one-dimension"
        size = end.update.array_shape.dimensions[dimension]
        links: list[Link] = []
        pieces: list[tuple[int, int]] = []
        for link in (end, *self._chains.links_before(end)):
            if isinstance(link, str):
                return link
            if reason := self._obstacle(link, dimension):
                return reason
            starts = self._clamped_starts(link.update)
            if isinstance(starts, str):
                return starts
            start = starts[dimension]
            limit = start + link.update.operand(1).array_shape.dimensions[dimension]
            if any(start < other_limit and other_start < limit for other_start, other_limit in pieces):
                return "overlap"
            links.append(link)
            pieces.append((start, limit))
            if sum(limit - start for start, limit in pieces) == size:
                return _Chain(tuple(links), tuple(start for start, _ in pieces), dimension)
        return "gap"

    def _obstacle(self, link: Link, dimension: int) -> str | None:
        if not link.is_static:
            return "dynamic-shape"
        if link.has_control_dependencies:
            return "control-dependencies"
        return None if _written_dimension(link) == dimension else "not-one-dimension"

    def _clamped_starts(self, update: HloInstruction) -> tuple[int, ...] | str:
        """Where the update writes, clamped as it would be, or why that is not known."""
        if update not in self._starts:
            starts = self._said_starts(update)
            self._starts[update] = starts if isinstance(starts, str) else _clamped(starts, update)
        return self._starts[update]

    def _said_starts(self, update: HloInstruction) -> tuple[int, ...] | str:
        """What the tokens say, or else the operands, if they are constants."""
        operands = update.index_operands
        known = tuple(self._known.integer(Place(operand)) for operand in operands)
        tokens = read_indices(update.metadata.op_name, DUS_KEY, anchored=self._options.fresh_tokens)
        if len(tokens) < len(operands):
            constants = tuple(start for start in known if start is not None)
            is_constant = all(operand.opcode is Opcode.CONSTANT for operand in operands)
            return constants if is_constant and len(constants) == len(operands) else "start-not-constant"
        said = tuple(_unsigned(token, operand) for token, operand in zip(tokens, operands, strict=False))
        if self._options.fresh_tokens and said != known:
            return "fresh_tokens"
        return said


class _Rewrite:
    """Makes one concatenate of one chain."""

    def __init__(self, computation: HloComputation, chain: _Chain, trace: Trace) -> None:
        self._computation = computation
        self._chain = chain
        self._trace = trace

    def run(self) -> None:
        """The last update's readers get the concatenate; the updates go, and their bodies return the pieces."""
        last, first = self._chain.links[0], self._chain.links[-1]
        shape, metadata, carried = last.update.shape, last.update.metadata, last.update.carried
        whole = last.result.is_read_whole
        by_start = sorted(zip(self._chain.starts, self._chain.links, strict=True), key=lambda pair: pair[0])
        pieces = {link: self._piece(link, first.base) for link in self._chain.links}
        concat = self._computation.add(
            Opcode.CONCATENATE,
            shape,
            [pieces[link] for _, link in by_start],
            Dimensions((self._chain.dimension,)),
        )
        concat.metadata = replace(metadata, op_name=strip_indices(metadata.op_name, anchored=True))
        concat.carried = only_sharding(carried)
        self._send_readers(last, pieces[last], concat, whole)
        for link in self._chain.links:
            if link.call is None and not link.update.is_removed:
                self._computation.remove_instruction_and_unused_operands(link.update)
        self._trace.fire("concatenate")

    def _piece(self, link: Link, base: HloInstruction) -> HloInstruction:
        """What `link` writes, as a value of this computation."""
        if link.operands is None or link.result.index is None:
            return link.update.operand(1)
        call, index = link.result.inst, link.result.index
        piece = link.update.operand(1)
        _return_instead(link.update, index, piece)
        call.shape = call.called_computations[0].root.shape
        for reader in link.result.readers:
            reader.shape = piece.shape
        # the body that updated this one's result has no more use for it, and this one none for its own base
        self._forget_base(link, base)
        self._trace.fire("return-update")
        readers = link.result.readers
        return readers[0] if readers else self._computation.add_get_tuple_element(call, index)

    def _forget_base(self, link: Link, base: HloInstruction) -> None:
        assert link.operands is not None
        if link is self._chain.links[-1]:
            return
        self._computation.replace_operand(link.operands, link.position, base, accept_different_shape=True)

    def _send_readers(self, last: Link, piece: HloInstruction, concat: HloInstruction, whole: bool) -> None:
        computation = self._computation
        if last.call is None:
            computation.replace_all_uses_with(last.update, concat)
            return
        for reader in last.result.readers:
            computation.replace_all_uses_with_different_shape(reader, concat)
            if reader is not piece:
                computation.remove_instruction(reader)
        if whole:
            self._rebuild(last, concat)

    def _rebuild(self, last: Link, concat: HloInstruction) -> None:
        """Whoever took the last call's whole result gets a tuple with the concatenate in it."""
        computation, call = self._computation, last.result.inst
        others = [user for user in call.users if user.opcode is not Opcode.GET_TUPLE_ELEMENT]
        is_root = call.is_root
        rebuilt = computation.add_tuple(
            [
                concat if index == last.result.index else computation.add_get_tuple_element(call, index)
                for index in range(len(call.tuple_shape.elements))
            ]
        )
        for user in others:
            for position, operand in enumerate(user.operands):
                if operand is call:
                    computation.replace_operand(user, position, rebuilt, accept_different_shape=True)
        if is_root:
            computation.set_root(rebuilt, accept_different_shape=True)


def _return_instead(update: HloInstruction, index: int, piece: HloInstruction) -> None:
    """Let the body of `update` return `piece` as its element `index`, and drop the update."""
    body = update.parent
    body.replace_operand(body.root, index, piece, accept_different_shape=True)
    shapes: Sequence[Shape] = [operand.shape for operand in body.root.operands]
    body.root.shape = TupleShape(tuple(shapes))
    body.remove_instruction_and_unused_operands(update)


def _written_dimension(link: Link) -> int | None:
    """The one dimension that the update does not fill."""
    sizes = zip(
        link.update.array_shape.dimensions, link.update.operand(1).array_shape.dimensions, strict=True
    )
    partial = [dimension for dimension, (whole, piece) in enumerate(sizes) if whole != piece]
    return partial[0] if len(partial) == 1 else None


def _clamped(starts: Sequence[int], update: HloInstruction) -> tuple[int, ...]:
    sizes = zip(starts, update.array_shape.dimensions, update.operand(1).array_shape.dimensions, strict=True)
    return tuple(min(max(start, 0), bound - size) for start, bound, size in sizes)


def _unsigned(token: int, operand: HloInstruction) -> int:
    """A token holds a U64 start of 2^63 or more as a negative int64; the update reads it as what it is."""
    is_u64 = operand.array_shape.element_type is PrimitiveType.U64
    return token + _WRAPPED if is_u64 and token < 0 else token
