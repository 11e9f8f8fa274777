"""Support vector machines with the linear kernel, against programs of linear functions."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from dsgkit import BGS3VM, BLS3VM, AllLabelsSVM, S3VMLight, SelfTraining, SupervisedSVM
from dsgkit.random.draws import draw_in_passes
from tests.solvers.brute_force import problem
from tests.solvers.given import given

MACHINES = [BGS3VM, BLS3VM, S3VMLight, SelfTraining, SupervisedSVM]


@pytest.fixture
def rows():
    X, y, U = problem(30, 60)
    return X, np.where(y == y.max(), 1, -1), U


def fitted(model, X, y, U):
    return model.fit(**given(model, X, y, U))


@pytest.mark.parametrize("machine", MACHINES)
def test_functions_are_linear_whatever_sigma(machine, rows):
    X, y, U = rows
    values = [
        fitted(machine(C=50.0, sigma=sigma, kernel="linear"), X, y, U).decision_function
        for sigma in (1.0, 1e3)
    ]
    np.testing.assert_array_equal(values[0](U), values[1](U))
    middle = (U[:30].astype(float) + U[30:]) / 2
    expected = (values[0](U[:30]) + values[0](U[30:])) / 2
    np.testing.assert_allclose(values[0](middle), expected, rtol=1e-5, atol=1e-5)


def test_machines_of_labelled_rows_are_those_of_libsvm(rows):
    X, y, U = rows
    expected = SVC(C=20 / len(X), kernel="linear", tol=1e-6).fit(X, y).decision_function(U)
    for model in (
        SupervisedSVM(20.0, kernel="linear", tol=1e-6),
        S3VMLight(20.0, kernel="linear", C_star=0.0),
    ):
        np.testing.assert_allclose(fitted(model, X, y, U).decision_function(U), expected, atol=2e-2)
    hidden = np.resize([1, -1], len(U))
    both = AllLabelsSVM(20.0, kernel="linear", tol=1e-6).fit(X, y, U, hidden)
    svc = SVC(C=20 / 90, kernel="linear", tol=1e-6).fit(np.vstack([X, U]), np.append(y, hidden))
    np.testing.assert_allclose(both.decision_function(U), svc.decision_function(U), atol=1e-4)


@pytest.mark.parametrize("C", [5.0, 500.0])
def test_without_unlabelled_loss_and_balance_the_bias_is_penalised(C, rows):
    """``<x, x'> + 1`` without an offset is LIBLINEAR's machine with a bias column of ones."""
    X, y, U = rows
    model = BLS3VM(C, kernel="linear", C_star=0.0, balance=False, tol=1e-7).fit(X, y, U)
    linear = LinearSVC(C=C / len(X), loss="hinge", tol=1e-8, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(U), linear.decision_function(U), rtol=1e-3, atol=1e-3
    )


def test_budgeted_descent_is_that_of_weights(rows):
    X, y, U = (part.astype(float) for part in rows)
    model = BGS3VM(9.0, kernel="linear", C_star=2.0, labeled_budget=30, unlabeled_budget=1.0)
    model.fit(X, y, U)
    X, U = (np.column_stack([part, np.ones(len(part))]) for part in (X, U))
    weights = np.zeros(X.shape[1])
    order = [draw_in_passes(0, k, 0, 60, 1, n)[:, 0] for k, n in ((0, 30), (1, 60))]
    for t, (i, j) in enumerate(zip(*order, strict=True), 1):
        labeled, unlabeled = X[i] @ weights, U[j] @ weights
        step = 9.0 * y[i] * (y[i] * labeled < 1) * X[i]
        step += 2.0 * np.sign(unlabeled) * (abs(unlabeled) < 1) * U[j]
        weights += (step - weights) / (t + 9.0 / 10)
    np.testing.assert_allclose(model.decision_function(U[:, :-1]), U @ weights, atol=1e-9)


@pytest.mark.parametrize("machine", MACHINES)
def test_other_kernels_are_refused(machine, rows):
    with pytest.raises(ValueError, match=r"kernel must be .*gaussian.*linear"):
        fitted(machine(kernel="laplacian"), *rows)
