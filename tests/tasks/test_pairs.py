import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.errors import DataError
from dsgkit.tasks.similar import pair_sizes, pair_split
from tests.data.conftest import make_dataset


def dataset_of(n_positive, n_negative):
    y = np.random.default_rng(0).permutation(np.repeat([1, -1], [n_positive, n_negative]))
    rows = np.column_stack([np.arange(len(y)), y])  # the first feature is the number of the row
    return make_dataset(rows, y)


def drawn_of(dataset, seed=0, **settings):
    sizes = pair_sizes(dataset, **{"pairs": 100, "test": 1000, **settings})
    n = dataset.n_features
    return sizes, pair_split(dataset, sizes, seed, (np.zeros(n), np.ones(n)))


@given(
    st.integers(200, 2000),
    st.integers(200, 2000),
    st.sampled_from([None, 0.1, 0.3, 0.7, 0.99]),
    st.integers(0, 10**6),
)
def test_no_row_is_used_twice_and_pairs_are_of_one_class(n_positive, n_negative, prior, seed):
    dataset = dataset_of(n_positive, n_negative)
    sizes, split = drawn_of(dataset, seed, prior=prior, test=100)
    points, unlabeled, test = split.similar[:], split.X_unlabeled[:], split.X_test[:]
    used = np.concatenate([rows[:, 0] for rows in (points, unlabeled, test)])
    assert len(set(used)) == len(used) == 2 * sizes.n_similar + sizes.n_unlabeled + sizes.n_test
    pairs = points.reshape(-1, 2, 2)
    assert (pairs[:, 0, 1] == pairs[:, 1, 1]).all()
    np.testing.assert_array_equal(unlabeled[:, 1], split.y_unlabeled)
    np.testing.assert_array_equal(test[:, 1], split.y_test)
    assert sizes.n_test == min(100, sizes.n_unlabeled // 3)


def test_classes_are_drawn_by_the_prior_in_a_random_order():
    """Shares within five standard deviations: by chance once in a million runs."""
    sizes, split = drawn_of(dataset_of(60_000, 60_000), prior=0.7, pairs=10_000, test=9000)
    y_similar = split.similar[:].reshape(-1, 2, 2)[:, 0, 1]
    of_a_pair = 0.49 / (0.49 + 0.09)
    for y, share in (
        (y_similar, of_a_pair),
        (y_similar[:1000], of_a_pair),
        (split.y_unlabeled, 0.7),
        (split.y_unlabeled[:1000], 0.7),
        (split.y_test, 0.7),
    ):
        assert np.mean(y > 0) == pytest.approx(share, abs=5 * np.sqrt(0.25 / len(y)))
    assert sizes.n_similar == 10_000 and sizes.n_test == 9000


def test_pairs_take_what_is_asked_for_and_unlabelled_rows_the_rest():
    """By the counts of covtype_20k with class 2 against the rest (2 n_S pi_c^2/pi_S of a class)."""
    sizes, split = drawn_of(dataset_of(6020, 13_980), pairs=5000, test=10**6)
    assert sizes.n_similar == 5000 and sizes.prior == pytest.approx(0.301)
    assert sizes.n_unlabeled == pytest.approx(5700, rel=0.03)
    labels = np.concatenate([split.similar[:][:, 1], split.y_unlabeled, split.y_test])
    assert 0.97 * 13_980 < np.sum(labels < 0) <= 13_980
    smaller, _ = drawn_of(dataset_of(602, 1398), pairs=5000)
    assert 450 < smaller.n_similar < 600 and smaller.n_unlabeled > 300


def test_another_seed_draws_other_rows_and_the_same_seed_the_same():
    dataset = dataset_of(500, 500)
    (_, a), (_, same), (_, b) = (drawn_of(dataset, seed, prior=0.6) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.X_unlabeled[:], same.X_unlabeled[:])
    assert len(np.intersect1d(a.similar[:][:, 0], b.similar[:][:, 0])) < 0.5 * len(a.similar)


def test_too_few_rows_of_a_class_are_refused():
    with pytest.raises(DataError, match="5 positive and 900 negative rows, drawn by"):
        drawn_of(dataset_of(5, 900), prior=0.9)
