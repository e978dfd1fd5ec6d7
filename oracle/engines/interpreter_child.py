"""The child process that interprets whole programs with StableHLO's own reference interpreter.

What is known to abort the process is refused before it runs. Run by its path, so that it starts without the judges:
`python interpreter_child.py MEMORY_IN_BYTES`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from hlo.isolation.programs import Array, Refused, feature, serve_programs

# Ops that the interpreter of jaxlib 0.10 and 0.12 ends the process on, with "Unsupported op" and an abort.
NOT_INTERPRETED = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("batch_norm_grad", "batch_norm_inference", "batch_norm_training", "cholesky", "custom_call", "dot"),
        *("fft", "map", "real_dynamic_slice", "rng", "rng_bit_generator", "set_dimension_size"),
        *("triangular_solve",),
    )
)
_DIALECTS = ("stablehlo.", "func.", "builtin.")
_EXPANDED = {
    **{name: name for name in ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "sinh")},
    "topk": "top_k",
}
_EXPANSIONS = "builtin.module(func.func(chlo-legalize-to-stablehlo,stablehlo-legalize-deprecated-ops))"


class Interpreter:
    """StableHLO's own reference interpreter."""

    def __init__(self) -> None:
        """Raises Missing."""
        self._ir = feature("jaxlib.mlir.ir")
        self._stablehlo = feature("jaxlib.mlir.dialects.stablehlo")
        self._eval = self._stablehlo.eval_module
        self._convert = feature("jaxlib._jax", "mlir.hlo_to_stablehlo")
        registry = self._ir.DialectRegistry()
        feature("jaxlib.mlir._mlir_libs._jax_mlir_ext", "register_dialects")(registry)
        self._context = self._ir.Context()
        self._context.append_dialect_registry(registry)
        self._stablehlo.register_dialect(self._context)
        feature("jaxlib.mlir.dialects.chlo", "register_dialect")(self._context)
        feature("jaxlib.mlir._mlir_libs._mlirHlo", "register_mhlo_dialect")(self._context)
        self._context.load_all_available_dialects()
        self._stablehlo.register_stablehlo_passes()
        self._passes = feature("jaxlib.mlir.passmanager", "PassManager")

    def __call__(
        self, proto: bytes, sets: Sequence[Sequence[Array]], _options: dict[str, Any]
    ) -> list[list[Array]]:
        with self._context, self._ir.Location.unknown():
            module = self._parsed(proto)
            if self._offences(module):
                self._translate(module)
                if offences := self._offences(module):
                    raise Refused(offences[0])
            main = self._main(module)
            rebuild = self._plain_results(main)
            types = main.type.inputs
            return [rebuild(self._eval(module, self._attributes(arrays, types))) for arrays in sets]

    def _parsed(self, proto: bytes) -> Any:
        """The program in StableHLO. Raises Refused for one that has no words for it."""
        try:
            return self._ir.Module.parse(self._convert(proto))
        except self._ir.MLIRError as error:
            raise Refused(_complaint(error)) from None

    def _main(self, module: Any) -> Any:
        return next(op for op in module.body.operations if op.attributes["sym_name"].value == "main")

    def _attributes(self, arrays: Sequence[Array], types: Sequence[Any]) -> list[Any]:
        attribute = self._ir.DenseElementsAttr
        return [
            attribute.get(np.ascontiguousarray(array), type=kind.element_type, shape=array.shape)
            for array, kind in zip(arrays, types, strict=True)
        ]

    def _offences(self, module: Any) -> list[str]:
        """What is known to abort the process."""
        found: list[str] = []

        def look(op: Any) -> Any:
            name = op.operation.name
            if not name.startswith(_DIALECTS) or name in NOT_INTERPRETED:
                found.append(name)
            for result in op.operation.results:
                kind = result.type
                if isinstance(kind, self._ir.RankedTensorType) and not kind.has_static_shape:
                    found.append(f"{name} of a dynamic shape")
            return self._ir.WalkResult.ADVANCE

        module.operation.walk(look)
        return found

    def _translate(self, module: Any) -> None:
        """Say in StableHLO what it has other words for: by CHLO's expansions, and `dot` as `dot_general`.

        A `map` becomes the operations that it applies to each element.
        """
        foreign: list[Any] = []
        maps: list[Any] = []

        def look(op: Any) -> Any:
            if op.operation.name.startswith("mhlo."):
                foreign.append(op.operation)
            elif op.operation.name == "stablehlo.map":
                maps.append(op.operation)
            return self._ir.WalkResult.ADVANCE

        module.operation.walk(look)
        for op in maps:
            self._spread_map(op)
        for op in foreign:
            name = op.name.removeprefix("mhlo.")
            if name in _EXPANDED and _is_largest(op):
                new = self._ir.Operation.create(
                    f"chlo.{_EXPANDED[name]}",
                    results=[result.type for result in op.results],
                    operands=list(op.operands),
                    attributes={"k": op.attributes["k"]} if name == "topk" else {},
                    ip=self._ir.InsertionPoint(op),
                )
                replacements = list(new.results)
            elif name in ("copy", "domain", "add_dependency"):
                replacements = list(op.operands)[:1]
            else:
                continue
            for old, replacement in zip(op.results, replacements, strict=True):
                old.replace_all_uses_with(replacement)
            op.erase()
        try:
            self._passes.parse(_EXPANSIONS).run(module.operation)
        except self._ir.MLIRError as error:  # it complains of what it does not know
            raise Refused(_complaint(error)) from None

    def _spread_map(self, op: Any) -> None:
        """Put what `op` applies to scalars in its place, applied to its whole operands.

        Where that is not elementwise, the types will not fit, and the operation is refused.
        """
        ir = self._ir
        shape = list(op.results[0].type.shape)
        (block,) = op.regions[0].blocks
        values: dict[Any, Any] = dict(zip(block.arguments, op.operands, strict=True))
        with ir.InsertionPoint(op):
            for inner in block.operations:
                inner = inner.operation
                if inner.name == "stablehlo.return":
                    op.results[0].replace_all_uses_with(values[inner.operands[0]])
                    continue
                if len(inner.regions):
                    return  # stays a map, which is refused
                wide = [ir.RankedTensorType.get(shape, result.type.element_type) for result in inner.results]
                if inner.name == "stablehlo.constant":
                    scalar = inner.clone()
                    made = [self._stablehlo.broadcast_in_dim(wide[0], scalar.results[0], [])]
                else:
                    attributes = {name: inner.attributes[name] for name in inner.attributes}
                    operands = [values[operand] for operand in inner.operands]
                    made = ir.Operation.create(inner.name, wide, operands, attributes).results
                values.update(zip(inner.results, made, strict=True))
        op.erase()

    def _plain_results(self, main: Any) -> Callable[[Sequence[Any]], list[Array]]:
        """Make `main` return what Python can read, and give the way back.

        jaxlib hands out integers of whole bytes and f16, f32 and f64; on a complex result it aborts.
        """
        block = main.entry_block
        end = block.operations[len(block.operations) - 1]
        plain: list[Any] = []
        readers: list[Callable[[Any], Array]] = []
        with self._ir.InsertionPoint(end):
            for value in end.operands:
                values, reader = self._plain(value, value.type)
                plain.extend(values)
                readers.append(reader)
            feature("jaxlib.mlir.dialects.func", "ReturnOp")(plain)
        end.operation.erase()
        signature = self._ir.FunctionType.get(main.type.inputs, [value.type for value in plain])
        main.attributes["function_type"] = self._ir.TypeAttr.get(signature)
        if "res_attrs" in main.attributes:
            del main.attributes["res_attrs"]

        def rebuild(results: Sequence[Any]) -> list[Array]:
            rest = iter(results)
            return [reader(rest) for reader in readers]

        return rebuild

    def _plain(self, value: Any, kind: Any) -> tuple[list[Any], Callable[[Any], Array]]:
        ir, hlo = self._ir, self._stablehlo
        element = kind.element_type
        shape = tuple(kind.shape)

        def typed(new: Any) -> Any:
            return ir.RankedTensorType.get(shape, new)

        if isinstance(element, ir.ComplexType):
            part = typed(element.element_type)
            dtype = np.complex64 if str(element) == "complex<f32>" else np.complex128

            def both(rest: Any) -> Array:
                array = np.empty(shape, dtype)
                array.real, array.imag = np.array(next(rest)), np.array(next(rest))
                return array

            return [hlo.real(value, results=[part]), hlo.imag(value, results=[part])], both
        name = str(element)
        if name in _FLOATS:
            dtype = _FLOATS[name]
            bits = 4 if name.startswith("f4") else np.dtype(dtype).itemsize * 8
            raw = hlo.bitcast_convert(typed(ir.IntegerType.get_unsigned(bits)), value)
            if bits == 4:
                raw = hlo.convert(typed(ir.IntegerType.get_unsigned(8)), raw)
            return [raw], lambda rest: np.array(next(rest)).view(dtype)
        if name in _INTEGERS:
            whole = ir.IntegerType.get_unsigned(8) if name.startswith("u") else ir.IntegerType.get_signless(8)
            return [hlo.convert(typed(whole), value)], lambda rest: np.array(next(rest)).astype(
                _INTEGERS[name]
            )
        return [value], lambda rest: np.array(next(rest))


def _complaint(error: Any) -> str:
    """What MLIR says first."""
    diagnostics = error.error_diagnostics
    return (diagnostics[0].message if diagnostics else str(error)).strip().partition("\n")[0]


def _is_largest(op: Any) -> bool:
    """Whether it is no `topk` of the smallest, for which CHLO has no word."""
    return "largest" not in op.attributes or bool(op.attributes["largest"].value)


_FLOATS: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}
_INTEGERS: dict[str, Any] = {
    "i2": ml_dtypes.int2,
    "ui2": ml_dtypes.uint2,
    "i4": ml_dtypes.int4,
    "ui4": ml_dtypes.uint4,
}


if __name__ == "__main__":
    serve_programs(Interpreter, int(sys.argv[1]))
