"""Hessians with respect to the coefficients of one block of features, and Newton steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import blas

from dsgkit.engine.block_problem import BlockProblem
from dsgkit.linalg import Array, Single


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums of the features of some rows.

    Attributes
    ----------
    gram : ndarray of shape (width, width) or None
        Lower triangle of ``Phi'Phi``, Fortran-contiguous; None if it is not needed.
    total : ndarray of shape (width,)
        Sum of the features.
    """

    gram: Array | None
    total: Array
    n_rows: int

    @classmethod
    def empty(cls, width: int, *, gram: bool) -> Moments:
        """Return the moments of no rows."""
        return cls(np.zeros((width, width), order="F") if gram else None, np.zeros(width), 0)

    def plus(self, Phi: Single) -> Moments:
        """Return the moments with further rows; ``gram`` is updated in place."""
        if self.gram is not None:
            self.gram[:] += blas.ssyrk(1.0, Phi.T, lower=1)
        total = self.total + Phi.sum(axis=0, dtype=np.float64)
        return Moments(self.gram, total, self.n_rows + len(Phi))

    def less(self, other: Moments) -> Moments:
        """Return the moments without some of the rows."""
        gram = None if self.gram is None or other.gram is None else self.gram - other.gram
        return Moments(gram, self.total - other.total, self.n_rows - other.n_rows)


@dataclass(frozen=True, eq=False)
class BlockFeatures:
    """Features and moments of a block, from which its Hessians are computed.

    Attributes
    ----------
    moments : sequence over groups of sequences over sources of Moments
        Moments of the block's features at the rows of a batch.
    labeled : ndarray of float32, shape (n_labeled, width), or None
        Features of all labelled rows, if they are needed.
    """

    moments: Sequence[Sequence[Moments]]
    labeled: Single | None = None


@dataclass(frozen=True, eq=False)
class _Form:
    """A quadratic form of a group, and the models whose curvature it is, by their mu."""

    group: int
    diagonal: Array
    cross: Array
    models: dict[float, list[int]]


class BlockHessians:
    """The Hessians of a run, each formed once for all models that share it.

    Parameters
    ----------
    problem : BlockProblem
    mu : ndarray of shape (G,)
        Added to the diagonal.

    Attributes
    ----------
    needs_gram : ndarray of bool, shape (n_sources,)
        Whether ``Phi'Phi`` of each source is needed.
    needs_rows : bool
        Whether the features of labelled rows are needed.
    """

    needs_rows = False

    def __init__(self, problem: BlockProblem, mu: Array) -> None:
        objective = problem.quadratic
        self.needs_gram: NDArray[np.bool_] = (objective.diagonal != 0).any(axis=0)
        forms: dict[Any, _Form] = {}
        for model, (d, S) in enumerate(zip(objective.diagonal, objective.cross, strict=True)):
            key = int(problem.group[model]), d.tobytes(), S.tobytes()
            form = forms.setdefault(key, _Form(key[0], d, S, {}))
            form.models.setdefault(float(mu[model]), []).append(model)
        self._forms = list(forms.values())
        self._width = problem.features.width

    @property
    def flops(self) -> float:
        """Approximate operations of a step, in matrix products."""
        return sum(len(form.models) for form in self._forms) * self._width**3 / 3

    def solve(self, features: BlockFeatures, gradient: Array) -> Array:
        """Return ``H^-1`` times the gradient of each model, NaN where H is singular to rounding.

        Parameters
        ----------
        features : BlockFeatures
        gradient : ndarray of shape (width, G)
        """
        solution = np.empty_like(gradient)
        for form in self._forms:
            hessian = _without_penalty(form, features.moments[form.group])
            for mu, models in form.models.items():
                matrix = hessian.copy(order="F")
                solution[:, models] = solve(matrix, mu, gradient[:, models])
        return solution


def solve(matrix: Array, mu: float, right: Array) -> Array:
    """Return ``(H + mu I)^-1 right``, or NaN if the matrix is singular to rounding.

    Parameters
    ----------
    matrix : ndarray of shape (width, width)
        Lower triangle of H, Fortran-contiguous; overwritten.
    mu : float
    right : ndarray of shape (width, n)
    """
    np.einsum("ii->i", matrix)[:] += mu
    try:
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return np.full_like(right, np.nan)
    return np.asarray(linalg.cho_solve(factor, right, check_finite=False))


def _without_penalty(form: _Form, sources: Sequence[Moments]) -> Array:
    """Return the lower triangle of the second derivative of the loss, Fortran-contiguous."""
    width = len(sources[0].total)
    hessian = np.zeros((width, width), order="F")
    means = np.zeros((width, len(sources)), order="F")
    for k, (weight, moments) in enumerate(zip(form.diagonal, sources, strict=True)):
        if not moments.n_rows:
            continue
        means[:, k] = moments.total / moments.n_rows
        if weight and moments.gram is not None:
            hessian += (2 * weight / moments.n_rows) * moments.gram
    if not form.cross.any():
        return hessian
    out: Array = blas.dsyr2k(
        1.0, means, means @ form.cross, beta=1.0, c=hessian, lower=1, overwrite_c=1
    )
    return out
