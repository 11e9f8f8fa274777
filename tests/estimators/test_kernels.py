"""Kernels without random features; rows too long for those of others, or without distances.

For exact kernels it makes no difference how far groups without a common kernel value are apart.
"""

import numpy as np
import pytest

from dsgkit import FRS3VM, QSGS2AUC
from dsgkit.engine import sizes
from dsgkit.errors import DataError
from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.features import random_features
from dsgkit.kernels import kernel_named
from tests.estimators.brute_force import problem
from tests.estimators.given import given
from tests.estimators.small import of_task

SETTINGS = {"sigma": 0.5, "n_features": 8, "batch_size": 32, "n_blocks": 3, "prior": 0.95}
FAR = 1e14


def small(name, **changes):
    """Return an estimator with few features, and what its ``fit`` takes."""
    info = SOLVERS[name]
    known = {key: value for key, value in (SETTINGS | changes).items() if key in info.params}
    model = info.load()(**known)
    return model, given(model, *problem())


OF_FEATURES = [name for name, info in SOLVERS.items() if "n_features" in info.params]
CASES = [(name, "gaussian") for name in OF_FEATURES] + [("qsg_s2auc", "laplacian")]
CASES += [(name, "dot_product(3)") for name in ("qsg_s2auc", "rff_s2auc")]


@pytest.mark.parametrize(("name", "kernel"), CASES)
def test_far_rows_are_refused_in_training_and_have_no_value(name, kernel, monkeypatch):
    model, arrays = small(name, kernel=kernel, n_iterations=5)
    U = arrays["X_unlabeled"].astype(np.float64)
    model.fit(**arrays)
    for far, text in ((FAR, "too large for sigma=0.5"), (1e300, "too large"), (np.nan, "NaN")):
        U[4, 1] = far
        with pytest.raises(DataError, match=text):
            model.decision_function(U)
        with pytest.raises(DataError, match=text):
            model.fit(**{**arrays, "X_unlabeled": U})
    if name in ("qsg_s2auc", "tsgs3vm", "frs3vm", "tsgsu"):  # read batch by batch
        monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 64)
        U = np.random.default_rng(0).random((5000, U.shape[1]), np.float32)
        U[1234, 0] = FAR
        with pytest.raises(DataError, match="too large for sigma"):
            model.set_params(n_iterations=400).fit(**{**arrays, "X_unlabeled": U})


def test_labelled_rows_must_be_nearer_than_others():
    """Standardised columns hold spikes of sqrt(n) deviations."""
    model, arrays = small("qsg_s2auc", n_iterations=5)
    for name, longest in (("X_unlabeled", "farthest"), ("X", "longest")):
        rows = arrays[name].copy()
        rows[3] *= 0.99 * getattr(kernel_named("gaussian"), longest)(0.5) / np.linalg.norm(rows[3])
        values = model.fit(**{**arrays, name: rows}).decision_function(rows)
        assert np.abs(values).max() < 10
        rows[3] *= 1.02
        with pytest.raises(DataError, match="too large"):
            model.fit(**{**arrays, name: rows})


OF_KERNEL = [n for n, info in SOLVERS.items() if "sigma" in info.params and n not in OF_FEATURES]
OF_LIBSVM = ["supervised_svm", "all_labels_svm", "self_training"]


def groups(n, apart, seed=0):
    """Return rows of two groups, multiples of 2^-10: all differences within a group are exact."""
    rng = np.random.default_rng(seed)
    rows, second = np.round(rng.normal(size=(n, 3)) * 1024) / 1024, rng.random(n) < 0.5
    rows[second, 1] += apart
    return rows


@pytest.mark.filterwarnings("ignore::dsgkit.errors.DsgWarning")
@pytest.mark.parametrize("name", OF_KERNEL)
def test_how_far_groups_are_apart_makes_no_difference(name):
    values = []
    for apart in (2.0**10, 2.0**24):
        X, U = groups(40, apart), groups(60, apart, seed=1)
        y = np.where(X[:, 0] + np.random.default_rng(2).normal(size=40) > 0, 1, -1)
        model, _ = small(name, sigma=1.0, prior=0.7)
        arrays = given(model, X, y, U)
        if name in OF_LIBSVM and apart == 2.0**24:
            with pytest.raises(DataError, match="too large for sigma=1: subtract the mean"):
                model.fit(**arrays)
            return
        values.append(model.fit(**arrays).decision_function(np.vstack([X, U])))
    np.testing.assert_allclose(values[1], values[0], atol=1e-9 * np.abs(values[0]).max())


@pytest.mark.parametrize("name", of_task("clustering"))
def test_rows_without_distances_are_refused(name):
    rows = groups(30, 5.0)
    model = SOLVERS[name].load()().fit(rows)
    for far in (-1e200, 1.7e308):
        rows[3, 1] = far
        for call in (model.predict, model.fit):
            with pytest.raises(DataError, match=r"features beyond 3e\+150 have no distances"):
                call(rows)


def test_kernels_without_random_features_are_refused():
    X, y, U = problem()
    with pytest.raises(DataError, match="a shift-invariant kernel: this kernel has no random"):
        FRS3VM(kernel="dot_product(3)").fit(X, y, U)
    text = r"a kernel: this kernel has no random features; dot_product\(1\) with sigma = 1 has"
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
