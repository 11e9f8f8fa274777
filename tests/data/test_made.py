"""Datasets that are made by formulas."""

import numpy as np
import pytest

from dsgkit.data.made import make_layers


@pytest.mark.parametrize("n_layers", [2, 5])
def test_layers_are_in_order_along_the_direction_of_least_variance(n_layers):
    X, y = make_layers(4000, n_layers=n_layers, n_features=20, gap=0.4, width=0.1, random_state=1)
    assert np.bincount(y).tolist() == [4000 // n_layers] * n_layers
    variances, directions = np.linalg.eigh(np.cov(X[y == 0].T))
    # across a layer the variance is width^2, within it 1
    np.testing.assert_allclose(variances, [0.01, *[1] * 19], rtol=0.4)
    places = X @ directions[:, 0]
    places *= np.sign(places[y == n_layers - 1].mean())
    means = [places[y == layer].mean() for layer in range(n_layers)]
    np.testing.assert_allclose(np.diff(means), 0.4, rtol=0.1)
