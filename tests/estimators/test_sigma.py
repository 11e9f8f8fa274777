"""The width of the kernel that estimators take by default, and what they say of a bad one."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from dsgkit import RFFS2AUC, SAMULT, KernelRidgeOrdinal, SupervisedSVM
from dsgkit.errors import DataError, DsgWarning
from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.estimators.sigma import sample_of, scale_of
from tests.estimators.allocated import peak_of
from tests.estimators.brute_force import problem
from tests.estimators.given import arguments
from tests.estimators.small import arrays, folds_for, made, rows_at

WITH_SIGMA = {
    name: info.load()
    for name, info in SOLVERS.items()
    if "sigma" in info.params and "clustering" not in info.tasks
}

few_pairs = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")


@functools.cache
def standardised():
    """What solvers are given of a dataset, 63% of it in one class, and the AUC of SVC() on it."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X), np.where(y == 1, 1, -1)
    first, second, rest = np.split(np.random.default_rng(0).permutation(len(y)), [150, 300])
    same = y[first] == y[second]
    training = {
        **{"X": X[first[:50]], "y": y[first[:50]], "X_unlabeled": X[rest], "y_unlabeled": y[rest]},
        "X_similar": np.stack([X[first][same], X[second][same]], axis=1),
    }
    peer = SVC().fit(training["X"], training["y"]).decision_function(X[rest])
    return training, roc_auc_score(y[rest], peer)


@few_pairs
@pytest.mark.parametrize("name", WITH_SIGMA)
def test_defaults_are_near_a_support_vector_machine_on_standardised_rows(name):
    """Of pairs, a little less near."""
    (training, peer), solver = standardised(), WITH_SIGMA[name]
    given = {key: rows for key, rows in training.items() if key in arguments(solver)}
    of_pairs = "X_similar" in given
    model = solver(**{"prior": 0.63} if of_pairs else {}).fit(**given)
    rows, y = training["X_unlabeled"], training["y_unlabeled"]
    near = 0.025 if of_pairs else 0.01
    assert roc_auc_score(y, model.decision_function(rows)) > peer - near > 0.96
    assert accuracy_score(y, model.predict(rows)) > 0.9


SIZES = {
    # of pairs or, for a dot product, of rows; how many are near ones
    "gaussian": (lambda a, b: ((a - b) ** 2).sum(), 2, 779),
    "laplacian": (lambda a, b: np.abs(a - b).sum(), 2, 779),
    "dot_product(2)": (None, 1, 39),
}


@pytest.mark.parametrize("kernel", SIZES)
def test_the_scale_is_the_inverse_of_the_mean_size_of_near_pairs(kernel):
    rng, (distance, factor, n_near) = np.random.default_rng(0), SIZES[kernel]
    rows = rng.normal(size=(41, 3))
    sizes = [a @ a for a in rows]
    if distance:
        sizes = [distance(a, b) for i, a in enumerate(rows) for b in rows[:i]]
    assert scale_of(kernel, rows) == pytest.approx(factor / np.mean(np.sort(sizes)[:n_near]))
    far = np.vstack([np.tile(rows, (2, 1)), np.full((1, 3), 1e9)])
    assert scale_of(kernel, far) == pytest.approx(scale_of(kernel, far[:-1]), rel=0.1)
    assert scale_of(kernel, np.zeros((5, 2))) == scale_of(kernel, np.zeros((1, 2))) == 1
    apart = np.vstack([np.zeros((99, 2)), np.ones((1, 2))])
    assert 0 < scale_of(kernel, apart) < np.inf  # although nearly all pairs are equal
    with pytest.raises(DataError, match="has no finite inverse: scale the features, or"):
        scale_of(kernel, rng.random((5, 2)) * 1e300)


def test_a_sample_is_evenly_spaced_and_takes_no_memory_of_all_rows():
    tables = [np.arange(13.0)[:, None], np.arange(13.0, 10**6)[:, None]]
    data, sample = SimpleNamespace(tables=tables), []
    every = SimpleNamespace(labeled_only=False)
    assert peak_of(lambda: sample.append(sample_of(every, data))) < 2**17
    np.testing.assert_array_equal(sample[0][:, 0], np.arange(0, 10**6, 5000))
    only = sample_of(SimpleNamespace(labeled_only=True), data)
    np.testing.assert_array_equal(only, tables[0])


def test_rows_that_an_estimator_learns_from_weigh_alike_and_may_be_sparse():
    X, y, U = problem(16, 60)
    every, labeled = (scale_of("gaussian", np.float64(rows)) for rows in (np.vstack([X, U]), X))
    assert SAMULT().fit(X, y, U).sigma_ == every
    assert SAMULT().fit(sparse.csr_matrix(X), y, sparse.csr_matrix(U)).sigma_ == every
    assert KernelRidgeOrdinal().fit(X, y, U).sigma_ == SupervisedSVM().fit(X, y).sigma_ == labeled


@few_pairs
@pytest.mark.parametrize("name", sorted(set(WITH_SIGMA) - {"all_labels_svm"}))
def test_points_and_folds_have_the_scale_of_all_rows(name):
    """The default, the word and the number are one setting, also for thresholds."""
    training = {k: v if k == "y" else 20 * v for k, v in arrays(name).items()}
    model, rows, folds = made(name, sigma="scale"), rows_at(training), folds_for(training)
    sigma = model.fit(**training).sigma_
    assert 0 < sigma < 0.1
    same, found = made(name, sigma=sigma).fit(**training), []
    np.testing.assert_allclose(getattr(model, "thresholds_", []), getattr(same, "thresholds_", []))
    for own, point in (1.0, {"sigma": sigma}), ("scale", {}), (1.0, {"sigma": "scale"}):
        on_folds = made(name, sigma=own).fit_points([point], folds=folds, **training)
        function = made(name, sigma=own).fit_points([point], **training)
        found.append([*on_folds, *function.decision_function(rows)])  # SU: of pairs, and of rows
    for got in found[1:]:
        for part, expected in zip(got, found[0], strict=True):
            np.testing.assert_allclose(part, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian"])
def test_a_fit_says_that_nearly_all_kernel_values_are_0_or_1(kernel):
    """And searches, local kernels and equal rows have no warning, which would be an error."""
    rng = np.random.default_rng(0)
    X, y, others = rng.normal(size=(50, 64)), np.arange(50) % 2, rng.normal(size=(150, 64))
    text = "makes nearly all kernel values {}: scale the features, or {} sigma; 'scale' would be"
    for sigma, words in ((20.0, (0, "lower")), (1e-10, (1, "raise"))):
        with pytest.warns(DsgWarning, match=f"sigma={sigma:g} {text.format(*words)}"):
            SAMULT(sigma=sigma, kernel=kernel).fit(X, y, others)
    SAMULT(kernel=kernel).fit(X, y, others)
    SAMULT(kernel=kernel).fit_points([{"sigma": 30.0}], X=X, y=y, X_unlabeled=others)
    rows = rng.random((500, 2))
    SAMULT(sigma=1000.0).fit(rows[:50], y, rows[50:])
    SAMULT(lam=1.0).fit(np.ones((4, 2)), [0, 1, 0, 1], np.ones((3, 2)))
    SAMULT(sigma=0.1).fit(X, y, others)  # values that only random features lose in their noise
    with pytest.warns(DsgWarning, match=r"sigma=0\.1 makes nearly all kernel values 0") as told:
        RFFS2AUC(sigma=0.1, n_features=8).fit(X, y, others)
    assert len(told) == 1
