"""Base of the estimators that minimise a risk, for all families."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.linalg import Array, training_rows
from dsgkit.objectives.risks import Risk
from dsgkit.solvers.diagnostics import penalised
from dsgkit.solvers.functions import FunctionKeeper
from dsgkit.trainers.training import Fold, Function, Given, Training

Pools = Sequence[NDArray[np.int64]]
AnyTrainer = TypeVar("AnyTrainer")


class RiskMinimiser(FunctionKeeper):
    """Mixin of the estimators that minimise a risk plus a penalty.

    A subclass defines the risk (``_risk``) and the trainer (``_trainer``) from its parameters and
    ``_sigma``; for a trainer with steps also these (`_step`). The base class of a family names this
    class first, and defines costs (``_cost_of``).
    """

    lam: Any
    _minimised: Risk

    def _penalty(self) -> float:
        """Return the factor of the squared norm."""
        return float(self.lam / 2)

    def _step(self) -> Any:
        """Return the step rule, None for a trainer without steps."""
        return None

    def _risks(self: Any, given: Given, pools: Pools) -> list[Risk]:
        """Return the risk for each pool of labelled rows; the same unless a subclass overrides."""
        return [self._risk()] * len(pools)

    def _keep(self, function: Function, training: Training) -> None:
        """Set the attributes of a fitted function."""
        self._minimised = training.risks[0][0]
        self._keep_function(function)

    def _train(self: Any, given: Given, by: Callable[[Training], Function] | None = None) -> None:
        """Train this model on all rows, by its trainer's ``fit`` or by ``by``."""
        self._check_memory(self._cost_of(given, 1))
        training = training_of([self], given)
        self._keep((by or self._trainer().fit)(training), training)

    def _objective_parts(self, given: Given) -> dict[str, float]:
        """Return the objective at the fitted function, and its parts."""
        at_labeled = self._values(given.X)
        values = [at_labeled[given.codes == code] for code in range(given.n_sources)]
        counts = np.array([len(f) for f in values])
        # unlabelled rows are many: skip them if their weight is 0
        has_weight = self._minimised.form(counts).diagonal[-1] != 0
        values.append(self._values(given.X_unlabeled) if has_weight else np.empty(0))
        risk = self._minimised.value(values, counts)
        return penalised(risk, self._penalty(), self._function.squared_norm())


def training_of(
    models: Sequence[Any], given: Given, folds: Sequence[Fold] | None = None
) -> Training:
    """Return the training problem of models on all rows, or on the rows outside of each fold."""
    n_labeled, n_unlabeled = len(given.codes), len(given.X_unlabeled)
    unlabeled_pools: Pools | None = None
    if folds is None:
        pools = [np.arange(n_labeled)]
    else:
        pools = [training_rows(fold.labeled, n_labeled) for fold in folds]
        held_out = [fold.unlabeled for fold in folds if fold.unlabeled is not None]
        if held_out:
            unlabeled_pools = [training_rows(rows, n_unlabeled) for rows in held_out]
    return Training(
        X=given.X,
        codes=given.codes,
        X_unlabeled=given.X_unlabeled,
        pools=pools,
        n_sources=given.n_sources,
        risks=[model._risks(given, pools) for model in models],
        penalties=[model._penalty() for model in models],
        steps=[step for step in (model._step() for model in models) if step is not None],
        unlabeled_pools=unlabeled_pools,
    )


def held_out_values(
    models: Sequence[Any], given: Given, folds: Sequence[Fold]
) -> tuple[Array, Array]:
    """Return out-of-fold values of models, shapes (n_models, n_labeled), (n_models, n_unlabeled).

    Models with equal trainers are trained together. If folds hold out no unlabelled rows, the
    second array is empty. A model without a solution has values of NaN.
    """
    holds_out_unlabeled = any(fold.unlabeled is not None for fold in folds)
    n_unlabeled = len(given.X_unlabeled) if holds_out_unlabeled else 0
    at_labeled = np.full((len(models), len(given.codes)), np.nan)
    at_unlabeled = np.full((len(models), n_unlabeled), np.nan)
    for trainer, members in by_trainer(model._trainer() for model in models).items():
        group = [models[i] for i in members]
        group[0]._check_memory(group[0]._cost_of(given, max(2, len(group) * len(folds))))
        values = trainer.fold_values(training_of(group, given, folds), folds)
        at_labeled[members], at_unlabeled[members] = values
    return at_labeled, at_unlabeled


def by_trainer(trainers: Iterable[AnyTrainer]) -> dict[AnyTrainer, list[int]]:
    """Return the positions of equal trainers."""
    groups: dict[AnyTrainer, list[int]] = {}
    for number, trainer in enumerate(trainers):
        groups.setdefault(trainer, []).append(number)
    return groups
