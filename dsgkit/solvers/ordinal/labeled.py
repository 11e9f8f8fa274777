"""Base of the ordinal estimators that learn from the labelled rows alone."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dsgkit.costs import Cost
from dsgkit.solvers.base import Folds, Points
from dsgkit.solvers.functions import FunctionKeeper
from dsgkit.solvers.minimise import by_trainer
from dsgkit.solvers.ordinal.base import Codes
from dsgkit.system.progress import part
from dsgkit.trainers.training import Array, Given


class LabeledRanker(FunctionKeeper):
    """Mixin of the ordinal estimators that minimise a loss of the labelled rows.

    A subclass defines the trainer (``_trainer``, an `OrdinalTrainer`), and names this class first.
    Points of a grid with equal trainers are trained together.
    """

    _labeled_only: ClassVar[bool] = True
    _weight: ClassVar[str] = "lam"
    """Name of the parameter that weights the loss or the regulariser."""

    def _fit(self: Any, X: Any, labels: Codes, X_unlabeled: Any) -> None:
        given = Given(X, labels, X_unlabeled, len(self.classes_))
        self._check_rows(given)
        self._keep_function(self._trainer().fit(given, getattr(self, self._weight)))

    def _fold_values(self: Any, points: Points, folds: Folds, given: Given) -> Array:
        models = self._unfitted(points)
        values = np.full((len(points), len(given.codes)), np.nan)
        groups = by_trainer(model._trainer() for model in models)
        for done, (trainer, members) in enumerate(groups.items()):
            models[members[0]]._check_rows(given)
            weights = [getattr(models[number], self._weight) for number in members]
            with part(done / len(groups), (done + 1) / len(groups)):
                values[members] = trainer.fold_values(given, folds, weights)
        return values

    def _check_rows(self: Any, given: Given) -> None:
        """Raise `MemoryLimitError` if a fit on these rows needs too much memory."""
        n, n_cuts = len(given.codes), len(np.unique(given.codes)) - 1
        self._check_memory(self.cost(given.X.shape[1], n_labeled=n, n_cuts=n_cuts))

    def cost(self: Any, n_inputs: int, *, n_models: int = 1, **counts: int) -> Cost:
        """Return the cost of fitting the function, or a grid; see `Estimator.cost`."""
        n_cuts = counts.get("n_cuts", 1)
        cost: Cost = self._trainer().cost(n_inputs, counts["n_labeled"], n_cuts, n_models)
        return cost
