"""Supervised reference SVMs: trained on the labelled rows, or on all rows with all labels."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from typing_extensions import Doc

from dsgkit.costs import Cost, Pace
from dsgkit.linalg import Array
from dsgkit.random import draw_in_passes
from dsgkit.solvers.common import GaussianOrLinear, MaxMemory, RandomState, Sigma, Tolerance
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import ALL_LABELED, with_example
from dsgkit.solvers.functions import FunctionKeeper
from dsgkit.solvers.inputs import as_labels, as_rows, check_finite, two_classes
from dsgkit.solvers.labeled import LabeledEstimator
from dsgkit.solvers.parameters import COUNT, POSITIVE, LegacyDefault, Smoother
from dsgkit.solvers.sigma import WithSigma
from dsgkit.trainers.libsvm import LibSVM, svm_cost


@with_example(ALL_LABELED, "C=1000")
class SupervisedSVM(FunctionKeeper, WithSigma, LabeledEstimator):
    """Support vector machine of the labelled rows, the baseline of the semi-supervised SVMs.

    Minimises ``1/2 ||h||^2 + C/n sum_i max(0, 1 - y_i f(x_i))`` over the functions f = h + b, h of
    a kernel, by default ``exp(-sigma ||x - x'||^2)``: the objective of the semi-supervised SVMs
    without its unlabelled part. It is scikit-learn's `SVC`, whose C is ``C / n`` and whose gamma is
    ``sigma``. If classes differ in size and the measure is the balanced error, class weights can
    gain more than unlabelled rows.

    References
    ----------
    .. [1] Chang & Lin, "LIBSVM: a library for support vector machines", ACM TIST 2011.
    """

    tasks = ("semi_supervised_svm",)
    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=4, per_model=8)
    _labeled_only: ClassVar[bool] = True

    C: Annotated[float, POSITIVE, Smoother("smaller"), Doc("Weight of the mean hinge loss.")] = (
        100.0
    )
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    class_weight: Annotated[
        Literal["balanced"] | None,
        LegacyDefault(None),
        Doc('"balanced" weights the losses of a class by the inverse of its share, as `SVC` does.'),
    ] = None
    tol: Tolerance = 0.001
    max_memory: MaxMemory = None

    centers_: Array = fitted("The support vectors.", "(n_support, n_inputs)")
    coef_: Array = fitted("Their coefficients.", "(n_support,)")
    intercept_: float = fitted("The offset b.")

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the model to the labelled rows.

        Parameters
        ----------
        X, y
            As in `LabeledEstimator.fit`, with the same errors.
        X_unlabeled : object
            Ignored; accepted so that calls are the same as for the semi-supervised SVMs.

        Returns
        -------
        self
        """
        return super().fit(X, y)

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return the cost of a fit on the labelled rows; see the base class."""
        return svm_cost(n_labeled, n_inputs, n_models)

    def _fit(self, X: Any, t: Array) -> None:
        self._check_memory(svm_cost(*X.shape))
        svm = LibSVM(self.kernel, self._sigma, self.tol)
        self._keep_function(svm.fit(X, t, self.C, self.class_weight))


class AllLabelsSVM(SupervisedSVM):
    """Support vector machine that also sees the hidden labels: an upper bound for the others.

    It is the `SupervisedSVM` of the labelled and unlabelled rows with all their labels, or of a
    random part of these.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import AllLabelsSVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> AllLabelsSVM(C=1000).fit(X[:60], y[:60], X[60:], y[60:]).score(X, y) > 0.97
    True
    """

    _labeled_only: ClassVar[bool] = False  # the hidden labels are those of the unlabelled rows

    _: KW_ONLY
    most_rows: Annotated[
        int, COUNT, Doc("Most training rows, drawn at random: training takes O(n^2) to O(n^3).")
    ] = 20000
    random_state: RandomState = 0

    n_rows_: int = fitted("Training rows.")

    def fit(  # type: ignore[override]  # also takes the hidden labels
        self, X: Any, y: Any, X_unlabeled: Any, y_unlabeled: Any
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X, y
            As in `SupervisedSVM.fit`, with the same errors.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs)
            The rows whose labels are hidden from other methods.
        y_unlabeled : array-like of shape (n_unlabeled,)
            Their labels.

        Returns
        -------
        self
        """
        self._check_params()
        X = as_rows(self, X, reset=True)
        X_unlabeled = as_rows(self, X_unlabeled, reset=False, name="X_unlabeled")
        labels = np.concatenate([as_labels(y, len(X)), as_labels(y_unlabeled, len(X_unlabeled))])
        n, n_labeled = len(labels), len(X)
        self.n_rows_ = min(self.most_rows, n)
        rows = np.sort(draw_in_passes(self.random_state, 0, 0, 1, self.n_rows_, n)[0])
        own, others = rows[rows < n_labeled], rows[rows >= n_labeled] - n_labeled
        drawn = np.concatenate([X[own], X_unlabeled[others]])
        check_finite(drawn)
        self.classes_ = two_classes(labels[rows])
        with self._sigma_for(drawn):
            self._fit(drawn, np.where(labels[rows] == self.classes_[1], 1.0, -1.0))
        return self

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return the cost of a fit on the drawn rows; see the base class."""
        return svm_cost(min(self.most_rows, n_labeled + n_unlabeled), n_inputs, n_models)
