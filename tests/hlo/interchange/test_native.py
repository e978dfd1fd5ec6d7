"""Does a module that was built in Python mean to jaxlib what it means to us, for every kind of instruction?"""

import re

import numpy as np
import pytest

from hlo import (
    NEWER,
    SPECS,
    ArrayShape,
    HloComputation,
    HloModule,
    Opcode,
    OpMetadata,
    PrimitiveType,
    Shape,
    TokenShape,
    TupleShape,
    scalar,
)
from hlo.attributes import (
    NONE,
    Attributes,
    BatchNormOptions,
    CholeskyOptions,
    Comparison,
    ConvolutionDimensions,
    CustomCallTarget,
    Dimensions,
    DotDimensions,
    FftKind,
    FusionKind,
    GatherDimensions,
    PaddingConfig,
    RaggedDotDimensions,
    RandomAlgorithm,
    ReducedPrecision,
    Rotation,
    ScanOptions,
    ScatterDimensions,
    SliceBounds,
    SliceSizes,
    SortDimension,
    TopKOptions,
    TriangularSolveOptions,
    TupleIndex,
    Unmodelled,
    Window,
    WindowDimension,
)
from hlo.canonical import structure
from hlo.interchange import export_proto, import_proto, installed_opcodes, read_text, write_text

F32, S32, PRED = PrimitiveType.F32, PrimitiveType.S32, PrimitiveType.PRED
NUMBER, MATRIX, INDEX = ArrayShape(F32), ArrayShape(F32, (2, 3)), ArrayShape(S32)
FLAGS, PAIR = ArrayShape(PRED, (2, 3)), TupleShape((MATRIX, INDEX))
DYNAMIC = ArrayShape(F32, (2, 3), (False, True))
SQUARE, FEATURES = ArrayShape(F32, (2, 2)), ArrayShape(F32, (3,))

SCATTER = ScatterDimensions((0, 1), (), (0,), 0, indices_are_sorted=True, unique_indices=True)
WINDOW = Window((WindowDimension(), WindowDimension(3, 1, 2, 0, reversal=True)))
CONVOLUTION = ConvolutionDimensions((), 0, 1, (), 1, 0, (), 0, 1, ())

# Opcode -> (shape, names of operands, attributes, names of callees).
EXAMPLES: dict[Opcode, tuple[Shape, str, Attributes, str]] = {
    Opcode.COMPARE: (FLAGS, "matrix matrix", Comparison("LT"), ""),
    Opcode.SELECT: (MATRIX, "flags matrix matrix", NONE, ""),
    Opcode.COMPLEX: (ArrayShape(PrimitiveType.C64, (2, 3)), "matrix matrix", NONE, ""),
    Opcode.MAP: (MATRIX, "matrix", Dimensions((0, 1)), "same"),
    Opcode.BROADCAST: (ArrayShape(F32, (2, 4, 3)), "matrix", Dimensions((0, 2)), ""),
    Opcode.RESHAPE: (ArrayShape(F32, (3, 2)), "matrix", NONE, ""),
    Opcode.TRANSPOSE: (ArrayShape(F32, (3, 2)), "matrix", Dimensions((1, 0)), ""),
    Opcode.REVERSE: (MATRIX, "matrix", Dimensions((1,)), ""),
    Opcode.CONCATENATE: (ArrayShape(F32, (4, 3)), "matrix matrix", Dimensions((0,)), ""),
    Opcode.PAD: (ArrayShape(F32, (4, 4)), "matrix number", PaddingConfig((1, -1), (1, 0), (0, 1)), ""),
    Opcode.IOTA: (MATRIX, "", Dimensions((1,)), ""),
    Opcode.SLICE: (ArrayShape(F32, (1, 2)), "matrix", SliceBounds((1, 0), (2, 3), (1, 2)), ""),
    Opcode.DYNAMIC_SLICE: (ArrayShape(F32, (1, 2)), "matrix index index", SliceSizes((1, 2)), ""),
    Opcode.DYNAMIC_UPDATE_SLICE: (MATRIX, "matrix matrix index index", NONE, ""),
    Opcode.REDUCE: (ArrayShape(F32, (3,)), "matrix number", Dimensions((0,)), "sum"),
    Opcode.DOT: (ArrayShape(F32, (2, 2)), "matrix matrix", DotDimensions((1,), (1,)), ""),
    Opcode.RAGGED_DOT: (
        MATRIX,
        "matrix matrix index",
        RaggedDotDimensions(DotDimensions((1,), (1,)), (0,), (0,)),
        "",
    ),
    Opcode.SCALED_DOT: (MATRIX, "matrix matrix number number", DotDimensions((1,), (1,)), ""),
    Opcode.SCAN: (MATRIX, "matrix number", ScanOptions(1, 1, is_reverse=True, is_associative=True), "sum"),
    Opcode.SHUFFLE: (MATRIX, "matrix", Rotation((1, 0), (2, -1)), ""),
    Opcode.TUPLE: (PAIR, "matrix index", NONE, ""),
    Opcode.GET_TUPLE_ELEMENT: (INDEX, "pair", TupleIndex(1), ""),
    Opcode.CALL: (NUMBER, "number number", NONE, "sum"),
    Opcode.WHILE: (NUMBER, "number", NONE, "same condition"),
    Opcode.CONDITIONAL: (NUMBER, "index number number", NONE, "same same"),
    Opcode.CUSTOM_CALL: (PAIR, "matrix", CustomCallTarget("marker", has_side_effect=True), ""),
    Opcode.OPTIMIZATION_BARRIER: (PAIR, "pair", NONE, ""),
    Opcode.AFTER_ALL: (TokenShape(), "", NONE, ""),
    Opcode.ADD_DEPENDENCY: (MATRIX, "matrix order", NONE, ""),
    Opcode.GET_DIMENSION_SIZE: (INDEX, "matrix", Dimensions((1,)), ""),
    Opcode.SET_DIMENSION_SIZE: (DYNAMIC, "matrix index", Dimensions((1,)), ""),
    Opcode.DYNAMIC_RESHAPE: (DYNAMIC, "matrix index index", NONE, ""),
    Opcode.NOT: (FLAGS, "flags", NONE, ""),
    Opcode.AND: (FLAGS, "flags flags", NONE, ""),
    Opcode.OR: (FLAGS, "flags flags", NONE, ""),
    Opcode.XOR: (FLAGS, "flags flags", NONE, ""),
    Opcode.REDUCE_PRECISION: (MATRIX, "matrix", ReducedPrecision(5, 10), ""),
    Opcode.GATHER: (MATRIX, "matrix index", GatherDimensions((0, 1), (), (0,), 0, (2, 3)), ""),
    Opcode.SCATTER: (MATRIX, "matrix index matrix", SCATTER, "sum"),
    Opcode.REDUCE_WINDOW: (MATRIX, "matrix number", WINDOW, "sum"),
    Opcode.SELECT_AND_SCATTER: (
        MATRIX,
        "matrix matrix number",
        Window((WindowDimension(), WindowDimension())),
        "greater sum",
    ),
    Opcode.SORT: (MATRIX, "matrix", SortDimension(1, is_stable=True), "greater"),
    Opcode.TOPK: (
        TupleShape((ArrayShape(F32, (2, 1)), ArrayShape(S32, (2, 1)))),
        "matrix",
        TopKOptions(1),
        "",
    ),
    Opcode.CONVOLUTION: (ArrayShape(F32, (2, 2)), "matrix matrix", CONVOLUTION, ""),
    Opcode.RNG_BIT_GENERATOR: (
        TupleShape((MATRIX, FEATURES)),
        "matrix",
        RandomAlgorithm("rng_philox"),
        "",
    ),
    Opcode.FUSION: (NUMBER, "number number", FusionKind("kLoop"), "fused"),
    Opcode.CHOLESKY: (SQUARE, "square", CholeskyOptions(lower=True), ""),
    Opcode.TRIANGULAR_SOLVE: (
        SQUARE,
        "square square",
        TriangularSolveOptions(left_side=True, transpose_a="ADJOINT"),
        "",
    ),
    Opcode.FFT: (ArrayShape(PrimitiveType.C64, (2, 2)), "matrix", FftKind("RFFT", (3,)), ""),
    Opcode.BATCH_NORM_TRAINING: (
        TupleShape((MATRIX, FEATURES, FEATURES)),
        "matrix features features",
        BatchNormOptions(0.5, 1),
        "",
    ),
    Opcode.BATCH_NORM_INFERENCE: (
        MATRIX,
        "matrix features features features features",
        BatchNormOptions(0.5, 1),
        "",
    ),
    Opcode.BATCH_NORM_GRAD: (
        TupleShape((MATRIX, FEATURES, FEATURES)),
        "matrix features features features matrix",
        BatchNormOptions(0.5, 1),
        "",
    ),
}
IN_EVERY_MODULE = {Opcode.PARAMETER, Opcode.CONSTANT}


def callee(module: HloModule, name: str, parameters: int, constant: bool | None = None) -> HloComputation:
    computation = module.add_computation(name)
    shapes = [computation.add_parameter(number, NUMBER) for number in range(parameters)]
    computation.set_root(shapes[0] if constant is None else computation.add_constant(np.array(constant)))
    return computation


def module_with(opcode: Opcode) -> HloModule:
    """A module whose root is an instruction of `opcode`."""
    module = HloModule("native")
    callees = {
        "same": callee(module, "same", 1),
        "sum": callee(module, "sum", 2),
        "condition": callee(module, "condition", 1, constant=True),
        "greater": callee(module, "greater", 2, constant=True),
        "fused": callee(module, "fused", 2),
    }
    entry = module.add_computation("entry")
    module.set_entry_computation(entry)
    sources = {
        name: entry.add_parameter(number, shape, name)
        for number, (name, shape) in enumerate(
            {
                "matrix": MATRIX,
                "number": NUMBER,
                "flags": FLAGS,
                "pair": PAIR,
                "order": TokenShape(),
                "square": SQUARE,
                "features": FEATURES,
            }.items()
        )
    }
    sources["index"] = entry.add_constant(scalar(1, S32), "index")
    usual = (MATRIX, "matrix " * (SPECS[opcode].arity or 0), NONE, "")
    shape, operands, attributes, called = EXAMPLES.get(opcode, usual)
    inst = entry.add(
        opcode,
        shape,
        [sources[name] for name in operands.split()],
        attributes,
        called_computations=[callees[name] for name in called.split()],
    )
    entry.set_root(inst)
    return module


@pytest.mark.parametrize(
    "opcode",
    [o for o, spec in SPECS.items() if spec.attributes is not Unmodelled and o not in IN_EVERY_MODULE],
    ids=str,
)
def test_an_instruction_built_in_python_is_read_back_the_same(opcode: Opcode) -> None:
    module = module_with(opcode)
    if opcode not in NEWER or opcode in installed_opcodes():
        assert structure(read_text(write_text(module))) == structure(module)
    assert structure(import_proto(export_proto(module))) == structure(module)


@pytest.mark.parametrize("stated", [True, False, None])
def test_a_scan_says_in_its_proto_whether_it_is_associative_or_nothing(stated: bool | None) -> None:
    module = module_with(Opcode.SCAN)
    module.entry_computation.root.attributes = ScanOptions(0, 1, is_associative=stated)
    assert structure(import_proto(export_proto(module))) == structure(module)
    shown = {True: "is_associative=true", False: "is_associative=false", None: ""}[stated]
    assert re.findall("is_associative=[a-z]+", write_text(module)) == ([shown] if shown else [])


def comparison(kind: str, stated: str) -> Attributes:
    line = f"ROOT c = pred[] compare(a, a), direction=GE{stated}"
    return read_text(
        f"HloModule m\nENTRY e {{\n  a = {kind}[] parameter(0)\n  {line}\n}}"
    ).entry_computation.root.attributes


@pytest.mark.parametrize(
    ("kind", "implied"),
    [
        ("f32", "FLOAT"),
        ("bf16", "FLOAT"),
        ("c64", "FLOAT"),
        ("s4", "SIGNED"),
        ("u8", "UNSIGNED"),
        ("pred", "UNSIGNED"),
    ],
)
def test_a_comparison_has_no_type_where_the_element_type_implies_it(kind: str, implied: str) -> None:
    assert comparison(kind, "") == comparison(kind, f", type={implied}") == Comparison("GE")


@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_a_comparison_has_a_type_where_it_is_not_the_implied_one(kind: str) -> None:
    assert comparison(kind, ", type=TOTALORDER") == Comparison("GE", "TOTALORDER")


def test_a_comparison_in_total_order_is_written() -> None:
    # jaxlib 0.10 calls it a type, 0.12 an order.
    module = module_with(Opcode.COMPARE)
    module.entry_computation.root.attributes = Comparison("LT", "TOTALORDER")
    assert re.search("direction=LT, (type=TOTALORDER|order=TOTAL)", write_text(module))


def test_what_is_said_beside_the_operation_is_written() -> None:
    module = module_with(Opcode.ABS)
    root = module.entry_computation.root
    root.metadata = OpMetadata("layer/abs", "Abs")
    root.frontend_attributes = {"b": "2", "a": "1"}
    module.entry_computation.add_control_dependency(module.entry_computation.parameters[1], root)
    text = write_text(module)
    assert 'op_type="Abs" op_name="layer/abs"' in text
    assert 'frontend_attributes={a="1",b="2"}' in text
    assert "control-predecessors={%number}" in text
    assert structure(read_text(text)) == structure(module)
