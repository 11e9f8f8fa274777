"""The curvature of a quadratic risk, measured on some of the rows.

The step of functional gradient descent is bounded by the inverse of the largest eigenvalue of the
risk's second derivative, which on real rows is a fifth to a fortieth of its worst-case bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import eigsh

from dsgkit.kernels import kernel_named
from dsgkit.linalg import Array, spaced
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.system.machine import single_blas_thread
from dsgkit.trainers.responses import label_weights
from dsgkit.trainers.training import Training

SAMPLE_ROWS = 1000
"""Size of the sample of unlabelled rows."""

MAX_LABELED_ROWS = 2000
"""Labelled rows that are used at most, about as many of every class."""

CURVATURE_MARGIN = 1.25
"""Factor on the measured curvature: other rows may have a larger one."""

_POWER_STEPS = 30
"""Steps of the power iteration; its error is then far below the margin."""

UNLABELED_ROWS = 800
"""Size of the sample where only unlabelled rows enter the quadratic term."""

FEW_ROWS = 32
"""Up to this many rows, all eigenvalues are computed."""


def measured_curvatures(
    X: Any,
    codes: NDArray[np.integer],
    X_unlabeled: Any,
    sigma: float,
    pools: Sequence[NDArray[np.integer]],
    risks: Sequence[Sequence[PairwiseRisk]],
    kernel: str = "gaussian",
) -> list[list[float]]:
    """Return the largest eigenvalues of ``2 M K`` of risks times a margin, by power iteration.

    ``M K`` is symmetric in the inner product of the kernel, so that its Rayleigh quotients increase
    to the largest eigenvalue. All risks are iterated together, as matrix products.

    Parameters
    ----------
    X : rows of shape (n_labeled, n_inputs)
        About `MAX_LABELED_ROWS` of them are read at most, evenly spaced within every class.
    codes : ndarray of int, shape (n_labeled,)
        Their classes; see `label_weights`.
    X_unlabeled : rows
        At most `SAMPLE_ROWS` of them are read, evenly spaced.
    sigma : float
        Parameter of the kernel.
    pools : sequence of int arrays
        Training rows among the labelled ones, fold by fold.
    risks : sequence over pools of sequences of PairwiseRisk
    kernel : str

    Returns
    -------
    list over pools of lists of float
    """
    sample = np.asarray(spaced(X_unlabeled, SAMPLE_ROWS))
    labeled = _labeled_sample(codes)
    rows = np.concatenate([np.asarray(X[labeled]), sample])
    K = kernel_named(kernel).gram(rows, rows, sigma)
    forms = [
        _Form(_weights(codes[labeled], np.isin(labeled, pool), len(rows), risk.n_classes), risk)
        for pool, pool_risks in zip(pools, risks, strict=True)
        for risk in pool_risks
    ]
    start = np.sin(np.arange(len(rows)))  # an arbitrary direction
    V = np.column_stack([form.diagonal * start for form in forms])
    for _ in range(_POWER_STEPS):
        Z = K @ V
        image = np.column_stack([form.of(z) for form, z in zip(forms, Z.T, strict=True)])
        squares = (V * Z).sum(axis=0)  # 0 where the kernel is, too
        quotients = (image * Z).sum(axis=0) / np.where(squares > 0, squares, 1)
        norms = np.linalg.norm(image, axis=0)  # 0 where all rows are equal
        V = np.where(norms > 0, image, V) / np.where(norms > 0, norms, 1)
    largest = iter((2 * CURVATURE_MARGIN * quotients).tolist())
    return [[next(largest) for _ in pool_risks] for pool_risks in risks]


def offsets(training: Training, kernel: str, sigma: float) -> Array:
    """Return ``t0`` of decreasing steps as a number, for every model, pool by pool.

    ``t0="stable"`` makes the first step the inverse of the measured curvature.
    """
    t = training
    if all(step.t0 != "stable" for step in t.steps):
        return np.tile([float(step.t0) for step in t.steps], len(t.pools))
    forms = {tuple(risks): by_pool for risks, by_pool in zip(t.risks, t.forms, strict=True)}
    distinct = list(forms)
    measured = measured_curvatures(
        t.X,
        t.codes,
        t.X_unlabeled,
        sigma,
        t.pools,
        [[by_pool[pool] for by_pool in forms.values()] for pool in range(len(t.pools))],
        kernel,
    )
    return np.array(
        [
            step.theta_lam / (2 * penalty) * curvatures[distinct.index(tuple(risks))]
            if step.t0 == "stable"
            else float(step.t0)
            for curvatures in measured
            for step, penalty, risks in zip(t.steps, t.penalties, t.risks, strict=True)
        ]
    )


def largest_eigenvalue(X_unlabeled: Any, sigma: float, kernel: str) -> float:
    """Return the largest eigenvalue of the kernel matrix of unlabelled rows over their number.

    Parameters
    ----------
    X_unlabeled : rows
        At most `UNLABELED_ROWS` of them are read, evenly spaced.
    sigma : float
        Parameter of the kernel.
    kernel : str
    """
    sample = np.asarray(spaced(X_unlabeled, UNLABELED_ROWS))
    with single_blas_thread():  # under numba's threads BLAS's are slow
        K = kernel_named(kernel).gram(sample, sample, sigma)
        return largest_of(K) / len(K)


def largest_of(K: Array) -> float:
    """Return the largest eigenvalue of a symmetric matrix by Lanczos' method."""
    if len(K) <= FEW_ROWS:
        return float(linalg.eigvalsh(K)[-1])
    if not K.any():
        return 0.0
    start = np.cos(np.arange(len(K)))  # fixed, so that results are reproducible bit by bit
    return float(eigsh(K, k=1, which="LA", v0=start, tol=1e-7, return_eigenvectors=False)[0])


def _labeled_sample(codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return positions of a sample of labelled rows, which bounds the kernel matrix."""
    if len(codes) <= MAX_LABELED_ROWS:
        return np.arange(len(codes))
    present = np.unique(codes)
    most = -(-MAX_LABELED_ROWS // len(present))
    return np.sort(np.concatenate([spaced(np.flatnonzero(codes == c), most) for c in present]))


def _weights(
    codes: NDArray[np.integer], pool: NDArray[np.bool_], n_rows: int, n_classes: int
) -> Array:
    """Return W of a pool over the rows of the sample, the labelled ones first."""
    W = np.zeros((n_rows, n_classes + 1))
    W[np.flatnonzero(pool), :-1] = label_weights(codes[pool], n_classes)
    W[len(codes) :, -1] = 1 / (n_rows - len(codes))
    return W


class _Form:
    """The M of a risk."""

    def __init__(self, W: Array, risk: PairwiseRisk) -> None:
        self.diagonal = W @ risk.diagonal
        self._W, self._cross = W, risk.cross

    def of(self, z: Array) -> Array:
        """Return ``M z``."""
        image: Array = self.diagonal * z + self._W @ (self._cross @ (self._W.T @ z))
        return image
