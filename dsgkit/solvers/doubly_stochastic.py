"""Base of the estimators whose model is one of the engine's."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dsgkit.engine import DSGModel
from dsgkit.errors import DataError
from dsgkit.solvers.base import Points, SemiSupervisedEstimator
from dsgkit.solvers.parameters import parameters


class DoublyStochasticEstimator(SemiSupervisedEstimator):
    """Values and files of a fitted model, and the settings that one pass can train together.

    A subclass names this base before the one of its family.

    Attributes
    ----------
    model_ : DSGModel
    """

    _solution: ClassVar[str] = "model_"
    model_: DSGModel

    def _values(self, X: Any) -> NDArray[np.float64]:
        return self.model_.decision_function(X)[:, 0].astype(np.float64)

    def save(self, path: str | Path) -> None:
        """Write the fitted function to a ``.npz`` file, which `dsgkit.load_model` reads.

        Classes and thresholds are no part of it; pickle keeps the estimator as a whole.
        """
        check_is_fitted(self, self._solution)
        self.model_.save(path)

    def _settings(self, points: Points) -> list[Self]:
        """Return an estimator for each point, its parameters checked.

        The points of one pass may differ only in parameters that are declared per model.
        """
        settings = [clone(self).set_params(**point) for point in points]
        for setting in settings:
            setting._check_params()
        solver: Any = type(self)
        shared = [name for name, p in parameters(solver).items() if not p.per_model]
        values = [[getattr(setting, name) for name in shared] for setting in settings]
        if any(other != values[0] for other in values):
            raise DataError(f"points of one pass must agree in {', '.join(shared)}")
        return settings
