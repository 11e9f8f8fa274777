"""SAMULT against a dense solution, against its own optimality, and its limits."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dsgkit.data.rows import Rows
from dsgkit.kernels.gaussian import gaussian_expansion, gaussian_gram
from dsgkit.solvers.auc.pnu_auc import PNUAUC
from dsgkit.solvers.auc.samult import SAMULT
from dsgkit.solvers.base import Estimator
from dsgkit.solvers.ordinal.exact import ExactS2OR
from dsgkit.text.errors import DataError, FitError, MemoryLimitError
from dsgkit.trainers.responses import DualResponse
from tests.solvers.brute_force import folds_of, kernel, problem, samult_form

SETTINGS = [(0.125, 1.0, 0.4), (8.0, 0.125, 0.0), (1e-4, 8.0, 0.9), (1.0, 2.0, 1.0)]


@pytest.mark.parametrize(("lam", "sigma", "gamma"), SETTINGS)
def test_coefficients_solve_the_dense_system(lam, sigma, gamma):
    X, y, U = problem()
    model = SAMULT(lam=lam, sigma=sigma, gamma=gamma).fit(X, y, U)
    M, v = samult_form(y > 0, len(U), gamma)
    rows = np.vstack([X, U])
    expected = np.linalg.solve(lam * np.eye(len(rows)) + 2 * M @ kernel(rows, rows, sigma), 2 * v)
    coef = np.zeros(len(rows))
    coef[: len(model.coef_)] = model.coef_
    np.testing.assert_allclose(coef, expected, rtol=1e-8, atol=1e-9 * abs(expected).max())


def objective(a, gram, positive, lam, gamma):
    """The objective as the mean over all triplets of positive, negative and unlabelled row."""
    f = gram @ a
    f_u = f[len(positive) :][None, None, :]
    f_p = f[: len(positive)][positive][:, None, None]
    f_n = f[: len(positive)][~positive][None, :, None]
    pn, pu, un = (1 - f_p + f_n) ** 2, (1 - f_p + f_u) ** 2, (1 - f_u + f_n) ** 2
    return np.mean(gamma * pn + (1 - gamma) * (pu + un)) + lam / 2 * a @ gram @ a


@pytest.mark.parametrize(("lam", "gamma"), [(0.5, 0.3), (0.01, 0.0)])
def test_no_direction_decreases_the_objective(lam, gamma):
    X, y, U = problem(seed=4)
    model = SAMULT(lam=lam, sigma=1.0, gamma=gamma).fit(X, y, U)
    gram = kernel(np.vstack([X, U]), np.vstack([X, U]), 1.0)
    rng = np.random.default_rng(0)

    def value(a):
        return objective(a, gram, y > 0, lam, gamma)

    best = value(model.coef_)
    for _ in range(20):
        direction = rng.normal(size=len(gram))
        direction /= np.sqrt(direction @ gram @ direction)
        slope = (value(model.coef_ + direction) - value(model.coef_ - direction)) / 2
        assert abs(slope) < 1e-9  # of a quadratic the central difference is the derivative
        assert value(model.coef_ + 1e-3 * direction) > best


def test_with_gamma_one_the_unlabelled_rows_do_not_count():
    X, y, U = problem()
    one, other = (SAMULT(sigma=0.3, gamma=1.0).fit(X, y, rows) for rows in (U, U[:1] + 5))
    assert len(one.centers_) == len(X)
    np.testing.assert_array_equal(one.decision_function(U), other.decision_function(U))


def test_gamma_near_one_approaches_the_supervised_solution():
    X, y, U = problem()
    supervised = SAMULT(gamma=1.0).fit(X, y, U).decision_function(U)
    near = SAMULT(gamma=1 - 1e-9).fit(X, y, U).decision_function(U)
    np.testing.assert_allclose(near, supervised, atol=1e-7)


@settings(deadline=None, max_examples=25)
@given(
    st.floats(-8, 5),
    st.floats(-3, 3),
    st.floats(0, 1),
    st.integers(0, 1000),
)
def test_swapping_the_classes_negates_the_function(log_lam, log_sigma, gamma, seed):
    X, y, U = problem(seed=seed)
    model = SAMULT(lam=2.0**log_lam, sigma=2.0**log_sigma, gamma=gamma)
    f = model.fit(X, y, U).decision_function(U)
    g = clone(model).fit(X, -y, U).decision_function(U)
    np.testing.assert_allclose(f, -g, atol=1e-8 * abs(f).max())


def test_any_two_labels_and_lazy_rows_give_the_same_model():
    X, y, U = problem()
    expected = SAMULT().fit(X, y, U).decision_function(U)
    zero_one = SAMULT().fit(X, (y > 0).astype(int), U).decision_function(U)
    base = np.vstack([U, X])
    lazy = SAMULT().fit(Rows(base, np.arange(len(U), len(base))), y, Rows(base, np.arange(len(U))))
    np.testing.assert_array_equal(zero_one, expected)
    np.testing.assert_array_equal(lazy.decision_function(Rows(U)), expected)


def test_a_pickled_model_predicts_the_same():
    X, y, U = problem()
    model = SAMULT().fit(X, y, U)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(U), model.decision_function(U))


def test_the_whole_grid_equals_fit_by_fit():
    X, y, U = problem(n_labeled=24, n_unlabeled=40)
    folds = folds_of(len(y), 4)
    points = [
        {"lam": 2.0**k, "sigma": sigma, "gamma": gamma}
        for k in (-10, -3, 0, 3)
        for sigma in (0.5, 4.0)
        for gamma in (0, 0.1, 0.5, 1)
    ]
    got = SAMULT().fit_points(points, folds=folds, X=X, y=y, X_unlabeled=U)
    expected = Estimator.fit_points(SAMULT(), points, folds=folds, X=X, y=y, X_unlabeled=U)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("gamma", [0, 0.1, 1])
def test_the_grid_keeps_the_digits_of_fits_where_lam_is_small(gamma):
    X, y, U = problem(n_labeled=24, n_unlabeled=40)
    training = {"folds": folds_of(len(y), 4), "X": X, "y": y, "X_unlabeled": U}
    points = [{"lam": 2.0**k, "sigma": 4.0, "gamma": gamma} for k in (-15, -20, -25, -30)]
    got = SAMULT().fit_points(points, **training)
    expected = Estimator.fit_points(SAMULT(), points, **training)
    for row, exact, point in zip(got, expected, points, strict=True):
        # what rounding the kernel's values to 2^-53 does to either
        atol = 1e-13 / point["lam"] * abs(exact).max()
        np.testing.assert_allclose(row, exact, rtol=0, atol=atol)


def test_rows_outside_of_every_fold_have_no_value():
    X, y, U = problem()
    values = SAMULT().fit_points([{}], folds=[np.arange(4)], X=X, y=y, X_unlabeled=U)
    assert np.isnan(values[0, 4:]).all() and np.isfinite(values[0, :4]).all()


@pytest.mark.parametrize(("n_labeled", "n_unlabeled", "gamma"), [(60, 540, 0.5), (500, 100, 1.0)])
def test_predicted_memory_is_what_a_fit_allocates(n_labeled, n_unlabeled, gamma):
    X, y, U = problem(n_labeled, n_unlabeled, 5)
    model = SAMULT(gamma=gamma)
    assert model.cost(5, n_labeled=n_labeled, n_unlabeled=n_unlabeled).memory == pytest.approx(
        peak_of(lambda: model.fit(X, y, U)), rel=0.2
    )


@pytest.mark.parametrize("n", [40, 400])
@pytest.mark.parametrize("model", [SAMULT(), PNUAUC(prior=0.4)], ids=repr)
def test_predicted_memory_covers_prediction(model, n):
    X, y, U = problem(n // 4, 3 * n // 4, 5)
    rows = problem(8, 10_000, 5)[2]
    needed = model.cost(5, n_labeled=n // 4, n_unlabeled=3 * n // 4).memory
    result = (8 + 1) * len(rows)  # the values, and whether they are finite

    def run():
        model.fit(X, y, U).decision_function(rows)

    assert peak_of(run) - result < 1.2 * needed


def test_predicted_memory_of_a_small_model_is_that_of_prediction():
    X, y, U = problem(4, 6, 5)
    model, rows = SAMULT(), problem(8, 10_000, 5)[2]
    peak = peak_of(lambda: model.fit(X, y, U).decision_function(rows)) - 9 * len(rows)
    assert model.cost(5, n_labeled=4, n_unlabeled=6).memory == pytest.approx(peak, rel=0.3)


def test_a_failed_fit_leaves_the_model_before_it():
    X, y, U = problem()
    model = SAMULT().fit(X, y, U)
    expected = model.decision_function(U)
    with pytest.raises(FitError):
        model.set_params(lam=1e-30).fit(np.vstack([X, X]), np.append(y, y), U)
    np.testing.assert_array_equal(model.decision_function(U), expected)


def test_predicted_memory_is_what_a_grid_allocates():
    X, y, U = problem(40, 400, 5)
    needed = SAMULT().cost(5, n_models=10, n_labeled=40, n_unlabeled=400).memory
    folds, points = folds_of(40, 2), [{"lam": 1.0}, {"lam": 2.0}]
    peak = peak_of(lambda: SAMULT().fit_points(points, folds=folds, X=X, y=y, X_unlabeled=U))
    assert needed == pytest.approx(peak, rel=0.2)


def peak_of(call):
    call()  # imports and caches do not count
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_fit_above_the_limit_is_refused_before_it_allocates():
    X, y, _ = problem()
    endless = Rows(np.broadcast_to(X[:1], (10**6, 3)))  # whose kernel matrix would take 8 TB
    model = SAMULT(max_memory=1.0)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryLimitError, match=r"needs 745\d\.\d GiB, limit 1\.0 GiB"):
            model.fit(X, y, endless)
        with pytest.raises(MemoryLimitError):
            model.fit_points([{}], folds=folds_of(16, 2), X=X, y=y, X_unlabeled=endless)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_sparse_rows_are_not_made_dense_above_the_limit():
    X, y, _ = problem()
    endless = sparse.csr_array((10**6, 3))
    tracemalloc.start()
    try:
        with pytest.raises(MemoryLimitError):
            SAMULT(max_memory=1.0).fit(X, y, endless)
        assert tracemalloc.get_traced_memory()[1] < 2**23  # three words a row would be 23 MiB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"lam": 0}, "lam must be a number > 0, got 0"),
        ({"lam": np.nan}, "lam must"),
        ({"lam": "1"}, "lam must"),
        ({"sigma": -1.0}, "sigma must be a number > 0"),
        ({"sigma": np.inf}, "sigma must"),
        ({"gamma": 1.1}, "gamma must be a number between 0 and 1, got 1.1"),
    ],
)
def test_parameters_out_of_range_are_refused(params, text):
    X, y, U = problem()
    with pytest.raises(DataError, match=text):
        SAMULT(**params).fit(X, y, U)
    with pytest.raises(DataError, match=text):
        SAMULT().fit_points([params], folds=folds_of(16, 2), X=X, y=y, X_unlabeled=U)


def test_a_regulariser_below_rounding_is_a_failed_fit():
    X, y, U = problem()
    with pytest.raises(FitError, match="take a larger lam"):
        SAMULT(lam=1e-30).fit(np.vstack([X, X]), np.append(y, y), U)


def test_rows_that_do_not_fit_together_are_refused():
    X, y, U = problem()
    with pytest.raises(DataError, match=r"X_unlabeled has 2 features, .* expecting 3"):
        SAMULT().fit(X, y, U[:, :2])
    with pytest.raises(DataError, match="15 labels, 16 rows"):
        SAMULT().fit(X, y[1:], U)
    with pytest.raises(DataError, match="at least one row"):
        SAMULT().fit(X, y, U[:0])
    with pytest.raises(DataError, match="exactly two classes, got 1"):
        SAMULT().fit(X, np.ones(16), U)
    with pytest.raises(DataError, match=r"X has 2 features, .* expecting 3"):
        SAMULT().fit(X, y, U).decision_function(U[:, :2])
    with pytest.raises(DataError, match="both classes outside of every fold"):
        SAMULT().fit_points([{}], folds=[np.flatnonzero(y > 0)], X=X, y=y, X_unlabeled=U)
    with pytest.raises(NotFittedError):
        SAMULT().decision_function(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_features_that_are_no_numbers_are_refused(bad):
    X, y, U = problem()
    U[3, 1] = bad
    with pytest.raises(DataError, match="NaN or infinite"):
        SAMULT().fit(X, y, U)


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 200), st.integers(1, 9), st.floats(0.01, 50), st.integers(0, 99))
def test_gram_is_the_kernel_symmetric_with_a_diagonal_of_ones(n, d, sigma, seed):
    A = np.random.default_rng(seed).normal(size=(n, d))
    gram = gaussian_gram(A, A, sigma)
    np.testing.assert_allclose(gram, kernel(A, A, sigma), atol=1e-12)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_array_equal(np.diag(gram), 1)


def test_gram_does_not_depend_on_blocks(monkeypatch):
    A, _, B = problem(150, 140)
    out = np.empty((150, 140))
    whole, square = gaussian_gram(A, B, 2.0, out=out), gaussian_gram(A, A, 2.0)
    assert whole is out
    values = gaussian_expansion(A, B.astype(float), np.arange(140.0), 2.0)
    monkeypatch.setattr("dsgkit.kernels.gaussian.BLOCK_ENTRIES", 1)
    np.testing.assert_allclose(gaussian_gram(A, B, 2.0), whole, atol=1e-14)
    np.testing.assert_allclose(gaussian_gram(A, A, 2.0), square, atol=1e-14)
    np.testing.assert_allclose(values, whole @ np.arange(140.0), rtol=1e-12)


@pytest.mark.parametrize("solver", [SAMULT, ExactS2OR])
def test_a_grid_takes_one_factorisation(solver, monkeypatch):
    X, y, U = problem()
    made = []

    class Counted(DualResponse):
        def __init__(self, *grams):
            made.append(len(grams[-1]))
            super().__init__(*grams)

    monkeypatch.setattr("dsgkit.trainers.kernel_matrix.DualResponse", Counted)
    points = [{"lam": lam, "gamma": gamma} for lam in (0.1, 1.0) for gamma in (0.0, 0.5, 1.0)]
    rows = {"folds": folds_of(len(y), 4), "X": X, "y": y, "X_unlabeled": U}
    solver(sigma=1.0).fit_points(points, **rows)
    assert made == [len(U)]
