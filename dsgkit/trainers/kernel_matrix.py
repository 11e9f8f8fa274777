"""Exact minimisers over all functions of a kernel, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg

from dsgkit.costs import FUNCTION_FLOPS
from dsgkit.kernels import kernel_named
from dsgkit.linalg import Array, eigh_memory
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.trainers.closed_form import ClosedForm, Expansion
from dsgkit.trainers.responses import DualResponse, cholesky, dual_response, label_weights
from dsgkit.trainers.training import Training


@dataclass(frozen=True)
class KernelMatrix(ClosedForm):
    """The minimiser over all functions of a kernel, from its matrix on all rows.

    One Cholesky factorisation: O(n^3) time and 8 n^2 bytes for n labelled and unlabelled rows.

    Attributes
    ----------
    all_rows : bool
        Whether unlabelled rows have a weight in the risk, and so a coefficient in the expansion.
    """

    kernel: str
    sigma: float
    all_rows: bool = field(default=True, compare=False)  # both share the grid's factorisation

    def solve(self, training: Training, risk: PairwiseRisk, penalty: float) -> Expansion:
        """Return the minimiser of one risk on all rows."""
        t = training
        parts, weights = [t.X[:]], label_weights(t.codes, risk.n_classes)
        if risk.diagonal[-1] > 0:  # also 0 if all cuts that weight them were dropped
            parts.append(t.X_unlabeled[:])
        centers = np.concatenate(parts).astype(np.float64, copy=False)
        n_used = len(centers) - len(t.X)
        W = linalg.block_diag(weights, np.full((n_used, 1), 1 / max(n_used, 1)))
        gram = kernel_named(self.kernel).gram(centers, centers, self.sigma)
        return Expansion(self.kernel, self.sigma, centers, _minimise(gram, W, risk, 2 * penalty))

    def response(self, X: Any, X_unlabeled: Any) -> DualResponse:
        """Return the response of the kernel at these rows."""
        return DualResponse(*self._grams(X, X_unlabeled))

    @property
    def all_folds(self) -> bool:
        """Whether unlabelled rows have a weight; without it, every fold is a small system."""
        return self.all_rows

    def response_at(self, X: Any, X_unlabeled: Any, penalty: float, weight: float) -> Array:
        """Return the response at one penalty and weight."""
        return dual_response(*self._grams(X, X_unlabeled), penalty, weight)

    def size(self, n_labeled: int, n_unlabeled: int) -> int:
        """Return the number of rows that have a weight."""
        return n_labeled + (n_unlabeled if self.all_rows else 0)

    def fit_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        """Return the bytes that a fit, or evaluating it, allocates."""
        n = self.size(n_labeled, n_unlabeled)
        return max(8 * n * (n + 4 * n_inputs + 30), kernel_named(self.kernel).memory(n, n_inputs))

    def grid_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        """Return the bytes that `response` allocates."""
        return eigh_memory(n_unlabeled) + 8 * n_unlabeled * 4 * (n_labeled + n_inputs)

    def building_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        """Return the approximate number of operations that build the matrix."""
        return self.size(n_labeled, n_unlabeled) ** 2 * (n_inputs + FUNCTION_FLOPS / 2)

    def _grams(self, X: Any, X_unlabeled: Any) -> tuple[Array, Array, Array]:
        """Return the matrices that `DualResponse` takes."""
        X, X_unlabeled, gram_of = X[:], X_unlabeled[:], kernel_named(self.kernel).gram
        between = gram_of(X, X_unlabeled, self.sigma)
        within = gram_of(X_unlabeled, X_unlabeled, self.sigma)
        cross = np.vstack([between, within.mean(axis=0)])
        mean = cross.mean(axis=1)
        gram = np.block([[gram_of(X, X, self.sigma), mean[:-1, None]], [mean]])
        return gram, cross, within


def _minimise(gram: Array, W: Array, risk: PairwiseRisk, lam: float) -> Array:
    """Solve ``(lam I + 2 M K) a = 2 v``; overwrites the kernel matrix.

    ``A = lam I + 2 diag(D) K`` is similar to a symmetric matrix, which is factorised; the rest of M
    has the rank of W and enters through ``s = W'K a``. Rows with D = 0 are solved first.
    """
    D = W @ risk.diagonal
    linear = D == 0
    root = np.sqrt(2 * D)
    solved = 2 * W[linear] / lam
    kept = gram[linear]  # a copy
    gram *= root[:, None]
    gram *= root
    np.einsum("ii->i", gram)[:] += lam
    # LAPACK works in place on Fortran order, which the transpose of a symmetric matrix has
    factor = cholesky(gram.T, risk)
    if not linear.any():
        Y = root[:, None] * linalg.cho_solve(factor, 2 * W / root[:, None], check_finite=False)
        KY = (2 * W - lam * Y) / (2 * D[:, None])  # from A Y = 2 W, without kernel values
    else:
        known = root[:, None] * (kept.T @ solved)
        right = np.divide(2 * W, root[:, None], out=np.zeros_like(W), where=D[:, None] > 0) - known
        Y = root[:, None] * linalg.cho_solve(factor, right, check_finite=False)
        Y[linear] = solved
        KY = np.divide(2 * W - lam * Y, 2 * D[:, None], out=np.zeros_like(W), where=D[:, None] > 0)
        KY[linear] = kept @ Y
    B = W.T @ KY
    s = np.linalg.solve(np.eye(W.shape[1]) + B @ risk.cross, B @ risk.linear)
    return Y @ (risk.linear - risk.cross @ s)
