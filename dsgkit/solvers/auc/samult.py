"""SAMULT: semi-supervised AUC maximisation without the class prior, in closed form."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dsgkit.costs import FUNCTION_FLOPS
from dsgkit.kernels.gaussian import expansion_memory, gaussian_expansion, gaussian_gram
from dsgkit.solvers.auc.closed_form import ClosedFormEstimator
from dsgkit.solvers.auc.pairwise_quadratic import (
    DualResponse,
    PairwiseRisk,
    cholesky,
    eigh_memory,
    label_weights,
    samult_risk,
)
from dsgkit.solvers.parameters import PER_MODEL, SHARE

Array = NDArray[np.float64]


class SAMULT(ClosedFormEstimator):
    """Exact minimiser of the semi-supervised AUC risk with a Gaussian kernel.

    Minimises ``gamma R_PN(f) + (1 - gamma)(R_PU(f) + R_NU(f)) + lam/2 ||f||^2`` over the functions
    of the kernel ``exp(-sigma ||x - x'||^2)``, where R_AB is the mean of ``(1 - f(a) + f(b))^2``
    over all pairs. This is the problem that QSG-S2AUC approximates. One Cholesky factorisation:
    O(n^3) time and 8 n^2 bytes for n labelled and unlabelled rows.

    Parameters
    ----------
    lam : float
        Weight of the regulariser.
    sigma : float
        Parameter of the kernel. Its default suits features scaled to [0, 1].
    gamma : float
        Weight of the supervised risk, in 0..1; with 1 the unlabelled rows are not used.
    max_memory : float or None
        Limit in GiB; None is 80% of the memory that is available.
    unlabeled_label : int, float or str
        What ``y`` says of unlabelled rows where they come with the labelled ones.

    Attributes
    ----------
    centers_ : ndarray of shape (n, n_inputs)
        The rows that the function is expanded on.
    coef_ : ndarray of shape (n,)
        Its coefficients.

    References
    ----------
    .. [1] Xie & Li, "Semi-supervised AUC optimization without guessing labels of unlabeled data",
       AAAI 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import SAMULT
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> model = SAMULT().fit(X[:60], y[:60], X[60:])
    >>> model.score(X[60:], y[60:]) > 0.98
    True
    """

    version: ClassVar[int] = 1

    gamma: Annotated[float, SHARE, PER_MODEL]

    def __init__(
        self,
        lam: float = 0.125,
        sigma: float = 0.3,
        gamma: float = 0.5,
        *,
        max_memory: float | None = None,
        unlabeled_label: int | float | str = -1,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.gamma = gamma
        self.max_memory = max_memory
        self.unlabeled_label = unlabeled_label

    def _solve(self, X: Any, positive: NDArray[np.bool_], X_unlabeled: Any) -> None:
        parts, weights = [X[:]], label_weights(positive)
        if self.gamma < 1:
            parts.append(X_unlabeled[:])
        centers = np.concatenate(parts).astype(np.float64, copy=False)
        n_used = len(centers) - len(X)
        W = linalg.block_diag(weights, np.full((n_used, 1), 1 / max(n_used, 1)))
        gram = gaussian_gram(centers, centers, self.sigma)
        self.coef_ = _minimise(gram, W, self._risk(), self.lam)
        self.centers_ = centers

    def _values(self, X: Any) -> Array:
        return gaussian_expansion(X, self.centers_, self.coef_, self.sigma)

    def _fit_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        n = self._matrix_size(n_labeled, n_unlabeled)
        return max(8 * n * (n + 4 * n_inputs + 30), expansion_memory(n, n_inputs))

    def _matrix_size(self, n_labeled: int, n_unlabeled: int) -> int:
        return n_labeled + (n_unlabeled if self.gamma < 1 else 0)

    def _building_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        return self._matrix_size(n_labeled, n_unlabeled) ** 2 * (n_inputs + FUNCTION_FLOPS / 2)

    def _feature_params(self) -> Hashable:
        return self.sigma

    def _penalty(self) -> float:
        return self.lam / 2

    def _grid_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        return eigh_memory(n_unlabeled) + 8 * n_unlabeled * 4 * (n_labeled + n_inputs)

    def _response(self, X: Any, X_unlabeled: Any) -> DualResponse:
        X, X_unlabeled = X[:], X_unlabeled[:]
        between = gaussian_gram(X, X_unlabeled, self.sigma)
        within = gaussian_gram(X_unlabeled, X_unlabeled, self.sigma)
        cross = np.vstack([between, within.mean(axis=0)])
        mean = cross.mean(axis=1)
        gram = np.block([[gaussian_gram(X, X, self.sigma), mean[:-1, None]], [mean]])
        return DualResponse(gram, cross, within)

    def _risk(self) -> PairwiseRisk:
        return samult_risk(self.gamma)


def _minimise(gram: Array, W: Array, risk: PairwiseRisk, lam: float) -> Array:
    """Solve ``(lam I + 2 M K) a = 2 v``; destroys the kernel matrix.

    ``A = lam I + 2 diag(D) K`` is similar to a symmetric matrix, which is factorised; the rest of M
    has rank 3 and enters through ``s = W'K a``.
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
    s = np.linalg.solve(np.eye(3) + B @ risk.cross, B @ risk.linear)
    return Y @ (risk.linear - risk.cross @ s)
