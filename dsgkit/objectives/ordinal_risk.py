"""The semi-supervised risk of an ordinal ranking as a quadratic form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DataError
from dsgkit.linalg import Array
from dsgkit.objectives.pairwise_risk import PairwiseRisk


def ordinal_risk(gamma: float | tuple[float, ...], counts: NDArray[np.integer]) -> PairwiseRisk:
    """Return the mean over the cuts of ``gamma R_PN + (1 - gamma)(R_PU + R_NU - 1/2)``.

    The classes on either side of a cut are pooled in proportion to their sizes. A cut with an
    empty side is dropped, and the mean is over the others.

    Parameters
    ----------
    gamma : float or tuple of float
        One gamma for all cuts, or one for each.
    counts : ndarray of int, shape (n_classes,)
        Training rows of the classes in ascending order; at least two are nonzero.

    Raises
    ------
    DataError
        If the number of gammas is not that of the cuts.
    """
    n_classes = len(counts)
    below = np.tri(n_classes - 1, n_classes) * counts
    above = counts - below
    kept = below.any(axis=1) & above.any(axis=1)
    if not kept.any():
        raise DataError("labels must hold two classes outside of every fold")
    # the sum over the cuts of `pair_risk`s; a row of P and N holds the shares of the classes
    P, N = (np.pad(_shares(side[kept]), ((0, 0), (0, 1))) for side in (above, below))
    g = np.array(for_cuts("gamma", gamma, n_classes - 1))[kept, None]
    u = np.eye(n_classes + 1)[-1]
    half = (g * P).T @ N + np.outer(((1 - g) * (P + N)).sum(axis=0), u)
    diagonal = (P + N).sum(axis=0) + 2 * (1 - g).sum() * u
    constant = float((g + 1.5 * (1 - g)).sum())
    return 1 / len(g) * PairwiseRisk(diagonal, -half - half.T, (P - N).sum(axis=0), constant)


def _shares(counts: NDArray[Any]) -> Array:
    shares: Array = counts / counts.sum(axis=1, keepdims=True)
    return shares


def above_cuts(codes: NDArray[np.integer], n_classes: int) -> NDArray[np.bool_]:
    """Return which rows are above each cut, shape (n, n_classes - 1).

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Classes, counted from 0.
    n_classes : int
    """
    return codes[:, None] > np.arange(n_classes - 1)


def for_cuts(name: str, value: Any, n_cuts: int) -> tuple[Any, ...]:
    """Return the value of a parameter for every cut; a single number is used for all.

    Raises
    ------
    DataError
        If the number of values is not that of the cuts.
    """
    if not isinstance(value, list | tuple | np.ndarray):
        return (value,) * n_cuts
    if len(value) != n_cuts:
        raise DataError(
            f"{name} must be one number, or one for each of the {n_cuts} cuts between the "
            f"{n_cuts + 1} classes, got {len(value)}"
        )
    return tuple(value)
