"""RFF-S2AUC: the semi-supervised AUC risk on fixed random Fourier features, in closed form."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dsgkit.features import FourierFeatures
from dsgkit.kernels import row_blocks
from dsgkit.solvers._closed_form import ClosedFormEstimator
from dsgkit.solvers._explicit_features import (
    FeatureMoments,
    feature_moments,
    moments_response,
    solve,
)
from dsgkit.solvers._pairwise_quadratic import (
    PairwiseRisk,
    PrimalResponse,
    eigh_memory,
    samult_risk,
)
from dsgkit.solvers._validation import (
    check_above_zero,
    check_between,
    check_columns,
    check_count,
    check_training_rows,
)
from dsgkit.solvers.base import encode_labels

BLOCK_ROWS = 8192
"""Rows whose features are held at a time."""


class RFFS2AUC(ClosedFormEstimator):
    """Minimiser of the semi-supervised AUC risk over a fixed set of random features.

    The objective of `SAMULT` and QSG-S2AUC, with the Gaussian kernel replaced by
    ``2 n_features`` random features: O(n n_features^2) time in one pass over the unlabelled rows,
    which are never held in memory together, and O(n_features^2) memory.

    Parameters
    ----------
    lam : float
        Weight of the regulariser ``lam/2 ||w||^2``.
    sigma : float
        Parameter of the kernel ``exp(-sigma ||x - x'||^2)``.
    gamma : float
        Weight of the supervised risk, in 0..1.
    n_features : int
        Random frequencies; each gives a cosine and a sine.
    max_memory : float or None
        Limit in GiB; None is 80% of the memory that is available.
    random_state : int
        Seed of the frequencies.

    Attributes
    ----------
    features_ : FourierFeatures
    coef_ : ndarray of shape (2 * n_features,)

    References
    ----------
    .. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.
    """

    def __init__(
        self,
        lam: float = 1.0,
        sigma: float = 1.0,
        gamma: float = 0.5,
        n_features: int = 1000,
        max_memory: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.gamma = gamma
        self.n_features = n_features
        self.max_memory = max_memory
        self.random_state = random_state

    def fit(self, X: Any, y: Any, X_unlabeled: Any) -> RFFS2AUC:
        """Fit the model.

        Parameters
        ----------
        X : rows of shape (n_labeled, n_inputs)
        y : array-like of shape (n_labeled,)
            Two labels; the larger is positive.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs)

        Raises
        ------
        DataError
            If a parameter is out of range or the arrays do not fit together.
        MemoryLimitError
            If the fit needs more than ``max_memory``; before anything is allocated.
        """
        self._check_params()
        check_training_rows(X, y, X_unlabeled)
        positive = encode_labels(y)
        self._check_memory(self.memory_needed(len(X), len(X_unlabeled), X.shape[1]))
        self.features_ = self._features()
        self.n_inputs_ = X.shape[1]
        moments = self._moments(X, X_unlabeled)
        self.coef_ = solve(moments, positive, self._risk(), self._penalty())
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the values of the fitted function at the rows of ``X``, shape (n,)."""
        check_is_fitted(self, "coef_")
        check_columns(X, self.n_inputs_)
        values = np.empty(len(X))
        for block in row_blocks(len(X), BLOCK_ROWS):
            values[block] = self.features_.transform(X[block], 0).astype(np.float64) @ self.coef_
        return values

    def _fit_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        n_columns = self._matrix_size(n_labeled, n_unlabeled)
        block = 4 * min(n_unlabeled, BLOCK_ROWS) * (n_columns + n_inputs)
        return (8 + 4) * n_columns**2 + max(block, 20 * n_labeled * n_columns)

    def _matrix_size(self, n_labeled: int, n_unlabeled: int) -> int:
        return 2 * self.n_features

    def _building_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        # single precision: half the time of an operation in double precision
        per_row = 2 * self.n_features * (self.n_features + n_inputs / 2 + 10)
        return (n_labeled + n_unlabeled) * per_row

    def _check_params(self) -> None:
        check_above_zero(lam=self.lam, sigma=self.sigma)
        check_between(0, 1, gamma=self.gamma)
        check_count(1, n_features=self.n_features)
        check_count(0, random_state=self.random_state)

    def _features(self) -> FourierFeatures:
        return FourierFeatures("gaussian", self.sigma, self.n_features, self.random_state)

    def _moments(self, X: Any, X_unlabeled: Any) -> FeatureMoments:
        features = self._features()
        return feature_moments(
            lambda rows: features.transform(rows, 0),
            X,
            X_unlabeled,
            2 * self.n_features,
            BLOCK_ROWS,
        )

    def _feature_params(self) -> Hashable:
        return self.sigma, self.n_features, self.random_state

    def _penalty(self) -> float:
        return self.lam / 2

    def _grid_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        fit = self._fit_memory(n_labeled, n_unlabeled, n_inputs)
        return max(fit, eigh_memory(2 * self.n_features) + 32 * n_labeled * self.n_features)

    def _response(self, X: Any, X_unlabeled: Any) -> PrimalResponse:
        return moments_response(self._moments(X, X_unlabeled))

    def _risk(self) -> PairwiseRisk:
        return samult_risk(self.gamma)
