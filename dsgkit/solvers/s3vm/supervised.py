"""Reference SVMs for the semi-supervised ones: trained on labelled rows, or on all labels."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from typing_extensions import Doc

from dsgkit.kernels import kernel_named
from dsgkit.kernels.gaps import without_gaps
from dsgkit.kernels.gaussian import expansion_flops, expansion_memory
from dsgkit.numerics.costs import ENTRY_FLOPS, Cost, Pace
from dsgkit.random.draws import draw_in_passes
from dsgkit.solvers.common import GaussianOrLinear, MaxMemory, RandomState, Sigma, Tolerance
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.inputs import as_labels, as_rows, check_finite, two_classes
from dsgkit.solvers.labeled import Array, LabeledEstimator
from dsgkit.solvers.parameters import COUNT, POSITIVE, Smoother, Unsaid
from dsgkit.solvers.sigma import WithSigma

CACHE_MIB = 500
"""MiB of kernel values that LIBSVM keeps at most."""

_STEPS_PER_ROW = 3.0
"""Steps of sequential minimal optimisation; 0.5 for a small C, 10 and more for a large one."""

_STEP_FLOPS = 100.0
"""Operations of a step for each row."""


class SupervisedSVM(WithSigma, LabeledEstimator):
    """Support vector machine of the labelled rows: what unlabelled rows have to be better than.

    Minimises ``1/2 ||h||^2 + C/n sum_i max(0, 1 - y_i f(x_i))`` over the functions f = h + b, h of
    a kernel, by default ``exp(-sigma ||x - x'||^2)``: the objective of the semi-supervised SVMs
    without its unlabelled part. It is scikit-learn's `SVC`, whose C is ``C / n`` and whose gamma is
    ``sigma``.
    Where classes differ in size and errors are balanced, class weights can gain more than
    unlabelled rows do.

    References
    ----------
    .. [1] Chang & Lin, "LIBSVM: a library for support vector machines", ACM TIST 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import SupervisedSVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> SupervisedSVM(C=1000).fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.95
    True
    """

    tasks = ("semi_supervised_svm",)
    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=4, per_model=8)

    C: Annotated[float, POSITIVE, Smoother("smaller"), Doc("Weight of the mean hinge loss.")] = (
        100.0
    )
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    class_weight: Annotated[
        Literal["balanced"] | None,
        Unsaid(None),
        Doc('"balanced" weighs the losses of a class by the inverse of its share, as `SVC` does.'),
    ] = None
    tol: Tolerance = 0.001
    max_memory: MaxMemory = None

    centers_: Array = fitted("The support vectors.", "(n_support, n_inputs)")
    coef_: Array = fitted("Their coefficients.", "(n_support,)")
    intercept_: float = fitted("The offset b.")

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return what a fit on the labelled rows takes; see the base class."""
        return svm_cost(n_labeled, n_inputs, n_models)

    def _fit(self, X: Any, t: Array) -> None:
        from sklearn.svm import SVC

        n, n_inputs = X.shape
        self._check_memory(svm_cost(n, n_inputs))
        svm = SVC(
            C=self.C / n,
            **libsvm_kernel(self.kernel, self._sigma),
            class_weight=self.class_weight,
            tol=self.tol,
            cache_size=CACHE_MIB,
        )
        rows = np.asarray(X[:], np.float64)
        svm.fit(libsvm_rows(rows, self.kernel, self._sigma), t)
        self.centers_, self.coef_ = rows[svm.support_], svm.dual_coef_[0]
        self.intercept_ = float(svm.intercept_[0])

    def _values(self, X: Any) -> Array:
        expansion = kernel_named(self.kernel).expansion
        return expansion(X, self.centers_, self.coef_, self._sigma) + self.intercept_


class AllLabelsSVM(SupervisedSVM):
    """Support vector machine that also sees the hidden labels: what there is to win.

    It is the `SupervisedSVM` of the labelled and the unlabelled rows together with all their
    labels, or of a random part of them: no method without the hidden labels can do this.

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

    _: KW_ONLY
    most_rows: Annotated[
        int, COUNT, Doc("Of more rows so many are drawn: training takes between O(n^2) and O(n^3).")
    ] = 20000
    random_state: RandomState = 0

    n_rows_: int = fitted("How many rows it was trained on.")

    def fit(  # type: ignore[override]  # with the labels that others are not given
        self, X: Any, y: Any, X_unlabeled: Any, y_unlabeled: Any
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : rows of shape (n_labeled, n_inputs)
            Array, data frame, list, sparse matrix, memory map or any object with ``shape``, a
            length and indexing by rows.
        y : array-like of shape (n_labeled,)
            Labels of two classes; the larger one is positive.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs)
            The rows whose labels are hidden from other methods.
        y_unlabeled : array-like of shape (n_unlabeled,)
            Their labels.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a parameter is out of range, or the rows or labels cannot be used.
        MemoryLimitError
            If the fit needs more memory than ``max_memory`` or than there is.
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
        with self._settled(drawn):
            self._fit(drawn, np.where(labels[rows] == self.classes_[1], 1.0, -1.0))
        return self

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return what a fit on the rows that are drawn takes; see the base class."""
        return svm_cost(min(self.most_rows, n_labeled + n_unlabeled), n_inputs, n_models)


def libsvm_kernel(kernel: str, sigma: float) -> dict[str, Any]:
    """Return a kernel as `SVC` takes it.

    Its linear one lacks our constant 1, which the offset makes up for: coefficients add up to 0.
    """
    return {"kernel": "linear"} if kernel == "linear" else {"kernel": "rbf", "gamma": sigma}


def libsvm_rows(rows: Array, kernel: str, sigma: float) -> Array:
    """Return rows whose kernel values LIBSVM computes rightly."""
    return rows if kernel == "linear" else without_gaps(rows, sigma)


def svm_cost(n: int, n_inputs: int, n_models: int = 1) -> Cost:
    """Return what support vector machines of ``n`` rows take."""
    steps = _STEPS_PER_ROW * _STEP_FLOPS
    rows = 8 * n * (3 * n_inputs + 20)
    return Cost(
        flops=n_models * n**2 * (ENTRY_FLOPS + 6.0 * n_inputs + steps),
        memory=max(min(4 * n**2, CACHE_MIB * 2**20) + rows, expansion_memory(n, n_inputs)),
        flops_per_row=expansion_flops(n, n_inputs),
    )
