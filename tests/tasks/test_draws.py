"""What trials draw from any dataset, and the datasets that they refuse."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from dsgkit.data.targets import Target
from dsgkit.errors import DataError
from dsgkit.tasks.base import get
from dsgkit.tasks.semi_supervised import LABELED
from tests.data.conftest import make_dataset

AUC, SVM, PAIRS = "semi_supervised_auc", "semi_supervised_svm", "similar_unlabeled"


def labelled(counts, target="binary", seed=0, known=None, **others):
    """Return a dataset of so many rows of each class, of which the first have a label."""
    labels = [1, -1] if target == "binary" else range(1, len(counts) + 1)
    y = np.random.default_rng(seed).permutation(np.repeat(labels, counts))
    dataset = make_dataset(np.arange(len(y))[:, None], y[:known])
    return replace(dataset, target=Target(target), **others)


def trial_of(kind, dataset, seed=0, **settings):
    task = get(kind)
    return task(dataset, task.Spec(kind=kind, **settings), seed)


def test_labelled_and_unlabelled_rows_share_out_all_and_folds_keep_both_classes():
    sizes = (2, 2, 4), (2, 50, 4), (2, 50, 9), (50, 2, 4), (30, 3, 32), (9, 9, 12), (3, 40, 20)
    for seed, (n_positive, n_negative, labeled) in enumerate(sizes * 4):
        dataset = labelled((n_positive, n_negative + (labeled == 4)), seed=seed)
        trial = trial_of(AUC, dataset, seed, labeled=labeled, folds=2 + seed % 3)
        split, y, folds = trial.split, dataset.y, trial.folds({})
        assert sorted([*split.X.index, *split.X_unlabeled.index]) == list(range(len(y)))
        assert len(split.X) == labeled == len(split.y)
        np.testing.assert_array_equal(split.y, y[split.X.index])
        np.testing.assert_array_equal(split.y_unlabeled, y[split.X_unlabeled.index])
        assert sorted(np.concatenate(folds)) == list(range(labeled))
        assert all(set(np.delete(split.y, fold)) == {-1, 1} for fold in folds)
        assert not split.y.flags.writeable and not split.y_unlabeled.flags.writeable
    drawn = {tuple(trial_of(AUC, dataset, n, labeled=20).split.X.index) for n in range(9)}
    assert len(drawn) == 9


@pytest.mark.parametrize("kind", [AUC, SVM])
def test_swept_labelled_rows_are_nested_and_leave_the_others_alone(kind):
    task, dataset = get(kind), labelled((14, 21))
    spec = task.Spec(kind=kind, folds=2, unlabeled=9).swept_to(LABELED, 12)
    for seed in range(20):
        trial = task(dataset, spec, seed)
        given = [trial.training({"unlabeled": 9, "labeled": n}) for n in (4, 7, 12)]
        for small, more in itertools.pairwise(given):
            np.testing.assert_array_equal(small["X"], more["X"][: len(small["X"])])
            np.testing.assert_array_equal(small["X_unlabeled"][:], more["X_unlabeled"][:])
        assert [len(one["y"]) for one in given] == [4, 7, 12]
        assert sorted(given[0]["y"]) == [-1, -1, 1, 1]
        assert sorted(np.concatenate(trial.folds({"labeled": 7}))) == list(range(7))
    assert trial.sizes == {"unlabeled": 9} and len(trial.split.X_unlabeled) == 23


@pytest.mark.parametrize("prior", [None, 0.1, 0.3, 0.7, 0.99])
def test_no_row_is_used_twice_pairs_are_of_one_class_and_all_that_fit_are_drawn(prior):
    for seed, counts in enumerate([(200, 300), (200, 2000), (1500, 400), (900, 700)]):
        dataset = labelled(counts, seed=seed)
        trial = trial_of(PAIRS, dataset, seed, prior=prior, test=100, pairs=100)
        split, n = trial.split, trial.n_drawn
        drawn = [split.similar.index, split.X_unlabeled.index, split.X_test.index]
        used = np.concatenate(drawn)
        assert len(set(used)) == len(used) == 2 * trial.n_similar + n + min(100, n // 3)
        assert (np.diff(dataset.y[split.similar.index].reshape(-1, 2)) == 0).all()
        np.testing.assert_array_equal(dataset.y[drawn[1]], split.y_unlabeled)
        np.testing.assert_array_equal(dataset.y[drawn[2]], split.y_test)
        # within 2/3 of each class for pairs, and of all that one more row would exceed
        share = np.mean(dataset.y > 0) if prior is None else prior
        q = share**2 / (share**2 + (1 - share) ** 2)

        def exceeds(n_similar, n_drawn, most, of=(share, q), counts=counts):
            singles, (p, q) = n_drawn + min(n_drawn // 3, 100), of
            reserve = 3 * np.sqrt(4 * n_similar * q * (1 - q) + singles * p * (1 - p))
            rows = [2 * n_similar * q + singles * p, 2 * n_similar * (1 - q) + singles * (1 - p)]
            return np.any(np.add(rows, reserve) > np.multiply(most, counts))

        assert not exceeds(trial.n_similar, n, 1) and exceeds(trial.n_similar, n + 1, 1)
        assert not exceeds(trial.n_similar, 0, 2 / 3)
        assert trial.n_similar == 100 or exceeds(trial.n_similar + 1, 0, 2 / 3)


NINE = np.arange(18).reshape(9, 2)
DEFAULTS = {PAIRS: {"pairs": 40, "folds": 3}, "clustering": {"target": "classes"}}
DEFAULTS["ordinal"] = {"folds": 3, "target": "ordered"}
UNSUITED = [
    (AUC, (25, 25), {"labeled": 50}, "50 labelled rows asked for, but it has 50 rows and some"),
    (AUC, (1, 9), {"labeled": 5}, r"class \+1 has 1 of the rows; the labelled ones need 2"),
    (AUC, (9, 1), {"labeled": 5}, "class -1 has 1 of the rows"),
    (AUC, (25, 25), {"labeled": 3, "folds": 2}, "3 rows are too few: 2 of each class"),
    (PAIRS, (250, 250), {}, "its classes are of the same size"),
    (PAIRS, (5, 900), {"prior": 0.9}, "5 positive and 900 negative rows, drawn by a prior of 0.9"),
    (PAIRS, (300, 200), {"folds": 41}, "40 pairs and .* rows cannot be cut into 41 folds"),
    (PAIRS, (300, 200), {"prior": 0.5}, "must differ from 1/2"),
    *((PAIRS, (300, 200), {"prior": prior}, "below 1") for prior in (0, 1.0, "x", True)),
    ("ordinal", (4, 5), {}, "9 rows give 4 labelled ones, at most half; 3 folds need 6"),
    ("ordinal", (1, 300), {"labeled": 20}, "all 20 labelled rows drawn are of one class"),
    ("clustering", (1,), {}, "one row alone"),
    ("clustering", (5,), {}, "no classes to choose parameters by"),
    ("clustering", (4, 4), {"target": "binary"}, "dataset.target.*classes to evaluate"),
    (AUC, (25, 25), {"similar_pairs": NINE}, "`pairs` are for the task similar_unlabeled"),
    (AUC, (20, 20), {"known": 30, "labeled": 30}, "30 rows with a label and some must stay unlab"),
    (PAIRS, (300, 200), {"similar_pairs": NINE}, "give 9 similar pairs and"),
]


@pytest.mark.parametrize(("kind", "counts", "settings", "text"), UNSUITED)
def test_datasets_and_settings_that_do_not_suit_are_refused(kind, counts, settings, text):
    settings = {**DEFAULTS.get(kind, {"folds": 3}), **settings}
    rows = {key: settings.pop(key) for key in {"target", "known", "similar_pairs"} & {*settings}}
    with pytest.raises((DataError, ValidationError), match=text):
        trial_of(kind, labelled(counts, **rows), **settings).split  # noqa: B018
