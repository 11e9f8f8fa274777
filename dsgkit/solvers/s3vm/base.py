"""Base of the semi-supervised SVMs: a margin risk and a trainer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.costs import Cost
from dsgkit.errors import DataError
from dsgkit.linalg import Array
from dsgkit.objectives.margin import MarginRisk
from dsgkit.objectives.pairwise_risk import NEGATIVE, POSITIVE
from dsgkit.solvers.base import Folds, Points, SemiSupervisedEstimator
from dsgkit.solvers.common import HingeWeight, Sigma
from dsgkit.solvers.diagnostics import penalised
from dsgkit.solvers.functions import PointFunctions
from dsgkit.solvers.minimise import Pools, RiskMinimiser, by_trainer, training_of
from dsgkit.solvers.sigma import WithSigma
from dsgkit.trainers.training import (
    Decreasing,
    Fixed,
    Given,
    MarginTrainer,
    Sizes,
    Step,
    Training,
)

Risk = MarginRisk


class S3VM(RiskMinimiser, WithSigma, SemiSupervisedEstimator):
    """Base of the semi-supervised SVMs.

    All minimise ``1/2 ||f||^2 + C mean_labelled hinge(y f(x)) + C* mean_unlabelled u(f(x))`` over
    functions f of a kernel such as ``exp(-sigma ||x - x'||^2)``, each with its own loss u.

    A subclass defines the trainer (`_trainer`) and, if it differs, the risk (`_risk`) and the step
    rule (`_step`).
    """

    tasks = ("semi_supervised_svm",)
    version: ClassVar[int] = 1

    C: HingeWeight = 100.0
    sigma: Sigma = "scale"
    _: KW_ONLY
    C_star: float | None
    C_star_ratio: float | None

    @abstractmethod
    def _trainer(self, n_labeled: int, n_unlabeled: int) -> MarginTrainer:
        """Return the trainer for the parameters and these numbers of rows."""

    def _risk(self, n_labeled: int, n_unlabeled: int) -> Risk:
        """Return the risk that is minimised."""
        return MarginRisk(self.C, self._unlabeled_weight(n_labeled, n_unlabeled))

    def _check_params(self) -> None:
        super()._check_params()
        if self.C_star is not None and self.C_star_ratio is not None:
            raise DataError(
                f"C_star is {self.C_star:g} and C_star_ratio is {self.C_star_ratio:g}: set one of "
                "them, the other one to null"
            )

    def _unlabeled_weight(self, n_labeled: int, n_unlabeled: int) -> float:
        """Return C*, by default the paper's ``C n_l / n_u``."""
        if self.C_star is not None:
            return self.C_star
        if self.C_star_ratio is not None:
            return self.C * self.C_star_ratio
        return self.C * n_labeled / max(1, n_unlabeled)

    def _penalty(self) -> float:
        return 0.5

    def _risks(self, given: Given, pools: Pools) -> list[Any]:
        return [self._risk(len(given.X), len(given.X_unlabeled))] * len(pools)

    def _training(self, models: Sequence[Any], given: Given) -> Training:
        """Return the training problem of models on all rows."""
        return training_of(models, given)

    def _fit(self, X: Any, positive: NDArray[np.bool_], X_unlabeled: Any) -> None:
        counts = len(X), len(X_unlabeled)
        trainer, sizes = self._trainer(*counts), Sizes(X.shape[1], *counts, n_sources=2)
        self._check_memory(trainer.models_cost(sizes, 1, self._risk(*counts), self._step()))
        training = self._training([self], _given(X, positive, X_unlabeled))
        self._keep(trainer.fit(training), training)

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, X_unlabeled: Any = None
    ) -> Any:
        """Train a model for each of many settings; see the base class.

        Settings that differ only in `PER_MODEL` parameters are trained together: in one pass over
        the features, or with one kernel matrix. A model that diverged or has no solution has values
        of NaN.
        """
        if folds is not None:
            return super().fit_points(points, folds=folds, X=X, y=y, X_unlabeled=X_unlabeled)
        points = self._with_sigma(points, X, X_unlabeled)
        models = self._unfitted(points)
        checked = clone(self)
        given = _given(*checked._inputs(X, y, X_unlabeled))
        counts = len(given.X), len(given.X_unlabeled)
        parts = []
        for trainer, members in by_trainer(model._trainer(*counts) for model in models).items():
            group = [models[number] for number in members]
            costs = [model._cost_of(given, len(models)) for model in group]
            group[0]._check_memory(max(costs, key=lambda cost: cost.memory))
            parts.append((members, trainer.functions(group[0]._training(group, given))))
        return PointFunctions(checked, parts)

    def _cost_of(self, given: Given, n_models: int) -> Cost:
        """Return the cost of training models on these rows."""
        counts = {"n_labeled": len(given.X), "n_unlabeled": len(given.X_unlabeled)}
        return self.cost(given.X.shape[1], n_models=n_models, **counts)

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return the cost of training one or several models; see the base class."""
        counts = n_labeled, n_unlabeled
        sizes, risk = Sizes(n_inputs, *counts, n_sources=2), self._risk(*counts)
        return self._trainer(*counts).models_cost(sizes, n_models, risk, self._step())

    def diagnostics(self, X: Any, y: Any, X_unlabeled: Any = None) -> dict[str, float]:
        """Return the objective at the fitted function, and its parts.

        Parameters
        ----------
        X, y, X_unlabeled
            The training rows and labels.

        Returns
        -------
        dict
            ``objective``, and its parts ``risk`` and ``squared_norm``; and
            ``symmetric_hinge_objective``, with the loss ``max(0, 1 - |f|)`` of unlabelled rows for
            every S3VM, so that different ones can be compared.
        """
        X, positive, X_unlabeled = clone(self)._inputs(X, y, X_unlabeled)
        labeled, squared_norm = self._values(X), self._function.squared_norm()
        values = [labeled[positive], labeled[~positive], self._values(X_unlabeled)]
        risk, counts = self._risk(len(X), len(X_unlabeled)), np.array([len(f) for f in values[:2]])
        common = MarginRisk(risk.C, risk.C_star).value(values, counts) + squared_norm / 2
        parts = penalised(self._risk_at(risk, values), 0.5, squared_norm)
        return {**parts, "symmetric_hinge_objective": common}

    def _risk_at(self, risk: Risk, values: Sequence[Array]) -> float:
        """Return the risk of the fitted function from its values."""
        return risk.value(values, np.array([len(f) for f in values[:2]]))


def _given(X: Any, positive: NDArray[np.bool_], X_unlabeled: Any) -> Given:
    """Return rows and labels in the form that trainers take."""
    return Given(X, np.where(positive, POSITIVE, NEGATIVE), X_unlabeled, n_sources=2)


def step_of(C: float, step: float | str, first_move: float) -> Step:
    """Return the step rule for the parameters ``step`` and ``first_move``.

    The first decreasing step moves by about ``first_move`` margins, as the largest derivative is C;
    the steps decay with the weight of the regulariser, 1.
    """
    return Decreasing(1.0, C / first_move) if step == "decreasing" else Fixed(float(step))
