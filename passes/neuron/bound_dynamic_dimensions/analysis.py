"""Which size has each dimension in a program, and how large can it be?

One walk through the entry, operands before users. Sizes that the program needs to be equal are taken to be: of operands
that are added, and of what JAX's `shape_assertion` says.
"""

from __future__ import annotations

from typing import Any

from hlo.stablehlo import TensorType, ir, type_of
from passes.neuron.bound_dynamic_dimensions import dimensions, elements, sized
from passes.neuron.bound_dynamic_dimensions.dimensions import Rule, elementwise
from passes.neuron.bound_dynamic_dimensions.elements import Elements, is_followed, unknown_elements
from passes.neuron.bound_dynamic_dimensions.extent import ANY, Extent, Unknowns
from passes.neuron.bound_dynamic_dimensions.refusal import NotBounded

ASSERTION = "shape_assertion"
"""The target of the custom-calls in which JAX's exports check sizes."""

NO_RULE = "it has no rule for unknown sizes"

LARGEST = 2**31 - 1
"""The greatest size that an s32 can say."""

_RETURNS = frozenset({"func.return", "stablehlo.return"})
_BRANCHES = frozenset({"stablehlo.case", "stablehlo.if"})


class Analysis:
    """What is known of the values of one program, by value. Raises NotBounded while it is made, where too little is."""

    def __init__(self, pass_name: str, entry: Any, bound: int) -> None:
        self.unknowns = Unknowns()
        self._pass_name = pass_name
        self._sizes: dict[Any, Elements] = {}
        self._elements: dict[Any, Elements] = {}
        block = entry.regions[0].blocks[0]
        for parameter in block.arguments:
            self._enter(parameter, bound)
        self._visit(block)

    def sizes(self, value: Any) -> Elements:
        """The size of each dimension of a tensor."""
        known = self._sizes.get(value)
        if known is None:
            known = tuple(
                self.unknowns.new() if size is None else Extent.of(size)
                for size in type_of(value.type).dimensions
            )
            self._sizes[value] = known
        return known

    def elements(self, value: Any) -> Elements | None:
        """The elements of an integer tensor; None where they are not followed."""
        if value not in self._elements and is_followed(value.type):
            self._elements[value] = unknown_elements(self.unknowns, value.type.shape, ANY)
        return self._elements.get(value)

    def stands_for(self, new: Any, old: Any) -> None:
        """Know of `new` what is known of `old`."""
        self._sizes[new] = self.sizes(old)
        if (known := self.elements(old)) is not None:
            self._elements[new] = known

    def bounded_type(self, value: Any, *, where: str) -> TensorType:
        """The type of `value` with bounds in place of what is not known. Raises NotBounded where there is none."""
        kind = type_of(value.type)
        known: list[int | None] = []
        bounds: list[int | None] = []
        for d, (size, declared) in enumerate(zip(self.sizes(value), kind.dimensions, strict=True)):
            constant = declared if declared is not None else self.unknowns.settled(size).constant
            most = constant if constant is not None else self.unknowns.range(size)[1]
            if not 0 <= most <= LARGEST:
                raise NotBounded(self._pass_name, where, "no bound of its size is known", dimension=d)
            known.append(constant)
            bounds.append(None if constant is not None else most)
        return TensorType(kind.element_type, tuple(known), tuple(bounds))

    def _enter(self, parameter: Any, bound: int) -> None:
        """A parameter of the entry has its own bounds, or `bound`; so has what sizes are computed from."""
        if not is_ranked(parameter.type):
            return
        kind = type_of(parameter.type)
        self._sizes[parameter] = tuple(
            Extent.of(size) if size is not None else self.unknowns.new((0, bound if most is None else most))
            for size, most in zip(kind.dimensions, kind.bounds, strict=True)
        )
        if is_followed(parameter.type):
            self._elements[parameter] = unknown_elements(self.unknowns, parameter.type.shape, (0, bound))

    def _visit(self, block: Any) -> list[Any]:
        """Look at each operation of `block`. Returns the operands of what ends it."""
        for wrapped in block.operations:
            op = wrapped.operation
            if op.name in _RETURNS:
                return list(op.operands)
            self._look_at(op)
        return []

    def _look_at(self, op: Any) -> None:
        if op.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value == ASSERTION:
            self._believe(op)
        elif op.name == "stablehlo.while":
            self._loop(op)
        elif op.name in _BRANCHES:
            self._branch(op)
        else:
            self._compute(op)

    def _compute(self, op: Any) -> None:
        is_asked = any(is_unknown(result.type) for result in op.results)
        # what operands must have in common is learnt even where the result is static
        if is_asked or any(is_unknown(operand.type) for operand in op.operands):
            rule = _rule_for(op)
            found = None if rule is None else rule(self, op)
            if found is None and is_asked:
                reason = "its sizes do not follow from what it is told"
                raise NotBounded(self._pass_name, named(op), reason if rule else NO_RULE)
            for result, sizes in zip(op.results, found or (), strict=bool(found)):
                declared = type_of(result.type).dimensions
                self._sizes[result] = tuple(
                    size if known is None else Extent.of(known)
                    for size, known in zip(sizes, declared, strict=True)
                )
        if len(op.results) == 1 and is_ranked(op.results[0].type) and is_followed(op.results[0].type):
            follow = elements.RULES.get(op.name)
            known = follow(self, op) if follow is not None else None
            if known is not None:
                self._elements[op.results[0]] = known

    def _believe(self, op: Any) -> None:
        """What an assertion says is so: programs in which it is not have no meaning."""
        compare = op.operands[0].owner
        if getattr(compare, "name", "") != "stablehlo.compare":
            return
        one, other = (self.elements(operand) for operand in compare.operands)
        if "EQ" in str(compare.attributes["comparison_direction"]) and one is not None and other is not None:
            for mine, yours in zip(one, other, strict=True):
                self.unknowns.equate(mine, yours)

    def _loop(self, op: Any) -> None:
        """Sizes in the state of a loop must stay as they are."""
        for region in op.regions:
            for argument, operand in zip(region.blocks[0].arguments, op.operands, strict=True):
                self._sizes[argument] = self.sizes(operand) if is_ranked(operand.type) else ()
        _, returned = self._perhaps(op)
        for number, (result, operand, last) in enumerate(zip(op.results, op.operands, returned, strict=True)):
            if not is_ranked(result.type):
                continue
            self._sizes[result] = self.sizes(operand)
            self._must_agree(op, number, self.sizes(operand), self.sizes(last), "after an iteration")

    def _perhaps(self, op: Any) -> list[list[Any]]:
        """Look at the regions of `op`. What they need does not tell what sizes are: they may not run."""
        with self.unknowns.uncertain():
            return [self._visit(region.blocks[0]) for region in op.regions]

    def _branch(self, op: Any) -> None:
        branches = self._perhaps(op)
        for number, (result, *given) in enumerate(zip(op.results, *branches, strict=True)):
            if not is_ranked(result.type):
                continue
            self._sizes[result] = self.sizes(given[0])
            for other in given[1:]:
                self._must_agree(op, number, self.sizes(given[0]), self.sizes(other), "in another branch")

    def _must_agree(self, op: Any, number: int, one: Elements, other: Elements, when: str) -> None:
        for d, (mine, yours) in enumerate(zip(one, other, strict=True)):
            if not self.unknowns.same(mine, yours):
                reason = f"element {number} has another size {when}"
                raise NotBounded(self._pass_name, named(op), reason, dimension=d)


def _rule_for(op: Any) -> Rule | None:
    rule = dimensions.RULES.get(op.name) or sized.RULES.get(op.name)
    if op.name == "stablehlo.custom_call" and not sized.is_reduce_window(op):
        return None
    is_elementwise = op.name.startswith("chlo.") and len(op.results) == 1
    return elementwise if rule is None and is_elementwise else rule


def is_ranked(kind: Any) -> bool:
    """Whether a type is a tensor whose rank is known."""
    return isinstance(kind, ir().RankedTensorType)


def is_unknown(kind: Any) -> bool:
    """Whether a type is a tensor with a dimension whose size is not known."""
    return is_ranked(kind) and not kind.has_static_shape


def named(op: Any) -> str:
    """What a refusal calls an operation: a custom-call by its target, too."""
    if op.name == "stablehlo.custom_call":
        return f"{op.name} {op.attributes['call_target_name'].value}"
    return op.name
