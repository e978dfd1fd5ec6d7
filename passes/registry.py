"""Which passes are there, and which pipeline does a text mean?"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, fields
from types import MappingProxyType

from hlo import InvalidInput
from passes.base import Pass
from passes.external import command_pass, python_pass
from passes.neuron import NEURON_PASSES
from passes.pipeline import Pipeline
from passes.stock import STOCK_PASSES
from passes.xla import XlaExecution, named_xla_pass

DEFAULT_PIPELINE = "neuron-dus-ds-index-simplifier,dynamic-slice-mover"
"""What a campaign runs unless it is told otherwise."""


def _by_name(classes: Iterable[type[Pass]]) -> Mapping[str, type[Pass]]:
    table: dict[str, type[Pass]] = {}
    for cls in classes:
        if cls.name in table:
            raise ValueError(f"two passes are called {cls.name}")
        table[cls.name] = cls
    return MappingProxyType(table)


PASSES = _by_name((*NEURON_PASSES, *STOCK_PASSES))
"""Every pass of ours, by the name that pipelines and reports use."""

FAMILIES: Mapping[str, Callable[[str], type[Pass]]] = MappingProxyType(
    {"xla": named_xla_pass, "cmd": command_pass, "py": python_pass}
)
"""Passes that are not ours: `xla:algsimp`, `cmd:"hlo-opt {input} -o {output}"`, `py:package.module:callable`."""

PIPELINES: Mapping[str, str] = MappingProxyType(
    {
        "neuron": "while-loop-unroller,neuron-dus-ds-index-simplifier,dynamic-slice-mover,"
        "neuron-repeated-dus-to-concat,tuple-simplifier,dce",
        # the order of the page on dynamic shapes; calls have to be gone before sizes can be inferred
        "dynamic": "dynamic-parameter-binding,call-inliner,dynamic-padder,dynamic-dimension-simplifier,"
        "dynamic-index-splitter,dynamic-shape-removing-visitor",
        # the page's checklist, behind what gives unknown sizes their bounds; first goes what only looks dynamic
        "front-end": "canonicalize-dynamism,bound-dynamic-dimensions,dynamic-parameter-binding,call-inliner,"
        "dynamic-padder,dynamic-dimension-simplifier,dynamic-index-splitter,dynamic-shape-removing-visitor,"
        "canonicalize-dynamism,canonicalize-for-tensorizer,tensorizer-guard",
        # the order in which XLA's CPU compiler has these passes
        "dynamic-upstream": "dynamic-parameter-binding,dynamic-index-splitter,call-inliner{single_call_site=true},"
        "dynamic-dimension-simplifier,dynamic-padder,dce,tuple-simplifier,constant-folding",
    }
)
"""Pipelines that have a name: `neuron` stands for its passes, and `neuron:3` for the first three of them."""

RUN_CODE = frozenset({"cmd", "py"})
"""The families whose passes are code of this machine's, which a file must not be able to start."""


class CodeRefused(InvalidInput):
    """A pipeline has a pass of `RUN_CODE` and comes from where that is not allowed."""


_PIPELINE = re.compile(rf"\s*({'|'.join(PIPELINES)})(?::([^\s,{{}}]*))?\s*(?=[,{{]|$)")
_NAME = re.compile(r"\s*([\w-]*)\s*")
_FAMILY = re.compile(rf'\s*({"|".join(FAMILIES)}):("(?:[^"\\]|\\.)*"|[^\s,{{}}"]*)\s*')
_OPTION = re.compile(r'\s*([\w-]*)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,{}"]*)\s*')


def parse_pipeline(text: str, *, allow_code: bool = False) -> Pipeline:
    """The pipeline that `text` means; `str()` of it is the text again, in its shortest form and with names expanded.

    A pass is one of PASSES, or `family:name` (FAMILIES), the name quoted as an option's text is; a name of
    PIPELINES stands for all its passes, and `name:N` for the first N, 1 or more. `allow_code`
    is for text that the user typed: what comes from a file must not start commands or import modules (RUN_CODE).

    An option is written `name=value`: true or false, a decimal integer, or text, quoted as in JSON where it
    has other characters than letters, digits and `_./:+-`. Empty text is the empty pipeline. Raises
    InvalidInput naming the part that is wrong, with the nearest known names; CodeRefused for code not allowed.
    """
    if not text.strip():
        return Pipeline()
    passes: list[Pass] = []
    position = 0
    while True:
        if named := _PIPELINE.match(text, position):
            passes += named_passes(named[1], named[2])
            position = named.end()
        else:
            cls, position = _read_class(text, position, allow_code)
            values: dict[str, bool | int | str] = {}
            if text[position : position + 1] == "{":
                values, position = _read_options(cls, text, position + 1)
            passes.append(cls(**values))
        if position == len(text):
            return Pipeline(tuple(_checked(passes)))
        position = _expect(",", text, position)


def _checked(passes: Sequence[Pass]) -> Sequence[Pass]:
    """`passes`, where none comes behind one that yields values instead of a program. Raises InvalidInput."""
    for pass_ in passes[:-1]:
        if isinstance(pass_, XlaExecution):
            raise InvalidInput(f"{pass_.name} yields values, not a program: it comes last")
    return passes


def named_passes(name: str, count: str | None = None) -> tuple[Pass, ...]:
    """The passes of the pipeline called `name`: all, or the first `count` (a decimal number). Raises InvalidInput."""
    passes = parse_pipeline(PIPELINES[name]).passes
    if count is None:
        return passes
    if not re.fullmatch(r"[0-9]+", count) or not 1 <= int(count) <= len(passes):
        raise InvalidInput(
            f"pipeline {name}:{count}: {name} has {len(passes)} passes; say {name}:1 to {name}:{len(passes)}"
        )
    return passes[: int(count)]


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is not in `known`: the most similar ones, or all where none is similar."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known)
    return f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known) or 'none'}"


def _read_class(text: str, position: int, allow_code: bool) -> tuple[type[Pass], int]:
    family = _FAMILY.match(text, position)
    if family is None:
        name, position = _read_name(text, position)
        cls = PASSES.get(name)
        if cls is None:
            raise InvalidInput(f"unknown pass {name!r}; {nearest(name, (*PASSES, *PIPELINES))}")
        return cls, position
    if text[family.end() : family.end() + 1] == '"':
        raise InvalidInput(f"pipeline {text!r}: the quote at character {family.end() + 1} is not closed")
    name = _unquote(f"pass {family[1]}:", family[2]) if family[2].startswith('"') else family[2]
    if family[1] in RUN_CODE and not allow_code:
        raise CodeRefused(
            f"{family[1]}:{family[2]} would run code of this machine, which is not allowed here"
        )
    return FAMILIES[family[1]](name), family.end()


def _read_name(text: str, position: int) -> tuple[str, int]:
    match = _NAME.match(text, position)
    if match is None or not match[1]:
        raise InvalidInput(f"pipeline {text!r}: a pass name is missing at character {position + 1}")
    return match[1], match.end()


def _expect(mark: str, text: str, position: int) -> int:
    if text[position : position + 1] != mark:
        found = text[position : position + 1] or "the end"
        raise InvalidInput(f"pipeline {text!r}: {mark!r} expected at character {position + 1}, not {found!r}")
    return position + 1


def _read_options(cls: type[Pass], text: str, position: int) -> tuple[dict[str, bool | int | str], int]:
    """The options of one pass from behind its `{`, and the position behind its `}` and white space."""
    known = {field.name: field for field in fields(cls)}
    values: dict[str, bool | int | str] = {}
    while True:
        match = _OPTION.match(text, position)
        if match is None:
            raise InvalidInput(f"pipeline {text!r}: option=value expected at character {position + 1}")
        name, value = match[1], match[2]
        if name not in known:
            raise InvalidInput(f"pass {cls.name} has no option {name!r}; {nearest(name, known)}")
        if name in values:
            raise InvalidInput(f"pass {cls.name}: option {name} is given twice")
        values[name] = _read_value(cls, known[name], value)
        position = match.end()
        if text[position : position + 1] == "}":
            return values, position + 1 + len(text[position + 1 :]) - len(text[position + 1 :].lstrip())
        position = _expect(",", text, position)


def _read_value(cls: type[Pass], field: Field[object], text: str) -> bool | int | str:
    where = f"pass {cls.name}: option {field.name}"
    if isinstance(field.default, bool):
        if text not in ("true", "false"):
            raise InvalidInput(f"{where} is true or false, not {text!r}")
        return text == "true"
    if isinstance(field.default, int):
        if not re.fullmatch(r"[+-]?[0-9]+", text):
            raise InvalidInput(f"{where} is an integer, not {text!r}")
        return int(text)
    if not text:
        raise InvalidInput(f'{where} is text; write "" for the empty text')
    return _unquote(where, text) if text.startswith('"') else text


def _unquote(where: str, text: str) -> str:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{where}: {text} is not quoted as in JSON ({error.msg})") from None
