"""Self-training: an SVM that uses its most confident predictions as labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Doc

from dsgkit.costs import Cost, Pace
from dsgkit.errors import FitError
from dsgkit.linalg import Array
from dsgkit.solvers.base import SemiSupervisedClassifier
from dsgkit.solvers.common import GaussianOrLinear, MaxMemory, Sigma, Tolerance, UnlabeledLabel
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.functions import FunctionKeeper
from dsgkit.solvers.inputs import check_finite
from dsgkit.solvers.parameters import COUNT, POSITIVE, Range, Smoother
from dsgkit.solvers.sigma import WithSigma
from dsgkit.trainers.kernel_machines import KernelMachine
from dsgkit.trainers.libsvm import LibSVM, svm_cost

FOLDS = 5
"""Folds that probabilities are fitted on; fewer if a class has fewer labelled rows."""

_USUAL_ROUNDS = 5
"""Assumed rounds for costs: most rows get their label in the first few."""


class SelfTraining(FunctionKeeper, WithSigma, SemiSupervisedClassifier):
    """Support vector machine that is trained again with its most confident predictions as labels.

    An SVM of the labelled rows, with probabilities by Platt's sigmoid on held-out folds, labels the
    unlabelled rows whose probability exceeds ``threshold``, and is trained again with these, until
    there is no further such row. These rows weigh as much as labelled ones. This is scikit-learn's
    `SelfTrainingClassifier` around a calibrated `SVC` whose C is ``C / n_l`` and whose gamma is
    ``sigma``. The value of the function is the logarithm of the odds.

    References
    ----------
    .. [1] Yarowsky, "Unsupervised word sense disambiguation rivaling supervised methods", ACL 1995.
    .. [2] Platt, "Probabilistic outputs for support vector machines", 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import SelfTraining
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, few = minmax_scale(X), np.arange(len(y)) % 10 == 0
    >>> SelfTraining().fit(X[few], y[few], X[~few]).score(X[~few], y[~few]) > 0.95
    True
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=1.2, per_model=90)

    C: Annotated[
        float,
        POSITIVE,
        Smoother("smaller"),
        Doc("Weight of the mean hinge loss of the labelled rows."),
    ] = 100.0
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    threshold: Annotated[
        float,
        Range(0.5, 1, open_high=True),
        Doc("Probability above which a prediction is used as a label."),
    ] = 0.75
    max_iter: Annotated[int, COUNT, Doc("Most rounds.")] = 10
    tol: Tolerance = 0.001
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted("The support vectors.", "(n_support, n_inputs)")
    coef_: Array = fitted("Their coefficients.", "(n_support,)")
    intercept_: float = fitted("The offset.")
    n_iter_: int = fitted("Rounds.")
    n_taken_: int = fitted("Unlabelled rows that got a label.")

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return the cost of a fit if most rows get a label early; see the base class."""
        n_machines = min(_USUAL_ROUNDS, self.max_iter) * (FOLDS + 1) * n_models
        return svm_cost(n_labeled + n_unlabeled, n_inputs, n_machines)

    def _fit(self, X: Any, positive: NDArray[np.bool_], X_unlabeled: Any) -> None:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.semi_supervised import SelfTrainingClassifier

        n_labeled, n_inputs = X.shape
        self._check_memory(self.cost(n_inputs, n_labeled=n_labeled, n_unlabeled=len(X_unlabeled)))
        check_finite(X_unlabeled)
        smaller = min(int(positive.sum()), int((~positive).sum()))
        if smaller < 2:
            raise FitError("probabilities need at least two labelled rows of each class")
        libsvm = LibSVM(self.kernel, self._sigma, self.tol)
        svm = libsvm.untrained(self.C / n_labeled)
        calibrated = CalibratedClassifierCV(svm, cv=min(FOLDS, smaller), ensemble=False)
        model = SelfTrainingClassifier(calibrated, threshold=self.threshold, max_iter=self.max_iter)
        rows = np.concatenate([X[:], X_unlabeled[:]]).astype(np.float64, copy=False)
        labels = np.append(positive.astype(int), np.full(len(X_unlabeled), -1))
        model.fit(libsvm.rows(rows), labels)
        (calibrated,) = model.estimator_.calibrated_classifiers_
        self._keep_function(_with_sigmoid(libsvm, calibrated, rows[model.transduction_ != -1]))
        self.n_iter_ = int(model.n_iter_)
        self.n_taken_ = int((model.transduction_[n_labeled:] != -1).sum())


def _with_sigmoid(libsvm: LibSVM, calibrated: Any, rows: Array) -> KernelMachine:
    """Return the log-odds of an SVM with the sigmoid ``1 / (1 + exp(a f + b))`` as an expansion."""
    (sigmoid,), svm = calibrated.calibrators, calibrated.estimator
    machine = libsvm.machine(svm, rows, -sigmoid.a_)
    return replace(machine, intercept=float(-sigmoid.a_ * svm.intercept_[0] - sigmoid.b_))
