"""Minimisers of semi-supervised pairwise risks over fixed random Fourier features."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.features import FeatureBlocks, random_features
from dsgkit.kernels.gaussian import row_blocks
from dsgkit.linear_systems import eigh_memory
from dsgkit.solvers.auc.closed_form import ClosedFormEstimator
from dsgkit.solvers.auc.explicit_features import (
    FeatureMoments,
    feature_moments,
    moments_response,
    moments_response_at,
    solve,
)
from dsgkit.solvers.auc.pairwise_quadratic import Codes, PrimalResponse
from dsgkit.solvers.common import FixedFeatures, RandomState
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.inputs import check_projections

BLOCK_ROWS = 8192
"""Rows whose features are held at a time."""


class RandomFeaturesEstimator(ClosedFormEstimator):
    """Base of the minimisers of a risk plus ``lam/2 ||w||^2`` over fixed random features.

    The kernel is replaced by ``2 n_features`` random features, a dot product by ``n_features``:
    O(n n_features^2) time in one pass over the unlabelled rows, which are never held in memory
    together, and O(n_features^2) memory.
    """

    n_features: FixedFeatures
    random_state: RandomState

    features_: FeatureBlocks = fitted("The random features.")

    # single precision sums moments of features to some 2^-24, which are eigenvalues below 0 too
    _smallest_penalty: ClassVar[float] = 2.0**-22

    coef_: NDArray[np.float64] = fitted("Their coefficients.", "(features_.width,)")

    def _solve(self, X: Any, codes: Codes, X_unlabeled: Any) -> None:
        moments = self._moments(X, X_unlabeled)
        risk = self._risk(self._counts(codes))
        self.coef_ = solve(moments, codes, risk, self._penalty())
        self.features_ = self._features()

    def _values(self, X: Any) -> NDArray[np.float64]:
        self._check_projections(X)
        values = np.empty(len(X))
        for block in row_blocks(len(X), BLOCK_ROWS):
            features = self.features_.transform(X[block], 0)
            values[block] = features.astype(np.float64) @ self.coef_
        return values

    def _squared_norm(self) -> float:
        return float(self.coef_ @ self.coef_)

    def _fit_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        n_columns = self._matrix_size(n_labeled, n_unlabeled)
        block = 4 * min(n_unlabeled, BLOCK_ROWS) * (n_columns + n_inputs)
        return (8 + 4) * n_columns**2 + max(block, 20 * n_labeled * n_columns)

    def _matrix_size(self, n_labeled: int, n_unlabeled: int) -> int:
        return self._features().width

    def _building_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        # the features and their products are single precision: half an operation in double
        features = self._features()
        per_row = features.width**2 / 2 + features.row_flops(n_inputs) / 2
        return (n_labeled + n_unlabeled) * per_row

    def _row_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        features = self._features()
        return features.row_flops(n_inputs) + 4.0 * features.width

    def _features(self) -> FeatureBlocks:
        return random_features(
            self.kernel, float(self._sigma), int(self.n_features), int(self.random_state)
        )

    def _moments(self, X: Any, X_unlabeled: Any) -> FeatureMoments:
        features = self._features()
        self._check_projections(X, X_unlabeled)
        return feature_moments(
            lambda rows: features.transform(rows, 0),
            X,
            X_unlabeled,
            features.width,
            BLOCK_ROWS,
        )

    def _check_projections(self, *tables: Any) -> None:
        for rows in tables:
            check_projections(rows, self._sigma, self.kernel)

    def _feature_params(self) -> Hashable:
        return self.kernel, self._sigma, self.n_features, self.random_state

    def _penalty(self) -> float:
        return self.lam / 2

    def _grid_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        fit = self._fit_memory(n_labeled, n_unlabeled, n_inputs)
        n_columns = self._matrix_size(n_labeled, n_unlabeled)
        return max(fit, eigh_memory(n_columns) + 16 * n_labeled * n_columns)

    def _response(self, X: Any, X_unlabeled: Any) -> PrimalResponse:
        return moments_response(self._moments(X, X_unlabeled))

    def _response_at(self, X: Any, X_unlabeled: Any, weight: float) -> NDArray[np.float64]:
        return moments_response_at(self._moments(X, X_unlabeled), self._penalty(), weight)
