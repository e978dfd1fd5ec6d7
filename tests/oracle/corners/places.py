"""Which places do starts, indices and windows name where they are out of bounds, or where there is nothing?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hlo import PrimitiveType
from tests.oracle.corners.integers import limits
from tests.oracle.corners.table import INTERPRETER, Corner, Dissent, of

P = PrimitiveType
TEN = np.arange(10, dtype=np.int32)
_SIGN_EXTENDED = "it reads large unsigned starts as negative, so it is not asked"
_PARTLY_OUT = "it drops the elements of a window that are out of bounds, not the whole window"

CLAMPED = "starts are clamped so that the slice fits: clamp(0, start, dim - size) (StableHLO, dynamic_slice)"
GATHERED = "starts are clamped so that the slice fits (StableHLO, gather: clamp(0, start, dim - size))"
DROPPED = "a window that is not wholly inside is dropped (XLA operation semantics, Scatter)"


def _clamped(start: int, room: int) -> int:
    return min(max(start, 0), room)


def starts_of(kind: PrimitiveType) -> list[int]:
    """Starts for a slice of 3 of 10 elements: both ends of the type, around 0 and around the last that fits."""
    low, high = limits(kind)
    wanted = [low, low + 1, -1, 0, 1, 6, 7, 8, 10, high // 2, high // 2 + 1, high - 1, high]
    return sorted({n for n in wanted if low <= n <= high})


_INDEX_TYPES = [P.S8, P.U8, P.S16, P.U16, P.S32, P.U32, P.S64, P.U64]


def slices() -> Iterator[Corner]:
    """Dynamic slices and updates at each start of each index type, the large unsigned ones on their own."""
    for kind in _INDEX_TYPES:
        for start in starts_of(kind):
            silent = _silent_for([start], kind)
            at = _clamped(start, 7)
            yield Corner(
                CLAMPED,
                "s32[3] dynamic-slice(p0, p1), dynamic_slice_sizes={3}",
                (TEN, of(kind, [start]).reshape(())),
                TEN[at : at + 3].copy(),
                silent=silent,
            )
            updated = TEN.copy()
            updated[at : at + 3] = [-1, -2, -3]
            yield Corner(
                CLAMPED,
                "s32[10] dynamic-update-slice(p0, p1, p2)",
                (TEN, of(P.S32, [-1, -2, -3]), of(kind, [start]).reshape(())),
                updated,
                silent=silent,
            )


def _silent_for(starts: Sequence[int], kind: PrimitiveType) -> dict[str, str]:
    large = kind.is_unsigned and any(start > limits(kind)[1] // 2 for start in starts)
    return {INTERPRETER: _SIGN_EXTENDED} if large else {}


def gathers() -> Iterator[Corner]:
    """Index vectors of each type."""
    for kind in _INDEX_TYPES:
        every = starts_of(kind)
        for starts in (
            [n for n in every if not _silent_for([n], kind)],
            [n for n in every if _silent_for([n], kind)],
        ):
            if not starts:
                continue
            rows = [TEN[_clamped(n, 7) :][:3] for n in starts]
            yield Corner(
                GATHERED,
                f"s32[{len(starts)},3] gather(p0, p1), offset_dims={{1}}, collapsed_slice_dims={{}},"
                " start_index_map={0}, index_vector_dim=1, slice_sizes={3}",
                (TEN, of(kind, starts).reshape(-1, 1)),
                np.stack(rows),
                silent=_silent_for(starts, kind),
            )
    pairs = [(-5, 1), (2, 9), (9, -1), (1, 1)]
    table = np.arange(12, dtype=np.int32).reshape(3, 4)
    yield Corner(
        GATHERED + ", each component in its own dimension",
        "s32[4,1,2] gather(p0, p1), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0,1},"
        " index_vector_dim=1, slice_sizes={1,2}",
        (table, of(P.S32, [n for pair in pairs for n in pair]).reshape(4, 2)),
        np.stack([table[_clamped(i, 2) :][:1, _clamped(j, 2) :][:, :2] for i, j in pairs]),
    )


def scatters() -> Iterator[Corner]:
    """Windows that are wholly and partly out of bounds."""
    for kind in _INDEX_TYPES:
        every = starts_of(kind)
        for starts in (
            [n for n in every if not _silent_for([n], kind)],
            [n for n in every if _silent_for([n], kind)],
        ):
            if starts:
                yield _single_updates(kind, starts)
    starts = [-1, 8, 7, 6, 10, -3]
    updates = np.repeat(np.arange(1, 7, dtype=np.int32)[:, None], 3, axis=1)
    right, by_element = np.zeros(10, np.int32), np.zeros(10, np.int32)
    for start, update in zip(starts, updates, strict=True):
        if 0 <= start <= 7:
            right[start : start + 3] += update
        for i, n in enumerate(update):
            if 0 <= start + i < 10:
                by_element[start + i] += n
    yield Corner(
        DROPPED,
        "s32[10] scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_s32",
        (np.zeros(10, np.int32), of(P.S32, starts).reshape(-1, 1), updates),
        right,
        dissent={INTERPRETER: Dissent(by_element, _PARTLY_OUT)},
    )
    yield Corner(
        "the computation is handed what is there, and then the update (StableHLO, scatter)",
        "s32[10] scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=subtract_s32",
        (TEN, of(P.S32, [[7]]).reshape(1, 1), of(P.S32, [1, 1, 1]).reshape(1, 3)),
        np.array([0, 1, 2, 3, 4, 5, 6, 6, 7, 8], np.int32),
    )

    yield Corner(
        DROPPED,
        "s32[5] scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=second",
        (TEN[:5], of(P.S32, [-1, 2, 4, 5, -(2**31), 2**31 - 1]).reshape(-1, 1), of(P.S32, range(90, 96))),
        of(P.S32, [0, 1, 91, 3, 92]),
    )


def _single_updates(kind: PrimitiveType, starts: Sequence[int]) -> Corner:
    right = np.zeros(10, np.int32)
    for number, start in enumerate(starts, 1):
        if 0 <= start < 10:
            right[start] += number
    return Corner(
        DROPPED,
        "s32[10] scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_s32",
        (
            np.zeros(10, np.int32),
            of(kind, starts).reshape(-1, 1),
            np.arange(1, len(starts) + 1, dtype=np.int32),
        ),
        right,
        silent=_silent_for(starts, kind),
    )


def iotas() -> Iterator[Corner]:
    """In every type: the numbers are converted to it, and wrap where an integer type ends."""
    for kind in P:
        if kind is P.PRED:
            continue
        count = 40 if kind.bit_width >= 8 else 1 << (kind.bit_width - 1)
        numbers = list(range(count))
        right = (
            of(kind, numbers) if kind.is_integral else np.arange(count).astype(np.float32).astype(kind.numpy)
        )
        without_zero = {
            INTERPRETER: Dissent(None, "the type has no zero, for which it takes the least number")
        }
        dissent = without_zero if kind is P.F8E8M0FNU else {}
        yield Corner(
            "element i along the dimension is i, converted to the type (StableHLO, iota)",
            f"{kind.text}[{count}] iota(), iota_dimension=0",
            (),
            right,
            dissent=dissent,
        )
        yield Corner(
            "the number is that of the iota dimension, whatever the others are (StableHLO, iota)",
            f"{kind.text}[2,2,2] iota(), iota_dimension=1",
            (),
            np.broadcast_to(right[:2, None], (2, 2, 2)).copy(),
            dissent=dissent,
        )


def reductions() -> Iterator[Corner]:
    """Of nothing."""
    says = "reducing no elements leaves the initial value (StableHLO, reduce)"
    for opcode, kind, start in (
        *(("add", P.S32, 5), ("multiply", P.S32, 7), ("maximum", P.S32, -(2**31)), ("minimum", P.S32, 3)),
        *(
            ("add", P.F32, -0.0),
            ("maximum", P.F32, -np.inf),
            ("minimum", P.F32, np.nan),
            ("and", P.PRED, True),
        ),
        ("or", P.PRED, False),
    ):
        first = of(kind, [start]).reshape(())
        yield Corner(
            says,
            f"{kind.text}[3] reduce(p0, p1), dimensions={{0}}, to_apply={opcode}_{kind.text}",
            (np.zeros((0, 3), kind.numpy), first),
            np.broadcast_to(first, (3,)).copy(),
        )
    yield Corner(
        says,
        "(s32[2], f32[2]) reduce(p0, p1, p2, p3), dimensions={1}, to_apply=both",
        (
            np.zeros((2, 0), np.int32),
            np.zeros((2, 0), np.float32),
            of(P.S32, [4]).reshape(()),
            of(P.F32, [1.5]).reshape(()),
        ),
        (of(P.S32, [4, 4]), of(P.F32, [1.5, 1.5])),
    )
    for start in (0, 3):
        padded = {
            INTERPRETER: Dissent(of(P.S32, [9, 9, 9]), "it pads with the initial value, which then adds up")
        }
        yield Corner(
            "padding is no element of a window: one that holds nothing else leaves the initial value (ReduceWindow)",
            "s32[3] reduce-window(p0, p1), window={size=2 pad=2_2}, to_apply=add_s32",
            (np.zeros(0, np.int32), of(P.S32, [start]).reshape(())),
            of(P.S32, [start] * 3),
            dissent=padded if start else {},
        )
    yield Corner(
        "padding and holes are no elements of a window (XLA operation semantics, ReduceWindow)",
        "s32[6] reduce-window(p0, p1), window={size=2 pad=1_1 lhs_dilate=2}, to_apply=add_s32",
        (of(P.S32, [1, 2, 3]), of(P.S32, [0]).reshape(())),
        of(P.S32, [1, 1, 2, 2, 3, 3]),
    )
    for start in (0, 1):
        twice = {INTERPRETER: Dissent(of(P.S32, [1, 12, 1, 22, 1, 1]), "it adds the initial value once more")}
        yield Corner(
            "of equal elements the first is selected; what is selected by none keeps the initial value",
            "s32[6] select-and-scatter(p0, p1, p2), window={size=3 stride=3}, select=ge, scatter=add_s32",
            (of(P.S32, [1, 5, 5, 2, 2, 2]), of(P.S32, [10, 20]), of(P.S32, [start]).reshape(())),
            of(P.S32, [start, 10 + start, start, 20 + start, start, start]),
            dissent=twice if start else {},
        )
    yield Corner(
        "a sum of no products is 0 (StableHLO, dot_general)",
        "f32[2,4] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        (np.zeros((2, 0), np.float32), np.zeros((0, 4), np.float32)),
        np.zeros((2, 4), np.float32),
        silent={INTERPRETER: "it ends the process"},
    )
    yield Corner(
        "a sum of no products is 0 (StableHLO, convolution)",
        "f32[1,3,4] convolution(p0, p1), window={size=1}, dim_labels=b0f_0io->b0f",
        (np.zeros((1, 3, 0), np.float32), np.zeros((1, 0, 4), np.float32)),
        np.zeros((1, 3, 4), np.float32),
        silent={INTERPRETER: "it ends the process"},
    )
