"""Rows without a label in the dataset are unlabelled rows that nobody is judged on."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from dsgkit.data.targets import Target
from dsgkit.errors import DataError
from dsgkit.experiment.timing import Clock
from dsgkit.solvers.auc.samult import SAMULT
from dsgkit.solvers.ordinal.exact import ExactS2OR
from dsgkit.solvers.s3vm.supervised import AllLabelsSVM, SupervisedSVM
from dsgkit.solvers.similar.su_sl import SUSL
from dsgkit.solvers.similar.supervised import SupervisedSL
from dsgkit.tasks.base import get
from tests.data.conftest import make_dataset

# so few pairs tell little of the risk
pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")

N, N_KNOWN = 240, 160
MISSING = np.arange(N_KNOWN, N)
SPECS = {
    "semi_supervised_auc": {"labeled": 30, "folds": 3},
    "semi_supervised_svm": {"labeled": 30, "folds": 3, "threshold": "labeled_share"},
    "ordinal": {"labeled": 30, "folds": 3},
    "similar_unlabeled": {"pairs": 20, "folds": 3},
    "clustering": {},
}
LAMS, COSTS = [{"lam": 0.1}, {"lam": 1.0}], [{"C": 0.1}, {"C": 10.0}]
CASES = [
    ("semi_supervised_auc", SAMULT(), LAMS),
    ("semi_supervised_svm", SupervisedSVM(), COSTS),
    ("semi_supervised_svm", AllLabelsSVM(), COSTS),
    ("ordinal", ExactS2OR(), LAMS),
    ("similar_unlabeled", SUSL(prior=0.7), LAMS),
    ("similar_unlabeled", SupervisedSL(), LAMS),
    ("clustering", KMeans(3, random_state=0), [{"n_clusters": 2}, {"n_clusters": 3}]),
]


def trial_of(kind, seed=0, in_pairs=None, **settings):
    """Return a trial on rows of which the last third has no label."""
    rng = np.random.default_rng(0)
    X = rng.random((N, 2))
    y = np.where(X[:, 0] + 0.1 * rng.normal(size=N) > 0.4, 1, -1)
    target = {"ordinal": "ordered", "clustering": "classes"}.get(kind, "binary")
    if target != "binary":
        y = 1 + np.digitize(X[:, 0], [0.3, 0.6])
    dataset = replace(make_dataset(X, y[:N_KNOWN]), target=Target(target))
    dataset = replace(dataset, similar_pairs=in_pairs)
    task = get(kind)
    return task(dataset, task.Spec(kind=kind, **{**SPECS[kind], **settings}), seed)


@pytest.mark.parametrize(("kind", "solver", "points"), CASES)
def test_no_result_depends_on_what_stands_in_place_of_a_label(kind, solver, points):
    results = []
    for placeholder in (-1, 1):
        trial, clock = trial_of(kind), Clock()
        if hasattr(getattr(trial, "split", None), "known"):
            y = np.where(trial.split.known, trial.split.y_unlabeled, placeholder)
            trial.__dict__["split"] = trial.split._replace(y_unlabeled=y)
        trial.fit(solver, trial.sizes, clock)
        scores = trial.judge(solver, trial.sizes, clock).scores
        results.append([trial.search(solver, trial.sizes, points), scores, dict(trial.values)])
    assert results[0] == results[1]
    assert None not in results[0][0][0] and trial.counts(trial.sizes)


def test_clusters_are_judged_by_the_rows_with_a_class():
    trial, model, clock = trial_of("clustering"), KMeans(3, random_state=0), Clock()
    trial.fit(model, trial.sizes, clock)
    judged = trial.judge(model, trial.sizes, clock)
    known = trial._order < N_KNOWN
    nmi = normalized_mutual_info_score(trial.dataset.y[trial._order[known]], model.labels_[known])
    assert len(model.labels_) == N and judged.scores["nmi"] == pytest.approx(nmi)
    assert judged.scores["davies_bouldin"] is not None and "classes" not in judged.artefact


@pytest.mark.parametrize("kind", ["semi_supervised_auc", "semi_supervised_svm", "ordinal"])
def test_they_train_among_the_others_and_judge_nothing(kind):
    trial = trial_of(kind)
    split, (X, y) = trial.split, trial.judged
    assert not np.isin(split.X.index, MISSING).any()
    assert np.isin(MISSING, split.X_unlabeled.index).all()
    assert trial.sizes == {"unlabeled": N - 30} and len(y) == N_KNOWN - 30
    np.testing.assert_array_equal(X.index, split.X_unlabeled.index[split.known])
    np.testing.assert_array_equal(y, trial.dataset.y[X.index])
    assert 0.2 < np.mean(split.known[:60]) < 0.95  # the first ones are a random subset
    given = trial.given(AllLabelsSVM(), {"unlabeled": 60})
    assert len(given["X_unlabeled"]) == len(given["y_unlabeled"]) == split.known[:60].sum()
    assert len(trial.training({"unlabeled": 60})["X_unlabeled"]) == 60
    with pytest.raises(DataError, match=r"rows(?: with a label and some must| give)"):
        trial_of(kind, labeled=160, folds=100)


def test_they_are_unlabelled_rows_of_pairs_unless_a_prior_is_drawn():
    split = trial_of("similar_unlabeled").split
    assert np.isin(MISSING, split.X_unlabeled.index).all()
    assert not np.isin([*split.similar.index, *split.X_test.index], MISSING).any()
    np.testing.assert_array_equal(split.y_unlabeled == 0, np.isin(split.X_unlabeled.index, MISSING))
    other = trial_of("similar_unlabeled", prior=0.7).split
    assert not np.isin(other.X_unlabeled.index, MISSING).any()


def test_pairs_of_the_user_are_taken_as_they_are_and_other_rows_are_in_none():
    pairs = np.random.default_rng(1).permutation(N)[:80].reshape(40, 2)  # some have no label
    trials = [trial_of("similar_unlabeled", seed, pairs, pairs=25) for seed in (0, 1)]
    drawn = [{tuple(p) for p in t.split.similar.index.reshape(-1, 2).tolist()} for t in trials]
    assert all(len(one) == 25 and one <= set(map(tuple, pairs.tolist())) for one in drawn)
    assert drawn[0] != drawn[1]
    split = trials[0].split
    others = np.concatenate([split.X_unlabeled.index, split.X_test.index])
    assert not np.isin(others, pairs).any() and len(np.unique(others)) == len(others)
    assert np.isin(np.setdiff1d(MISSING, pairs), split.X_unlabeled.index).all()
    assert trials[0].counts(trials[0].sizes)["n_similar"] == 25
    identities = [trial_of("similar_unlabeled", 0, p).dataset.identity for p in (None, pairs)]
    assert identities[0] != identities[1]
    with pytest.raises(DataError, match="9 similar pairs"):
        trial_of("similar_unlabeled", 0, pairs[:9])
