import pytest

from fuzz.generators.tape import Tape, weighted


def test_a_zero_is_the_first_option_and_the_largest_byte_the_last() -> None:
    tape = Tape(bytes([0, 255]))
    assert [tape.choice("abc") for _ in range(2)] == ["a", "c"]


@pytest.mark.parametrize("count", [1, 2, 7, 100, 256])
def test_every_option_can_be_drawn_and_a_smaller_byte_never_means_a_later_option(count: int) -> None:
    tape = Tape(bytes(range(256)))
    chosen = [tape.choice(range(count)) for _ in range(256)]
    assert chosen == sorted(chosen)
    assert set(chosen) == set(range(count))


def test_a_decision_reads_one_byte_whatever_it_is() -> None:
    tape = Tape(b"\x07\x80\xff")
    tape.choice("a")
    tape.choice(range(256))
    assert tape.left == 1


def test_a_recipe_longer_than_its_tape_is_an_error() -> None:
    with pytest.raises(IndexError):
        Tape(b"").choice("a")


def test_weights_repeat_options_in_their_order() -> None:
    assert weighted({"a": 1, "b": 2}) == ("a", "b", "b")
