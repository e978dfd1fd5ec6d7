"""Are tokens read and written as the page and `neuron_passes.md` section 3 say?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.neuron.tokens import (
    DS_KEY,
    DUS_KEY,
    ITERATION_KEY,
    append_indices,
    extract_index,
    parse_integer,
    read_indices,
    strip_indices,
)


@pytest.mark.parametrize("bits", [32, 64])
def test_integers_are_accepted_up_to_the_limits_of_their_width(bits: int) -> None:
    top = 1 << (bits - 1)
    assert parse_integer(str(top - 1), bits) == (top - 1, True)
    assert parse_integer(str(-top), bits) == (-top, True)
    assert parse_integer(str(top), bits) == (0, False)
    assert parse_integer(str(-top - 1), bits) == (0, False)


@pytest.mark.parametrize("text", ["7", " 7", "7\t", "+7", "007", "\n+7 "])
def test_white_space_around_and_one_sign_are_allowed(text: str) -> None:
    assert parse_integer(text, 32) == (7, True)


@pytest.mark.parametrize(
    "text", ["", " ", "+", "-", "--7", "+-7", "7x", "0x7", "7.0", "1_0", "7 7", "\u0667", "- 7"]
)
def test_anything_else_is_refused(text: str) -> None:
    assert parse_integer(text, 32) == (0, False)


def test_the_index_ends_at_the_next_comma_or_at_the_end() -> None:
    assert extract_index("a,dsidxnow=3,iterationidx=12", DS_KEY) == (3, True)
    assert extract_index("a,dsidxnow=3,iterationidx=12", ITERATION_KEY) == (12, True)
    assert extract_index("dsidxnow=3", DS_KEY) == (3, True)
    assert extract_index("a", DS_KEY) == (0, False)
    assert extract_index("dsidxnow=", DS_KEY) == (0, False)


def test_an_index_token_is_an_int32() -> None:
    assert extract_index("dsidxnow=2147483647", DS_KEY) == (2**31 - 1, True)
    assert extract_index("dsidxnow=2147483648", DS_KEY) == (0, False)


def test_find_also_matches_inside_other_text_and_anchored_reading_does_not() -> None:
    assert extract_index("my_dsidxnow=9", DS_KEY) == (9, True)
    assert extract_index("my_dsidxnow=9", DS_KEY, anchored=True) == (0, False)
    assert read_indices("my_iterationidx=9,iterationidx=2", ITERATION_KEY, anchored=False) == [9, 2]
    assert read_indices("my_iterationidx=9,iterationidx=2", ITERATION_KEY, anchored=True) == [2]


def test_a_slice_of_rank_two_has_an_entry_a_dimension_under_both_keys() -> None:
    expected = "jit(f)/slice,dsidxnow=3,dsidxnow=0,iterationidx=3,iterationidx=0"
    assert append_indices("jit(f)/slice", DS_KEY, (3, 0)) == expected


def test_the_first_entry_of_an_empty_field_is_bare() -> None:
    assert append_indices("", DUS_KEY, (-1,)) == "dusidxnow=-1,iterationidx=-1"


def test_text_that_only_looks_like_a_token_survives_anchored_stripping() -> None:
    assert strip_indices("my_dsidxnow=9,dsidxnow=9", anchored=True) == "my_dsidxnow=9"
    assert strip_indices("a,dsidxnow=nine", anchored=True) == "a,dsidxnow=nine"
    assert strip_indices("my_dsidxnow=9", anchored=False) == "my_"


user_text = st.text("ab=,_ x9", max_size=12).filter(lambda text: strip_indices(text, anchored=True) == text)


@given(user_text, st.sampled_from([DS_KEY, DUS_KEY]), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4))
def test_what_was_appended_reads_back_and_strips_off(text: str, key: str, indices: list[int]) -> None:
    field = append_indices(text, key, indices)
    assert read_indices(field, key, anchored=True) == indices
    assert read_indices(field, ITERATION_KEY, anchored=True) == indices
    assert strip_indices(field, anchored=True) == text
