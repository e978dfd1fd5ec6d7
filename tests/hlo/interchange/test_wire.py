"""Do our bytes mean to protobuf what we mean?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo.errors import InvalidInput
from hlo.interchange.schema import HloInstructionProto, serialize
from hlo.interchange.wire import fields, tag, tagged, tagged_int, varint

INT64 = st.integers(-(2**63), 2**63 - 1)


@given(INT64)
def test_an_integer_is_written_as_protobuf_does(value: int) -> None:
    expected = serialize(HloInstructionProto(id=value)) or b"\x98\x02\x00"  # protobuf leaves a zero out
    assert tagged_int(35, value) == tag(35, integer=True) + varint(value) == expected


@given(st.lists(INT64), st.text(), st.binary())
def test_joined_fields_are_a_message(ids: list[int], name: str, config: bytes) -> None:
    data = tagged(36, b"".join(map(varint, ids))) + tagged(1, name.encode()) + tagged(43, config)
    proto = HloInstructionProto.FromString(data)
    assert (list(proto.operand_ids), proto.name, proto.backend_config) == (ids, name, config)


@given(INT64, st.text(min_size=1), st.floats(width=32))
def test_a_message_is_cut_into_its_fields(identifier: int, name: str, epsilon: float) -> None:
    data = serialize(HloInstructionProto(id=identifier, name=name, epsilon=epsilon))
    found = list(fields(data))
    assert b"".join(raw for _, _, raw in found) == data
    assert (1, name.encode()) in [(number, value) for number, value, _ in found]
    assert identifier == 0 or (35, identifier % 2**64) in [(number, value) for number, value, _ in found]


@pytest.mark.parametrize("data", [b"\x0a", b"\x0a\x05abc", b"\x80", b"\x25\x00\x00", b"\x0b"], ids=bytes.hex)
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"a (truncated )?protobuf field"):
        list(fields(data))
