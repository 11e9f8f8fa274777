"""Exact minimisers of semi-supervised pairwise risks over the functions of a kernel."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dsgkit.costs import FUNCTION_FLOPS
from dsgkit.kernels import kernel_named
from dsgkit.linear_systems import eigh_memory
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.solvers.auc.closed_form import ClosedFormEstimator
from dsgkit.solvers.auc.pairwise_quadratic import (
    Codes,
    DualResponse,
    cholesky,
    dual_response,
    label_weights,
)
from dsgkit.solvers.common import GramKernelName
from dsgkit.solvers.declared import fitted

Array = NDArray[np.float64]


class ExactKernelEstimator(ClosedFormEstimator):
    """Base of the exact minimisers of a risk plus ``lam/2 ||f||^2`` with a kernel.

    One Cholesky factorisation: O(n^3) time and 8 n^2 bytes for n labelled and unlabelled rows. The
    unlabelled rows are used if their weight in the risk, which ``gamma`` says, is not 0.
    """

    kernel: GramKernelName

    centers_: Array = fitted("The rows that the function is expanded on.", "(n, n_inputs)")
    coef_: NDArray[np.float64] = fitted("Its coefficients.", "(n,)")

    def _solve(self, X: Any, codes: Codes, X_unlabeled: Any) -> None:
        risk = self._risk(self._counts(codes))
        parts, weights = [X[:]], label_weights(codes, risk.n_classes)
        if risk.diagonal[-1] > 0:  # 0 also where the only cuts with a weight for them were dropped
            parts.append(X_unlabeled[:])
        centers = np.concatenate(parts).astype(np.float64, copy=False)
        n_used = len(centers) - len(X)
        W = linalg.block_diag(weights, np.full((n_used, 1), 1 / max(n_used, 1)))
        gram = kernel_named(self.kernel).gram(centers, centers, self._sigma)
        self.coef_ = _minimise(gram, W, risk, self.lam)
        self.centers_ = centers

    @property
    def _semi_supervised(self) -> bool:
        """Whether the unlabelled rows have a weight."""
        return bool(np.min(self.gamma) < 1)

    def _values(self, X: Any) -> Array:
        kernel = kernel_named(self.kernel)
        return kernel.expansion(X, self.centers_, self.coef_, self._sigma)

    def _squared_norm(self) -> float:
        return float(self.coef_ @ self._values(self.centers_))

    def _fit_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        n = self._matrix_size(n_labeled, n_unlabeled)
        return max(8 * n * (n + 4 * n_inputs + 30), kernel_named(self.kernel).memory(n, n_inputs))

    def _matrix_size(self, n_labeled: int, n_unlabeled: int) -> int:
        return n_labeled + (n_unlabeled if self._semi_supervised else 0)

    def _building_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        return self._matrix_size(n_labeled, n_unlabeled) ** 2 * (n_inputs + FUNCTION_FLOPS / 2)

    def _feature_params(self) -> Hashable:
        return self.kernel, self._sigma

    def _penalty(self) -> float:
        return self.lam / 2

    def _grid_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        return eigh_memory(n_unlabeled) + 8 * n_unlabeled * 4 * (n_labeled + n_inputs)

    def _response(self, X: Any, X_unlabeled: Any) -> DualResponse:
        return DualResponse(*self._grams(X, X_unlabeled))

    def _response_at(self, X: Any, X_unlabeled: Any, weight: float) -> Array:
        return dual_response(*self._grams(X, X_unlabeled), self._penalty(), weight)

    def _grams(self, X: Any, X_unlabeled: Any) -> tuple[Array, Array, Array]:
        """Return the matrices that `DualResponse` takes."""
        X, X_unlabeled, gram_of = X[:], X_unlabeled[:], kernel_named(self.kernel).gram
        between = gram_of(X, X_unlabeled, self._sigma)
        within = gram_of(X_unlabeled, X_unlabeled, self._sigma)
        cross = np.vstack([between, within.mean(axis=0)])
        mean = cross.mean(axis=1)
        gram = np.block([[gram_of(X, X, self._sigma), mean[:-1, None]], [mean]])
        return gram, cross, within


def _minimise(gram: Array, W: Array, risk: PairwiseRisk, lam: float) -> Array:
    """Solve ``(lam I + 2 M K) a = 2 v``; destroys the kernel matrix.

    ``A = lam I + 2 diag(D) K`` is similar to a symmetric matrix, which is factorised; the rest of M
    has the rank of W and enters through ``s = W'K a``.
    """
    D = W @ risk.diagonal
    root = np.sqrt(2 * D)
    gram *= root[:, None]
    gram *= root
    np.einsum("ii->i", gram)[:] += lam
    # LAPACK works in place on Fortran order, which the transpose of a symmetric matrix has
    factor = cholesky(gram.T, risk)
    Y = root[:, None] * linalg.cho_solve(factor, 2 * W / root[:, None], check_finite=False)
    KY = (2 * W - lam * Y) / (2 * D[:, None])  # as A Y = 2 W, no kernel value is needed again
    B = W.T @ KY
    s = np.linalg.solve(np.eye(W.shape[1]) + B @ risk.cross, B @ risk.linear)
    return Y @ (risk.linear - risk.cross @ s)
