"""Gradient descent over the functions ``k(., c)`` of some centres, or over linear ones (CUU)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import FUNCTION_FLOPS, Cost, interpreted_flops
from dsgkit.engine.curvature import UNLABELED_ROWS, largest_eigenvalue
from dsgkit.engine.problem import Sizes
from dsgkit.kernels import expansion_flops, kernel_named
from dsgkit.linalg import Array, Single, row_blocks, spaced
from dsgkit.system.machine import single_blas_thread

Basis = Callable[[Any], NDArray[np.floating]]
"""Maps rows to the values of p functions, shape (n, p)."""

STEP_MILLISECONDS = 2.0, 0.2  # of an iteration beside its products, and per model
MAX_KEPT_BYTES = 2**30
"""Kernel values that are held: those of all rows, else of a batch, else of a block."""

BLOCK_ENTRIES, PART_ENTRIES, CENTER_ROWS = 2**21, 2**18, 4096
"""Values of a block of rows, those that stay in cache until they are exponentials, and centres
whose kernel values with other rows are held."""

LARGEST_NORM = 2.0**10
"""Exponents from products of float32 err by 2^-24 of half the squared norms: by 2^-14 here."""


def descend(
    loss: Any,
    basis: Basis,
    tables: list[Any],
    batches: Iterable[tuple[Any, ...]],
    W: Array,
    lam: Array,
    eta: Array,
    momentum: float,
    watch: Callable[[int, Array], None],
) -> Array:
    """Return the coefficients of G models, shape (p, G), after all batches.

    Minimises the loss plus ``lam/2 ||w||^2`` with heavy-ball momentum: ``v <- momentum v +
    gradient``, ``w <- w - eta v``, from v = 0. A batch has row numbers for each table; None is all
    rows. ``watch(t, W)`` is called after every step.
    """
    if 4 * sum(map(len, tables)) * len(W) <= MAX_KEPT_BYTES:
        tables, basis = [basis(X[:]) for X in tables], _kept
    velocity = np.zeros_like(W)
    for t, drawn in enumerate(batches, 1):
        rows = [X[:] if at is None else X[at] for X, at in zip(tables, drawn, strict=True)]
        velocity = momentum * velocity + _gradient(loss, basis, rows, W, t) + lam * W
        W = W - eta * velocity
        watch(t, W)
    return W


def _gradient(loss: Any, basis: Basis, rows: list[Any], W: Array, t: int) -> Array:
    """Return the gradient of the loss of a batch.

    Its slopes are known after the values of all rows, so that the basis is held in between, or
    computed twice.
    """
    size = max(map(len, rows)) if basis is _kept else max(1, BLOCK_ENTRIES // len(W))
    parts = [[X[block] for block in row_blocks(len(X), size)] for X in rows]
    if basis is not _kept and 4 * sum(map(len, rows)) * len(W) <= MAX_KEPT_BYTES:
        # by blocks, whose memory is used again: that of larger arrays is new each time
        parts, basis = [[basis(X) for X in blocks] for blocks in parts], _kept
    values = [np.concatenate([_product(basis(X), W) for X in blocks]) for blocks in parts]
    gradient = np.zeros_like(W)
    for blocks, slopes in zip(parts, loss.slopes(values, t), strict=True):
        for number, X in enumerate(blocks):
            gradient += basis(X).T @ slopes[number * size : (number + 1) * size]
    return gradient


def _product(Phi: NDArray[np.floating], W: Array) -> NDArray[np.floating]:
    return Phi @ W.astype(Phi.dtype, copy=False)


def _kept(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return values of the basis functions as they were computed before."""
    return values


def kernel_basis(kernel: str, centers: Array, sigma: float) -> Basis:
    """Return the functions ``k(., c)``, in float32 if their values are bounded.

    Those of a Gaussian kernel come from products of rows, if their norms allow it.
    """
    known = kernel_named(kernel)
    if known.degree is not None:
        return lambda rows: known.gram(rows, centers, sigma)
    origin = np.median(np.asarray(spaced(centers, 1001)), axis=0)
    C, norms = _scaled(centers, origin, sigma)
    right = np.vstack([C.T, norms, np.ones(len(C), np.float32)])
    by_products = kernel == "gaussian" and -norms.min() < LARGEST_NORM

    def values(rows: Any) -> NDArray[np.floating]:
        out = np.empty((len(rows), len(centers)), np.float32)
        for block in row_blocks(len(rows), max(8, PART_ENTRIES // len(centers))):
            if not by_products:
                out[block] = known.gram(rows[block], centers, sigma)
                continue
            A, own = _scaled(rows[block], origin, sigma)
            left = np.column_stack([A, np.ones(len(A), np.float32), own])
            exponents = np.matmul(left, right, out=out[block])
            np.minimum(exponents, 0, out=exponents)
            np.exp(exponents, out=exponents)
        return out

    return values


def _scaled(rows: Any, origin: Array, sigma: float) -> tuple[Single, Single]:
    """Return rows a and ``-||a||^2/2``; the exponents are sums of such and of products of rows."""
    A = ((np.asarray(rows) - origin) * math.sqrt(2 * sigma)).astype(np.float32)
    return A, -np.einsum("ij,ij->i", A, A) / 2


def kernel_curvature(kernel: str, centers: Array, sigma: float, rows: Array) -> float:
    """Return the largest eigenvalue of ``Phi'Phi/n`` of ``k(., c)`` at some rows."""
    K, gram = np.zeros((len(rows), len(rows))), kernel_named(kernel).gram
    with single_blas_thread():  # under numba's threads BLAS's are slow
        for block in row_blocks(len(centers), CENTER_ROWS):
            values = gram(centers[block], rows, sigma)
            K += values.T @ values
        return largest_eigenvalue(K) / len(rows)


def descent_cost(
    p: int, n: Sizes, batch_size: int | None, n_iterations: int, n_models: int, *, linear: bool
) -> Cost:
    """Return the cost of `descend` over p functions; each fold has its own kernel values."""
    rows, most = n.labeled + n.unlabeled, batch_size or max(n.labeled, n.unlabeled)
    drawn = min(most, n.labeled) + min(most, n.unlabeled)
    keeps = not linear and 4 * rows * p <= MAX_KEPT_BYTES
    keeps_batch = keeps or 4 * drawn * p <= MAX_KEPT_BYTES
    values = (rows if keeps else n_iterations * drawn) * min(n_models, 5)
    flops = values * (0.0 if linear else 2.0 * n.inputs + FUNCTION_FLOPS)
    flops += n_iterations * drawn * 6.0 * n_models
    measuring = 8 * UNLABELED_ROWS * (min(CENTER_ROWS, p) + 3 * UNLABELED_ROWS)
    held = 5 * 8 * min(BLOCK_ENTRIES, drawn * p) + 4 * (keeps * rows + keeps_batch * drawn) * p
    memory = max(measuring, held) + p * (30 * n.inputs + 100 * n_models)
    flops = p * flops + interpreted_flops(n_iterations, n_models, *STEP_MILLISECONDS)
    return Cost(flops, memory, 4.0 * p if linear else expansion_flops(p, n.inputs))
