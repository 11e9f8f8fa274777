"""Base of the ordinal estimators: functions that rank, and thresholds that make classes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags

from dsgkit.numerics.rows import spaced, training_rows
from dsgkit.objectives.ordinal_risk import above_cuts
from dsgkit.random.folds import stratified_folds
from dsgkit.solvers.base import Folds, Points, SemiSupervisedEstimator, ToWrite
from dsgkit.solvers.declared import fitted, preset
from dsgkit.solvers.ordinal import thresholds as rules
from dsgkit.tasks.metrics import cut_aucs
from dsgkit.text.errors import DataError, FitError, MemoryLimitError
from dsgkit.trainers.training import Given

Array = NDArray[np.float64]
Codes = NDArray[np.integer]

THRESHOLD_FOLDS = 5
"""Folds whose held-out values the thresholds are placed on."""

REFERENCE_ROWS = 2000
"""Unlabelled rows whose mean value is the origin of a fold's values."""

SHARE_ROWS = 20_000
"""Unlabelled rows whose quantiles are taken."""


class OrdinalEstimator(SemiSupervisedEstimator):
    """Base of the estimators that rank rows of ordered classes.

    A fit has two steps: the function (`fit_function`), and the thresholds that tell classes by its
    values (`fit_thresholds`). Cut j has the classes up to the j-th below and the others above. In a
    fold some classes can lack rows: a cut with an empty side is left out.

    A subclass implements ``_fit(X, labels, X_unlabeled)``, labels being positions in ``classes_``,
    of which some may not occur; and ``_values(X)``, of shape (n,), or (n, n_cuts) if it has a
    function for every cut (``per_cut``). One that places thresholds by itself also sets
    ``own_thresholds_``, and has the word "own" among those of its ``thresholds``.
    """

    tasks = ("ordinal",)
    _to_write: ClassVar[ToWrite] = (("_fit",), ("_values",))

    per_cut: ClassVar[bool] = False
    """Whether there is a function for every cut."""

    _fits: ClassVar[str] = "fit_function"

    _labeled_only: ClassVar[bool] = False
    """Whether the function depends on labelled rows alone."""

    thresholds: Any = preset("logistic")

    thresholds_: Array = fitted(
        "Between the classes, on the values of the function.", "(n_classes - 1,)"
    )
    own_thresholds_: Array = fitted(
        "The thresholds that minimise the objective together with the function.", "(n_classes - 1,)"
    )

    classes_: NDArray[Any] = fitted("The labels in ascending order.", "(n_classes,)")

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the function and the thresholds.

        Parameters
        ----------
        X : rows of shape (n_labeled, n_inputs)
        y : array-like of shape (n_labeled,)
            Labels of two or more classes, which their order sorts: numbers by size, text by the
            alphabet, so that ("low", "mid", "high") have to be numbered. Without ``X_unlabeled``,
            rows with the label ``unlabeled_label`` are the unlabelled ones; if there are none, the
            labelled rows serve as those too.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs), optional

        Returns
        -------
        self

        Raises
        ------
        DataError, MemoryLimitError, FitError
            As `SemiSupervisedEstimator.fit`.
        """
        return self.fit_function(X, y, X_unlabeled).fit_thresholds(X, y, X_unlabeled)

    def uses(self, name: str) -> bool:
        """Return whether the function, or the share of rows in each class, depends on an array.

        What places thresholds by labels only takes the mean value on some unlabelled rows for the
        origin of every fold.
        """
        return not (name == "X_unlabeled" and self._labeled_only and self.thresholds != "share")

    def fit_function(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the function alone, which has values but no classes yet."""
        return super().fit(X, y, X_unlabeled)

    def fit_thresholds(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Place the thresholds of a fitted function by the rule ``thresholds``.

        ``logistic`` and ``absolute`` are fitted on out-of-fold values, as those of training rows
        are too good. Every fold's values count from their mean on unlabelled rows, because the
        origin of a ranking is arbitrary. If a fold would leave one class only, they are fitted on
        the values of the training rows. ``own`` are those that a subclass fits with its function.
        """
        if self.thresholds == "own":
            self.thresholds_ = self.own_thresholds_
            return self
        checked = clone(self)
        X, codes, X_unlabeled = checked._inputs(X, y, X_unlabeled)
        if not np.array_equal(checked.classes_, self.classes_):
            raise DataError("thresholds are placed by the labels that the function was fitted to")
        n_classes = len(self.classes_)
        above = above_cuts(codes, n_classes)
        if self.thresholds == "share":
            reference = self._values(spaced(X_unlabeled, SHARE_ROWS))
            below = 1 - above.mean(axis=0)
            self.thresholds_ = self._placed(rules.share, reference, below)
            return self
        folds = stratified_folds(codes, min(THRESHOLD_FOLDS, len(codes)), 0)
        trainable = all(len(np.unique(np.delete(codes, fold))) > 1 for fold in folds)
        if self.thresholds == "hinge" or not trainable:
            values = self._values(X[:])
        else:
            reference = spaced(X_unlabeled, REFERENCE_ROWS)
            origin = self._values(reference).mean(axis=0)
            given = Given(X, codes, X_unlabeled, n_classes)
            values = origin + self._out_of_fold(given, folds, reference)
        self.thresholds_ = self._placed(rules.SUPERVISED[self.thresholds], values, above)
        return self

    def _placed(self, rule: Callable[[Array, Any], Array], values: Array, cuts: Any) -> Array:
        """Return the thresholds of one function, or of each cut's own one."""
        if values.ndim == 1:
            return rule(values, cuts)
        return np.concatenate([rule(f, cuts[..., [j]]) for j, f in enumerate(values.T)])

    def _out_of_fold(self, given: Given, folds: Folds, reference: Any) -> Array:
        """Return held-out values less their mean on the rows of reference, as `_values` has them.

        Parameters
        ----------
        given : Given
        folds : sequence of int arrays
            Together all labelled rows.
        reference : rows
        """
        columns = (len(self.classes_) - 1,) if self.per_cut else ()
        values = np.empty((len(given.codes), *columns))
        settled = {"sigma": self.sigma_} if hasattr(self, "sigma_") else {}
        for held_out in folds:
            model = self._fitted_to(settled, given, held_out)
            if model is None:
                raise FitError("no solution without a fold of the labelled rows")
            at_held_out, at_reference = model._values(given.X[held_out]), model._values(reference)
            values[held_out] = at_held_out - at_reference.mean(axis=0)
        return values

    def classify(self, values: Array) -> NDArray[Any]:
        """Return the classes of rows with some values of the function.

        Parameters
        ----------
        values : ndarray of shape (n,) or (n, n_cuts)
            As `decision_function` returns them.
        """
        columns = values if values.ndim == 2 else values[:, None]
        return self.classes_[(columns > self.thresholds_).sum(axis=1)]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row."""
        return self.classify(self.decision_function(X))

    def decision_function(self, X: Any) -> Array:
        """Return the values at the rows of ``X``.

        Returns
        -------
        ndarray of shape (n,), or (n, n_cuts) with a function for every cut of three or more classes
            Large where the class is high.
        """
        values = super().decision_function(X)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean over the cuts of the area under the ROC curve.

        Unlabelled rows do not count; nor do cuts with no row on one side.

        Raises
        ------
        DataError
            For a label that the model does not know, for rows of one class, and for weights.
        """
        if sample_weight is not None:
            raise DataError("score takes no sample_weight")
        X, y, _ = self._judged(X, y, None)
        codes = np.searchsorted(self.classes_, y)
        aucs = cut_aucs(codes, self.decision_function(X), len(self.classes_))
        known = [auc for auc in aucs if auc is not None]
        if not known:
            raise DataError("score needs labels of at least two classes")
        return float(np.mean(known))

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, X_unlabeled: Any = None
    ) -> Any:
        """Fit the functions of many settings, without thresholds.

        With folds, unlabelled rows come as ``X_unlabeled``; without any, the labelled rows serve.

        Returns
        -------
        PointModels, or ndarray of shape (n_points, n_rows) or (n_points, n_rows, n_cuts)
            As in `Estimator.fit_points`; out-of-fold values, of each cut if ``per_cut``.
        """
        if folds is None:
            return super().fit_points(points, X=X, y=y, X_unlabeled=X_unlabeled)
        points = self._with_sigma(points, X, X_unlabeled)
        first = clone(self)
        X, codes, X_unlabeled = first._inputs(X, y, X_unlabeled)
        if len(codes) != len(y):
            raise DataError("for folds of the labelled rows, pass the others as X_unlabeled")
        if any(len(np.unique(codes[training_rows(fold, len(codes))])) < 2 for fold in folds):
            raise DataError("labels must hold at least two classes outside of every fold")
        self._of_points(points)  # which checks their parameters
        given = Given(X, codes, X_unlabeled, len(first.classes_))
        return first._fold_values(points, folds, given)

    def _fold_values(self, points: Points, folds: Folds, given: Given) -> Array:
        """Return out-of-fold values of checked points, as `fit_points` does."""
        columns = (given.n_sources - 1,) if self.per_cut else ()
        values = np.full((len(points), len(given.codes), *columns), np.nan)
        for held_out in folds:
            for g, point in enumerate(points):
                model = self._fitted_to(point, given, held_out)
                if model is not None:
                    values[g, held_out] = model._values(given.X[held_out])
        return values

    def _fitted_to(
        self, point: Mapping[str, Any], given: Given, held_out: NDArray[np.integer]
    ) -> Self | None:
        """Return the function of a setting trained without a fold; None if it has no solution."""
        model = clone(self).set_params(**point)
        model.classes_, model.n_features_in_ = self.classes_, given.X.shape[1]
        rows = training_rows(held_out, len(given.codes))
        try:
            model._fit(given.X[rows], given.codes[rows], given.X_unlabeled)
        except MemoryLimitError:
            raise
        except FitError:
            return None
        return model

    def _coded(self, labels: NDArray[Any], hint: str) -> tuple[NDArray[Any], Codes]:
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise DataError(
                f"labels must hold at least two classes, got 1 class: {classes.tolist()}{hint}"
            )
        return classes, codes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags
