"""Minimisers in closed form: one linear system, and one factorisation for a grid of models."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dsgkit.costs import Cost
from dsgkit.errors import FitError
from dsgkit.kernels import expansion_flops, kernel_named
from dsgkit.linalg import Array
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.trainers.responses import (
    SINGULAR_SYSTEM,
    Response,
    centered_values,
    cv_values,
    grid_flops,
)
from dsgkit.trainers.training import Folds, Function, Sizes, Trainer, Training, fit_each_fold

_DOUBLE_COST = 2.0
"""Cost of an operation of double precision; the unit is one of single precision."""


@dataclass(frozen=True)
class Expansion:
    """A function ``sum_i a_i k(z_i, .)``.

    Attributes
    ----------
    centers : ndarray of shape (n_centers, n_inputs)
    coef : ndarray of shape (n_centers,)
    norm_of_coef : bool
        Whether the penalty was the norm of the coefficients instead of that of the function.
    extra_attributes : dict
        Further fitted attributes of the estimator, by name.
    """

    kernel: str
    sigma: float
    centers: Array
    coef: Array
    norm_of_coef: bool = False
    extra_attributes: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of the estimator."""
        return {"centers_": self.centers, "coef_": self.coef, **self.extra_attributes}

    def values(self, X: Any) -> Array:
        """Return its values at the rows of ``X``."""
        return kernel_named(self.kernel).expansion(X, self.centers, self.coef, self.sigma)

    def squared_norm(self) -> float:
        """Return its squared norm, or that of the coefficients."""
        other = self.coef if self.norm_of_coef else self.values(self.centers)
        return float(self.coef @ other)


@dataclass(frozen=True)
class ClosedForm(Trainer):
    """Base class of trainers that solve one linear system, in explicit features or kernel values.

    Grid points with equal trainers share the features and one factorisation.
    """

    smallest_penalty: ClassVar[float] = 0.0

    @abstractmethod
    def solve(self, training: Training, risk: PairwiseRisk, penalty: float) -> Function:
        """Return the minimiser of one risk on all rows."""

    @abstractmethod
    def response(self, X: Any, X_unlabeled: Any) -> Response:
        """Return the response of the features of these rows."""

    @abstractmethod
    def response_at(self, X: Any, X_unlabeled: Any, penalty: float, weight: float) -> Array:
        """Return the response at one penalty and weight, faster than by `response`."""

    @property
    def all_folds(self) -> bool:
        """Whether solving all folds from one response is faster than one by one."""
        return True

    @abstractmethod
    def size(self, n_labeled: int, n_unlabeled: int) -> int:
        """Return the order of the matrix that a fit factorises."""

    @abstractmethod
    def fit_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        """Return the bytes that a fit, or evaluating it, allocates."""

    @abstractmethod
    def grid_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        """Return the bytes that `response` allocates."""

    @abstractmethod
    def building_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        """Return the approximate number of double-precision operations that build the matrix."""

    def row_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        """Return the operations of a fitted function at one row."""
        return expansion_flops(self.size(n_labeled, n_unlabeled), n_inputs)

    def fit(self, training: Training) -> Function:
        """Solve the system of the one model of a training; see `Trainer`."""
        t = training
        if t.penalties[0] < self.smallest_penalty:
            raise FitError(SINGULAR_SYSTEM)
        return self.solve(t, t.forms[0][0], t.penalties[0])

    def fold_values(self, training: Training, folds: Folds) -> tuple[Array, Array]:
        """Return out-of-fold values of every point, from one factorisation; see `Trainer`."""
        t = training
        if t.unlabeled_pools is not None:  # every fold has its own matrix
            return fit_each_fold(self, t, folds)
        values, nothing = t.nan_values()
        solvable = [g for g, p in enumerate(t.penalties) if p >= self.smallest_penalty]
        if not solvable:
            return values, nothing
        values[solvable] = cv_values(
            self.response(t.X, t.X_unlabeled),
            t.codes,
            len(t.X_unlabeled),
            [fold.labeled for fold in folds],
            [t.forms[g] for g in solvable],
            [t.penalties[g] for g in solvable],
        )
        return values, nothing

    def centred_values(self, training: Training, folds: Folds, reference: Any) -> Array | None:
        """Return out-of-fold values of one point minus their mean on all unlabelled rows."""
        if not self.all_folds:
            return None
        t, risks = training, training.forms[0]
        weights = [risk.diagonal[-1] for risk in risks]
        if not np.allclose(weights, weights[0], rtol=1e-12, atol=0):
            return None  # a fold lacks an outer class, and dropped a cut with a gamma of its own
        weight = float(weights[0]) / len(t.X_unlabeled)
        P = self.response_at(t.X, t.X_unlabeled, t.penalties[0], weight)
        return centered_values(P, t.codes, [fold.labeled for fold in folds], risks)

    def cost(self, sizes: Sizes, n_models: int = 1) -> Cost:
        """Return the cost of a fit, or of a grid of models on folds."""
        rows = sizes.n_labeled, sizes.n_unlabeled, sizes.n_inputs
        n = self.size(sizes.n_labeled, sizes.n_unlabeled)
        solving = n**3 / 3 if n_models == 1 else grid_flops(n, sizes.n_labeled, n_models)
        return Cost(
            flops=_DOUBLE_COST * (self.building_flops(*rows) + solving),
            memory=self.fit_memory(*rows) if n_models == 1 else self.grid_memory(*rows),
            flops_per_row=self.row_flops(*rows),
        )
