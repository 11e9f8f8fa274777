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


def block(seed, number, d, m):
    return normal_blocks(seed, number, 1, d, m)[0]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_philox_known_answers(counter, key, expected):
    assert list(stream.philox(*np.array([*counter, *key], np.uint32))) == expected
    assert philox_in_python(counter, key) == expected


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
    found = stream.philox(*np.array([*counter, *key], np.uint32))
    assert list(found) == philox_in_python(counter, key)


PINNED_BLOCK = [
    [0x3E0EE40E, 0x3F2B7F90, 0x3F9DDE39, 0xBF305101],
    [0x3E22BDF0, 0x3F54DC24, 0x3F9A96D0, 0xBE70A9AD],
    [0xBFF326CA, 0xBFB00CF4, 0xBE922CA6, 0xBF10C55B],
    [0x3EC91405, 0x3F01018E, 0x3ED23493, 0x3CB0C0A3],
    [0xC01F39C5, 0x40006926, 0xBFAD4F5D, 0xC00DAF51],
]
PINNED_WORDS = [0xE38A2444F067715, 0x9FE71AB420215688, 0x3DF94CB23CED7561]
PINNED_DRAWS = {
    draw_with_replacement: [[34, 59, 22], [3, 92, 5], [71, 83, 85]],
    draw_in_passes: [[88, 11, 21], [90, 74, 52], [16, 5, 37]],
}


def test_the_stream_never_changes():
    """Bits of version 1: a change here breaks every kept result."""
    bits = block(2**40 + 7, 3, 5, 4).view(np.uint32)
    np.testing.assert_array_equal(bits, np.array(PINNED_BLOCK, np.uint32))
    assert words(2**40 + 7, 5, 3, DRAWS).tolist() == PINNED_WORDS
    for draw, expected in PINNED_DRAWS.items():
        assert draw(2**40 + 7, 1, 5, 3, 3, 97).tolist() == expected
    assert permutation(10, 3).tolist() == [0, 4, 9, 7, 1, 5, 6, 3, 8, 2]
    assert permutation(5, 2**62).tolist() == [4, 3, 1, 2, 0]


def test_normals_are_the_box_muller_transform_of_the_words():
    seed, number, d, m = 99, 4, 6, 50
    values = block(seed, number, d, m)
    for group in range(2):
        for j in range(m):
            drawn = philox_in_python((j, group, number, stream.FREQUENCIES), (seed, 0))
            for pair in range(2):
                u, v = (drawn[2 * pair] + 0.5) / 2**32, drawn[2 * pair + 1] / 2**32
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
        with threads(number):
            drawn = draw_in_passes(7, 0, 3, 40, 300, 9000)
            found.append((normal_blocks(7, 3, 9, 40, 300), words(7, 5, 2**17, DRAWS), drawn))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_out_of_range(seed):
    with pytest.raises(ValueError, match="seed"):
        normal_blocks(seed, 0, 1, 1, 1)


# Draws of rows

BOTH = pytest.mark.parametrize("draw", [draw_in_passes, draw_with_replacement])


@BOTH
@given(
    seed=st.integers(0, 2**64 - 1),
    first=st.integers(0, 50),
    length=st.integers(1, 9),
    batch=st.integers(1, 7),
    pool=st.integers(1, 300),
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
def test_passes_sources_and_seeds_differ(draw):
    base = draw(1, 0, 0, 1, 100, 100)
    for seed, source, first in ((1, 0, 1), (1, 1, 0), (2, 0, 0)):
        assert (draw(seed, source, first, 1, 100, 100) != base).any()


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


def test_every_order_of_four_is_equally_likely():
    n_draws = 4800
    orders = [tuple(permutation(4, seed)) for seed in range(n_draws)]
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 24
    # 23 degrees of freedom: exceeded with a chance of 6e-5
    assert ((counts - n_draws / 24) ** 2 / (n_draws / 24)).sum() < 58.6
    with pytest.raises(ValueError, match="non-negative"):
        permutation(3, -1)


@given(st.lists(st.integers(1, 5), min_size=6, max_size=40), st.integers(2, 6), st.integers(0, 99))
def test_every_position_is_in_one_fold_and_classes_are_shared_out(labels, n_folds, seed):
    y = np.array(labels)
    folds = stratified_folds(y, n_folds, seed)
    assert sorted(np.concatenate(folds)) == list(range(len(y)))
    assert all((np.diff(fold) > 0).all() for fold in folds)
    for counted in (y > 0, *(y == label for label in set(labels))):
        counts = [np.count_nonzero(counted[fold]) for fold in folds]
        assert max(counts) - min(counts) <= 1
