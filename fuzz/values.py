"""How is a run-time value written down as one line of text, so that reading it gives the same bits?

A JSON object: `{"type":"f32","shape":[2],"value":[1.5,"nan"]}`, nested lists as in HLO text; `{"tuple":[…]}`;
`{"type":"token"}`. What JSON has no number for is a string: "nan", "inf", "-inf", "nan:0x7fc00001" for a NaN
with other bits than NumPy's own; a complex element is `{"re":…,"im":…}`.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from hlo import TOKEN, InvalidInput, PrimitiveType, Token, Value

_TYPES = {primitive.text: primitive for primitive in PrimitiveType}
_PARTS = {PrimitiveType.C64: PrimitiveType.F32, PrimitiveType.C128: PrimitiveType.F64}
_INFINITIES = {"inf": math.inf, "-inf": -math.inf}


def write_value(value: Value) -> str:
    """One line that `read_value` turns into a value of the same structure, types and bits."""
    return json.dumps(_encode(value), separators=(",", ":"))


def read_value(text: str) -> Value:
    """The value that a line of `write_value` means. Raises InvalidInput where it is not one."""
    try:
        return _decode(json.loads(text, parse_constant=_no_number))
    except json.JSONDecodeError as error:
        raise InvalidInput(f"not JSON at character {error.pos + 1}: {error.msg}") from None


def _no_number(word: str) -> Any:
    raise InvalidInput(f'{word} is not JSON; write "nan", "inf" or "-inf"')


def _encode(value: Value) -> Any:
    if isinstance(value, tuple):
        return {"tuple": [_encode(element) for element in value]}
    if isinstance(value, Token):
        return {"type": "token"}
    element_type = PrimitiveType.of(value.dtype)
    flat = [_encode_element(element, element_type) for element in value.reshape(-1)]
    return {"type": element_type.text, "shape": list(value.shape), "value": _nest(flat, value.shape)}


def _nest(flat: list[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return flat[0]
    step = math.prod(shape[1:])
    return [_nest(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def _encode_element(element: Any, element_type: PrimitiveType) -> Any:
    if element_type is PrimitiveType.PRED:
        return bool(element)
    if element_type.is_integral:
        return int(element)
    if element_type.is_complex:
        part = _PARTS[element_type]
        return {"re": _encode_element(element.real, part), "im": _encode_element(element.imag, part)}
    number = float(element)
    if math.isnan(number):
        bits = _bits(element, element_type)
        return "nan" if bits == _bits(element_type.numpy.type(math.nan), element_type) else f"nan:{bits:#x}"
    return (
        number if math.isfinite(number) else str(number)
    )  # every HLO float is a double, whose repr is exact


def _bits(element: Any, element_type: PrimitiveType) -> int:
    return int.from_bytes(np.asarray(element, element_type.numpy).tobytes(), "little")


def _decode(data: Any) -> Value:
    if not isinstance(data, dict):
        raise InvalidInput(f"a value is an object with type, shape and value, not {json.dumps(data)}")
    if data.keys() == {"tuple"} and isinstance(data["tuple"], list):
        return tuple(_decode(element) for element in data["tuple"])
    if data == {"type": "token"}:
        return TOKEN
    if data.keys() != {"type", "shape", "value"}:
        raise InvalidInput(f"a value has type, shape and value, not {', '.join(map(str, data)) or 'nothing'}")
    element_type = _TYPES.get(data["type"]) if isinstance(data["type"], str) else None
    if element_type is None:
        raise InvalidInput(f"unknown element type {data['type']!r}; known: {', '.join(_TYPES)}")
    shape = data["shape"]
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise InvalidInput(f"a shape is a list of sizes, not {json.dumps(shape)}")
    flat = [_decode_element(element, element_type) for element in _flatten(data["value"], tuple(shape))]
    array = np.array(flat, element_type.numpy).reshape(shape)
    array.flags.writeable = False
    return array


def _flatten(data: Any, shape: tuple[int, ...]) -> list[Any]:
    if not shape:
        return [data]
    if not isinstance(data, list) or len(data) != shape[0]:
        raise InvalidInput(f"the value does not have the shape: expected a list of {shape[0]}")
    return [element for row in data for element in _flatten(row, shape[1:])]


def _decode_element(data: Any, element_type: PrimitiveType) -> Any:
    if element_type is PrimitiveType.PRED and isinstance(data, bool):
        return data
    if element_type.is_integral and type(data) is int:
        return _integer(data, element_type)
    if element_type.is_complex and isinstance(data, dict) and data.keys() == {"re", "im"}:
        part = _PARTS[element_type]
        real, imaginary = (_decode_element(data[key], part) for key in ("re", "im"))
        return np.array([real, imaginary], part.numpy).view(element_type.numpy)[0]
    if element_type.is_float and isinstance(data, int | float) and not isinstance(data, bool):
        with np.errstate(over="ignore"):  # what is beyond the largest number is infinite, as in HLO text
            return np.float64(data).astype(element_type.numpy)
    if element_type.is_float and isinstance(data, str):
        return _named_float(data, element_type)
    raise InvalidInput(f"{json.dumps(data)} is not an element of {element_type.text}")


def _integer(number: int, element_type: PrimitiveType) -> int:
    width = element_type.bit_width
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if element_type.is_signed else (0, (1 << width) - 1)
    if not low <= number <= high:
        raise InvalidInput(f"{number} is out of range for {element_type.text}: {low} to {high}")
    return number


def _named_float(name: str, element_type: PrimitiveType) -> Any:
    if name in _INFINITIES:
        return element_type.numpy.type(_INFINITIES[name])
    if name == "nan":
        return element_type.numpy.type(math.nan)
    if name.startswith("nan:0x"):
        size = element_type.numpy.itemsize
        try:
            raw = int(name[4:], 16).to_bytes(size, "little")
        except (ValueError, OverflowError):
            raise InvalidInput(f"{name!r} is not {size} bytes of a NaN") from None
        return np.frombuffer(raw, element_type.numpy)[0]
    raise InvalidInput(f'{name!r} is not a float; write a number, "nan", "inf" or "-inf"')
