"""The fit and the values that the S3VMs share whose function is a sum over support vectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dsgkit.kernels.gaussian import gaussian_expansion
from dsgkit.solvers.base import SemiSupervisedClassifier, encode_labels
from dsgkit.solvers.inputs import check_above_zero, check_columns, check_training_rows
from dsgkit.threads import single_blas_thread

Array = NDArray[np.float64]


class KernelS3VM(SemiSupervisedClassifier):
    """Base of the S3VMs with a function ``sum_j coef[j] k(centers[j], x) + intercept``.

    A subclass checks its further parameters and computes the fitted attributes.

    Attributes
    ----------
    centers_ : ndarray of shape (n_support, n_inputs)
    coef_ : ndarray of shape (n_support,)
    intercept_ : float
    n_features_in_ : int
        Columns of the training rows.
    """

    C: float
    sigma: float
    C_star: float | None
    centers_: Array
    coef_: Array
    intercept_: float

    def fit(self, X: Any, y: Any, X_unlabeled: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : rows of shape (n_labeled, n_inputs)
        y : array-like of shape (n_labeled,)
            Two labels; the larger is positive.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs)

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a parameter is out of range or the arrays cannot be used.
        MemoryLimitError
            If the fit needs more than the limit; before anything is allocated.
        """
        self._check_params()
        check_training_rows(X, y, X_unlabeled)
        positive = encode_labels(y)
        self._check_memory(self.memory_needed(len(X), len(X_unlabeled), X.shape[1]))
        # one thread: the products are small, and which rows lie within the margin, or are switched,
        # may hang on rounding, which is not to depend on the number of threads
        with single_blas_thread():
            self._fit_checked(X, np.where(positive, 1.0, -1.0), X_unlabeled)
        self.n_features_in_ = X.shape[1]
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the values of the fitted function at the rows of ``X``, shape (n,)."""
        check_is_fitted(self, "coef_")
        check_columns(X, self.n_features_in_)
        return gaussian_expansion(X, self.centers_, self.coef_, self.sigma) + self.intercept_

    def _fit_checked(self, X: Any, y: Array, X_unlabeled: Any) -> None:
        """Compute the fitted attributes from what `fit` has checked; ``y`` is -1 and 1."""
        raise NotImplementedError

    def _check_params(self) -> None:
        """Raise `DataError` for a parameter value that is out of range."""
        check_above_zero(C=self.C, sigma=self.sigma)
        if self.C_star is not None:
            check_above_zero(C_star=self.C_star)

    def _unlabeled_weight(self, n_labeled: int, n_unlabeled: int) -> float:
        """Return the weight C* of the mean loss of the unlabelled rows."""
        return self.C * n_labeled / n_unlabeled if self.C_star is None else self.C_star
