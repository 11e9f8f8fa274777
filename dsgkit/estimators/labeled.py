"""Classifiers that learn from labelled rows alone, which others are compared with."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
from sklearn.utils import Tags

from dsgkit.costs import Cost, Pace
from dsgkit.engine.model import Expansion
from dsgkit.engine.problem import Data, Problem, Sizes
from dsgkit.estimators.base import LabeledEstimator
from dsgkit.estimators.parameters import Lam, LinearOrKernel, MaxMemory, Sigma
from dsgkit.estimators.similar import LeastSquares
from dsgkit.exact.quadratic import constant
from dsgkit.risks.pairwise import SquaredLoss


class SupervisedSL(LeastSquares, LabeledEstimator):
    """Minimiser of the squared loss of labelled rows: an upper bound for learning from pairs.

    Minimises ``mean (y f - 1)^2/4 + lam/2 ||f||^2`` over the functions of a kernel, or over linear
    functions with a bias, which is penalised too. `SUSL` minimises an unbiased estimate of this
    objective from similar pairs and unlabelled rows. It is kernel ridge regression on the labels -1
    and 1, `sklearn.kernel_ridge.KernelRidge` with alpha = ``2 n lam``. O(n^3) time, 8 n^2 bytes.

    Parameters
    ----------
    lam : float > 0, default 0.001
        Weight of the regulariser.
    sigma, kernel, max_memory
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

    tasks = ("similar_unlabeled",)
    folds_in_one_pass = True
    has_intercept = False
    pace = Pace(training=3, per_model=5)

    lam: Lam = 0.001
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: LinearOrKernel = "gaussian"
    max_memory: MaxMemory = None

    def data(self, X: Any, y: Any, **others: Any) -> Data:
        labeled = super().data(X, y)
        return replace(labeled, U=labeled.X)  # the rows of the quadratic term

    def risk(self, data: Any) -> SquaredLoss:
        return SquaredLoss()

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        rows = min(n.labeled, n.unlabeled)  # those of the pairs that others learn from
        return super().cost(n._replace(labeled=0, unlabeled=rows), n_models)


class MajorityClass(LabeledEstimator):
    """Constant prediction of the larger class; of equally large ones, the positive class.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels; the larger one, the last, is positive.
    value_ : float
        1 or -1, the value at all rows.
    """

    tasks = ("similar_unlabeled",)
    has_intercept = False

    def learn(self, problem: Problem) -> Any:
        positive, negative = problem.data.counts
        self.value_ = 1.0 if positive >= negative else -1.0
        return Expansion(None, 1.0, constant, np.full((1, problem.n_models), self.value_))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
