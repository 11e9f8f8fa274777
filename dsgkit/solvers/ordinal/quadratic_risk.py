"""The semi-supervised risk of an ordinal ranking as a quadratic form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DataError
from dsgkit.solvers.auc.pairwise_quadratic import PairwiseRisk, semi_supervised_risk

Array = NDArray[np.float64]


def ordinal_risk(gamma: float | tuple[float, ...], counts: NDArray[np.integer]) -> PairwiseRisk:
    """Return the mean over the cuts of ``gamma R_PN + (1 - gamma)(R_PU + R_NU)``.

    The classes on either side of a cut are pooled in proportion to their sizes. A cut with an
    empty side is dropped, and the mean is over the others.

    Parameters
    ----------
    gamma : float or tuple of float
        Of all cuts, or of every cut.
    counts : ndarray of int, shape (n_classes,)
        Training rows of the classes in ascending order; at least two have some.

    Raises
    ------
    DataError
        If there are not as many gammas as cuts.
    """
    gammas = cut_weights(gamma, len(counts) - 1)
    below = np.tri(len(counts) - 1, len(counts) + 1) * np.append(counts, 0)
    above = np.append(counts, 0) - below
    unlabeled = np.eye(len(counts) + 1)[-1]
    risks = [
        semi_supervised_risk(g, p / p.sum(), n / n.sum(), unlabeled)
        for g, p, n in zip(gammas, above, below, strict=True)
        if p.any() and n.any()
    ]
    if not risks:
        raise DataError("labels must hold two classes outside of every fold")
    return 1 / len(risks) * sum(risks[1:], risks[0])


def cut_weights(gamma: float | tuple[float, ...], n_cuts: int) -> Array:
    """Return the gamma of every cut, shape (n_cuts,).

    Raises
    ------
    DataError
        If there is more than one, and not one for every cut.
    """
    gammas = np.atleast_1d(np.asarray(gamma, np.float64))
    if len(gammas) not in (1, n_cuts):
        raise DataError(f"gamma must be one number or {n_cuts}, one per cut, got {len(gammas)}")
    return np.broadcast_to(gammas, n_cuts)
