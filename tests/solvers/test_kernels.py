"""Solvers with a kernel other than the Gaussian one."""

from __future__ import annotations

import numpy as np
import pytest

from dsgkit import QSGS2AUC, SAMULT, TSGS3VM, load_model
from dsgkit.features import random_features
from dsgkit.solvers.auc.rff_s2auc import RFFS2AUC
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.solvers.parameters import parameters
from dsgkit.solvers.s3vm.frs3vm import FRS3VM
from dsgkit.text.errors import DataError
from tests.kernels.test_other_kernels import OTHERS
from tests.solvers.brute_force import minimise, problem, samult_form
from tests.solvers.given import given

KERNELS = ["laplacian", "matern(1.5)", "dot_product(3)"]
DECLARED = {name: parameters(solver.load()).get("kernel") for name, solver in SOLVERS.items()}
WITH_KERNEL = [name for name, kernel in DECLARED.items() if kernel and kernel.text]


@pytest.mark.parametrize("kernel", [*KERNELS, "linear"])
def test_the_exact_solver_minimises_the_risk_over_the_functions_of_the_kernel(kernel):
    X, y, U = problem()
    model = SAMULT(lam=0.25, sigma=0.7, gamma=0.4, kernel=kernel).fit(X, y, U)
    rows = np.vstack([X, U]).astype(np.float64)
    K = OTHERS[kernel](rows, rows, 0.7)
    values, vectors = np.linalg.eigh(K)
    Phi = vectors * np.sqrt(np.maximum(values, 0))
    w = minimise(*samult_form(y == y.max(), len(U), 0.4), Phi, 0.125)
    np.testing.assert_allclose(model.decision_function(rows), Phi @ w, atol=1e-7)
    folds = [np.arange(0, len(X), 2), np.arange(1, len(X), 2)]
    out = model.fit_points([{"lam": 0.5}], folds=folds, X=X, y=y, X_unlabeled=U)
    rest = SAMULT(0.5, 0.7, 0.4, kernel=kernel).fit(X[1::2], y[1::2], U)
    np.testing.assert_allclose(out[0, ::2], rest.decision_function(X[::2]), atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("solver", [QSGS2AUC, RFFS2AUC])
def test_random_features_approach_the_exact_solution(kernel, solver):
    X, y, U = problem()
    settings = {"lam": 0.5, "sigma": 0.7, "gamma": 0.4, "kernel": kernel}
    exact = SAMULT(**settings).fit(X, y, U).decision_function(U)
    more = {"n_features": 300} if solver is RFFS2AUC else {"n_iterations": 400, "n_features": 64}
    values = solver(**settings, **more).fit(X, y, U).decision_function(U)
    exact, values = exact - exact.mean(), values - values.mean()  # a constant changes no pair
    assert np.linalg.norm(values - exact) < 0.25 * np.linalg.norm(exact)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("solver", [QSGS2AUC, TSGS3VM])
def test_a_saved_model_keeps_its_kernel(kernel, solver, tmp_path):
    X, y, U = problem()
    model = solver(kernel=kernel, n_iterations=20, batch_size=8, n_features=6).fit(X, y, U)
    model.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.features == random_features(kernel, model.sigma_, 6, 0)
    np.testing.assert_array_equal(loaded.decision_function(U)[:, 0], model.decision_function(U))


@pytest.mark.parametrize("solver", [TSGS3VM, FRS3VM])
@pytest.mark.parametrize("kernel", KERNELS[:2])
def test_svms_follow_the_gradients_in_the_space_of_their_features(solver, kernel):
    """With a step of 1 the model is the gradient of the last batch: all rows, whatever drawn."""
    X, y, U = problem()
    X, y = X[[0, np.flatnonzero(y != y[0])[0]]], np.array([y[0], -y[0] if y[0] else 1])
    settings = {"C": 3.0, "sigma": 0.7, "C_star": 0.0, "step": 1.0, "n_iterations": 1}
    model = solver(**settings, batch_size=4, n_features=50, kernel=kernel).fit(X, y, U)
    features = random_features(kernel, 0.7, 50, 0)
    sign = np.where(y == y.max(), 1, -1)
    gradient = features.transform(X, 0).T @ (sign * 3.0 / 2)
    expected = features.transform(U, 0) @ gradient
    np.testing.assert_allclose(model.decision_function(U), expected, atol=1e-5)


@pytest.mark.parametrize("name", WITH_KERNEL)
def test_every_solver_refuses_a_name_of_no_kernel(name):
    model = SOLVERS[name].load()(kernel="sinc")
    text = "kernel must be .*the name of a kernel.*unknown kernel 'sinc'; known: gaussian, lapl"
    with pytest.raises(DataError, match=text):
        model.fit(**given(model, *problem()))


def test_a_dot_product_has_no_fourier_features():
    X, y, U = problem()
    with pytest.raises(DataError, match="a kernel of differences of rows: it has no random"):
        FRS3VM(kernel="dot_product(3)").fit(X, y, U)


def test_the_linear_kernel_has_no_random_features():
    X, y, U = problem()
    text = r"a kernel: it has no random features; dot_product\(1\) with sigma = 1 has"
    with pytest.raises(DataError, match=text):
        QSGS2AUC(kernel="linear").fit(X, y, U)
    with pytest.raises(DataError, match="the linear kernel has no random features"):
        random_features("linear", 1.0, 8, 0)


@pytest.mark.parametrize("size", [1e-3, 30.0])
def test_stable_steps_do_not_depend_on_the_scale_of_a_dot_product(size):
    """Sigma s times as large with lam s^p times as large is the same problem, up to rounding."""
    X, y, U = problem()
    U = U * np.float32(0.5)  # the longest row is a labelled one, or both are
    settings = {"gamma": 0.4, "kernel": "dot_product(3)", "n_iterations": 50, "n_features": 32}
    one = QSGS2AUC(0.5, 1.0, **settings).fit(X, y, U).decision_function(U)
    other = QSGS2AUC(0.5 * size**3, size, **settings).fit(X, y, U).decision_function(U)
    np.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-3 * np.abs(one).max())
