import numpy as np
import pytest

from dsgkit.features import FourierFeatures
from dsgkit.kernels import kernel_named
from dsgkit.trainers.explicit_features import OnCenters, OnLandmarks
from dsgkit.trainers.nystrom import NystromFeatures


@pytest.fixture
def double_precision(monkeypatch):
    """The same features in double precision: single ones differ in the last bit with the batch."""

    def transform(self, X, block):
        Z = X.astype(np.float64) @ self.frequencies(block, 1, X.shape[1])[0]
        return np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(self.n_frequencies)

    monkeypatch.setattr(FourierFeatures, "transform", transform)


@pytest.fixture
def same_centers(monkeypatch):
    """The centres of a fit are some unlabelled rows, so that those of folds are those of a grid."""

    def features(self, X, X_unlabeled):
        return NystromFeatures(
            kernel_named(self.kernel), X_unlabeled[:20].astype(float), self.sigma
        )

    monkeypatch.setattr(OnLandmarks, "_features", features)
    monkeypatch.setattr(
        OnCenters, "_centers", lambda self, X, X_unlabeled: np.asarray(X_unlabeled[:20], float)
    )
