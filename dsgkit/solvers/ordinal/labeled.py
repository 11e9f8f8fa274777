"""What the ordinal estimators of the labelled rows alone have in common."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dsgkit.numerics.costs import Cost
from dsgkit.solvers.base import Folds, Points
from dsgkit.solvers.functions import FunctionKeeper
from dsgkit.solvers.minimise import alike
from dsgkit.solvers.ordinal.base import Codes
from dsgkit.system.progress import part
from dsgkit.trainers.ordinal import Rows
from dsgkit.trainers.training import Array


class LabeledRanker(FunctionKeeper):
    """Ordinal estimators of a loss of the labelled rows and its weight; others are not used.

    They say which trainer finds the minimiser (``_trainer``, an `OrdinalTrainer`). Points of a grid
    whose trainers are equal are trained together. A family names this class first.
    """

    _labeled_only: ClassVar[bool] = True
    _weight: ClassVar[str] = "lam"
    """The parameter that weighs the loss or the regulariser."""

    def _fit(self: Any, X: Any, labels: Codes, X_unlabeled: Any) -> None:
        self._check_rows(X, labels)
        weight = getattr(self, self._weight)
        self._keep_function(self._trainer().fit(Rows(X, labels, len(self.classes_)), weight))

    def _fold_values(
        self: Any,
        points: Points,
        folds: Folds,
        X: Any,
        codes: Codes,
        X_unlabeled: Any,
        classes: Any,
    ) -> Array:
        models = self._of_points(points)
        values = np.full((len(points), len(codes)), np.nan)
        groups = alike(model._trainer() for model in models)
        for done, (trainer, members) in enumerate(groups.items()):
            models[members[0]]._check_rows(X, codes)
            weights = [getattr(models[number], self._weight) for number in members]
            with part(done / len(groups), (done + 1) / len(groups)):
                values[members] = trainer.fold_values(Rows(X, codes, len(classes)), folds, weights)
        return values

    def _check_rows(self: Any, X: Any, codes: Codes) -> None:
        """Raise `MemoryLimitError` if a fit on these rows would take too much."""
        n_cuts = len(np.unique(codes)) - 1
        self._check_memory(self.cost(X.shape[1], n_labeled=len(X), n_cuts=n_cuts))

    def cost(self: Any, n_inputs: int, *, n_models: int = 1, **counts: int) -> Cost:
        """Return what a fit of the function takes, or a grid; see `Estimator.cost`."""
        n_cuts = counts.get("n_cuts", 1)
        cost: Cost = self._trainer().cost(n_inputs, counts["n_labeled"], n_cuts, n_models)
        return cost
