"""Estimators that learn from labelled rows alone, which others are compared with."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags

from dsgkit.costs import Cost, Pace
from dsgkit.engine.model import Expansion, one_by_one
from dsgkit.engine.problem import Data, Problem, Sizes
from dsgkit.errors import FitError
from dsgkit.estimators.base import LabeledEstimator
from dsgkit.estimators.ordinal import OrdinalEstimator, OwnOrRule
from dsgkit.estimators.parameters import (
    GramKernelName,
    Lam,
    LinearOrKernel,
    MaxMemory,
    Sigma,
    ThresholdRule,
)
from dsgkit.estimators.similar import least_squares, least_squares_cost
from dsgkit.exact.ordinal_losses import (
    AllThresholds,
    KernelFeatures,
    features_cost,
    ridge_on_numbers,
)
from dsgkit.exact.quadratic import SINGULAR, constant
from dsgkit.risks.pairwise import SquaredLoss, above_cuts


class SupervisedSL(LabeledEstimator):
    """Minimiser of the squared loss of labelled rows: an upper bound for learning from pairs.

    Minimises ``mean (y f - 1)^2/4 + lam/2 ||f||^2`` over the functions of a kernel, or over linear
    functions with a bias, which is penalised too. `SUSL` minimises an unbiased estimate of this
    objective from similar pairs and unlabelled rows. It is kernel ridge regression on the labels -1
    and 1, ``sklearn.kernel_ridge.KernelRidge`` with alpha = ``2 n lam``. O(n^3) time, 8 n^2 bytes.

    Parameters
    ----------
    lam : float > 0, default 0.001
        Weight of the regulariser.
    sigma, kernel, max_memory
        As in `SUSL`.

    Attributes
    ----------
    centers_, coef_, function_, sigma_
        As in `SUSL`, with the training rows as centres.
    classes_ : ndarray of shape (2,)
        The two labels; the larger one, the last, is positive.
    """

    tasks = ("similar_unlabeled",)
    folds_in_one_pass = True
    has_intercept = False
    pace = Pace(training=1.5, per_model=0.5)
    failure = FitError(SINGULAR)

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

    def learn(self, problem: Problem) -> Any:
        return least_squares(self, problem)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        rows = min(n.labeled, n.unlabeled)  # those of the pairs that others learn from
        return least_squares_cost(self, n._replace(labeled=0, unlabeled=rows), n_models)


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


class KernelRidgeOrdinal(OrdinalEstimator):
    """Kernel ridge regression on the classes as the numbers 1..k.

    Minimises the *mean* of ``(y_i - m - f(x_i))^2`` over the labelled rows, plus ``lam ||f||^2``,
    over the functions of a kernel, by default ``exp(-sigma ||x - x'||^2)``; m is the mean of the
    numbers. In ``sklearn.kernel_ridge.KernelRidge``, ``n_labeled * lam`` is alpha. Unlabelled rows
    are not used for the function. O(n_labeled^3) time.

    Parameters
    ----------
    lam : float > 0, default 0.01
        Weight of the regulariser.
    kernel : str, default "gaussian"
        "gaussian", "laplacian" or "dot_product(p)" with the parameter ``sigma``, or "linear".
    sigma, max_memory, thresholds, unlabeled_label, classes
        As in `ExactS2OR`.

    Attributes
    ----------
    centers_, coef_ : ndarray
        The labelled rows and their coefficients.
    intercept_ : float
        The mean m.

    References
    ----------
    .. [1] Saunders, Gammerman & Vovk, "Ridge regression learning algorithm in dual variables",
       ICML 1998.
    """

    pace = Pace(per_model=0.5)
    labeled_only = True
    folds_in_one_pass = False  # each has its own kernel matrix

    lam: Lam = 0.01
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    thresholds: ThresholdRule = "logistic"
    max_memory: MaxMemory = None

    def learn(self, problem: Problem) -> Any:
        def solve(part: Problem, features: KernelFeatures) -> Expansion:
            return ridge_on_numbers(features, float(part.each("lam")[0]))

        return one_by_one(
            problem, solve, lambda data: KernelFeatures(data, self.kernel, self.sigma_)
        )

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return features_cost(n, n_models, 4 * n.labeled**2)


class AllThresholdLogistic(OrdinalEstimator):
    """All-threshold logistic regression over the functions of a kernel.

    Minimises ``mean_i sum_j log(1 + exp(-z_ij (f(x_i) - b_j))) + lam/2 ||f||^2`` over f and the
    thresholds b, where z_ij is 1 for rows above cut j and -1 for the others [1]_. The means are
    over the labelled rows; unlabelled ones are not used for the function. With the linear kernel it
    equals ``LogisticAT`` of the package mord, which is no longer maintained and refuses classes
    without rows; here such a class is never predicted. It is not the proportional odds model.

    As there are few labelled rows, f is any function of the kernel, found by L-BFGS in the
    eigenvectors of the kernel matrix: exact, without a seed. O(n_labeled^3) time.

    Parameters
    ----------
    lam, kernel
        As in `KernelRidgeOrdinal`.
    thresholds : {"own", "logistic", "absolute", "share", "hinge"}, default "own"
        The thresholds b of the objective, or a rule that places others
        (`dsgkit.estimators.thresholds`).
    sigma, max_memory, unlabeled_label, classes
        As in `SVOREX`.

    Attributes
    ----------
    centers_, coef_ : ndarray
        The labelled rows and their coefficients.
    own_thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds that minimise the objective.

    References
    ----------
    .. [1] Rennie & Srebro, "Loss functions for preference levels: regression with discrete ordered
       labels", IJCAI workshop on advances in preference handling, 2005.
    .. [2] Pedregosa, Bach & Gramfort, "On the consistency of ordinal regression methods", JMLR 18,
       2017.
    """

    pace = Pace(training=4, per_model=2.5)
    labeled_only = True
    folds_in_one_pass = False  # each has its own kernel matrix

    lam: Lam = 0.01
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    thresholds: OwnOrRule = "own"
    max_memory: MaxMemory = None

    def learn(self, problem: Problem) -> Any:
        # a smaller lam starts from the solution for a larger one
        order = np.lexsort((-problem.each("lam"), problem.pool))

        def objective_of(data: Data) -> AllThresholds:
            return AllThresholds(KernelFeatures(data, self.kernel, self.sigma_))

        def solve(part: Problem, objective: AllThresholds) -> Expansion:
            function, self.own_thresholds_ = objective.solve(float(part.each("lam")[0]))
            return function

        return one_by_one(problem, solve, objective_of, order)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        evaluation = n.labeled * (4 * n.labeled + 40 * (n.sources - 1))
        return features_cost(n, n_models, 60 * evaluation)


class ConstantMedian(OrdinalEstimator):
    """Constant prediction with the least absolute error on the labelled rows: the median class.

    All values are 0, which is an AUC of 1/2. Of two medians the lower one is predicted.

    Parameters
    ----------
    unlabeled_label, classes
        As in `QS3ORAO`.

    Attributes
    ----------
    thresholds_, own_thresholds_ : ndarray of shape (n_classes - 1,)
        -inf below the median class, inf above.
    """

    labeled_only = True
    folds_in_one_pass = False
    thresholds: ClassVar[str] = "own"

    def learn(self, problem: Problem) -> Any:
        share = above_cuts(problem.data.codes, problem.data.n_sources).mean(axis=0)
        self.own_thresholds_ = np.where(share > 0.5, -np.inf, np.inf)
        return Expansion(None, 1.0, constant, np.zeros((1, problem.n_models)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
