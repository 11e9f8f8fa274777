"""Rows that are too long for random features: each solver of these refuses them by their number."""

import pickle

import numpy as np
import pytest

from dsgkit import load_model
from dsgkit.engine import sizes
from dsgkit.errors import DataError
from dsgkit.features import FourierFeatures, random_features
from dsgkit.kernels import check_projections, kernel_named
from dsgkit.solvers.catalogue import SOLVERS
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


CASES = [(name, "gaussian") for name in OF_FEATURES]
CASES += [("qsg_s2auc", kernel) for kernel in KERNELS[1:]] + [("rff_s2auc", KERNELS[-1])]


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
def test_a_loaded_model_has_its_kernel_and_refuses_far_rows(kernel, tmp_path):
    model, arrays = small("qsg_s2auc", kernel)
    model.fit(**arrays).save(tmp_path / "model.npz")
    loaded, rows = load_model(tmp_path / "model.npz"), arrays["X_unlabeled"].astype(np.float64)
    assert loaded.features == random_features(kernel, 0.5, 8, 0)
    np.testing.assert_array_equal(
        loaded.decision_function(rows)[:, 0].astype(float), model.decision_function(rows)
    )
    rows[2] = FAR
    with pytest.raises(DataError, match="row 2 of"):
        loaded.decision_function(rows)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *((name, {"n_iterations": 400}) for name in ("qsg_s2auc", "tsgs3vm", "frs3vm", "tsgsu")),
        ("tsgs3vm", {"balance": True}),  # whose intercept is computed from all rows
    ],
)
def test_rows_that_are_read_batch_by_batch_are_numbered_in_their_table(name, change, monkeypatch):
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 64)
    model, arrays = small(name)
    U = np.random.default_rng(0).random((5000, arrays["X_unlabeled"].shape[1]), np.float32)
    U[1234, 0] = FAR
    with pytest.raises(DataError, match="row 1234 of 5000"):
        model.set_params(**change).fit(**{**arrays, "X_unlabeled": U})


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


@pytest.mark.parametrize("sigma", [0.125, 2.0, 8.0])
def test_fourier_features_of_all_rows_that_pass_are_accurate(sigma):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    longest = 5000 / (6 * np.sqrt(2 * sigma))  # by the documented rule
    X = (X * (longest * 0.999 / np.linalg.norm(X, axis=1).max())).astype(np.float32)
    check_projections(X, sigma)
    with pytest.raises(DataError, match="too large"):
        check_projections(X * np.float32(1.01), sigma)
    features = FourierFeatures("gaussian", sigma, 4000, 0)
    Z = X.astype(np.float64) @ features.frequencies(0, 1, 6)[0]
    assert 3000 < abs(Z).max() < 5000
    # beyond the 2e-6 of the functions the projection itself is rounded, to 2^-12 at 5000
    exact = np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(4000)
    np.testing.assert_allclose(features.transform(X, 0), exact, atol=2e-3 / np.sqrt(4000))
