"""What the estimators share whose model is one of the engine's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dsgkit.engine import DSGModel
from dsgkit.errors import DataError
from dsgkit.solvers.inputs import check_columns


class DoublyStochasticEstimator:
    """Values and files of a fitted model, and the settings that one pass can train together.

    A subclass is also one of the base classes in `dsgkit.solvers.base`.

    Attributes
    ----------
    model_ : DSGModel
    n_features_in_ : int
        Columns of the training rows.
    """

    model_: DSGModel
    n_features_in_: int

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the function values at the rows of ``X``, shape (n,); any number of rows."""
        check_is_fitted(self, "model_")
        check_columns(X, self.n_features_in_)
        return self.model_.decision_function(X)[:, 0].astype(np.float64)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a ``.npz`` file; `dsgkit.load_model` reads it."""
        check_is_fitted(self, "model_")
        self.model_.save(path)

    def _check_params(self) -> None:
        """Raise `DataError` for a parameter value that cannot be used."""
        raise NotImplementedError

    def _settings(
        self, points: Sequence[Mapping[str, Any]], per_model: Sequence[str]
    ) -> list[Self]:
        """Return an estimator for each point, its parameters checked.

        Only in those of ``per_model`` may the points of one pass differ.
        """
        settings = [clone(self).set_params(**point) for point in points]
        for setting in settings:
            setting._check_params()
        params = [setting.get_params() for setting in settings]
        shared = [name for name in params[0] if name not in per_model]
        if any(p[name] != params[0][name] for p in params for name in shared):
            raise DataError(f"points of one pass must agree in {', '.join(shared)}")
        return settings
