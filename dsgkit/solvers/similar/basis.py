"""Functions that are linear in given basis functions, and descent on their corrected risk."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dsgkit.kernels import kernel_named
from dsgkit.kernels.panels import Correlate, Panels, in_single
from dsgkit.numerics.rows import row_blocks
from dsgkit.objectives.similar_unlabeled import LOSSES, corrected_slope, parts
from dsgkit.solvers.similar.curvature import largest_of
from dsgkit.solvers.similar.explicit_features import with_one
from dsgkit.solvers.similar.quadratic import moments
from dsgkit.system.threads import single_blas_thread

Array = NDArray[np.float64]
Single = NDArray[np.float32]

BLOCK_ENTRIES = 2**21
"""Values of basis functions that `Dense` holds at a time."""


class Basis(Protocol):
    """Basis functions phi, evaluated at rows block by block."""

    def blocks(self, rows: Any, W: Array) -> Iterator[tuple[Array, Correlate]]:
        """Yield ``Phi W`` at blocks of rows, and what takes C to ``Phi' C`` there.

        Parameters
        ----------
        rows : rows of shape (n, n_inputs)
        W : ndarray of shape (n_functions, G)
        """
        ...


class Dense:
    """The basis functions of a map from rows to features in double precision.

    Parameters
    ----------
    features : callable
    """

    def __init__(self, features: Callable[[Any], Array]) -> None:
        self._features = features

    def blocks(self, rows: Any, W: Array) -> Iterator[tuple[Array, Correlate]]:
        """Yield as `Basis.blocks` does."""
        for block in row_blocks(len(rows), max(1, BLOCK_ENTRIES // len(W))):
            Phi = self._features(rows[block])
            yield Phi @ W, functools.partial(np.matmul, Phi.T)


class Kept:
    """Basis functions whose values at all rows are kept in single precision: rows hold them."""

    def blocks(self, rows: Single, W: Array) -> Iterator[tuple[Array, Correlate]]:
        """Yield as `Basis.blocks` does, for rows of `kept_values`."""
        weights = W.astype(np.float32)
        for block in row_blocks(len(rows), max(1, BLOCK_ENTRIES // len(W))):
            Phi = rows[block]
            yield (Phi @ weights).astype(np.float64), functools.partial(_correlated, Phi)


def _correlated(Phi: Single, C: Array) -> Single:
    return np.asarray(Phi.T @ C.astype(np.float32))


def can_be_kept(kernel: str, centers: Array, sigma: float) -> bool:
    """Return whether single precision holds the values of ``k(., c)``: powers may be too large."""
    return kernel_named(kernel).degree is None or in_single(kernel, centers, sigma)


def kept_values(kernel: str, centers: Array, sigma: float, rows: Any) -> Single:
    """Return the values of ``k(., c)`` at some rows, shape (n_rows, n_centers)."""
    out = np.empty((len(rows), len(centers)), np.float32)
    for block in row_blocks(len(rows), max(1, BLOCK_ENTRIES // len(centers))):
        out[block] = kernel_named(kernel).gram(rows[block], centers, sigma)
    return out


def kernel_basis(kernel: str, centers: Array, sigma: float) -> Basis:
    """Return the functions ``k(., c)`` of some centres: in single precision where that will do."""
    if in_single(kernel, centers, sigma):
        return Panels(kernel, centers, sigma)
    return Dense(lambda rows: kernel_named(kernel).gram(rows, centers, sigma))


def linear_basis() -> Basis:
    """Return the inputs and a one."""
    return Dense(with_one)


def kernel_curvature(rows: Array, kernel: str, centers: Array, sigma: float) -> float:
    """Return the largest eigenvalue of ``Phi'Phi/n`` of ``k(., c)`` at some rows.

    Parameters
    ----------
    rows : ndarray of shape (n, n_inputs)
        Their Gram matrix, n x n, is held.
    kernel : str
    centers : ndarray of shape (n_centers, n_inputs)
    sigma : float
    """

    def values(block: Array) -> Array:
        return kernel_named(kernel).gram(block, rows, sigma)

    with single_blas_thread():  # under numba's threads BLAS's are slow
        return _largest(moments(values, centers).gram) / len(rows)


def linear_curvature(rows: Array) -> float:
    """Return the largest eigenvalue of ``Phi'Phi/n`` of the inputs and a one at some rows."""
    return _largest(moments(with_one, rows).gram) / len(rows)


def _largest(gram: Array) -> float:
    """Return the largest eigenvalue of a symmetric matrix, of which the lower triangle is given."""
    return largest_of(np.tril(gram) + np.tril(gram, -1).T)


@dataclass(frozen=True, eq=False)
class Descent:
    """Gradient descent with heavy-ball momentum of G models on the corrected risk.

    Minimises ``lam/2 ||w||^2 + delta(r1) + delta(r2)`` (`dsgkit.objectives.similar_unlabeled`):
    ``v <- momentum v + gradient``, ``w <- w - eta v``, v being 0 at first. delta' is that of the
    batch's own r1 and r2.

    Attributes
    ----------
    lam, eta, prior : ndarray of shape (G,)
    below : ndarray of shape (G,)
        Slopes of delta below 0 (`slopes_below`).
    loss : str
        A name in `LOSSES`.
    momentum : float
    """

    lam: Array
    eta: Array
    prior: Array
    below: Array
    loss: str = "squared"
    momentum: float = 0.0

    def run(self, basis: Basis, batches: Iterable[tuple[Any, Any]], start: Array) -> Iterator[Step]:
        """Yield every step, from coefficients ``start`` of shape (n_functions, G)."""
        W, velocity = start, np.zeros_like(start)
        for similar, unlabeled in batches:
            r1, r2, gradient = self.risk(basis, similar, unlabeled, W)
            velocity = self.momentum * velocity + gradient + self.lam * W
            W = W - self.eta * velocity
            yield Step(r1, r2, W)

    def risk(
        self, basis: Basis, similar: Any, unlabeled: Any, W: Array
    ) -> tuple[Array, Array, Array]:
        """Return r1 and r2 of a batch, shape (G,); and the gradient of their corrected sum.

        As delta' is known only after all rows, those of r1 and r2 are summed up side by side.
        """
        (S_pos, S_neg), (dS_pos, dS_neg) = self._means(basis, similar, W)
        (U_pos, U_neg), (dU_pos, dU_neg) = self._means(basis, unlabeled, W)
        r1, r2 = parts(S_pos, U_pos, U_neg, S_neg, self.prior)
        d1, d2 = parts(dS_pos, dU_pos, dU_neg, dS_neg, self.prior)
        return r1, r2, self._slopes(r1) * d1 + self._slopes(r2) * d2

    def corrected(self, r1: Array, r2: Array) -> Array:
        """Return ``delta(r1) + delta(r2)``, shape (G,)."""
        return self._slopes(r1) * r1 + self._slopes(r2) * r2

    def _means(self, basis: Basis, rows: Any, W: Array) -> tuple[Array, Array]:
        """Return mean losses of rows taken for the class +1 and for -1, and their gradients."""
        loss, n_models = LOSSES[self.loss], W.shape[1]
        total, gradient = np.zeros((2, n_models)), np.zeros((len(W), 2 * n_models))
        for values, correlate in basis.blocks(rows, W):
            total += [loss.value(values, t).sum(axis=0) for t in (1, -1)]
            gradient += correlate(np.hstack([loss.slope(values, t) for t in (1, -1)]))
        of_class = gradient.reshape(len(W), 2, n_models).transpose(1, 0, 2)
        return total / len(rows), of_class / len(rows)

    def _slopes(self, r: Array) -> Array:
        return np.asarray(corrected_slope(r, self.below))


class Step(NamedTuple):
    """A step of G models: the risks before it and the coefficients after it.

    Attributes
    ----------
    r1, r2 : ndarray of shape (G,)
        Of the batch, before the step.
    W : ndarray of shape (n_functions, G)
        Coefficients after the step.
    """

    r1: Array
    r2: Array
    W: Array
