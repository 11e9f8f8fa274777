"""Ordinal estimators of the labelled rows alone, over the functions of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import clone

from dsgkit.kernels import kernel_named
from dsgkit.kernels.gaussian import expansion_flops
from dsgkit.numerics.costs import FUNCTION_FLOPS, Cost, Pace
from dsgkit.numerics.linear_systems import EIGH_FLOPS, eigh_memory
from dsgkit.numerics.rows import training_rows
from dsgkit.solvers.base import Folds, Points
from dsgkit.solvers.common import GramKernelName, Lam, Sigma
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.ordinal.base import Codes, OrdinalEstimator
from dsgkit.solvers.sigma import WithSigma
from dsgkit.system.threads import single_blas_thread

Array = NDArray[np.float64]

USUAL_FOLDS = 5
"""Decompositions that a grid at one sigma is taken to need."""


class KernelFeatures:
    """Features of some rows whose products are exactly the kernel's values.

    By the eigendecomposition ``K = V S V'`` they are ``V S^1/2``: columns at right angles with
    squared norms S. Eigenvalues that rounding hides are left out.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        K, symmetric; destroyed.

    Attributes
    ----------
    spectrum : ndarray of shape (n_features,)
        S.
    rows : ndarray of shape (n, n_features)
    """

    def __init__(self, gram: Array) -> None:
        with single_blas_thread():  # at hundreds of rows a second one waits more than it works
            spectrum, vectors = linalg.eigh(
                gram.T, overwrite_a=True, check_finite=False, driver="evd"
            )
        kept = spectrum > len(gram) * np.finfo(float).eps * spectrum[-1]
        self.spectrum = spectrum[kept]
        self._vectors = vectors[:, kept]
        self.rows = self._vectors * np.sqrt(self.spectrum)

    def coefficients(self, weights: Array) -> Array:
        """Return those of the kernel at the rows, for weights of the features."""
        return (self._vectors / np.sqrt(self.spectrum)) @ weights


class LabeledKernelEstimator(WithSigma, OrdinalEstimator):
    """Base of the estimators of a kernel expansion on the labelled rows; others are not used.

    A subclass implements `_solve`. Points of a grid that differ only in lam share one
    eigendecomposition for each fold.
    """

    pace: ClassVar[Pace] = Pace(training=2, per_model=2)
    _solution: ClassVar[str] = "coef_"
    _labeled_only: ClassVar[bool] = True

    lam: Lam
    sigma: Sigma
    kernel: GramKernelName

    centers_: Array = fitted("", "(n_labeled, n_inputs)")
    coef_: Array = fitted("", "(n_labeled,)")
    intercept_: float = fitted("The mean m.")

    def _solve(self, features: KernelFeatures, codes: Codes, lams: Sequence[float]) -> list[Any]:
        """Return ``(weights, intercept, own_thresholds)`` for each lam; thresholds may be None."""
        raise NotImplementedError

    def _fit(self, X: Any, codes: NDArray[Any], X_unlabeled: Any) -> None:
        self._check_memory(self.cost(X.shape[1], n_labeled=len(X), n_unlabeled=0))
        centers = np.asarray(X[:], np.float64)
        features = KernelFeatures(kernel_named(self.kernel).gram(centers, centers, self._sigma))
        ((weights, self.intercept_, self.own_thresholds_),) = self._solve(
            features, codes, [self.lam]
        )
        self.coef_, self.centers_ = features.coefficients(weights), centers

    def _values(self, X: Any) -> Array:
        expansion = kernel_named(self.kernel).expansion
        return expansion(X, self.centers_, self.coef_, self._sigma) + self.intercept_

    def _fold_values(
        self,
        points: Points,
        folds: Folds,
        X: Any,
        codes: Codes,
        X_unlabeled: Any,
        classes: NDArray[Any],
    ) -> Array:
        models = [clone(self).set_params(**point) for point in points]
        groups: dict[tuple[Any, ...], list[int]] = {}
        for number, model in enumerate(models):
            params = model.get_params()
            del params["lam"]
            groups.setdefault(tuple(params.items()), []).append(number)
        rows = np.asarray(X[:], np.float64)
        values = np.full((len(points), len(codes)), np.nan)
        for members in groups.values():
            first = models[members[0]]
            first.classes_ = classes
            first._check_memory(first.cost(X.shape[1], n_labeled=len(X), n_unlabeled=0))
            gram = kernel_named(first.kernel).gram(rows, rows, first._sigma)
            lams = [models[i].lam for i in members]
            for held_out in folds:
                values[np.ix_(np.array(members), held_out)] = first._held_out(
                    gram, codes, lams, held_out
                )
        return values

    def _held_out(
        self, gram: Array, codes: Codes, lams: Sequence[float], held_out: NDArray[np.integer]
    ) -> Array:
        """Return values at held-out rows, shape (n_lams, n), trained on the others."""
        train = training_rows(held_out, len(codes))
        features = KernelFeatures(gram[np.ix_(train, train)])
        cross = gram[np.ix_(held_out, train)]
        return np.array(
            [
                cross @ features.coefficients(weights) + intercept
                for weights, intercept, _ in self._solve(features, codes[train], lams)
            ]
        )

    def _solve_flops(self, n_labeled: int, n_cuts: int) -> float:
        """Return the operations of `_solve` for one lam, of double precision."""
        raise NotImplementedError

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int, n_cuts: int = 1
    ) -> Cost:
        """Return what a fit of the function takes, or a grid; see `Estimator.cost`."""
        n, double = n_labeled, 2
        decomposing = EIGH_FLOPS * n**3 * min(n_models, USUAL_FOLDS)
        building = n**2 * (n_inputs + FUNCTION_FLOPS / 2)
        predicting = kernel_named(self.kernel).memory(n, n_inputs)
        return Cost(
            flops=double * (building + decomposing + n_models * self._solve_flops(n, n_cuts)),
            memory=max(eigh_memory(n) + 24 * n * n_inputs, predicting),
            flops_per_row=expansion_flops(n, n_inputs),
        )
