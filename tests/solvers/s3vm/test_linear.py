"""Support vector machines with the linear kernel, against programs of linear functions."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from dsgkit import BLS3VM, AllLabelsSVM, S3VMLight, SupervisedSVM
from tests.solvers.brute_force import problem
from tests.solvers.given import given


@pytest.fixture
def rows():
    X, y, U = problem(30, 60)
    return X, np.where(y == y.max(), 1, -1), U


def fitted(model, X, y, U):
    return model.fit(**given(model, X, y, U))


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
