"""The range of rows that Fourier features are made of."""

from __future__ import annotations

import numpy as np
import pytest

from dsgkit.features import FourierFeatures
from dsgkit.kernels.lengths import check_projections
from dsgkit.solvers import inputs
from dsgkit.text.errors import DataError

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
