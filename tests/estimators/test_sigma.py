"""The width of the kernel that estimators take by default, and what they say of a bad one."""

import functools

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from dsgkit import QSGS2AUC, RFFS2AUC, SAMULT, KernelRidgeOrdinal, SupervisedSVM
from dsgkit.errors import DataError, DsgWarning
from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.estimators.sigma import scale_of
from dsgkit.seeds import stratified_folds
from tests.estimators.brute_force import problem
from tests.estimators.given import given
from tests.estimators.small import arrays, folds_for, rows_at

WITH_SIGMA = {name: info.load() for name, info in SOLVERS.items() if "sigma" in info.params}
IN_TWO_CLASSES = [
    name
    for name, solver in WITH_SIGMA.items()
    if not {"similar_unlabeled", "clustering"} & set(solver.tasks)
]

few_pairs = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")


@functools.cache
def digits():
    """50 labelled rows of standardised 3s and 5s, the others, and the AUC of SVC() on them."""
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, (3, 5))
    X, y = scale(X[kept]), (y[kept] == 3).astype(int)
    labeled, others = np.split(np.random.default_rng(0).permutation(len(y)), [50])
    peer = SVC().fit(X[labeled], y[labeled]).decision_function(X[others])
    return X[labeled], y[labeled], X[others], y[others], roc_auc_score(y[others], peer)


@pytest.mark.parametrize("name", IN_TWO_CLASSES)
def test_defaults_are_near_a_support_vector_machine_on_standardised_rows(name):
    X, y, others, truth, peer = digits()
    arrays = given(WITH_SIGMA[name], X, y, others)
    if "y_unlabeled" in arrays:
        arrays["y_unlabeled"] = truth
    model = WITH_SIGMA[name]().fit(**arrays)
    assert peer > 0.99
    assert roc_auc_score(truth, model.decision_function(others)) > peer - 0.01


@few_pairs
@pytest.mark.parametrize(
    "name", ["tsgsu", "tsgsu_p", "cuu", "su_sl", "rff_su_sl", "su_dh", "supervised_sl"]
)
def test_defaults_learn_from_pairs_of_standardised_rows(name):
    """The larger class is 63% of the rows."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X), np.where(y == 1, 1, -1)
    first, second, rest = np.split(np.random.default_rng(0).permutation(len(y)), [150, 300])
    same = y[first] == y[second]
    pairs = np.stack([X[first][same], X[second][same]], axis=1)
    solver = WITH_SIGMA[name]
    if name == "supervised_sl":
        model = solver().fit(X[first[:50]], y[first[:50]])
    else:
        model = solver(prior=0.63).fit(pairs, X[rest])
    assert accuracy_score(y[rest], model.predict(X[rest])) > 0.8


SIZES = {
    "gaussian": (lambda a, b: ((a - b) ** 2).sum(), 2),
    "laplacian": (lambda a, b: np.abs(a - b).sum(), 2),
    "dot_product(2)": (None, 1),
}


@pytest.mark.parametrize("kernel", SIZES)
def test_the_scale_is_the_inverse_of_the_mean_size_of_near_pairs(kernel):
    """Of a dot product, of short rows."""
    rng, (distance, factor) = np.random.default_rng(0), SIZES[kernel]
    rows = rng.normal(size=(41, 3))
    sizes = [a @ a for a in rows]
    if distance:
        sizes = [distance(a, b) for i, a in enumerate(rows) for b in rows[:i]]
    near = np.sort(sizes)[: {820: 779, 41: 39}[len(sizes)]]
    assert scale_of(kernel, rows) == pytest.approx(factor / np.mean(near))
    far = np.vstack([np.tile(rows, (2, 1)), np.full((1, 3), 1e9)])
    assert scale_of(kernel, far) == pytest.approx(scale_of(kernel, far[:-1]), rel=0.1)
    assert scale_of(kernel, np.zeros((5, 2))) == scale_of(kernel, np.zeros((1, 2))) == 1
    apart = np.vstack([np.zeros((99, 2)), np.ones((1, 2))])
    assert 0 < scale_of(kernel, apart) < np.inf  # although nearly all pairs are equal
    with pytest.raises(DataError, match="has no finite inverse: scale the features, or"):
        scale_of(kernel, rng.random((5, 2)) * 1e300)


class Counted:
    """Very many rows, which count how many of them are read."""

    ndim, shape, read = 2, (10**7, 3), 0

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows):
        rows = np.arange(self.shape[0])[rows] if isinstance(rows, slice) else rows
        self.read += len(rows)
        return np.random.default_rng(len(rows)).random((len(rows), 3))


def test_few_of_very_many_rows_are_read():
    X, y, _ = problem()
    rows = Counted()
    model = QSGS2AUC(n_iterations=2, batch_size=4, n_features=4, t0=1.0).fit(X, y, rows)
    assert rows.read <= 200 + 2 * 4
    assert model.sigma_ == pytest.approx(2 / (3 / 6), rel=0.3)  # of uniform rows


def test_all_rows_weigh_alike_and_sparse_ones_are_as_dense_ones():
    X, y, U = problem(16, 60)
    found = SAMULT().fit(X, y, U).sigma_
    assert found == scale_of("gaussian", np.vstack([X, U]).astype(np.float64))
    assert SAMULT().fit(sparse.csr_matrix(X), y, sparse.csr_matrix(U)).sigma_ == found


def test_what_learns_from_labelled_rows_alone_takes_its_scale_from_them():
    X, y, U = problem(16, 60)
    of_labeled = scale_of("gaussian", X.astype(np.float64))
    assert KernelRidgeOrdinal().fit(X, y, U).sigma_ == of_labeled
    assert SupervisedSVM().fit(X, y).sigma_ == of_labeled


def quick(solver):
    """Return a small estimator."""
    small = {"n_iterations": 5, "batch_size": 8, "n_features": 6, "n_blocks": 2, "prior": 0.8}
    return solver(**{k: v for k, v in small.items() if k in solver().get_params()})


@few_pairs
@pytest.mark.parametrize("name", sorted(set(WITH_SIGMA) - {"all_labels_svm"}))
def test_points_and_folds_have_the_scale_of_all_rows(name):
    """The default, the word and the number are one setting."""
    training = {k: v if k == "y" else 20 * v for k, v in arrays(name).items()}
    solver = WITH_SIGMA[name]
    sigma = quick(solver).fit(**training).sigma_
    assert 0 < sigma < 0.1
    for settings in ({"folds": folds_for(training)}, {}):

        def values(model, point, settings=settings):
            found = model.fit_points([point], **settings, **training)
            return found if settings else found.decision_function(rows_at(training))

        expected = values(quick(solver), {"sigma": sigma})
        for got in (
            values(quick(solver), {}),
            values(quick(solver).set_params(sigma=1.0), {"sigma": "scale"}),
        ):
            for part, known in zip(got, expected, strict=True):  # SU: of pairs, and of rows
                np.testing.assert_allclose(part, known, rtol=1e-6, atol=1e-9)


def test_thresholds_of_ordered_classes_are_placed_at_the_same_scale():
    X, y, U = problem(40, 30)
    X, U = X * 20, U * 20
    for name in ("exact_s2or", "kernel_ridge", "m_samult", "qs3orao", "qs3orao_p", "svorim"):
        model = quick(WITH_SIGMA[name]).fit(X, y, U)
        explicit = quick(WITH_SIGMA[name]).set_params(sigma=model.sigma_).fit(X, y, U)
        np.testing.assert_allclose(model.thresholds_, explicit.thresholds_)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian"])
def test_a_fit_says_that_nearly_all_kernel_values_are_0_or_1(kernel):
    X, y, others, *_ = digits()
    for sigma, value in ((20.0, 0), (1e-10, 1)):
        with pytest.warns(DsgWarning, match=f"makes nearly all kernel values {value}: scale the"):
            SAMULT(sigma=sigma, kernel=kernel).fit(X, y, others)
    SAMULT(kernel=kernel).fit(X, y, others)  # a warning would be an error
    SAMULT(sigma=0.3).fit(X, y, others)  # values that only random features lose in their noise
    text = r"sigma=0\.3 makes nearly all kernel values 0: .* 'scale' would be 0\.0"
    with pytest.warns(DsgWarning, match=text) as told:
        RFFS2AUC(sigma=0.3, n_features=8).fit(X, y, others)
    assert len(told) == 1


def test_searches_and_local_kernels_and_equal_rows_are_not_warned_of():
    X, y, others, *_ = digits()
    folds = stratified_folds(y, 2, 0)
    SAMULT().fit_points([{"sigma": 0.3}], X=X, y=y, X_unlabeled=others)
    SupervisedSVM().fit_points([{"sigma": 0.3}], folds=folds, X=X, y=y)
    rows = np.random.default_rng(0).random((3000, 2))
    SAMULT(sigma=1000.0).fit(rows[:50], rows[:50, 0] > 0.5, rows[50:500])
    SAMULT(lam=1.0).fit(np.ones((4, 2)), [0, 1, 0, 1], np.ones((3, 2)))
