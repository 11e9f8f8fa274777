"""The range of rows that Fourier features are made of."""

from __future__ import annotations

import numpy as np
import pytest

from dsgkit.features import FourierFeatures
from dsgkit.kernels.lengths import check_projections
from dsgkit.solvers import inputs
from dsgkit.solvers.auc.qsg_s2auc import QSGS2AUC
from dsgkit.solvers.auc.rff_s2auc import RFFS2AUC
from dsgkit.text.errors import DataError
from tests.solvers.brute_force import folds_of, problem

TOO_LARGE = r"features too large for sigma=2: scale them, e\.g\. to \[0, 1\]"


@pytest.mark.parametrize("sigma", [0.125, 2.0, 8.0])
def test_features_of_all_rows_that_pass_are_accurate(sigma):
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


@pytest.mark.parametrize("place", [0, 3, 9])
def test_every_block_is_checked(place, monkeypatch):
    monkeypatch.setattr(inputs, "BLOCK_ROWS", 4)
    X = np.ones((10, 2))
    check_projections(X, 2.0)
    X[place, 1] = 1e300  # whose square overflows
    with pytest.raises(DataError, match=TOO_LARGE):
        check_projections(X, 2.0)
    X[place, 1] = np.nan
    with pytest.raises(DataError, match="NaN or infinite"):
        check_projections(X, 2.0)


@pytest.mark.parametrize(
    "model", [QSGS2AUC(sigma=2.0, n_iterations=5), RFFS2AUC(sigma=2.0, n_features=8)], ids=repr
)
def test_estimators_of_fourier_features_refuse_large_rows(model):
    X, y, U = problem()
    large = X.copy()
    large[5, 0] = 1e4
    with pytest.raises(DataError, match=TOO_LARGE):
        model.fit(large, y, U)
    with pytest.raises(DataError, match=TOO_LARGE):
        model.fit_points([{"lam": 1.0}], folds=folds_of(16, 2), X=large, y=y, X_unlabeled=U)
    with pytest.raises(DataError, match=TOO_LARGE):
        model.fit_points([{"sigma": 2.0}], folds=folds_of(16, 2), X=large, y=y, X_unlabeled=U)
    model.fit(X, y, U)


def test_fixed_features_check_the_streamed_rows_too():
    X, y, U = problem()
    model = RFFS2AUC(sigma=2.0, n_features=8).fit(X, y, U)
    U[7, 2] = -1e4
    with pytest.raises(DataError, match=TOO_LARGE):
        model.decision_function(U)
    with pytest.raises(DataError, match=TOO_LARGE):
        model.fit(X, y, U)
