"""How do the Neuron passes pass start indices to each other? As text tokens in `OpMetadata.op_name`.

Source: page 000 "The Shared Metadata Protocol", channel 1; `neuron_passes.md` sections 2 and 3. A field is the
user's own text followed by entries `<key><base-10 integer>`, joined by commas, one entry per dimension:
`jit(f)/slice,dsidxnow=3,dsidxnow=0,iterationidx=3,iterationidx=0`.

The page reads with `find(key)`, which also matches inside the user's own text; `anchored=True` reads only whole
comma-separated entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

DUS_KEY = "dusidxnow="
DS_KEY = "dsidxnow="
ITERATION_KEY = "iterationidx="
KEYS = (DUS_KEY, DS_KEY, ITERATION_KEY)

_INTEGER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)[ \t\n\v\f\r]*", re.ASCII)


def parse_integer(text: str, bits: int) -> tuple[int, bool]:
    """`text` as a signed integer of `bits` bits, or (0, False).

    Strict base 10, as `safe_strto32_base` and `safe_strto64_base`: ASCII white space around and one sign are
    allowed; empty text, any other character or overflow is not.
    """
    match = _INTEGER.fullmatch(text)
    if match is None:
        return 0, False
    value = int(match.group(1))
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        return 0, False
    return value, True


def extract_index(metadata: str, key: str, *, anchored: bool = False) -> tuple[int, bool]:
    """The int32 after the first `key` in `metadata`, up to the next comma or the end, or (0, False).

    Source: page 000, `ExtractIndexFromMetadata`.
    """
    text = next(_values(metadata, key, anchored), None)
    return (0, False) if text is None else parse_integer(text, 32)


def read_indices(metadata: str, key: str, *, anchored: bool, bits: int = 64) -> list[int]:
    """Every integer that `key` introduces, in order; entries that do not parse are left out."""
    parsed = (parse_integer(text, bits) for text in _values(metadata, key, anchored))
    return [value for value, ok in parsed if ok]


def append_indices(metadata: str, own_key: str, indices: Sequence[int]) -> str:
    """`metadata` followed by one `own_key` entry per dimension, then one `iterationidx=` entry per dimension."""
    entries = [f"{key}{index}" for key in (own_key, ITERATION_KEY) for index in indices]
    return ",".join([metadata, *entries] if metadata else entries)


def strip_indices(metadata: str, *, anchored: bool) -> str:
    """The user's own text: `metadata` without any entry of the three keys whose value parses as an int64."""
    if anchored:
        return ",".join(entry for entry in metadata.split(",") if not _is_entry(entry))
    for key in KEYS:
        position = metadata.find(key)
        while position >= 0:
            end = metadata.find(",", position)
            end = len(metadata) if end < 0 else end
            if parse_integer(metadata[position + len(key) : end], 64)[1]:
                metadata = metadata[:position].removesuffix(",") + metadata[end:]
                position = metadata.find(key)
            else:
                position = metadata.find(key, end)
    return metadata


def _is_entry(entry: str) -> bool:
    return any(entry.startswith(key) and parse_integer(entry[len(key) :], 64)[1] for key in KEYS)


def _values(metadata: str, key: str, anchored: bool) -> Iterator[str]:
    if anchored:
        for entry in metadata.split(","):
            if entry.startswith(key):
                yield entry[len(key) :]
        return
    position = metadata.find(key)
    while position >= 0:
        start = position + len(key)
        end = metadata.find(",", start)
        end = len(metadata) if end < 0 else end
        yield metadata[start:end]
        position = metadata.find(key, end)
