"""Rows that are too long for random features: each solver of these refuses them by their number."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dsgkit import load_model
from dsgkit.engine import sizes
from dsgkit.kernels import kernel_named
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.text.errors import DataError
from tests.solvers.brute_force import problem
from tests.solvers.given import given

SMALL = {"sigma": 0.5, "n_features": 8, "batch_size": 32, "prior": 0.95, "n_iterations": 5}
OF_FEATURES = [name for name, info in SOLVERS.items() if "n_features" in info.params]
KERNELS = ["gaussian", "laplacian", "matern(1.5)", "dot_product(3)"]
FAR = 1e14


def small(name, kernel="gaussian"):
    """Return an estimator with few features, and what its ``fit`` takes."""
    info = SOLVERS[name]
    settings = {**SMALL, "n_blocks": 3, "kernel": kernel}
    known = {key: value for key, value in settings.items() if key in info.params}
    model = info.load()(**known)
    return model, given(model, *problem())


def takes(name, kernel):
    return kernel == "gaussian" or (
        "kernel" in SOLVERS[name].params and not (name == "frs3vm" and "dot" in kernel)
    )


CASES = [(name, kernel) for name in OF_FEATURES for kernel in KERNELS if takes(name, kernel)]


@pytest.mark.parametrize(("name", "kernel"), CASES)
def test_far_rows_have_no_value(name, kernel):
    model, arrays = small(name, kernel)
    rows = arrays["X_unlabeled"].astype(np.float64)
    model.fit(**arrays)
    for far in (FAR, 1e300):
        rows[4] = far
        with pytest.raises(DataError, match=rf"too large for sigma=0.5: .*row 4 of {len(rows)}"):
            model.decision_function(rows)
    copy = pickle.loads(pickle.dumps(model))
    with pytest.raises(DataError, match="row 4 of"):
        copy.decision_function(rows)


@pytest.mark.parametrize(("name", "kernel"), CASES)
def test_one_far_row_among_the_unlabelled_ones_is_named(name, kernel):
    model, arrays = small(name, kernel)
    U = arrays["X_unlabeled"] = arrays["X_unlabeled"].copy()
    U[3, 1] = -FAR
    with pytest.raises(DataError, match=rf"too large for sigma=0.5: .*row 3 of {len(U)}"):
        model.fit(**arrays)
    U[3, 1] = np.nan
    with pytest.raises(DataError, match="NaN or infinite values"):
        model.fit(**arrays)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_loaded_model_refuses_far_rows(kernel, tmp_path):
    model, arrays = small("qsg_s2auc", kernel)
    model.fit(**arrays).save(tmp_path / "model.npz")
    rows = arrays["X_unlabeled"].astype(np.float64)
    rows[2] = FAR
    with pytest.raises(DataError, match="row 2 of"):
        load_model(tmp_path / "model.npz").decision_function(rows)


@pytest.mark.parametrize("name", ["qsg_s2auc", "tsgs3vm", "frs3vm", "tsgsu"])
def test_rows_that_are_read_batch_by_batch_are_numbered_in_their_table(name, monkeypatch):
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 64)
    model, arrays = small(name)
    U = np.random.default_rng(0).random((5000, arrays["X_unlabeled"].shape[1]), np.float32)
    U[1234, 0] = FAR
    model.set_params(n_iterations=400)
    with pytest.raises(DataError, match="row 1234 of 5000"):
        model.fit(**{**arrays, "X_unlabeled": U})


def test_the_rows_that_an_intercept_is_computed_from_are_numbered_in_their_table():
    model, arrays = small("tsgs3vm")
    U = np.random.default_rng(0).random((5000, arrays["X_unlabeled"].shape[1]), np.float32)
    U[1234, 0] = FAR
    with pytest.raises(DataError, match="row 1234 of 5000"):
        model.set_params(balance=True).fit(**{**arrays, "X_unlabeled": U})


def test_a_row_that_is_long_but_has_right_features_is_read():
    """Standardised columns hold spikes of sqrt(n) deviations."""
    model, arrays = small("qsg_s2auc")
    U = arrays["X_unlabeled"].copy()
    U[3] *= 0.9 * kernel_named("gaussian").farthest(0.5) / np.linalg.norm(U[3])
    values = model.fit(**{**arrays, "X_unlabeled": U}).decision_function(U)
    assert np.abs(values).max() < 10
    U[3] *= 1.2
    with pytest.raises(DataError, match="row 3 of"):
        model.decision_function(U)
