"""Estimators that minimise a quadratic risk: a risk, a trainer, and the rest written once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.numerics.costs import Cost
from dsgkit.numerics.rows import training_rows
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.objectives.risks import Risk
from dsgkit.solvers.base import Folds, Points, SemiSupervisedEstimator
from dsgkit.solvers.common import Lam, Sigma
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.diagnostics import penalised
from dsgkit.solvers.sigma import WithSigma
from dsgkit.trainers.training import (
    Codes,
    Decreasing,
    Fold,
    Function,
    Sizes,
    Trainer,
    Training,
)

Array = NDArray[np.float64]
Pools = Sequence[NDArray[np.int64]]


class QuadraticRiskEstimator(WithSigma, SemiSupervisedEstimator):
    """Base of the estimators, of any family, of a function with a quadratic risk and a penalty.

    A subclass says which risk is minimised (`_risk`) and which trainer finds the minimiser
    (`_trainer`); for a trainer that goes steps, which (`_step`). It names this base before the one
    of its family.
    """

    _solution: ClassVar[str] = "_function"

    lam: Lam
    sigma: Sigma

    _function: Function = fitted()
    _form: PairwiseRisk = fitted()

    def _risk(self) -> Risk:
        """Return the risk that is minimised."""
        raise NotImplementedError

    def _trainer(self) -> Trainer:
        """Return the trainer, as the parameters and the sigma in use make it."""
        raise NotImplementedError

    def _penalty(self) -> float:
        """Return the factor of the squared norm."""
        return self.lam / 2

    def _step(self) -> Decreasing | None:
        """Return the steps of a trainer that goes some."""
        return None

    def _risks(self, X: Any, codes: Codes, X_unlabeled: Any, pools: Pools) -> list[Risk]:
        """Return the risk on each pool of labelled rows, where it depends on these."""
        return [self._risk()] * len(pools)

    def _training(
        self, models: Sequence[Any], X: Any, codes: Codes, X_unlabeled: Any, pools: Pools
    ) -> Training:
        """Return the training of some models on some pools of labelled rows."""
        steps = [model._step() for model in models]
        return Training(
            X=X,
            codes=codes,
            X_unlabeled=X_unlabeled,
            pools=pools,
            n_sources=len(self.classes_),
            risks=[model._risks(X, codes, X_unlabeled, pools) for model in models],
            penalties=[model._penalty() for model in models],
            steps=[step for step in steps if step is not None],
        )

    def _training_of_all(self, X: Any, labels: NDArray[Any], X_unlabeled: Any) -> Training:
        """Return the training of this model on all rows."""
        codes = self._codes(labels)
        return self._training([self], X, codes, X_unlabeled, [np.arange(len(codes))])

    def _fit(self, X: Any, labels: NDArray[Any], X_unlabeled: Any) -> None:
        self._check_memory(self._cost_of(X, X_unlabeled, 1))
        training = self._training_of_all(X, labels, X_unlabeled)
        self._keep(self._trainer().fit(training), training)

    def _keep(self, function: Function, training: Training) -> None:
        """Set the attributes of a fitted function."""
        self._function, self._form = function, training.forms[0][0]
        for name, value in function.attributes.items():
            setattr(self, name, value)

    def _values(self, X: Any) -> Array:
        return self._function.values(X)

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, X_unlabeled: Any = None
    ) -> Any:
        """Fit a function for each of many settings; for folds, many of them together.

        As in the base class. Settings that differ only in parameters that are declared per model
        are trained together: in one pass over the features, or from one factorisation. Errors are
        those of `fit`, except that a model without a solution has values of NaN.
        """
        if folds is None or X_unlabeled is None:
            return super().fit_points(points, folds=folds, X=X, y=y, X_unlabeled=X_unlabeled)
        points = self._with_sigma(points, X, X_unlabeled)
        models = [clone(self).set_params(**point) for point in points]
        for model in models:
            model._check_params()
        first = clone(self)
        X, labels, X_unlabeled = first._inputs(X, y, X_unlabeled)
        codes = first._codes(labels)
        pools = [training_rows(held_out, len(codes)) for held_out in folds]
        values = np.full((len(points), len(codes)), np.nan)
        for trainer, members in _alike(models).items():
            together = [models[i] for i in members]
            together[0].classes_ = first.classes_
            n_models = max(2, len(together) * len(folds))
            self._check_memory(together[0]._cost_of(X, X_unlabeled, n_models))
            training = first._training(together, X, codes, X_unlabeled, pools)
            values[members], _ = trainer.fold_values(training, [Fold(rows) for rows in folds])
        return values

    def _out_of_fold(
        self, X: Any, codes: Codes, X_unlabeled: Any, folds: Folds, reference: Any
    ) -> Array:
        """Return held-out values less each fold's mean on unlabelled rows, for thresholds."""
        pools = [training_rows(held_out, len(codes)) for held_out in folds]
        training = self._training([self], X, codes, X_unlabeled, pools)
        held_out = [Fold(rows) for rows in folds]
        values = self._trainer().centred_values(training, held_out, reference)
        if values is None:
            family: Any = super()
            values = family._out_of_fold(X, codes, X_unlabeled, folds, reference)
        return values

    def settled(self, **counts: int) -> Self:
        """Return a clone with the iterations of so many rows; see the base class."""
        copy: Self = clone(self)
        return copy.set_params(**self._trainer().iterations(counts["n_unlabeled"]))

    def _cost_of(self, X: Any, X_unlabeled: Any, n_models: int) -> Cost:
        """Return the cost of some models on these rows."""
        counts = {"n_labeled": len(X), "n_unlabeled": len(X_unlabeled)}
        return self.cost(X.shape[1], n_models=n_models, **counts, n_cuts=len(self.classes_) - 1)

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int, n_cuts: int = 1
    ) -> Cost:
        """Return what the trainer takes for a fit, or for the values of a grid; see the base."""
        return self._trainer().cost(Sizes(n_inputs, n_labeled, n_unlabeled, n_cuts + 1), n_models)

    def diagnostics(self, X: Any, y: Any, X_unlabeled: Any = None) -> dict[str, float]:
        """Return the objective at the fitted function, and its parts.

        Parameters
        ----------
        X, y, X_unlabeled
            What it was fitted to.

        Returns
        -------
        dict
            ``objective``, and its parts ``risk`` and ``squared_norm``.
        """
        X, labels, X_unlabeled = clone(self)._inputs(X, y, X_unlabeled)
        codes, labeled = self._codes(labels), self._values(X)
        values = [
            *(labeled[codes == code] for code in range(len(self.classes_))),
            # many rows, and without a weight they need not have been used
            self._values(X_unlabeled) if self._form.diagonal[-1] else np.empty(0),
        ]
        return penalised(self._form.value(values), self._penalty(), self._function.squared_norm())


def _alike(models: Sequence[Any]) -> dict[Trainer, list[int]]:
    """Return the numbers of models by their trainers, of which equal ones are one."""
    groups: dict[Trainer, list[int]] = {}
    for number, model in enumerate(models):
        groups.setdefault(model._trainer(), []).append(number)
    return groups
