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
from dsgkit.tasks.clustering import Clustering
from dsgkit.tasks.ordinal import Ordinal
from dsgkit.tasks.semi_supervised import SemiSupervisedAUC
from dsgkit.tasks.similar import SimilarUnlabeled
from dsgkit.tasks.svm import SemiSupervisedSVM
from tests.data.conftest import make_dataset

# so few pairs tell little of the risk
pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")

N, N_KNOWN = 240, 160
MISSING = np.arange(N_KNOWN, N)
SPECS = {
    SemiSupervisedAUC: {"labeled": 30, "folds": 3},
    SemiSupervisedSVM: {"labeled": 30, "folds": 3, "threshold": "labeled_share"},
    Ordinal: {"labeled": 30, "folds": 3},
    SimilarUnlabeled: {"pairs": 20, "folds": 3},
    Clustering: {},
}
KINDS = {Ordinal: "ordered", Clustering: "classes"}
CASES = [
    (SemiSupervisedAUC, SAMULT(), [{"lam": 0.1}, {"lam": 1.0}]),
    (SemiSupervisedSVM, SupervisedSVM(), [{"C": 0.1}, {"C": 10.0}]),
    (SemiSupervisedSVM, AllLabelsSVM(), [{"C": 0.1}, {"C": 10.0}]),
    (Ordinal, ExactS2OR(), [{"lam": 0.1}, {"lam": 1.0}]),
    (SimilarUnlabeled, SUSL(prior=0.7), [{"lam": 0.1}, {"lam": 1.0}]),
    (SimilarUnlabeled, SupervisedSL(), [{"lam": 0.1}, {"lam": 1.0}]),
    (Clustering, KMeans(3, random_state=0), [{"n_clusters": 2}, {"n_clusters": 3}]),
]


def trial_of(task, **settings):
    """Return a trial on rows of which the last third has no label."""
    rng = np.random.default_rng(0)
    X = rng.random((N, 2))
    if task in KINDS:
        y = 1 + np.digitize(X[:, 0], [0.3, 0.6])
    else:
        y = np.where(X[:, 0] + 0.1 * rng.normal(size=N) > 0.4, 1, -1)
    target = Target(KINDS.get(task, "binary"))
    dataset = replace(make_dataset(X, y[:N_KNOWN]), target=target, unlabeled_rows=MISSING)
    spec = task.Spec(kind=task.kind, **{**SPECS[task], **settings})
    return task(dataset, spec, 0)


@pytest.mark.parametrize(("task", "solver", "points"), CASES)
def test_no_result_depends_on_what_stands_in_place_of_a_label(task, solver, points):
    results = []
    for placeholder in (-1, 1):
        trial, clock = trial_of(task), Clock()
        if hasattr(getattr(trial, "split", None), "known"):
            y = np.where(trial.split.known, trial.split.y_unlabeled, placeholder)
            trial.__dict__["split"] = trial.split._replace(y_unlabeled=y)
        trial.fit(solver, trial.sizes, clock)
        scores = trial.judge(solver, trial.sizes, clock).scores
        results.append([trial.search(solver, trial.sizes, points), scores, dict(trial.values)])
    assert results[0] == results[1]
    assert None not in results[0][0][0] and trial.counts(trial.sizes)


def test_clusters_are_judged_by_the_rows_with_a_class():
    trial, model, clock = trial_of(Clustering), KMeans(3, random_state=0), Clock()
    trial.fit(model, trial.sizes, clock)
    judged = trial.judge(model, trial.sizes, clock)
    classes, labels = trial._compared(trial.sizes, model.labels_)
    assert len(model.labels_) == N and len(classes) == N_KNOWN
    assert judged.scores["nmi"] == pytest.approx(normalized_mutual_info_score(classes, labels))
    assert judged.scores["davies_bouldin"] is not None and "classes" not in judged.artefact
    rows = trial._order[trial._order < N_KNOWN]
    np.testing.assert_array_equal(classes, trial.dataset.y[rows])


@pytest.mark.parametrize("task", [SemiSupervisedAUC, SemiSupervisedSVM, Ordinal])
def test_they_train_among_the_others_and_judge_nothing(task):
    trial = trial_of(task)
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


def test_they_are_unlabelled_rows_of_pairs_unless_a_prior_is_drawn():
    drawn = trial_of(SimilarUnlabeled)
    split = drawn.split
    assert np.isin(MISSING, split.X_unlabeled.index).all()
    assert not np.isin([*split.similar.index, *split.X_test.index], MISSING).any()
    np.testing.assert_array_equal(split.y_unlabeled == 0, np.isin(split.X_unlabeled.index, MISSING))
    other = trial_of(SimilarUnlabeled, prior=0.7)
    assert not np.isin(other.split.X_unlabeled.index, MISSING).any()


def test_pairs_of_the_user_are_taken_as_they_are_and_other_rows_are_in_none():
    pairs = np.random.default_rng(1).permutation(N)[:80].reshape(40, 2)  # some have no label
    dataset = replace(trial_of(SimilarUnlabeled).dataset, similar_pairs=pairs)
    spec = SimilarUnlabeled.Spec(kind="similar_unlabeled", pairs=25, folds=3)
    trials = [SimilarUnlabeled(dataset, spec, seed) for seed in (0, 1)]
    drawn = [{tuple(p) for p in t.split.similar.index.reshape(-1, 2).tolist()} for t in trials]
    assert all(len(one) == 25 and one <= set(map(tuple, pairs.tolist())) for one in drawn)
    assert drawn[0] != drawn[1]
    split = trials[0].split
    others = np.concatenate([split.X_unlabeled.index, split.X_test.index])
    assert not np.isin(others, pairs).any() and len(np.unique(others)) == len(others)
    assert np.isin(np.setdiff1d(MISSING, pairs), split.X_unlabeled.index).all()
    assert trials[0].counts(trials[0].sizes)["n_similar"] == 25
    other = replace(dataset, similar_pairs=pairs[:, ::-1])
    assert dataset.identity != other.identity != replace(dataset, similar_pairs=None).identity
    few = replace(dataset, similar_pairs=pairs[:9])
    with pytest.raises(DataError, match="9 similar pairs"):
        SimilarUnlabeled(few, spec, 0)


def test_too_few_rows_with_a_label_are_told():
    with pytest.raises(DataError, match="160 labelled rows asked for, but it has 160 rows with a"):
        trial_of(SemiSupervisedAUC, labeled=160)
