"""Classifiers that learn from labelled rows alone, which others are compared with."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from dsgkit.costs import Cost, Pace
from dsgkit.engine.model import Expansion
from dsgkit.engine.problem import Data, Problem, Sizes
from dsgkit.errors import FitError
from dsgkit.estimators.base import Estimator
from dsgkit.estimators.similar import least_squares, least_squares_cost
from dsgkit.exact.quadratic import SINGULAR, constant
from dsgkit.risks.pairwise import SquaredLoss
from dsgkit.solvers.common import Lam, LinearOrKernel, MaxMemory, Sigma
from dsgkit.solvers.inputs import as_labels, as_rows, check_finite, two_classes
from dsgkit.solvers.parameters import check_parameters


class LabeledClassifier(ClassifierMixin, Estimator):
    """Base of the classifiers that learn from labelled rows of two classes alone."""

    tasks = ("similar_unlabeled",)
    labeled_only = True
    has_intercept = False

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : rows of shape (n, n_inputs)
            Array, data frame, list, sparse matrix, memory map or any object with ``shape``, a
            length and indexing by rows.
        y : array-like of shape (n,)
            Labels of two classes; the larger one is positive.

        Raises
        ------
        DataError
            If a parameter is out of range, or the rows or labels cannot be used.
        MemoryLimitError
            If the fit needs more memory than ``max_memory`` or than is available.
        FitError
            If there is no solution.
        """
        check_parameters(self)
        return self._fit(self.data(X, y))

    def data(self, X: Any, y: Any) -> Data:
        X = as_rows(self, X, reset=True)
        labels = as_labels(y, len(X))
        self.classes_ = two_classes(labels)
        check_finite(X)
        return Data(X, np.where(labels == self.classes_[1], 0, 1), X)

    def risk(self, data: Any) -> SquaredLoss:
        return SquaredLoss()

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row, which is positive for values of at least 0."""
        return self.classes_[(self.decision_function(X) >= 0).astype(int)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


class SupervisedSL(LabeledClassifier):
    """Minimiser of the squared loss of labelled rows: an upper bound for learning from pairs.

    Minimises ``mean (y f - 1)^2/4 + lam/2 ||f||^2`` over the functions of a kernel, or over linear
    functions with a bias, which is penalised too. `SUSL` minimises an unbiased estimate of this
    objective from similar pairs and unlabelled rows. It is kernel ridge regression on the labels -1
    and 1, `sklearn.kernel_ridge.KernelRidge` with alpha = ``2 n lam``. O(n^3) time, 8 n^2 bytes.

    Parameters
    ----------
    lam, sigma, kernel, max_memory
        As in `SUSL`.

    Attributes
    ----------
    centers_ : ndarray of shape (n, n_inputs)
        The training rows; only with a kernel.
    classes_ : ndarray of shape (2,)
        The two labels; the larger one, the last, is positive.
    coef_ : ndarray of shape (n_inputs + 1,) or (n,)
        Coefficients of the inputs, then the bias; or those of the kernel at ``centers_``.
    function_ : Expansion
    sigma_ : float
        The sigma in use.
    """

    pace = Pace(training=3, per_model=5)
    failure = FitError(SINGULAR)

    lam: Lam = 0.001
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: LinearOrKernel = "gaussian"
    max_memory: MaxMemory = None

    def learn(self, problem: Problem) -> Any:
        return least_squares(self, problem)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        rows = min(n.labeled, n.unlabeled)  # those of the pairs that others learn from
        return least_squares_cost(self, n._replace(labeled=0, unlabeled=rows), n_models)


class MajorityClass(LabeledClassifier):
    """Constant prediction of the larger class; of equally large ones, the positive class.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels; the larger one, the last, is positive.
    value_ : float
        1 or -1, the value at all rows.
    """

    def learn(self, problem: Problem) -> Any:
        positive, negative = problem.loss.counts.T
        values = np.where(positive >= negative, 1.0, -1.0)
        self.value_ = float(values[0])
        return Expansion(None, 1.0, constant, values[None])

    def diagnostics(self, **arrays: Any) -> dict[str, float]:
        return {}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
