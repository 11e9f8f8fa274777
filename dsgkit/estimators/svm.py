"""Support vector machines that semi-supervised ones are compared with."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Cost, Pace
from dsgkit.engine.model import Expansion, one_by_one
from dsgkit.engine.problem import Data, Problem, Sizes
from dsgkit.estimators.base import LabeledEstimator
from dsgkit.estimators.inputs import as_labels, as_rows, check_finite, naming_bad_rows, two_classes
from dsgkit.estimators.parameters import (
    COUNT,
    GaussianOrLinear,
    LegacyDefault,
    MaxMemory,
    OwnHingeWeight,
    RandomState,
    Range,
    Sigma,
    Tolerance,
)
from dsgkit.estimators.s3vm import SemiSupervisedClassifier
from dsgkit.exact.machines import machine_cost, self_trained, support_machine
from dsgkit.linalg import rows_at
from dsgkit.random import drawn_rows


class SelfTraining(SemiSupervisedClassifier):
    """Support vector machine that is trained again with its most confident predictions as labels.

    An SVM of the labelled rows, with probabilities by Platt's sigmoid on held-out folds, labels the
    unlabelled rows whose probability exceeds ``threshold``, and is trained again with these, until
    there is no further such row. These rows weigh as much as labelled ones. This is scikit-learn's
    ``SelfTrainingClassifier`` around a calibrated ``SVC`` whose C is ``C / n_l`` and whose gamma is
    ``sigma``. The value of the function is the logarithm of the odds.

    Parameters
    ----------
    C, sigma, kernel, tol, max_memory, unlabeled_label
        As in `BLS3VM`.
    threshold : float >= 0.5 and < 1, default 0.75
        Probability above which a prediction is used as a label.
    max_iter : int >= 1, default 10
        Most rounds.

    Attributes
    ----------
    centers_, coef_, intercept_
        The support vectors, their coefficients, and the offset.
    n_iter_ : int
        Rounds.
    n_taken_ : int
        Unlabelled rows that got a label.
    classes_, sigma_
        As in `TSGS3VM`.

    References
    ----------
    .. [1] Yarowsky, "Unsupervised word sense disambiguation rivaling supervised methods", ACL 1995.
    .. [2] Platt, "Probabilistic outputs for support vector machines", 1999.
    """

    pace = Pace(training=0.4, per_model=90)
    folds_in_one_pass = False

    C: OwnHingeWeight = 100.0
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    threshold: Annotated[float, Range(0.5, 1, open_high=True)] = 0.75
    max_iter: Annotated[int, COUNT] = 10
    tol: Tolerance = 0.001
    max_memory: MaxMemory = None

    def learn(self, problem: Problem) -> Any:
        return one_by_one(problem, self._solve)

    def _solve(self, part: Problem) -> Expansion:
        shape = self.C, self.kernel, self.sigma_, self.tol, self.threshold, int(self.max_iter)
        function, self.n_iter_, self.n_taken_ = self_trained(part.data, *shape)
        return function

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        # most rows get their label in the first 5 rounds, of 5 folds and all rows each
        n_machines = min(5, int(self.max_iter)) * 6 * n_models
        return machine_cost(n.labeled + n.unlabeled, n.inputs, n_machines)


class SupervisedSVM(LabeledEstimator):
    """Support vector machine of the labelled rows, the baseline of the semi-supervised SVMs.

    Minimises ``1/2 ||h||^2 + C/n sum_i max(0, 1 - y_i f(x_i))`` over the functions f = h + b, h of
    a kernel, by default ``exp(-sigma ||x - x'||^2)``: the objective of the semi-supervised SVMs
    without its unlabelled part. It is scikit-learn's ``SVC``, whose C is ``C / n``, with gamma =
    ``sigma``. If classes differ in size and the measure is the balanced error, class weights can
    gain more than unlabelled rows.

    Parameters
    ----------
    C, sigma, kernel, tol, max_memory
        As in `BLS3VM`.
    class_weight : {"balanced"}, optional
        "balanced" weights the losses of a class by the inverse of its share, as ``SVC`` does.

    Attributes
    ----------
    centers_, coef_, intercept_
        The support vectors, their coefficients, and the offset.
    classes_, sigma_
        As in `TSGS3VM`.

    References
    ----------
    .. [1] Chang & Lin, "LIBSVM: a library for support vector machines", ACM TIST 2011.
    """

    tasks = ("semi_supervised_svm",)
    pace = Pace(training=0.7, per_model=6)

    C: OwnHingeWeight = 100.0
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    class_weight: Annotated[Literal["balanced"] | None, LegacyDefault(None)] = None
    tol: Tolerance = 0.001
    max_memory: MaxMemory = None

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the model to the labelled rows, as `LabeledEstimator.fit`.

        ``X_unlabeled`` is ignored; it makes calls the same as for the semi-supervised SVMs.
        """
        return super().fit(X, y)

    def learn(self, problem: Problem) -> Any:
        return one_by_one(problem, self._solve)

    def _solve(self, part: Problem) -> Expansion:
        shape = self.kernel, self.sigma_, self.tol
        return support_machine(part.data, self.C, *shape, self.class_weight)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return machine_cost(n.labeled, n.inputs, n_models)


@dataclass(frozen=True, eq=False)
class AllRows(Data):
    """Labelled rows, and unlabelled ones with their hidden classes."""

    hidden: NDArray[np.integer] = field(kw_only=True)


class AllLabelsSVM(SupervisedSVM):
    """The `SupervisedSVM` of all rows with all labels: an upper bound for the other methods.

    Parameters
    ----------
    C, sigma, kernel, class_weight, tol, max_memory
        As in `SupervisedSVM`.
    most_rows : int >= 1, default 20000
        Most training rows, drawn at random: training takes O(n^2) to O(n^3).
    random_state
        As in `TSGS3VM`.

    Attributes
    ----------
    n_rows_ : int
        Training rows.
    centers_, coef_, intercept_, classes_, sigma_
        As in `SupervisedSVM`.
    """

    labeled_only = False  # the hidden labels are those of the unlabelled rows

    _: KW_ONLY
    most_rows: Annotated[int, COUNT] = 20000
    random_state: RandomState = 0

    @naming_bad_rows
    def fit(self, X: Any, y: Any, X_unlabeled: Any, y_unlabeled: Any) -> Self:  # type: ignore[override]  # also takes the hidden labels
        """Fit the model to rows (n_labeled and n_unlabeled), with the labels of both."""
        self._check_params()
        return self._fit_to(self.data(X, y, X_unlabeled, y_unlabeled))

    def data(self, X: Any, y: Any, X_unlabeled: Any, y_unlabeled: Any) -> AllRows:  # type: ignore[override]
        X = as_rows(self, X, reset=True)
        U = as_rows(self, X_unlabeled, reset=False, name="X_unlabeled")
        labels = as_labels(y, len(X)), as_labels(y_unlabeled, len(U))
        self.classes_ = two_classes(np.concatenate(labels))
        codes, hidden = (np.where(own == self.classes_[1], 0, 1) for own in labels)
        return AllRows(X, codes, U, hidden=hidden)

    def _solve(self, part: Problem) -> Expansion:
        data: Any = part.data
        n = len(data.X) + len(data.U)
        self.n_rows_ = min(int(self.most_rows), n)
        rows = drawn_rows(self._seed, self.n_rows_, n)
        drawn = rows_at(data.tables, rows)
        check_finite(drawn)
        codes = np.append(data.codes, data.hidden)[rows]
        return super()._solve(replace(part, data=Data(drawn, codes, drawn[:0])))

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return machine_cost(min(int(self.most_rows), n.labeled + n.unlabeled), n.inputs, n_models)
