"""PNU-AUC: semi-supervised AUC maximisation with a class prior, in closed form."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Doc

from dsgkit.costs import FUNCTION_FLOPS
from dsgkit.kernels import kernel_named
from dsgkit.linear_systems import eigh_memory
from dsgkit.objectives.pairwise_risk import POSITIVE, PairwiseRisk, pnu_risk
from dsgkit.priors import PenL1Prior
from dsgkit.random.draws import draw_in_passes
from dsgkit.random.seeds import derive_seed
from dsgkit.solvers.auc.closed_form import ClosedFormRanker
from dsgkit.solvers.auc.explicit_features import (
    FeatureMoments,
    feature_moments,
    moments_response,
    moments_response_at,
    solve,
)
from dsgkit.solvers.auc.pairwise_quadratic import Codes, PrimalResponse
from dsgkit.solvers.base import Folds, training_rows
from dsgkit.solvers.common import GramKernelName, Lam, MaxMemory, RandomState, Sigma, UnlabeledLabel
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.parameters import COUNT, PER_MODEL, Range

Array = NDArray[np.float64]

BLOCK_ROWS = 512
"""Unlabelled rows whose kernel values are held at a time."""


class PNUAUC(ClosedFormRanker):
    """Minimiser of the PNU-AUC risk over kernel functions at given centres.

    ``f(x) = sum_j w_j k(x, c_j)``, by default with ``k(x, c) = exp(-sigma ||x - c||^2)``, minimises
    ``R(f) + lam ||w||^2``, where R is ``(1 - eta) R_PN + eta R_PU`` for ``eta >= 0`` and
    ``(1 + eta) R_PN - eta R_NU`` for ``eta < 0``. R_PU and R_NU estimate the supervised risk from
    positives (negatives) and unlabelled rows, which takes the class prior. With every row as a
    centre a fit costs O(n^3) time and 8 n^2 bytes.

    R need not have a minimum: it has one for ``eta >= 0`` if the prior is at most 1/2, and for
    ``eta <= 0`` if it is at least 1/2. Elsewhere a fit may end in `IndefiniteError`.

    References
    ----------
    .. [1] Sakai, Niu & Sugiyama, "Semi-supervised AUC optimization based on positive-unlabeled
       learning", Machine Learning 107, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import PNUAUC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> model = PNUAUC().fit(X[:60], y[:60], X[60:])
    >>> model.score(X[60:], y[60:]) > 0.97
    True
    """

    version: ClassVar[int] = 1

    lam: Annotated[
        Lam, Doc("Weight of the regulariser, which is the squared norm of the coefficients.")
    ] = 0.125
    sigma: Sigma = "scale"
    eta: Annotated[float, Range(-1, 1), PER_MODEL, Doc("In -1..1; 0 is the supervised risk.")] = 0.0
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    prior: Annotated[
        float | Literal["penl1"],
        Range(0, 1, open_low=True, open_high=True),
        Doc('Share of positives among the unlabelled rows; "penl1" estimates it (`PenL1Prior`).'),
    ] = "penl1"
    n_centers: Annotated[
        int | None,
        COUNT,
        Doc(
            "Random rows that serve as centres; None takes every labelled and "
            "unlabelled row, as the papers do. The authors' own default is 200."
        ),
    ] = None
    max_memory: MaxMemory = None
    random_state: Annotated[
        RandomState, Doc('Seed of the centres and of the folds that "penl1" draws.')
    ] = 0
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted("Centres of the basis functions.", "(n_centers, n_inputs)")
    prior_: float = fitted("The prior, given or estimated.")

    def _solve(self, X: Any, codes: Codes, X_unlabeled: Any) -> None:
        centers = self._draw_centers(X, X_unlabeled)
        self.prior_ = self._estimate_prior(X, codes, X_unlabeled)
        moments = self._moments(X, X_unlabeled, centers)
        self.coef_ = solve(moments, codes, self._risk(self._counts(codes)), self._penalty())
        self.centers_ = centers

    def _risk(self, counts: NDArray[np.int64]) -> PairwiseRisk:
        return pnu_risk(self.eta, self.prior_)

    def _values(self, X: Any) -> Array:
        return kernel_named(self.kernel).expansion(X, self.centers_, self.coef_, self._sigma)

    def _squared_norm(self) -> float:
        return float(self.coef_ @ self.coef_)

    def _fit_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        n_centers = self._matrix_size(n_labeled, n_unlabeled)
        rows_held = max(2 * n_labeled, min(n_unlabeled, BLOCK_ROWS))
        fit = 8 * n_centers * (n_centers + rows_held + 3 * n_inputs)
        prior = PenL1Prior().memory_needed(n_unlabeled) if self.prior == "penl1" else 0
        return max(fit, prior, kernel_named(self.kernel).memory(n_centers, n_inputs))

    def _matrix_size(self, n_labeled: int, n_unlabeled: int) -> int:
        n_rows = n_labeled + n_unlabeled
        return n_rows if self.n_centers is None else min(int(self.n_centers), n_rows)

    def _building_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        n_centers = self._matrix_size(n_labeled, n_unlabeled)
        per_center = n_centers + 2 * n_inputs + FUNCTION_FLOPS
        return (n_labeled + n_unlabeled) * n_centers * per_center

    def _draw_centers(self, X: Any, X_unlabeled: Any) -> Array:
        """Return the centres: all rows, or random ones of the labelled and unlabelled rows."""
        if self.n_centers is None:
            parts = [X[:], X_unlabeled[:]]
        else:
            n = len(X) + len(X_unlabeled)
            seed = derive_seed(int(self.random_state), "centers")
            drawn = np.sort(draw_in_passes(seed, 0, 0, 1, min(int(self.n_centers), n), n)[0])
            parts = [X[drawn[drawn < len(X)]], X_unlabeled[drawn[drawn >= len(X)] - len(X)]]
        return np.concatenate(parts).astype(np.float64, copy=False)

    def _estimate_prior(self, X: Any, codes: Codes, X_unlabeled: Any) -> float:
        if self.prior != "penl1":
            return self.prior
        estimator = PenL1Prior(random_state=int(self.random_state))
        return estimator.estimate(X[np.flatnonzero(codes == POSITIVE)], X_unlabeled)

    def _moments(self, X: Any, X_unlabeled: Any, centers: Array) -> FeatureMoments:
        return feature_moments(
            lambda rows: kernel_named(self.kernel).gram(rows, centers, self._sigma),
            X,
            X_unlabeled,
            len(centers),
            BLOCK_ROWS,
        )

    def _feature_params(self) -> Hashable:
        return self.kernel, self._sigma, self.n_centers, self.random_state

    def _penalty(self) -> float:
        return self.lam

    def _grid_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        fit = self._fit_memory(n_labeled, n_unlabeled, n_inputs)
        n_centers = self._matrix_size(n_labeled, n_unlabeled)
        return max(fit, eigh_memory(n_centers) + 8 * n_centers * (2 * n_labeled + 3 * n_inputs))

    def _response(self, X: Any, X_unlabeled: Any) -> PrimalResponse:
        # held-out rows remain among the centres: a centre has no label, and all folds then share
        # their features
        centers = self._draw_centers(X, X_unlabeled)
        return moments_response(self._moments(X, X_unlabeled, centers))

    def _response_at(self, X: Any, X_unlabeled: Any, weight: float) -> Array:
        centers = self._draw_centers(X, X_unlabeled)
        moments = self._moments(X, X_unlabeled, centers)
        return moments_response_at(moments, self._penalty(), weight)

    def _risks(
        self,
        models: Sequence[Any],
        X: Any,
        codes: Codes,
        X_unlabeled: Any,
        folds: Folds,
    ) -> list[list[PairwiseRisk]]:
        priors: dict[Hashable, list[float]] = {}
        for model in models:
            if model.prior not in priors:
                priors[model.prior] = [
                    model._estimate_prior(X[train], codes[train], X_unlabeled)
                    for train in (training_rows(fold, len(codes)) for fold in folds)
                ]
        return [[pnu_risk(model.eta, p) for p in priors[model.prior]] for model in models]
