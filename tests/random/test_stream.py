import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from dsgkit import random as stream
from tests.engine.threads import threads

# Random123 1.09, examples/kat_vectors: philox 4x32, 10 rounds
KNOWN_ANSWERS = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


def block(seed, number, d, m, **options):
    return stream.normal_blocks(seed, number, 1, d, m, **options)[0]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_philox_known_answers(counter, key, expected):
    words = stream.philox(*np.array([*counter, *key], np.uint32))
    assert list(words) == expected


def philox_in_python(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [
            (p1 >> 32) ^ c[1] ^ k[0],
            p1 & 0xFFFFFFFF,
            (p0 >> 32) ^ c[3] ^ k[1],
            p0 & 0xFFFFFFFF,
        ]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


word = st.integers(0, 2**32 - 1)


@given(st.tuples(word, word, word, word), st.tuples(word, word))
def test_philox_equals_plain_integers(counter, key):
    words = stream.philox(*np.array([*counter, *key], np.uint32))
    assert list(words) == philox_in_python(counter, key)


PINNED_BLOCK = [
    [0x3E0EE40E, 0x3F2B7F90, 0x3F9DDE39, 0xBF305101],
    [0x3E22BDF0, 0x3F54DC24, 0x3F9A96D0, 0xBE70A9AD],
    [0xBFF326CA, 0xBFB00CF4, 0xBE922CA6, 0xBF10C55B],
    [0x3EC91405, 0x3F01018E, 0x3ED23493, 0x3CB0C0A3],
    [0xC01F39C5, 0x40006926, 0xBFAD4F5D, 0xC00DAF51],
]
PINNED_WORDS = [0xE38A2444F067715, 0x9FE71AB420215688, 0x3DF94CB23CED7561]


def test_the_stream_never_changes():
    """Bits of version 1: a change here breaks every saved model."""
    bits = block(2**40 + 7, 3, 5, 4).view(np.uint32)
    np.testing.assert_array_equal(bits, np.array(PINNED_BLOCK, np.uint32))
    assert stream.words(2**40 + 7, 5, 3, stream.DRAWS).tolist() == PINNED_WORDS


def test_normals_are_the_box_muller_transform_of_the_words():
    seed, number, d, m = 99, 4, 6, 50
    values = block(seed, number, d, m)
    for group in range(2):
        for j in range(m):
            words = philox_in_python((j, group, number, stream.FREQUENCIES), (seed, 0))
            for pair in range(2):
                u, v = (words[2 * pair] + 0.5) / 2**32, words[2 * pair + 1] / 2**32
                radius = np.sqrt(-2 * np.log(u))
                expected = radius * np.cos(2 * np.pi * v), radius * np.sin(2 * np.pi * v)
                row = 4 * group + 2 * pair
                got = values[row : row + 2, j]
                np.testing.assert_allclose(got, expected[: len(got)], atol=2e-6)


@njit
def _log_and_turn(u, log, cosine, sine):
    for i in range(len(u)):
        log[i] = stream._log(u[i])
        cosine[i], sine[i] = stream._turn(u[i])


def test_log_and_turn_at_every_kind_of_word():
    edge = np.arange(2000, dtype=np.uint32)
    quarters = (np.arange(8, dtype=np.uint64)[:, None] << 29) + np.arange(-50, 50)
    u = np.concatenate(
        [
            edge,
            np.uint32(2**32 - 1) - edge,
            quarters.astype(np.uint32).ravel(),
            np.random.default_rng(0).integers(0, 2**32, 10**5, dtype=np.uint64).astype(np.uint32),
        ]
    )
    log, cosine, sine = (np.empty(len(u), np.float32) for _ in range(3))
    _log_and_turn(u, log, cosine, sine)
    exact = np.log((u.astype(np.float32) + np.float32(0.5)).astype(np.float64) / 2**32)
    np.testing.assert_allclose(log, exact, rtol=2e-7, atol=1e-9)
    assert log.max() <= 0
    angle = 2 * np.pi * u.astype(np.float64) / 2**32
    np.testing.assert_allclose(cosine, np.cos(angle), atol=2e-7)
    np.testing.assert_allclose(sine, np.sin(angle), atol=2e-7)


@given(st.integers(1, 11), st.integers(1, 40))
def test_a_smaller_block_is_a_corner_of_a_larger_one(d, m):
    large = block(1, 2, 11, 40)
    np.testing.assert_array_equal(block(1, 2, d, m), large[:d, :m])


@given(st.integers(0, 9), st.integers(1, 5))
def test_blocks_made_together_are_those_made_alone(first, count):
    together = stream.normal_blocks(7, first, count, 6, 21)
    alone = [block(7, first + i, 6, 21) for i in range(count)]
    np.testing.assert_array_equal(together, alone)


def test_bits_do_not_depend_on_threads():
    found = []
    for number in (1, 2):
        with threads(number):
            words = stream.words(7, 5, 2**17, stream.DRAWS)
            found.append((stream.normal_blocks(7, 3, 9, 40, 300), words))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@given(st.integers(0, 40), st.integers(0, 20))
def test_words_are_numbered(first, count):
    whole = stream.words(3, 0, 64, stream.DRAWS)
    np.testing.assert_array_equal(
        stream.words(3, first, count, stream.DRAWS), whole[first : first + count]
    )


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_out_of_range(seed):
    with pytest.raises(ValueError, match="seed"):
        stream.normal_blocks(seed, 0, 1, 1, 1)
