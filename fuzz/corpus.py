"""What does a corpus file say?

A file is HLO text that XLA's own parser accepts, `.hlo`, or the text of a StableHLO program whose sizes may be unknown,
`.mlir`. The comment lines above it are the recipe; the sizes of its inputs are those that it is judged for:

    // CASE: name
    // RUN: pipeline in text form
    // ENV: NAME=VALUE                       none or more; the value is taken as it stands, spaces included
    // EXPECT: agree                         or: disagree CHECK/KIND PASS, or: skip REASON
    // JAXLIB: <0.12                         the versions that disagree so; with others the case must agree
    // WHY: why the file is here
    // INPUTS                                begins a set of inputs; may be left out before the first
    // INPUT: {"type":"s32","shape":[2],"value":[1,2]}      one for each entry parameter, see fuzz/values.py
    // any other comment, such as the report that a campaign writes

Nothing in it is run as code, unless who reads it allows the passes that are commands or Python callables.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from fuzz.case import AGREE, AnyCase, Case, case_for, check_expectation, fits, fits_type
from fuzz.values import read_value, write_value
from hlo import HloModule, InvalidInput, Value
from hlo.interchange import read_file, read_text, stablehlo_in, write_text
from hlo.stablehlo import StableHloModule
from passes import AnyProgram, CodeRefused, Pipeline, parse_assignment, parse_pipeline

_KEYS = ("CASE", "RUN", "ENV", "EXPECT", "JAXLIB", "WHY", "INPUT", "INPUTS")
_ONCE = ("CASE", "RUN", "EXPECT", "JAXLIB", "WHY")
_HEADER_LINE = re.compile(r"// ?([A-Z]+)(?:: ?(.*))?")


@dataclass(frozen=True, eq=False)
class CorpusCase:
    """A case with its name, the verdict it must get (`fuzz.case.verdict_text`) and the reason it is kept.

    `jaxlib` says with which versions it must get that verdict (a version specifier, PyPA specification); with
    others it must agree. Empty for all.
    """

    name: str
    case: AnyCase
    expect: str
    why: str
    jaxlib: str = ""

    @property
    def hlo(self) -> Case:
        """The case of a program that is HLO. Raises InvalidInput for another."""
        if not isinstance(self.case, Case):
            raise InvalidInput("the case has a program with unknown sizes")
        return self.case

    def expected_with(self, jaxlib: str) -> str:
        """The verdict that it must get with this version of jaxlib."""
        return self.expect if SpecifierSet(self.jaxlib).contains(jaxlib, prereleases=True) else AGREE

    @property
    def expected_here(self) -> str:
        """The verdict that it must get with the jaxlib that is installed."""
        return self.expected_with(version("jaxlib"))


def write_case(entry: CorpusCase, comments: Sequence[str] = ()) -> str:
    """The text of a corpus file; `comments` are lines for people, put between recipe and program."""
    recipe = [
        f"CASE: {entry.name}",
        f"RUN: {entry.case.pipeline}",
        *(f"ENV: {name}={value}" for name, value in entry.case.environment.items()),
        f"EXPECT: {entry.expect}",
        *([f"JAXLIB: {entry.jaxlib}"] if entry.jaxlib else []),
        f"WHY: {' '.join(entry.why.split())}",
    ]
    for inputs in entry.case.inputs:
        recipe += ["INPUTS", *(f"INPUT: {write_value(value)}" for value in inputs)]
    lines = [f"// {line}" for line in recipe]
    lines += [f"// | {line}".rstrip() for line in comments]  # the bar: nothing there reads as a recipe
    return "\n".join(lines) + "\n" + program_text(entry.case).rstrip("\n") + "\n"


def program_text(case: AnyCase) -> str:
    """The program of a case in the text of its form."""
    return write_text(case.module) if isinstance(case, Case) else case.module.text


def suffix_of(case: AnyCase) -> str:
    """What the name of a case's file ends with."""
    return ".hlo" if isinstance(case, Case) else ".mlir"


def read_case(text: str, module: AnyProgram | None = None, *, allow_code: bool = False) -> CorpusCase:
    """The case of a corpus file's text, which nobody but us wrote unless its `module` was read before.

    `allow_code`: its pipeline may start commands and import modules, which it must not where anybody may have
    written it. Raises InvalidInput with the line that is wrong, UnsupportedOpcode for an opcode we do not know.
    """
    recipe = _read_recipe(text)
    for key in ("RUN", "EXPECT"):
        if key not in recipe.lines:
            raise InvalidInput(f"the recipe has no {key} line", line=1)
    pipeline = recipe.parse("RUN", partial(_pipeline, allow_code=allow_code))
    expect = recipe.parse("EXPECT", check_expectation)
    module = module or _read_program(text)
    sets = recipe.inputs or ([_InputSet(line=1)] if isinstance(module, HloModule) else [])
    inputs = tuple(_check_inputs(module, inputs) for inputs in sets)
    case = case_for(module, pipeline, inputs, dict(recipe.environment))
    jaxlib = recipe.parse("JAXLIB", partial(_versions, expect=expect)) if "JAXLIB" in recipe.lines else ""
    name = recipe.text("CASE") or (module.name if isinstance(module, HloModule) else "program")
    return CorpusCase(name, case, expect, recipe.text("WHY"), jaxlib)


def _read_program(text: str) -> AnyProgram:
    program = (line for line in text.splitlines() if line.strip() and not line.startswith("//"))
    return read_text(text) if next(program, "").startswith("HloModule") else StableHloModule.read(text)


def _pipeline(text: str, *, allow_code: bool) -> Pipeline:
    try:
        return parse_pipeline(text, allow_code=allow_code)
    except CodeRefused as error:
        raise InvalidInput(f"{error.message} without --allow-code") from None


def _versions(text: str, *, expect: str) -> str:
    if not expect.startswith("disagree "):
        raise InvalidInput("JAXLIB says where a case disagrees, and this one is not expected to")
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        raise InvalidInput(
            f"{text!r} is no version specifier; write for example <0.12 or >=0.10,<0.12"
        ) from None
    return text


@dataclass
class _InputSet:
    line: int
    values: list[tuple[int, Value]] = field(default_factory=list)


@dataclass
class _Recipe:
    lines: dict[str, tuple[int, str]] = field(default_factory=dict)
    environment: list[tuple[str, str]] = field(default_factory=list)
    inputs: list[_InputSet] = field(default_factory=list)

    def text(self, key: str) -> str:
        return self.lines.get(key, (0, ""))[1].strip()

    def parse(self, key, parse):
        line, text = self.lines[key]
        return _at(line, parse, text.strip())


def _at(line: int, parse, text: str):
    try:
        return parse(text)
    except InvalidInput as error:
        raise InvalidInput(error.message, line=line) from None


def _read_recipe(text: str) -> _Recipe:
    recipe = _Recipe()
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("//"):
            break  # the program begins
        match = _HEADER_LINE.fullmatch(line)
        if match is None or (match[2] is None and match[1] != "INPUTS"):
            continue
        _take(recipe, number, match[1], match[2] or "")
    return recipe


def _take(recipe: _Recipe, number: int, key: str, text: str) -> None:
    if key not in _KEYS:
        close = difflib.get_close_matches(key, _KEYS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(_KEYS)}"
        raise InvalidInput(f"unknown recipe line {key}; {hint}", line=number)
    if key in _ONCE:
        if key in recipe.lines:
            raise InvalidInput(f"a second {key} line", line=number)
        recipe.lines[key] = (number, text)
    elif key == "ENV":
        recipe.environment.append(_at(number, parse_assignment, text))
    elif key == "INPUTS":
        recipe.inputs.append(_InputSet(number))
    else:
        if not recipe.inputs:
            recipe.inputs.append(_InputSet(number))
        recipe.inputs[-1].values.append((number, _at(number, read_value, text)))


def _check_inputs(module: AnyProgram, inputs: _InputSet) -> tuple[Value, ...]:
    values = [value for _, value in inputs.values]
    if isinstance(module, HloModule):
        shapes = [parameter.shape for parameter in module.entry_computation.parameters]
        fit = [fits(value, shape) for value, shape in zip(values, shapes, strict=False)]
    else:
        shapes = module.parameters
        fit = [fits_type(value, kind) for value, kind in zip(values, shapes, strict=False)]
    for number, good in enumerate(fit):
        if not good:
            message = f"this input is not the {shapes[number]} that parameter {number} takes"
            raise InvalidInput(message, line=inputs.values[number][0])
    if len(values) != len(shapes):
        raise InvalidInput(f"{len(values)} inputs for {len(shapes)} parameters", line=inputs.line)
    return tuple(values)


def comments_of(text: str) -> list[str]:
    """The lines for people that `write_case` put into a file."""
    bar = "// |"
    return [line.removeprefix(bar).removeprefix(" ") for line in text.splitlines() if line.startswith(bar)]


def load(path: Path, *, allow_code: bool = False) -> CorpusCase:
    """The case in a file, which anybody may have written. Raises as `read_case` does, with the path."""
    source = stablehlo_in(path)
    # first: it looks out for text that would kill jaxlib's parser
    module = read_file(path) if source is None else None
    with naming(path):
        module = module or StableHloModule.read(source or "")
        return read_case(path.read_text("utf-8"), module, allow_code=allow_code)


@contextlib.contextmanager
def naming(path: Path | str) -> Generator[None, None, None]:
    """Complaints from inside that name no file are about `path`."""
    try:
        yield
    except InvalidInput as error:
        raise error if error.path else error.at(str(path)) from None


def save(path: Path, text: str) -> None:
    """Write a file so that whoever reads it, even after a crash, finds the old text or the new one whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def case_files(paths: Iterable[Path]) -> list[Path]:
    """The corpus files among `paths`, folders searched. Raises InvalidInput for a path that is not there."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            files = (file for pattern in ("*.hlo", "*.mlir") for file in path.rglob(pattern))
            found += sorted(file for file in files if not file.name.startswith("."))
        elif path.is_file():
            found.append(path)
        else:
            raise InvalidInput("no such file or folder", path=str(path))
    return found
