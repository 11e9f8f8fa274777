"""The curvature of quadratic losses, measured on some of the rows, and the balance of classes.

A step of functional gradient descent is bounded by the inverse of the largest eigenvalue of the
loss's second derivative, which on real rows is a fifth to a fortieth of its worst-case bound.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import eigsh

from dsgkit.engine.model import BlockModel
from dsgkit.engine.problem import Problem
from dsgkit.engine.sizes import rows_at_once
from dsgkit.kernels import kernel_named
from dsgkit.linalg import Array, row_blocks, spaced
from dsgkit.random import drawn_rows
from dsgkit.risks.pairwise import source_weights
from dsgkit.system.machine import single_blas_thread
from dsgkit.system.progress import part

SAMPLE_ROWS, MAX_LABELED_ROWS, UNLABELED_ROWS = 1000, 2000, 800
"""Rows of the sample: unlabelled ones, labelled ones (about as many of every class), and unlabelled
ones where only these enter the quadratic term."""

CURVATURE_MARGIN = 1.25
"""Factor on the measured curvature: other rows may have a larger one."""

POWER_STEPS = 30
FEW_ROWS = 32  # up to these, all eigenvalues are computed
MAX_MEAN_ROWS = 2**15  # a mean over as many rows is exact to 1/181 of a standard deviation


def curvatures(problem: Problem, kernel: str, sigma: float) -> Array:
    """Return the largest eigenvalue of ``2 M K`` of every model's form, times a margin.

    ``M K`` is symmetric in the inner product of the kernel, so that Rayleigh quotients of a power
    iteration increase to it. All distinct forms are iterated together, as matrix products.
    """
    data, form, sources = problem.data, problem.loss.form, problem.data.n_sources
    labeled = np.arange(len(data.codes))
    if len(labeled) > MAX_LABELED_ROWS:  # evenly spaced within every class
        classes = [np.flatnonzero(data.codes == c) for c in np.unique(data.codes)]
        most = -(-MAX_LABELED_ROWS // len(classes))
        labeled = np.sort(np.concatenate([spaced(rows, most) for rows in classes]))
    sample = np.asarray(spaced(data.U, SAMPLE_ROWS))
    rows = np.concatenate([np.asarray(data.X[labeled]), sample])
    K = kernel_named(kernel).gram(rows, rows, sigma)
    W = np.zeros((len(problem.pools), len(rows), sources + 1))
    for k, pool in enumerate(problem.pools):
        inside = np.isin(labeled, pool)
        W[k, np.flatnonzero(inside), :-1] = source_weights(data.codes[labeled[inside]], sources)
    W[:, len(labeled) :, -1] = 1 / len(sample)
    keys = [
        (k, form.diagonal[g].tobytes(), form.cross[g].tobytes()) for g, k in enumerate(problem.pool)
    ]
    distinct = {key: g for g, key in reversed(list(enumerate(keys)))}
    models = sorted(distinct.values())
    terms = [(W[problem.pool[g]], form.cross[g]) for g in models]
    diagonals = [W[problem.pool[g]] @ form.diagonal[g] for g in models]
    start = np.sin(np.arange(len(rows)))  # an arbitrary direction
    V = np.column_stack([d * start for d in diagonals])
    for _ in range(POWER_STEPS):
        Z = K @ V
        images = zip(diagonals, terms, Z.T, strict=True)
        image = np.column_stack([d * z + w @ (S @ (w.T @ z)) for d, (w, S), z in images])
        squares = (V * Z).sum(axis=0)  # 0 where the kernel is, too
        quotients = (image * Z).sum(axis=0) / np.where(squares > 0, squares, 1)
        norms = np.linalg.norm(image, axis=0)  # 0 where all rows are equal
        V = np.where(norms > 0, image, V) / np.where(norms > 0, norms, 1)
    largest = dict(zip(models, 2 * CURVATURE_MARGIN * quotients, strict=True))
    return np.array([largest[distinct[key]] for key in keys])


def unlabeled_curvatures(problem: Problem, kernel: str, sigma: float) -> Array:
    """Return the same, without a margin, of forms with squares of unlabelled values only."""
    U, largest = problem.data.U, []
    with single_blas_thread():  # under numba's threads BLAS's are slow
        for pool in problem.pools_u or [np.arange(len(U))] * len(problem.pools):
            sample = np.asarray(U[spaced(pool, UNLABELED_ROWS)])
            K = kernel_named(kernel).gram(sample, sample, sigma)
            largest.append(largest_eigenvalue(K) / len(K))
    return 2 * problem.loss.form.diagonal[:, -1] * np.array(largest)[problem.pool]


def balanced(model: BlockModel, U: Any, means: Array) -> BlockModel:
    """Return functions with offsets that give them these mean values at unlabelled rows.

    The mean is over at most `MAX_MEAN_ROWS`, the beginning of the first pass of the engine's draws.
    Where ``means`` is NaN the offset stays 0.
    """
    if np.isnan(means).all():
        return model
    n, G = len(U), model.coef.shape[2]
    rows = np.arange(n)
    if n > MAX_MEAN_ROWS:
        rows = drawn_rows(model.blocks.seed, MAX_MEAN_ROWS, n, source=2)
    total = np.zeros(G)
    for block in row_blocks(len(rows), rows_at_once(U.shape[1], G)):
        with part(block.start / len(rows), block.stop / len(rows)):
            read = model.blocks.read(U, rows[block])
            total += model.values(read).sum(axis=0, dtype=np.float64)
    with np.errstate(all="ignore"):  # models may have diverged
        offset = np.where(np.isnan(means), 0, means - total / len(rows)).astype(np.float32)
    return replace(model, offset=offset)


def largest_eigenvalue(K: Array) -> float:
    """Return the largest eigenvalue of a symmetric matrix by Lanczos' method."""
    if len(K) <= FEW_ROWS:
        return float(linalg.eigvalsh(K)[-1])
    if not K.any():
        return 0.0
    start = np.cos(np.arange(len(K)))  # fixed, so that results are reproducible bit by bit
    return float(eigsh(K, k=1, which="LA", v0=start, tol=1e-7, return_eigenvectors=False)[0])
