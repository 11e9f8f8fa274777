"""Supervised reference: kernel least squares classification, with the loss of SU-SL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from dsgkit.kernels import kernel_named
from dsgkit.kernels.gaussian import expansion_flops, expansion_memory
from dsgkit.numerics.costs import FUNCTION_FLOPS, Cost, Pace
from dsgkit.numerics.linear_systems import EIGH_FLOPS, eigh, eigh_memory, solve_penalised
from dsgkit.numerics.rows import training_rows
from dsgkit.solvers.base import Folds, Points
from dsgkit.solvers.common import Lam, LinearOrKernel, MaxMemory, Sigma
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.labeled import Array, LabeledEstimator
from dsgkit.solvers.sigma import WithSigma
from dsgkit.text.errors import DataError
from dsgkit.trainers.closed_form import Expansion
from dsgkit.trainers.linear import Inputs, LinearFunction, with_one
from dsgkit.trainers.responses import SINGULAR_SYSTEM
from dsgkit.trainers.training import Function


class SupervisedSL(WithSigma, LabeledEstimator):
    """Minimiser of the squared loss of labelled rows: an upper bound for what pairs can teach.

    Minimises ``mean (y f - 1)^2/4 + lam/2 ||f||^2`` over the functions of a kernel, or over linear
    functions with a bias, which is penalised too. `SUSL` minimises an unbiased estimate of the same
    from similar pairs and unlabelled rows. It is kernel ridge regression on the labels -1 and 1:
    `sklearn.kernel_ridge.KernelRidge` calls ``2 n lam`` alpha. O(n^3) time, and 8 n^2 bytes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit.solvers.similar.supervised import SupervisedSL
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> SupervisedSL().fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.95
    True
    """

    tasks = ("similar_unlabeled",)
    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=3, per_model=5)

    lam: Lam = 0.001
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: LinearOrKernel = "gaussian"
    max_memory: MaxMemory = None

    _function: Function = fitted()
    coef_: Array = fitted(
        "Coefficients of the inputs and last the bias, or of the kernel at ``centers_``.",
        "(n_inputs + 1,) or (n,)",
    )
    centers_: Array = fitted("The training rows; of a kernel.", "(n, n_inputs)")

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any
    ) -> Any:
        """Fit a model for each of many settings; those that differ in lam share a decomposition.

        Parameters, returns and errors are those of `Estimator.fit_points` and of `fit`. A fold
        must leave rows of both classes to train on.
        """
        if folds is None:
            return super().fit_points(points, X=X, y=y)
        points = self._with_sigma(points, X)
        models = [clone(self).set_params(**point) for point in points]
        for model in models:
            model._check_params()
        X, t = clone(self)._inputs(X, y)
        values = np.full((len(points), len(t)), np.nan)
        groups: dict[tuple[str, float], list[int]] = {}
        for number, model in enumerate(models):
            groups.setdefault((model.kernel, model._sigma), []).append(number)
        for numbers in groups.values():
            first, lams = models[numbers[0]], [models[number].lam for number in numbers]
            first._check_memory(first._cost_of(X.shape[1], len(t), len(lams) + 1))
            for held_out in folds:
                rows = training_rows(held_out, len(t))
                if len(set(t[rows])) < 2:
                    raise DataError("a fold must leave rows of both classes to train on")
                coef = first._solve_all(X[rows], t[rows], lams)
                found = first._function_of(X[rows], coef).values(X[held_out])
                values[np.ix_(np.array(numbers), held_out)] = found.T
        return values

    def _fit(self, X: Any, t: Array) -> None:
        self._check_memory(self._cost_of(X.shape[1], len(t), 1))
        rows = np.asarray(X[:], np.float64)
        matrix, right = self._system(rows, t)
        coef = solve_penalised(matrix, 2 * len(t) * self.lam, right, singular=SINGULAR_SYSTEM)
        self._function = self._function_of(rows, coef)
        for name, value in self._function.attributes.items():
            setattr(self, name, value)

    def _function_of(self, X: Any, coef: Array) -> Expansion | LinearFunction:
        """Return the function of some coefficients, or of every column of an array of them."""
        if self.kernel == "linear":
            return LinearFunction(Inputs(), coef)
        return Expansion(self.kernel, self._sigma, np.asarray(X, np.float64), coef)

    def _solve_all(self, X: Any, t: Array, lams: Sequence[float]) -> Array:
        """Return the coefficients of every lam, a column each."""
        matrix, right = self._system(np.asarray(X, np.float64), t)
        spectrum, vectors = eigh(matrix)
        penalties = 2 * len(t) * np.asarray(lams)
        of_right = vectors.T @ right
        return vectors @ (of_right[:, None] / (spectrum[:, None] + penalties))

    def _system(self, X: Array, t: Array) -> tuple[Array, Array]:
        """Return A and b: the coefficients w solve ``(A + 2 n lam I) w = b``."""
        if self.kernel == "linear":
            Phi = with_one(X)
            return np.asfortranarray(Phi.T @ Phi), Phi.T @ t
        return kernel_named(self.kernel).gram(X, X, self._sigma).T, t

    def _values(self, X: Any) -> Array:
        return self._function.values(X)

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_similar: int, n_unlabeled: int
    ) -> Cost:
        """Return what a fit takes, or a grid on folds, on as many rows as others have points.

        Parameters
        ----------
        n_inputs, n_models : int
            As in `Estimator.cost`.
        n_similar, n_unlabeled : int
            Pairs and rows of the methods that it is compared with: it is trained on
            ``min(2 n_similar, n_unlabeled)`` labelled rows.
        """
        return self._cost_of(n_inputs, min(2 * n_similar, n_unlabeled), n_models)

    def _cost_of(self, n_inputs: int, n_rows: int, n_models: int) -> Cost:
        double, linear = 2, self.kernel == "linear"
        size = n_inputs + 1 if linear else n_rows
        solving = size**3 / 3
        if n_models > 1:
            solving = EIGH_FLOPS * size**3 + n_models * size**2
        if linear:
            building = float(n_rows * size**2)
            memory = 2 * 8 * n_rows * size
        else:
            building = n_rows**2 * (n_inputs + FUNCTION_FLOPS / 2)
            memory = expansion_memory(n_rows, n_inputs) + 24 * n_rows * n_inputs
        matrix = 8 * size**2 if n_models == 1 else eigh_memory(size)
        return Cost(
            flops=double * (building + solving),
            memory=memory + matrix + 8 * size * n_models,
            flops_per_row=2.0 * double * size if linear else expansion_flops(size, n_inputs),
        )
