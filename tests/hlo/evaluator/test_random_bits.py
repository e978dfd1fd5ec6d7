"""Random bits: the published test vectors of both algorithms, and how blocks become elements."""

import numpy as np
import pytest

from hlo import UnsupportedOpcode
from hlo.attributes import RandomAlgorithm
from hlo.interchange import read_text, write_text

# key, counter, block; from the known-answer tests that come with Salmon et al.
THREEFRY = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]
PHILOX = [
    ((0, 0), (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 4, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0xA4093822, 0x299F31D0),
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
KEY = 0x123456789ABCDEF0


def program(algorithm: str, result: str, state: str) -> str:
    return f"""ENTRY e {{ s = {state} parameter(0)
      ROOT r = ({state}, {result}) rng-bit-generator(s), algorithm=rng_{algorithm} }}"""


def generate(run_text, algorithm: str, result: str, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return run_text(program(algorithm, result, f"u{state.itemsize * 8}[{state.size}]"), state)


def wide(*halves: int) -> np.ndarray:
    return np.array(halves, np.uint32).view(np.uint64)


@pytest.mark.parametrize(("key", "counter", "block"), THREEFRY)
def test_threefry_gives_its_published_blocks(run_text, key, counter, block) -> None:
    state, bits = generate(run_text, "three_fry", "u32[2]", wide(*key, *counter))
    assert tuple(bits) == block
    assert state.tolist() == [wide(*key).item(), (wide(*counter).item() + 1) % (1 << 64)]
    _, whole = generate(run_text, "three_fry", "u64[1]", wide(*key, *counter))
    assert whole.view(np.uint32).tolist() == list(block)


@pytest.mark.parametrize(("key", "counter", "block"), PHILOX)
@pytest.mark.parametrize("algorithm", ["philox", "default"])
def test_philox_gives_its_published_blocks(run_text, algorithm: str, key, counter, block) -> None:
    state, bits = generate(run_text, algorithm, "u32[4]", wide(*key, *counter))
    assert tuple(bits) == block
    number = (sum(word << 32 * i for i, word in enumerate(counter)) + 1) % (1 << 128)
    assert state.tolist() == [wide(*key).item(), number % (1 << 64), number >> 64]
    _, whole = generate(run_text, algorithm, "u64[2]", wide(*key, *counter))
    assert whole.view(np.uint32).tolist() == list(block)


def test_the_halves_of_a_threefry_block_are_neighbours_along_an_even_dimension(run_text) -> None:
    state = np.array([KEY, 5], np.uint64)
    _, blocks = generate(run_text, "three_fry", "u64[6]", state)
    halves = blocks.view(np.uint32).reshape(6, 2)
    after, bits = generate(run_text, "three_fry", "u32[3,4]", state)
    assert bits.reshape(3, 2, 2).tolist() == halves.reshape(3, 2, 2).tolist()
    assert after.tolist() == [KEY, 11]
    # no even dimension: along the largest, whose last half is cut off
    after, bits = generate(run_text, "three_fry", "u32[1,5]", state)
    assert bits.tolist() == [halves[:3].reshape(-1)[:5].tolist()]
    assert after.tolist() == [KEY, 8]


def test_philox_blocks_follow_one_another_and_the_last_may_be_cut(run_text) -> None:
    state = np.array([KEY, 5, 0], np.uint64)
    _, blocks = generate(run_text, "philox", "u32[8]", state)
    after, bits = generate(run_text, "philox", "u32[2,3]", state)
    assert bits.reshape(-1).tolist() == blocks[:6].tolist()
    assert after.tolist() == [KEY, 7, 0]


def test_philox_counts_past_64_bits(run_text) -> None:
    state = np.array([KEY, (1 << 64) - 1, 3], np.uint64)
    after, bits = generate(run_text, "philox", "u64[4]", state)
    assert after.tolist() == [KEY, 1, 4]
    _, second = generate(run_text, "philox", "u64[2]", np.array([KEY, 0, 4], np.uint64))
    assert bits[2:].tolist() == second.tolist()


@pytest.mark.parametrize("algorithm", ["three_fry", "philox"])
def test_narrow_types_take_the_low_bits_and_signed_ones_the_same_bits(run_text, algorithm: str) -> None:
    state = np.array([KEY, 5], np.uint64)
    _, bits = generate(run_text, algorithm, "u32[4]", state)
    for result, dtype in (("u8[4]", np.uint8), ("s16[4]", np.int16), ("s32[4]", np.int32)):
        _, narrow = generate(run_text, algorithm, result, state)
        assert narrow.tolist() == bits.astype(dtype).tolist()


def test_a_state_may_come_in_halves(run_text) -> None:
    state = np.array([KEY, 5], np.uint64)
    _, bits = generate(run_text, "three_fry", "u32[4]", state)
    after, same = generate(run_text, "three_fry", "u32[4]", state.view(np.uint32))
    assert same.tolist() == bits.tolist()
    assert after.view(np.uint64).tolist() == [KEY, 7]


@pytest.mark.parametrize("algorithm", ["default", "three_fry", "philox"])
def test_the_algorithm_survives_printing(algorithm: str) -> None:
    module = read_text(f"HloModule m\n{program(algorithm, 'u32[4]', 'u64[2]')}")
    assert f"algorithm=rng_{algorithm}" in write_text(module)
    assert module.entry_computation.root.attributes == RandomAlgorithm(f"rng_{algorithm}")


@pytest.mark.parametrize(
    ("state", "algorithm"),
    [("u64[3]", "three_fry"), ("u64[1]", "philox"), ("u32[3]", "philox"), ("u8[16]", "default")],
)
def test_a_state_of_another_size_is_unsupported(run_text, state: str, algorithm: str) -> None:
    kind, _, size = state.rstrip("]").partition("[")
    with pytest.raises(UnsupportedOpcode, match="rng-bit-generator from"):
        run_text(program(algorithm, "u32[4]", state), np.zeros(int(size), kind.replace("u", "uint")))
