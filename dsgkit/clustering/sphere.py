"""Smallest sphere around most rows in feature space, computed by libsvm's one-class SVM.

The dual, ``max sum_i b_i k(x_i, x_i) - b'K b`` where ``sum b = 1`` and ``0 <= b_i <= C`` (Ben-Hur,
Horn, Siegelmann & Vapnik, "Support vector clustering", JMLR 2, 2001), is that of the one-class SVM
for kernels with a constant diagonal, scaled: there the coefficients are at most 1 and sum to
``nu n = 1/C``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsgkit.clustering.domain import Domain
from dsgkit.errors import FitError
from dsgkit.linalg import Array, spaced

TOLERANCE = 1e-8
"""Tolerance of libsvm's optimality conditions."""

BOUND_TOLERANCE = 1e-9
"""Coefficients within this relative distance of the bound count as at the bound."""

CACHE_MIB = 200
"""Size of libsvm's kernel cache."""

LARGEST_NORM = 2.0**28
"""Largest squared norm times gamma: beyond, rounding changes kernel values by more than 1e-7."""

_MEDIAN_ROWS = 1001


def enclosing_sphere(X: Array, gamma: float, C: float) -> tuple[Domain, float]:
    """Return the inside of the smallest sphere around most rows, and its squared radius.

    The sphere is ``||phi(x) - a||^2 <= R^2`` with the centre ``a = sum_i b_i phi(x_i)``. The
    domain's coefficients are scaled, so that its level is 1: the value at the surface, lowered for
    rounding so that only rows at the bound C, a share of up to 1/(C n), are outside.
    """
    bound = min(C, 1.0)
    # libsvm computes distances as differences of squared norms
    rows = X - np.median(spaced(X, _MEDIAN_ROWS), axis=0)
    with np.errstate(over="ignore"):
        if gamma * np.einsum("ij,ij->i", rows, rows).max() > LARGEST_NORM:
            raise FitError(
                f"features too large for gamma = {gamma:g}: scale them, or remove far rows"
            )
    support, beta = _dual(rows, gamma, bound)
    values = Domain(X[support], beta, gamma, level=0.0).values(X)
    bounded = beta >= bound * (1 - BOUND_TOLERANCE) if bound < 1 else np.zeros(len(beta), np.bool_)
    if not bounded.all():
        surface = float(values[support[~bounded]].mean())
    else:  # between inside and outside
        inside, surface = np.delete(values, support), float(values[support].max())
        surface = (surface + float(inside.min())) / 2 if len(inside) else surface
    within = np.delete(values, support[bounded])
    level = min(surface, float(within.min())) if len(within) else surface
    if not level > 0:
        raise FitError(
            f"no sphere for gamma = {gamma:g}: the sum of kernels on its surface is {level:g}; "
            "take a smaller gamma, or scale the features"
        )
    squared_radius = 1 - 2 * surface + float(beta @ values[support])
    return Domain(X[support], beta / level, gamma), squared_radius


def objective(domain: Domain, squared_radius: float, C: float, X: Array) -> float:
    """Return ``R^2 + C sum_i max(0, ||phi(x_i) - a||^2 - R^2)`` at the rows of a sphere."""
    beta = domain.coefficients / domain.coefficients.sum()
    centre = Domain(domain.support_vectors, beta, domain.gamma, level=0.0)
    squared_norm = beta @ centre.values(domain.support_vectors)
    squares = 1 - 2 * centre.values(X) + squared_norm
    return float(squared_radius + C * np.maximum(0, squares - squared_radius).sum())


def _dual(X: Array, gamma: float, bound: float) -> tuple[NDArray[np.int64], Array]:
    """Return the rows with positive coefficients, and these: at most ``bound``, with sum 1."""
    from sklearn.svm import OneClassSVM

    n = len(X)
    if bound * n < 1 - BOUND_TOLERANCE:
        raise FitError(f"C must be at least 1/n = {1 / n:.3g} for a sphere, got {bound:g}")
    if bound * n <= 1 + BOUND_TOLERANCE:  # the only solution, for which libsvm finds no offset
        return np.arange(n), np.full(n, 1 / n)
    machine = OneClassSVM(gamma=gamma, nu=1 / (bound * n), tol=TOLERANCE, cache_size=CACHE_MIB)
    machine.fit(X)
    beta = machine.dual_coef_[0] / machine.dual_coef_.sum()
    return np.asarray(machine.support_, np.int64), beta
