"""Base of the ordinal estimators: a ranking function, and thresholds between the classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags

from dsgkit.errors import DataError, FitError, MemoryLimitError
from dsgkit.estimators import thresholds as rules
from dsgkit.linalg import spaced, training_rows
from dsgkit.risks.pairwise import above_cuts
from dsgkit.seeds import stratified_folds
from dsgkit.solvers.base import Folds, Points, RequiredMethods, SemiSupervisedEstimator
from dsgkit.solvers.declared import fitted, preset
from dsgkit.tasks.metrics import cut_aucs

Array = NDArray[np.float64]
Codes = NDArray[np.integer]

THRESHOLD_FOLDS = 5
"""Folds for the out-of-fold values that thresholds are fitted on."""

REFERENCE_ROWS = 2000
"""Unlabelled rows whose mean value is subtracted from a fold's values."""

SHARE_ROWS = 20_000
"""Unlabelled rows for the quantiles of the rule "share"."""


class Given(NamedTuple):
    """Labelled rows with their classes, counted from 0, and unlabelled rows."""

    X: Any
    codes: Codes
    X_unlabeled: Any
    n_sources: int


class OrdinalEstimator(SemiSupervisedEstimator):
    """Base of the estimators that rank rows of ordered classes.

    A fit has two steps: the function (`fit_function`), and the thresholds on its values that
    separate the classes (`fit_thresholds`). Cut j has the classes up to the j-th below and the
    others above. In a fold some classes may have no rows: a cut with an empty side is left out.

    A subclass implements ``_fit(X, labels, X_unlabeled)``, whose labels are positions in
    ``classes_``, some of which may not occur; and ``_values(X)``, of shape (n,), or (n, n_cuts) if
    it has one function per cut (``per_cut``). A subclass that fits thresholds itself also sets
    ``own_thresholds_``, and accepts "own" for its parameter ``thresholds``.
    """

    tasks = ("ordinal",)
    _required_methods: ClassVar[RequiredMethods] = (("_fit",), ("_values",))

    per_cut: ClassVar[bool] = False
    """Whether there is one function per cut."""

    _fit_method: ClassVar[str] = "fit_function"

    thresholds: Any = preset("logistic")

    thresholds_: Array = fitted(
        "Thresholds between the classes, on the values of the function.", "(n_classes - 1,)"
    )
    own_thresholds_: Array = fitted(
        "Thresholds that minimise the objective together with the function.", "(n_classes - 1,)"
    )

    classes_: NDArray[Any] = fitted("The labels in ascending order.", "(n_classes,)")

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the function and the thresholds.

        Parameters
        ----------
        X : rows of shape (n_labeled, n_inputs)
        y : array-like of shape (n_labeled,)
            Labels of two or more classes, ordered as they sort: numbers by size, text
            alphabetically, so that ("low", "mid", "high") must be numbered. Without
            ``X_unlabeled``, rows with the label ``unlabeled_label`` are the unlabelled ones; if
            there are none, the labelled rows are used as unlabelled rows too.
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
        """Return whether the function, or the rule "share", depends on the array of this name.

        The other rules use unlabelled rows only for the common origin of the folds' values.
        """
        return super().uses(name) or self.thresholds == "share"

    def fit_function(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the function alone, without thresholds: `predict` is not available yet."""
        return super().fit(X, y, X_unlabeled)

    def fit_thresholds(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Place the thresholds of a fitted function by the rule ``thresholds``.

        ``logistic`` and ``absolute`` are fitted on out-of-fold values, as values at training rows
        are too optimistic. The mean value at unlabelled rows is subtracted from every fold's
        values, because the origin of a ranking is arbitrary. If a fold would leave only one class,
        they are fitted on the values at the training rows. ``own`` are the thresholds that a
        subclass fits with its function.
        """
        if self.thresholds == "own":
            self.thresholds_ = self.own_thresholds_
            return self
        checked = clone(self)
        X, codes, X_unlabeled = checked._inputs(X, y, X_unlabeled)
        if not np.array_equal(checked.classes_, self.classes_):
            raise DataError("fit_thresholds needs the classes that the function was fitted on")
        n_classes = len(self.classes_)
        above = above_cuts(codes, n_classes)
        if self.thresholds == "share":
            reference = self._values(spaced(X_unlabeled, SHARE_ROWS))
            below = 1 - above.mean(axis=0)
            self.thresholds_ = self._place(rules.share, reference, below)
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
        self.thresholds_ = self._place(rules.SUPERVISED[self.thresholds], values, above)
        return self

    def _place(self, rule: Callable[[Array, Any], Array], values: Array, cuts: Any) -> Array:
        """Return the thresholds of one function, or of one function per cut."""
        if values.ndim == 1:
            return rule(values, cuts)
        return np.concatenate([rule(f, cuts[..., [j]]) for j, f in enumerate(values.T)])

    def _out_of_fold(self, given: Given, folds: Folds, reference: Any) -> Array:
        """Return out-of-fold values, shaped as `_values`, minus each fold's mean at reference.

        Parameters
        ----------
        given : Given
        folds : sequence of int arrays
            A partition of the labelled rows.
        reference : rows
        """
        columns = (len(self.classes_) - 1,) if self.per_cut else ()
        values = np.empty((len(given.codes), *columns))
        settled = {"sigma": self.sigma_} if hasattr(self, "sigma_") else {}
        for held_out in folds:
            model = self._fitted_without(settled, given, held_out)
            if model is None:
                raise FitError("no solution when a fold of the labelled rows is held out")
            at_held_out, at_reference = model._values(given.X[held_out]), model._values(reference)
            values[held_out] = at_held_out - at_reference.mean(axis=0)
        return values

    def classify(self, values: Array) -> NDArray[Any]:
        """Return the classes of rows from their values.

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
        ndarray of shape (n,), or (n, n_cuts) with one function per cut of three or more classes
            The larger the value, the higher the class.
        """
        values = super().decision_function(X)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean over the cuts of the area under the ROC curve.

        Unlabelled rows are left out, and so are cuts with no row on one side.

        Raises
        ------
        DataError
            For a label that the model was not fitted on, for rows of one class, and for weights.
        """
        if sample_weight is not None:
            raise DataError("score takes no sample_weight")
        X, y, _ = self._labeled_part(X, y, None)
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

        With folds, pass unlabelled rows as ``X_unlabeled``; otherwise the labelled rows are used.

        Returns
        -------
        PointModels, or ndarray of shape (n_points, n_rows) or (n_points, n_rows, n_cuts)
            As in `Estimator.fit_points`; out-of-fold values per cut if ``per_cut``.
        """
        if folds is None:
            return super().fit_points(points, X=X, y=y, X_unlabeled=X_unlabeled)
        points = self._with_sigma(points, X, X_unlabeled)
        first = clone(self)
        X, codes, X_unlabeled = first._inputs(X, y, X_unlabeled)
        if len(codes) != len(y):
            raise DataError("with folds, y must have no unlabelled rows: pass them as X_unlabeled")
        if any(len(np.unique(codes[training_rows(fold, len(codes))])) < 2 for fold in folds):
            raise DataError("labels must hold at least two classes outside of every fold")
        self._unfitted(points)  # checks their parameters
        given = Given(X, codes, X_unlabeled, len(first.classes_))
        return first._fold_values(points, folds, given)

    def _fold_values(self, points: Points, folds: Folds, given: Given) -> Array:
        """Return the out-of-fold values of checked points; see `fit_points`."""
        columns = (given.n_sources - 1,) if self.per_cut else ()
        values = np.full((len(points), len(given.codes), *columns), np.nan)
        for held_out in folds:
            for g, point in enumerate(points):
                model = self._fitted_without(point, given, held_out)
                if model is not None:
                    values[g, held_out] = model._values(given.X[held_out])
        return values

    def _fitted_without(
        self, point: Mapping[str, Any], given: Given, held_out: NDArray[np.integer]
    ) -> Self | None:
        """Return a model with a setting trained without a fold; None if it has no solution."""
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

    def _encode(self, labels: NDArray[Any], hint: str) -> tuple[NDArray[Any], Codes]:
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
