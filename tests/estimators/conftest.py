import numpy as np
import pytest

from dsgkit.estimators import auc
from dsgkit.features import FourierFeatures


@pytest.fixture
def double_precision(monkeypatch):
    """The same features in double precision: single ones differ in the last bit with the batch."""

    def transform(self, X, block):
        Z = X.astype(np.float64) @ self.frequencies(block, 1, X.shape[1])[0]
        return np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(self.n_frequencies)

    monkeypatch.setattr(FourierFeatures, "transform", transform)


@pytest.fixture
def same_centers(monkeypatch):
    """Centres and landmarks are unlabelled rows, so that those of folds are those of a grid."""
    landmarks = auc.landmarks
    monkeypatch.setattr(auc, "drawn_rows", lambda seed, count, n, source=0: np.arange(n - 20, n))
    monkeypatch.setattr(auc, "landmarks", lambda k, sigma, z: landmarks(k, sigma, z[-20:]))
