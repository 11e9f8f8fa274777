"""Nyström-S2AUC: the semi-supervised AUC risk over functions on landmarks, in closed form."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Doc

from dsgkit.costs import FUNCTION_FLOPS
from dsgkit.kernels import kernel_named
from dsgkit.kernels.gaussian import row_blocks
from dsgkit.kernels.nystrom import NystromFeatures, nystrom_memory
from dsgkit.linear_systems import EIGH_FLOPS, eigh_memory
from dsgkit.objectives.pairwise_risk import PairwiseRisk, samult_risk
from dsgkit.random.draws import draw_in_passes
from dsgkit.random.seeds import derive_seed
from dsgkit.solvers.auc.closed_form import ClosedFormRanker
from dsgkit.solvers.auc.explicit_features import (
    FeatureMoments,
    moments_response,
    moments_response_at,
    solve,
)
from dsgkit.solvers.auc.pairwise_quadratic import Codes, PrimalResponse
from dsgkit.solvers.common import (
    Gamma,
    KernelName,
    Lam,
    MaxMemory,
    RandomState,
    Sigma,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.parameters import NOT_NEGATIVE

Array = NDArray[np.float64]

BLOCK_ROWS = 512
"""Unlabelled rows whose features are held at a time."""


class NystromS2AUC(ClosedFormRanker):
    """Minimiser of the semi-supervised AUC risk over the functions on some of the rows.

    The objective of `SAMULT` and QSG-S2AUC, over ``f(x) = sum_j a_j k(z_j, x)`` with the norm of
    the kernel. The landmarks z are all labelled and some random unlabelled rows; with every row as
    a landmark it is SAMULT. For D landmarks: O(n D^2 + D^3) time in one pass over the unlabelled
    rows, which are never held in memory together, and O(D^2) memory.

    See Also
    --------
    SAMULT : The same objective with every row as a landmark.
    RFFS2AUC : The same objective on random features.

    Notes
    -----
    Directions whose eigenvalue of the landmarks' Gram matrix is below `nystrom.CUTOFF` times the
    largest are left out. In a cross-validation by `fit_points` the held-out rows remain landmarks:
    a landmark has no label, and all folds then share their features.

    References
    ----------
    .. [1] Williams & Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import NystromS2AUC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> model = NystromS2AUC(n_landmarks=100).fit(X[:60], y[:60], X[60:])
    >>> model.score(X[60:], y[60:]) > 0.97
    True
    """

    version: ClassVar[int] = 1

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    n_landmarks: Annotated[
        int, NOT_NEGATIVE, Doc("Unlabelled rows among the landmarks; of fewer, all.")
    ] = 1000
    max_memory: MaxMemory = None
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted("The landmarks, labelled rows first.", "(n_centers, n_inputs)")
    coef_: NDArray[np.float64] = fitted("The a of the function.", "(n_centers,)")

    def _solve(self, X: Any, codes: Codes, X_unlabeled: Any) -> None:
        features = self._features(X, X_unlabeled)
        moments = _moments(features, X, X_unlabeled)
        risk = self._risk(self._counts(codes))
        self.coef_ = features.expansion(solve(moments, codes, risk, self._penalty()))
        self.centers_ = features.landmarks

    def _values(self, X: Any) -> Array:
        return kernel_named(self.kernel).expansion(X, self.centers_, self.coef_, self._sigma)

    def _squared_norm(self) -> float:
        return float(self.coef_ @ self._values(self.centers_))

    def _risk(self, counts: NDArray[np.int64]) -> PairwiseRisk:
        return samult_risk(self.gamma)

    def _features(self, X: Any, X_unlabeled: Any) -> NystromFeatures:
        n_drawn = min(int(self.n_landmarks), len(X_unlabeled))
        seed = derive_seed(int(self.random_state), "landmarks")
        drawn = np.sort(draw_in_passes(seed, 0, 0, 1, n_drawn, len(X_unlabeled))[0])
        landmarks = np.concatenate([X[:], X_unlabeled[drawn]]).astype(np.float64, copy=False)
        return NystromFeatures(kernel_named(self.kernel), landmarks, self._sigma)

    def _feature_params(self) -> Hashable:
        return self.kernel, self._sigma, self.n_landmarks, self.random_state

    def _penalty(self) -> float:
        return self.lam / 2

    def _response(self, X: Any, X_unlabeled: Any) -> PrimalResponse:
        return moments_response(_moments(self._features(X, X_unlabeled), X, X_unlabeled))

    def _response_at(self, X: Any, X_unlabeled: Any, weight: float) -> Array:
        moments = _moments(self._features(X, X_unlabeled), X, X_unlabeled)
        return moments_response_at(moments, self._penalty(), weight)

    def _matrix_size(self, n_labeled: int, n_unlabeled: int) -> int:
        return n_labeled + min(int(self.n_landmarks), n_unlabeled)

    def _fit_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        n = self._matrix_size(n_labeled, n_unlabeled)
        rows_held = max(n_labeled, min(n_unlabeled, BLOCK_ROWS))
        moments = 8 * n * (3 * n + 2 * rows_held + n_labeled + 3 * n_inputs)
        predicting = kernel_named(self.kernel).memory(n, n_inputs)
        return max(nystrom_memory(n, n_inputs), moments, predicting)

    def _grid_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        n = self._matrix_size(n_labeled, n_unlabeled)
        response = eigh_memory(n) + 8 * n * (2 * n_labeled + n_inputs)
        return max(self._fit_memory(n_labeled, n_unlabeled, n_inputs), response)

    def _building_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        # of a row: its kernel values, their products, and those with the leading directions
        n = self._matrix_size(n_labeled, n_unlabeled)
        per_landmark = 1.5 * n + 2 * n_inputs + FUNCTION_FLOPS
        return (n_labeled + n_unlabeled) * n * per_landmark + EIGH_FLOPS * n**3


def _moments(features: NystromFeatures, X: Any, X_unlabeled: Any) -> FeatureMoments:
    n = len(X_unlabeled)
    gram, total = features.moments(X_unlabeled[block] for block in row_blocks(n, BLOCK_ROWS))
    return FeatureMoments(features.transform(X[:]), gram, total / n, n)
