"""Closed forms of risks that are quadratic in unlabelled rows only; see `unlabeled_systems`.

Folds may hold out unlabelled rows too. Labelled rows enter only by means, so they cost O(n) and are
streamed.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsgkit.costs import FUNCTION_FLOPS, Cost
from dsgkit.errors import FitError
from dsgkit.kernels import expansion_flops, expansion_memory, kernel_named
from dsgkit.linalg import EIGH_FLOPS, Array, eigh_memory, training_rows
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.trainers.closed_form import Expansion
from dsgkit.trainers.linear import BLOCK_ROWS, FeatureMap, Features, LinearFunction, evaluate
from dsgkit.trainers.moments import mean_features, moments
from dsgkit.trainers.responses import SINGULAR_SYSTEM
from dsgkit.trainers.training import Folds, Function, Sizes, Trainer, Training
from dsgkit.trainers.unlabeled_systems import (
    check_means,
    solve_dual,
    solve_dual_grid,
    solve_primal,
    solve_primal_grid,
)

_DOUBLE = 2
"""Cost of an operation of double precision; the unit is one of single precision."""


@dataclass(frozen=True)
class ByMeans(Trainer):
    """Base class of both trainers."""

    @abstractmethod
    def solve(self, training: Training, risk: PairwiseRisk) -> Function:
        """Return the minimiser of the one risk of a training."""

    def fit(self, training: Training) -> Function:
        """Solve the system of the one model of a training; see `Trainer`."""
        risk = training.forms[0][0]
        check_means(risk)
        return self.solve(training, risk)


@dataclass(frozen=True)
class UnlabeledFeatures(ByMeans):
    """The minimiser over explicit features, in a pass over the unlabelled rows.

    O(n p^2) time for p features, and O(p^2) memory. A grid on folds takes a second pass: the
    moments of training rows are those of all rows minus those of the held-out ones.
    """

    features: Features

    def solve(self, training: Training, risk: PairwiseRisk) -> LinearFunction:
        """Return the minimiser of the one risk of a training."""
        t, features = training, self.features.map()
        self.features.check(t.X, t.X_unlabeled)
        if t.lam[0] < self.features.smallest_lam:
            raise FitError(SINGULAR_SYSTEM)
        means = _means(features, t, 0)  # before the long pass over the unlabelled rows
        coef = solve_primal(moments(features, t.X_unlabeled), means, risk, t.penalties[0])
        return LinearFunction(self.features, coef)

    def fold_values(self, training: Training, folds: Folds) -> tuple[Array, Array]:
        """Return out-of-fold values of every point, one factorisation a fold; see `Trainer`."""
        t, features = training, self.features.map()
        self.features.check(t.X, t.X_unlabeled)
        at_labeled, at_unlabeled = t.nan_values()
        hidden = [2 * penalty < self.features.smallest_lam for penalty in t.penalties]
        all_moments = moments(features, t.X_unlabeled)
        for number, fold in enumerate(folds):
            held_out = fold.unlabeled
            any_held_out = held_out is not None and len(held_out) > 0
            excluded = moments(features, t.X_unlabeled, held_out) if any_held_out else None
            means = _means(features, t, number)
            forms = [by_pool[number] for by_pool in t.forms]
            W = solve_primal_grid(all_moments.less(excluded), means, forms, t.penalties)
            W[:, hidden] = np.nan
            at_labeled[:, fold.labeled] = evaluate(features, t.X, W, fold.labeled).T
            if held_out is not None:
                at_unlabeled[:, held_out] = evaluate(features, t.X_unlabeled, W, held_out).T
        return at_labeled, at_unlabeled

    def cost(self, sizes: Sizes, n_models: int = 1) -> Cost:
        """Return the cost of a fit, or of a grid of models on folds."""
        p, n_inputs = self.features.width(sizes.n_inputs), sizes.n_inputs
        passes = 1 if n_models == 1 else 2
        flops = self.features.row_flops(n_inputs)
        solving = p**3 / 3 if n_models == 1 else EIGH_FLOPS * p**3 + n_models * p**2
        rows = min(max(sizes.n_unlabeled, sizes.n_labeled), BLOCK_ROWS)
        gram = (8 + 4) * p**2 if n_models == 1 else 2 * 8 * p**2 + eigh_memory(p)
        return Cost(
            flops=passes * sizes.n_unlabeled * (flops + p**2) + _DOUBLE * solving,
            memory=gram + 8 * rows * (p + n_inputs) + 8 * p * n_models,
            flops_per_row=flops + 2 * _DOUBLE * p,
        )


def _means(features: FeatureMap, training: Training, pool: int) -> list[Array]:
    """Return the mean features of each source of labelled rows in a pool."""
    t = training
    return [mean_features(features, t.labeled(k, pool)) for k in range(t.n_sources)]


@dataclass(frozen=True)
class UnlabeledKernel(ByMeans):
    """The minimiser over all functions of a kernel, from its matrix on the unlabelled rows.

    O(n^3) time and 8 n^2 bytes for n unlabelled rows, for every fold of a grid.
    """

    kernel: str
    sigma: float

    def solve(self, training: Training, risk: PairwiseRisk) -> Expansion:
        """Return the minimiser of the one risk of a training."""
        t = training
        U = np.asarray(t.X_unlabeled[:], np.float64)
        sources = _sources(t, 0)
        means = [self._mean(U, S) for S in sources]
        a, b = solve_dual(self._gram(U), means, risk, t.penalties[0])
        shares = [np.full(len(S), weight / len(S)) for S, weight in zip(sources, b, strict=True)]
        centers = np.vstack([U, *sources])
        return Expansion(self.kernel, self.sigma, centers, np.concatenate([a, *shares]))

    def fold_values(self, training: Training, folds: Folds) -> tuple[Array, Array]:
        """Return out-of-fold values of every point, one factorisation a fold; see `Trainer`."""
        t = training
        at_labeled, at_unlabeled = t.nan_values()
        for number, fold in enumerate(folds):
            n_unlabeled = len(t.X_unlabeled)
            held_out = np.empty(0, np.int64) if fold.unlabeled is None else fold.unlabeled
            U = t.X_unlabeled[training_rows(held_out, n_unlabeled)].astype(np.float64)
            sources = _sources(t, number)
            forms = [by_pool[number] for by_pool in t.forms]
            means = [self._mean(U, S) for S in sources]
            a, b = solve_dual_grid(self._gram(U), means, forms, t.penalties)
            at_labeled[:, fold.labeled] = self._values(t.X[fold.labeled], U, a, sources, b)
            if fold.unlabeled is not None:
                at_unlabeled[:, held_out] = self._values(t.X_unlabeled[held_out], U, a, sources, b)
        return at_labeled, at_unlabeled

    def cost(self, sizes: Sizes, n_models: int = 1) -> Cost:
        """Return the cost of a fit, or of a grid of models on folds."""
        n, n_labeled, n_inputs = sizes.n_unlabeled, sizes.n_labeled, sizes.n_inputs
        centers = n + n_labeled
        building = n * (n + 2 * n_labeled) * (n_inputs + FUNCTION_FLOPS / 2)
        solving = n**3 / 3 if n_models == 1 else EIGH_FLOPS * n**3 + 2 * n_models * n * n
        gram = 8 * n**2 if n_models == 1 else eigh_memory(n) + 3 * 8 * n * n_models
        rows = 8 * centers * (4 * n_inputs + 30)
        return Cost(
            flops=_DOUBLE * (building + solving),
            memory=max(gram + rows, expansion_memory(centers, n_inputs) + rows),
            flops_per_row=expansion_flops(centers, n_inputs),
        )

    def _gram(self, U: Array) -> Array:
        return kernel_named(self.kernel).gram(U, U, self.sigma)

    def _mean(self, X: Any, S: Array) -> Array:
        """Return the mean kernel with the rows of S, at the rows of X."""
        share = np.full(len(S), 1 / len(S))
        return Expansion(self.kernel, self.sigma, S, share).values(X)

    def _values(self, X: Any, U: Array, a: Array, sources: list[Array], b: Array) -> Array:
        """Return the values of all settings at rows, shape (n_settings, n)."""
        values = Expansion(self.kernel, self.sigma, U, a).values(X)
        for S, weights in zip(sources, b, strict=True):
            values = values + self._mean(X, S)[:, None] * weights
        return values.T


def _sources(training: Training, pool: int) -> list[Array]:
    """Return the labelled rows of each source in a pool, in double precision."""
    t = training
    return [np.asarray(t.labeled(k, pool), np.float64) for k in range(t.n_sources)]
