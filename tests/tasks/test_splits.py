import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.errors import DataError
from dsgkit.tasks.semi_supervised import (
    SemiSupervised,
    SemiSupervisedSpec,
    semi_supervised_split,
)
from tests.data.conftest import make_dataset


@st.composite
def trials(draw):
    n = draw(st.integers(5, 60))
    n_positive = draw(st.integers(2, n - 2))
    y = np.where(draw(st.permutations(range(n))) < np.int64(n_positive), 1, -1)
    labeled = draw(st.integers(4, n - 1))
    folds = draw(st.integers(2, labeled))
    dataset = make_dataset(np.column_stack([np.arange(n), np.arange(n) % 7]), y)
    return dataset, {"labeled": labeled, "folds": folds, "seed": draw(st.integers(0, 2**62))}


def row_numbers(rows, dataset):
    return np.rint(rows[:][:, 0] * (len(dataset.y) - 1)).astype(int)


@given(trials())
def test_labelled_and_unlabelled_rows_share_out_all_rows(trial):
    dataset, settings = trial
    split = semi_supervised_split(dataset, **settings)
    labeled = row_numbers(split.X, dataset)
    unlabeled = row_numbers(split.X_unlabeled, dataset)
    assert len(labeled) == settings["labeled"]
    assert sorted([*labeled, *unlabeled]) == list(range(len(dataset.y)))
    np.testing.assert_array_equal(split.y, dataset.y[labeled])
    np.testing.assert_array_equal(split.y_unlabeled, dataset.y[unlabeled])
    assert split.X_test is None and split.y_test is None


def trial_of(dataset, seed, **settings):
    return SemiSupervised(dataset, SemiSupervisedSpec(kind="split", **settings), seed)


@given(trials())
def test_both_classes_remain_whatever_fold_is_held_out(trial):
    dataset, settings = trial
    drawn = trial_of(dataset, **settings)
    split, folds = drawn.split, drawn.folds({})
    assert min(np.sum(split.y == 1), np.sum(split.y == -1)) >= 2
    assert len(folds) == settings["folds"]
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(len(split.y)))
    for fold in folds:
        assert set(np.delete(split.y, fold)) == {-1, 1}


def large(n=4000, share=0.3):
    rng = np.random.default_rng(1)
    return make_dataset(rng.random((n, 2)), np.where(np.arange(n) < share * n, 1, -1))


def test_the_rows_a_split_draws_never_change():
    # recorded results depend on these very rows
    drawn = trial_of(large(50), labeled=6, folds=2, seed=0)
    split, folds = drawn.split, drawn.folds({})
    assert split.X.index.tolist() == [22, 26, 17, 5, 15, 11]
    assert [fold.tolist() for fold in folds] == [[0, 1, 3], [2, 4, 5]]


def test_test_rows_are_scaled_by_the_training_rows():
    X = np.array([[0, 1], [4, 1], [2, 1], [1, 1], [3, 1]], np.float32)
    test = np.array([[8, 1], [-4, 3]], np.float32)
    dataset = make_dataset(X, [1, 1, -1, -1, 1], test, np.array([1, -1], np.int8))
    split = semi_supervised_split(dataset, labeled=4, folds=2, seed=0)
    np.testing.assert_allclose(split.X_test[:], [[2, 0], [-1, 2]])
    assert split.y_test.tolist() == [1, -1]
    wide = semi_supervised_split(dataset, labeled=4, folds=2, seed=0, scale=(-1, 1))
    np.testing.assert_allclose(wide.X_test[:][:, 0], [3, -3])


@pytest.mark.parametrize(
    ("labeled", "folds", "text"),
    [
        (2000, 5, "2,000 labelled rows asked for, but it has 50 rows"),
        (3, 2, "3 labelled rows are too few"),
    ],
)
def test_numbers_that_do_not_fit(labeled, folds, text):
    with pytest.raises(DataError, match=text) as caught:
        semi_supervised_split(large(50), labeled=labeled, folds=folds, seed=0)
    assert "\n" not in str(caught.value)


def test_a_class_that_is_too_small():
    dataset = make_dataset(np.arange(10.0)[:, None], [1] + [-1] * 9)
    with pytest.raises(DataError, match=r"class \+1 has 1 of the rows"):
        semi_supervised_split(dataset, labeled=5, folds=2, seed=0)
