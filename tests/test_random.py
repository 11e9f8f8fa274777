"""The random stream, draws, seeds and folds: known answers, plain integers, laws, pinned bits."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from dsgkit import random as stream
from dsgkit.random import DRAWS, draw_in_passes, draw_with_replacement, normal_blocks, words
from dsgkit.seeds import derive_seed, permutation, stratified_folds
from dsgkit.system.machine import threads_for

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


def block(seed, number, d, m):
    return normal_blocks(seed, number, 1, d, m)[0]


def philox_in_python(counter, key):
    c, k = counter, key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = (p1 >> 32) ^ c[1] ^ k[0], p1 % 2**32, (p0 >> 32) ^ c[3] ^ k[1], p0 % 2**32
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return list(c)


word = st.integers(0, 2**32 - 1)


@given(st.tuples(word, word, word, word), st.tuples(word, word))
def test_philox_is_that_of_random123_and_of_plain_integers(counter, key):
    found = stream.philox(*np.array([*counter, *key], np.uint32))
    assert list(found) == philox_in_python(counter, key)
    for known, key_, expected in KNOWN_ANSWERS:
        assert philox_in_python(known, key_) == expected


PINNED = {
    normal_blocks: ((2**40 + 7, 3, 4, 50, 70), "4e60c6ecac83559f87f08fc18457a09a"),
    words: ((2**40 + 7, 5, 999, DRAWS + 1), "9588787f792e12ddb325167023213c5a"),
    draw_with_replacement: ((2**40 + 7, 1, 5, 60, 31, 997), "e1b1bc150fa7582bc520059206d2c7ab"),
    draw_in_passes: ((2**40 + 7, 1, 5, 60, 31, 997), "be59bb07c7989ed6455dc0ff4a097867"),
    permutation: ((1000, 2**62), "af37e02ba797748fd560efb13d42020a"),
}


@pytest.mark.parametrize("function", PINNED)
def test_the_stream_never_changes(function):
    """Hashes of bits of version 1: a change here breaks every kept result."""
    arguments, expected = PINNED[function]
    bits = function(*arguments)
    assert hashlib.blake2b(bits.tobytes(), digest_size=16).hexdigest() == expected


def test_normals_are_the_box_muller_transform_of_the_words():
    seed, number, d, m = 99, 4, 6, 50
    values = block(seed, number, d, m)
    for group, j, pair in np.ndindex(2, m, 2):
        drawn = philox_in_python((j, group, number, stream.FREQUENCIES), (seed, 0))
        u, v = (drawn[2 * pair] + 0.5) / 2**32, drawn[2 * pair + 1] / 2**32
        radius = np.sqrt(-2 * np.log(u))
        expected = radius * np.cos(2 * np.pi * v), radius * np.sin(2 * np.pi * v)
        got = values[4 * group + 2 * pair :][:2, j]
        np.testing.assert_allclose(got, expected[: len(got)], atol=2e-6)


@njit
def _log_and_turn(u, log, cosine, sine):
    for i in range(len(u)):
        log[i] = stream._log(u[i])
        cosine[i], sine[i] = stream._turn(u[i])


def test_log_and_turn_at_every_kind_of_word():
    edge = np.arange(2000, dtype=np.uint32)
    quarters = (np.arange(8, dtype=np.uint64)[:, None] << 29) + np.arange(-50, 50)
    anywhere = np.random.default_rng(0).integers(0, 2**32, 10**5, dtype=np.uint64)
    kinds = edge, np.uint32(2**32 - 1) - edge, quarters.ravel(), anywhere
    u = np.concatenate([kind.astype(np.uint32) for kind in kinds])
    log, cosine, sine = (np.empty(len(u), np.float32) for _ in range(3))
    _log_and_turn(u, log, cosine, sine)
    exact = np.log((u.astype(np.float32) + np.float32(0.5)).astype(np.float64) / 2**32)
    np.testing.assert_allclose(log, exact, rtol=2e-7, atol=1e-9)
    assert log.max() <= 0
    angle = 2 * np.pi * u.astype(np.float64) / 2**32
    np.testing.assert_allclose(cosine, np.cos(angle), atol=2e-7)
    np.testing.assert_allclose(sine, np.sin(angle), atol=2e-7)


@given(st.integers(0, 9), st.integers(1, 5), st.integers(1, 11), st.integers(1, 40))
def test_a_number_depends_on_its_block_and_place_alone(first, count, d, m):
    together = normal_blocks(7, first, count, d, m)
    alone = [block(7, first + i, 11, 40)[:d, :m] for i in range(count)]
    np.testing.assert_array_equal(together, alone)


@given(st.integers(0, 40), st.integers(0, 20))
def test_words_are_numbered(first, count):
    whole = words(3, 0, 64, DRAWS)
    np.testing.assert_array_equal(words(3, first, count, DRAWS), whole[first : first + count])


def test_bits_do_not_depend_on_threads():
    found = []
    for number in (1, 2):
        with threads_for(number, 1):
            drawn = draw_in_passes(7, 0, 3, 40, 300, 9000)
            found.append((normal_blocks(7, 3, 9, 40, 300), words(7, 5, 2**17, DRAWS), drawn))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_seeds_out_of_range():
    for draw in (lambda seed: normal_blocks(seed, 0, 1, 1, 1), lambda seed: words(seed, 0, 1, 1)):
        for seed in (-1, 2**64):
            with pytest.raises(ValueError, match="a seed must be in"):
                draw(seed)
    with pytest.raises(ValueError, match="non-negative"):
        permutation(3, -1)


# Draws of rows

BOTH = pytest.mark.parametrize("draw", [draw_in_passes, draw_with_replacement])


@BOTH
@given(
    *(st.integers(0, most) for most in (2**64 - 1, 50)),
    *(st.integers(1, most) for most in (9, 7, 300)),
)
def test_an_iterations_draws_depend_on_its_number_alone(draw, seed, first, length, batch, pool):
    run = draw(seed, 3, first, length, batch, pool)
    assert run.shape == (length, batch)
    assert run.min() >= 0 and run.max() < pool
    alone = [draw(seed, 3, first + i, 1, batch, pool)[0] for i in range(length)]
    np.testing.assert_array_equal(run, alone)


@settings(max_examples=50)
@given(seed=st.integers(0, 2**64 - 1), pool=st.integers(1, 700), epoch=st.integers(0, 5))
def test_every_pass_visits_every_row_once(seed, pool, epoch):
    rows = draw_in_passes(seed, 0, epoch * pool, pool, 1, pool).ravel()
    np.testing.assert_array_equal(np.sort(rows), np.arange(pool))


@BOTH
def test_draws_are_uniform_and_independent_between_seeds(draw):
    """Chi-square of the first draw over many seeds, and of pairs of consecutive draws."""
    drawn = np.array([draw(seed, 0, 0, 1, 2, 10)[0] for seed in range(4000)])
    counts = np.bincount(drawn[:, 0], minlength=10)
    assert ((counts - 400) ** 2 / 400).sum() < 30  # 9 degrees of freedom, p = 4e-4
    pairs = np.bincount(drawn[:, 0] * 10 + drawn[:, 1], minlength=100).reshape(10, 10)
    expected = np.full((10, 10), 40.0)
    if draw is draw_in_passes:
        assert not pairs.diagonal().any()
        expected = np.full((10, 10), 4000 / 90)
        np.fill_diagonal(pairs, expected.diagonal())
    assert ((pairs - expected) ** 2 / expected).sum() < 150


# Seeds, permutations and folds

parts = st.lists(st.one_of(st.integers(), st.text()), max_size=4)


def test_the_seed_is_the_documented_hash():
    digest = hashlib.blake2b(b"i1:7s4:foldi2:12", digest_size=8).digest()
    assert derive_seed(7, "fold", 12) == int.from_bytes(digest, "little") // 2
    assert derive_seed(np.int64(7), "fold", np.int32(12)) == derive_seed(7, "fold", 12)


@given(parts, parts)
def test_different_parts_give_different_seeds(one, two):
    same = [(type(x), x) for x in one] == [(type(x), x) for x in two]
    assert (derive_seed(0, *one) == derive_seed(0, *two)) == same
    assert 0 <= derive_seed(0, *one) < 2**63


@given(st.integers(0, 300), st.integers(0, 2**63 - 1))
def test_a_permutation_holds_every_number_once(n, seed):
    order = permutation(n, seed)
    assert order.dtype == np.int64
    assert sorted(order) == list(range(n))


@given(st.lists(st.integers(1, 5), min_size=6, max_size=40), st.integers(2, 6), st.integers(0, 99))
def test_every_position_is_in_one_fold_and_classes_are_shared_out(labels, n_folds, seed):
    y = np.array(labels)
    folds = stratified_folds(y, n_folds, seed)
    assert sorted(np.concatenate(folds)) == list(range(len(y)))
    assert all((np.diff(fold) > 0).all() for fold in folds)
    for counted in (y > 0, *(y == label for label in set(labels))):
        counts = [np.count_nonzero(counted[fold]) for fold in folds]
        assert max(counts) - min(counts) <= 1
