"""The random stream, draws, seeds and folds: known answers, laws, pinned bits."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_philox_is_that_of_random123(counter, key, expected):
    assert list(stream.philox(*np.array([*counter, *key], np.uint32))) == expected


PINNED = {
    normal_blocks: ((2**40 + 7, 3, 4, 50, 70), "4e60c6ecac83559f87f08fc18457a09a"),
    words: ((2**40 + 7, 5, 999, DRAWS + 1), "9588787f792e12ddb325167023213c5a"),
    draw_with_replacement: ((2**40 + 7, 1, 5, 60, 31, 997), "e1b1bc150fa7582bc520059206d2c7ab"),
    draw_in_passes: ((2**40 + 7, 1, 5, 60, 31, 997), "be59bb07c7989ed6455dc0ff4a097867"),
    permutation: ((1000, 2**62), "af37e02ba797748fd560efb13d42020a"),
}


@pytest.mark.parametrize("function", PINNED)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_stream_never_changes(function, threads, monkeypatch):
    """Hashes of bits of version 1: a change here breaks every kept result."""
    monkeypatch.setattr(stream, "NORMALS_PER_THREAD", 1)
    monkeypatch.setattr(stream, "DRAWS_PER_THREAD", 1)
    arguments, expected = PINNED[function]
    with threads_for(threads, 1):
        bits = function(*arguments)
    assert hashlib.blake2b(bits.tobytes(), digest_size=16).hexdigest() == expected


def test_log_and_turn_at_every_kind_of_word():
    edge = np.arange(500)
    quarters = (np.arange(8)[:, None] << 29) + np.arange(-50, 50)
    anywhere = np.random.default_rng(0).integers(0, 2**32, 20_000)
    u = np.concatenate([edge, 2**32 - 1 - edge, quarters.ravel(), anywhere]).astype(np.uint32)
    logs, *turns = np.transpose([(stream._log(word), *stream._turn(word)) for word in u])
    exact = np.log((u.astype(np.float32) + np.float32(0.5)).astype(np.float64) / 2**32)
    np.testing.assert_allclose(logs, exact, rtol=2e-7, atol=1e-9)
    assert logs.max() <= 0
    angle = 2 * np.pi * u.astype(np.float64) / 2**32
    np.testing.assert_allclose(turns, [np.cos(angle), np.sin(angle)], atol=2e-7)


def test_seeds_out_of_range():
    for draw in (lambda seed: normal_blocks(seed, 0, 1, 1, 1), lambda seed: words(seed, 0, 1, 1)):
        for seed in (-1, 2**64):
            with pytest.raises(ValueError, match="a seed must be in"):
                draw(seed)


seeds = st.integers(0, 2**64 - 1)


@given(seeds, *(st.integers(*ends) for ends in ((0, 50), (1, 9), (1, 11), (1, 300))))
def test_numbers_and_draws_depend_on_their_place_alone(seed, first, count, d, m):
    alone = [normal_blocks(seed, first + i, 1, 11, 300)[0, :d, :m] for i in range(count)]
    np.testing.assert_array_equal(normal_blocks(seed, first, count, d, m), alone)
    whole = words(seed, 0, first + count, DRAWS)
    np.testing.assert_array_equal(words(seed, first, count, DRAWS), whole[first:])
    for draw in (draw_in_passes, draw_with_replacement):
        run = draw(seed, 3, first, count, d, m)
        assert run.shape == (count, d) and run.min() >= 0 and run.max() < m
        alone = [draw(seed, 3, first + i, 1, d, m)[0] for i in range(count)]
        np.testing.assert_array_equal(run, alone)
    whole_pass = draw_in_passes(seed, 3, first * m, m, 1, m).ravel()
    np.testing.assert_array_equal(np.sort(whole_pass), np.arange(m))


@pytest.mark.parametrize("draw", [draw_in_passes, draw_with_replacement])
def test_draws_are_uniform_and_independent_between_seeds(draw):
    """Chi-square of the first draw over many seeds, and of pairs of consecutive draws."""
    drawn = np.array([draw(seed, 0, 0, 1, 2, 10)[0] for seed in range(4000)])
    counts = np.bincount(drawn[:, 0], minlength=10)
    assert ((counts - 400) ** 2 / 400).sum() < 30  # 9 degrees of freedom, p = 4e-4
    possible = ~np.eye(10, dtype=bool) if draw is draw_in_passes else np.full((10, 10), True)
    pairs = np.bincount(drawn[:, 0] * 10 + drawn[:, 1], minlength=100).reshape(10, 10)
    assert not pairs[~possible].any()
    expected = 4000 / possible.sum()
    assert ((pairs[possible] - expected) ** 2 / expected).sum() < 150


# Seeds and folds

parts = st.lists(st.one_of(st.integers(), st.text()), max_size=4)


@given(parts, parts)
def test_different_parts_give_different_seeds(one, two):
    same = [(type(x), x) for x in one] == [(type(x), x) for x in two]
    assert (derive_seed(0, *one) == derive_seed(0, *two)) == same
    assert 0 <= derive_seed(0, *one) < 2**63
    digest = hashlib.blake2b(b"i1:7s4:foldi2:12", digest_size=8).digest()
    assert derive_seed(7, "fold", 12) == int.from_bytes(digest, "little") // 2
    assert derive_seed(np.int64(7), "fold", np.int32(12)) == derive_seed(7, "fold", 12)


@given(st.lists(st.integers(1, 5), min_size=6, max_size=40), st.integers(2, 6), st.integers(0, 99))
def test_every_position_is_in_one_fold_and_classes_are_shared_out(labels, n_folds, seed):
    y = np.array(labels)
    folds = stratified_folds(y, n_folds, seed)
    assert sorted(np.concatenate(folds)) == list(range(len(y)))
    assert all((np.diff(fold) > 0).all() for fold in folds)
    for counted in (y > 0, *(y == label for label in set(labels))):
        counts = [np.count_nonzero(counted[fold]) for fold in folds]
        assert max(counts) - min(counts) <= 1
