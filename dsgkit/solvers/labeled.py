"""Base of the supervised classifiers that weakly supervised methods are compared with."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dsgkit.solvers.base import BinaryClassifier, Estimator, RequiredMethods, check_solution
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.inputs import as_labels, as_rows, check_finite, two_classes

Array = NDArray[np.float64]


class LabeledEstimator(BinaryClassifier, Estimator):
    """Base of the classifiers that learn from labelled rows of two classes.

    A subclass implements `_fit`, which gets labels of -1 and 1, and `_values`.
    """

    _required_methods: ClassVar[RequiredMethods] = (
        ("fit", "_fit"),
        ("decision_function", "_values"),
    )

    classes_: NDArray[Any] = fitted(
        "The two labels; the larger one, the last, is positive.", "(2,)"
    )
    n_features_in_: int = fitted("Columns of the training rows.")

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : rows of shape (n, n_inputs)
            Array, data frame, list, sparse matrix, memory map or any object with ``shape``, a
            length and indexing by rows.
        y : array-like of shape (n,)
            Labels of two classes; the larger one is positive.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a parameter is out of range, or the rows or labels cannot be used.
        MemoryLimitError
            If the fit needs more memory than ``max_memory`` or than is available.
        FitError
            If there is no solution.
        """
        self._check_params()
        X, t = self._inputs(X, y)
        with self._sigma_for(X):
            self._fit(X, t)
        check_solution(self)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the values of the fitted function at the rows of ``X``, shape (n,).

        Raises
        ------
        DataError
            If the rows cannot be used.
        """
        check_is_fitted(self, self._solution)
        X = as_rows(self, X, reset=False)
        check_finite(X)
        return self._values(X)

    def _fit(self, X: Any, t: Array) -> None:
        """Compute the fitted attributes from checked rows and labels -1 and 1."""
        raise NotImplementedError

    def _inputs(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Return checked rows, and labels as -1 and 1; sets ``classes_``."""
        X = as_rows(self, X, reset=True)
        labels = as_labels(y, len(X))
        self.classes_ = two_classes(labels)
        check_finite(X)
        return X, np.where(labels == self.classes_[1], 1.0, -1.0)
