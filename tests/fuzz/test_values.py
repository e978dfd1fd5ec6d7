import math

import ml_dtypes
import numpy as np
import pytest

from fuzz.values import read_value, write_value
from hlo import TOKEN, InvalidInput, PrimitiveType, same_bits


def every_bit_pattern(element_type: PrimitiveType) -> np.ndarray:
    """All values of a type up to 8 bits; of a wider one, random bits with the extremes of its integers."""
    dtype = element_type.numpy
    if element_type is PrimitiveType.PRED:
        return np.array([False, True])
    if element_type.is_integral:
        width = element_type.bit_width
        low = -(1 << width - 1) if element_type.is_signed else 0
        edges = [low, low + 1, 0, low + (1 << width) - 2, low + (1 << width) - 1]
        return np.array(edges, dtype)
    if dtype.itemsize == 1:
        return np.arange(1 << element_type.bit_width, dtype=np.uint8).view(dtype)
    return np.frombuffer(np.random.default_rng(0).bytes(200 * dtype.itemsize), dtype)


@pytest.mark.parametrize("element_type", PrimitiveType)
def test_a_value_comes_back_with_the_same_bits(element_type: PrimitiveType) -> None:
    value = every_bit_pattern(element_type)
    assert same_bits(read_value(write_value(value)), value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array([1, -2], np.int32), '{"type":"s32","shape":[2],"value":[1,-2]}'),
        (np.array(2**64 - 1, np.uint64), '{"type":"u64","shape":[],"value":18446744073709551615}'),
        (np.array(-0.0, np.float32), '{"type":"f32","shape":[],"value":-0.0}'),
        (np.array([[1.5], [3]], ml_dtypes.bfloat16), '{"type":"bf16","shape":[2,1],"value":[[1.5],[3.0]]}'),
        (
            np.array([math.nan, math.inf, -math.inf], np.float16),
            '{"type":"f16","shape":[3],"value":["nan","inf","-inf"]}',
        ),
        (
            np.array(0x7F800001, np.uint32).view(np.float32),
            '{"type":"f32","shape":[],"value":"nan:0x7f800001"}',
        ),
        (np.array(1 - 2j, np.complex64), '{"type":"c64","shape":[],"value":{"re":1.0,"im":-2.0}}'),
        (np.zeros((2, 0), np.bool_), '{"type":"pred","shape":[2,0],"value":[[],[]]}'),
        ((TOKEN, ()), '{"tuple":[{"type":"token"},{"tuple":[]}]}'),
    ],
)
def test_a_value_is_written_for_people(value, text: str) -> None:
    assert write_value(value) == text
    assert same_bits(read_value(text), value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "a value is an object with type, shape and value, not [1, 2]"),
        ('{"type":"s32"', "not JSON at character 14: Expecting ',' delimiter"),
        ('{"type":"s32","shape":[2]}', "a value has type, shape and value, not type, shape"),
        ('{"type":"s33","shape":[],"value":1}', "unknown element type 's33'"),
        ('{"type":"s32","shape":[-1],"value":[]}', "a shape is a list of sizes, not [-1]"),
        ('{"type":"s32","shape":[2],"value":[1]}', "expected a list of 2"),
        ('{"type":"s8","shape":[],"value":128}', "128 is out of range for s8: -128 to 127"),
        ('{"type":"u8","shape":[],"value":-1}', "-1 is out of range for u8: 0 to 255"),
        ('{"type":"s32","shape":[],"value":1.5}', "1.5 is not an element of s32"),
        ('{"type":"s32","shape":[],"value":true}', "true is not an element of s32"),
        ('{"type":"pred","shape":[],"value":1}', "1 is not an element of pred"),
        ('{"type":"f32","shape":[],"value":NaN}', 'NaN is not JSON; write "nan"'),
        ('{"type":"f32","shape":[],"value":"NaN"}', "'NaN' is not a float"),
        ('{"type":"f16","shape":[],"value":"nan:0x7fc00001"}', "is not 2 bytes of a NaN"),
    ],
)
def test_a_bad_value_is_named(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read_value(text)
    assert message in str(error.value)
