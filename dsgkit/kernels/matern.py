"""Matern kernels: exact values for any smoothness, and their random frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special
from scipy.spatial.distance import cdist

from dsgkit.kernels.base import Draws, Kernel, Spectrum
from dsgkit.kernels.expansions import expansion_memory, expansion_of, finite_rows
from dsgkit.kernels.rounding import MAX_LENGTH_RATIO, largest_scale
from dsgkit.numerics.arrays import Array, Single

LARGEST_NU = 50.0
"""Up to here, Bessel functions overflow only where the kernel is within 1e-11 of 1."""

_MAX_DISTANCE = 1e4
"""Distance beyond which the kernel is 0."""


def matern_of_distance(r: Array, nu: float) -> Array:
    """Return ``2^(1 - nu) / Gamma(nu) s^nu K_nu(s)`` at ``s = sqrt(2 nu) r``; r is overwritten.

    Parameters
    ----------
    r : ndarray of float64
        Distances in units of the length scale.
    nu : float
    """
    r *= np.sqrt(2 * nu)
    np.minimum(r, _MAX_DISTANCE, out=r)
    if nu == 0.5:
        return np.exp(-r)
    if nu == 1.5:
        return (1 + r) * np.exp(-r)
    if nu == 2.5:
        return (1 + r + r**2 / 3) * np.exp(-r)
    values = np.ones_like(r)
    positive = r > 0
    s = r[positive]
    with np.errstate(all="ignore"):
        log = (1 - nu) * np.log(2) - special.gammaln(nu) + nu * np.log(s) - s
        values[positive] = np.exp(log + np.log(special.kve(nu, s)))
    return np.minimum(values, 1)


def matern(nu: float) -> Kernel:
    """Return the Matern kernel of smoothness ``nu`` and length scale ``1 / sigma``.

    A larger sigma is a narrower kernel, as for the other kernels. ``nu = 1/2`` is the exponential
    kernel ``exp(-sigma ||x - x'||)``.

    Parameters
    ----------
    nu : float
        In (0, 50].

    Raises
    ------
    ValueError
        If it is out of range.
    """
    if not 0 < nu <= LARGEST_NU:
        raise ValueError(f"nu must be > 0 and <= {LARGEST_NU:g}, got {nu:g}")

    def values(A: Array, B: Array, sigma: float) -> Array:
        return matern_of_distance(sigma * cdist(A, B), nu)

    def gram(A: Any, B: Any, sigma: float) -> Array:
        return values(finite_rows(A), finite_rows(B), sigma)

    def expansion(X: Any, centers: Array, coefficients: Array, sigma: float) -> Array:
        return expansion_of(lambda A, B: values(A, B, sigma), X, centers, coefficients)

    def frequencies(draws: Draws, n_inputs: int, sigma: float) -> Single:
        """Return frequencies from the t distribution with 2 nu degrees of freedom, scale sigma."""
        W = draws.normals(n_inputs)
        scale = sigma * np.sqrt(nu / draws.gammas(nu))
        W *= np.minimum(scale, 2.0**64).astype(np.float32)[:, None, :]
        return W

    return Kernel(
        name=f"matern({float(nu)})",
        formula=_FORMULA,
        gram=gram,
        expansion=expansion,
        memory=expansion_memory,
        longest=lambda sigma: largest_scale(2 * nu) / sigma,
        farthest=lambda sigma: MAX_LENGTH_RATIO * largest_scale(2 * nu) / sigma,
        spectrum=Spectrum(frequencies, heavy_tailed=True),
    )


_FORMULA = "2^(1-nu)/Gamma(nu) s^nu K_nu(s), s = sqrt(2 nu) sigma ||x - x'||"
