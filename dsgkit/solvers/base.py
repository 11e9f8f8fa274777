"""Base classes of the estimators, and of the semi-supervised ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import check_is_fitted

from dsgkit.costs import Cost, Pace
from dsgkit.errors import DataError, FitError, MemoryLimitError, SolverError
from dsgkit.linalg import checked_shape, training_rows
from dsgkit.solvers.declared import compose, fitted, preset
from dsgkit.solvers.inputs import SparseRows, as_labels, as_rows, check_finite, take, two_classes
from dsgkit.solvers.parameters import check_parameters
from dsgkit.system.machine import memory_limit
from dsgkit.user_code import place_of

Points = Sequence[Mapping[str, Any]]
Folds = Sequence[NDArray[np.integer]]


class PointModels:
    """Fitted estimators, one per parameter setting.

    Parameters
    ----------
    models : sequence of estimators or None
        None where a setting has no solution.
    """

    def __init__(self, models: Sequence[Any]) -> None:
        self._models = models

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return every model's values at the rows of ``X``, shape (n, n_points); NaN for None.

        An ordinal model with one function per cut has one column per cut.
        """
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        columns = [
            None if model is None else _checked_values(model, X, n) for model in self._models
        ]
        shape = next((values.shape for values in columns if values is not None), (n,))
        missing = np.full(shape, np.nan)
        return np.column_stack([missing if values is None else values for values in columns])


def _checked_values(model: Any, X: Any, n_rows: int) -> NDArray[Any]:
    """Return a model's values, shape (n,) or (n, n_cuts)."""
    values = np.asarray(model.decision_function(X))
    if len(values.shape) == 0 or len(values) != n_rows:
        raise FitError(
            f"decision_function returned shape {values.shape} for {n_rows:,} rows"
            f"{place_of(model.decision_function)}"
        )
    return values


RequiredMethods = tuple[tuple[str, ...], ...]


def check_solution(estimator: Any) -> None:
    """Raise `SolverError` unless a fit has set the attribute that ``_solution`` names."""
    if not hasattr(estimator, estimator._solution):
        kind = type(estimator).__name__
        raise SolverError(
            f"{kind}._fit must set {estimator._solution}, or {kind}._solution must name the "
            "attribute that it sets"
            f"{place_of(estimator._fit)}"
        )


@dataclass_transform(field_specifiers=(fitted, preset), eq_default=False)
class Estimator(BaseEstimator):
    """Base of all estimators.

    Subclasses declare their parameters (`dsgkit.solvers.declared`) and implement ``fit``, whose
    named arrays depend on the family, and `_values` or ``decision_function``. Those that can train
    several settings at once also override `fit_points`.

    Attributes
    ----------
    tasks : tuple of str
        Kinds of the tasks that the estimator is for.
    version : int or str
        Part of the identity of every result. Raise it when a change makes results differ: then they
        are computed again.
    pace : Pace
        Measured time relative to the operations that `cost` counts.

    Notes
    -----
    A fitted estimator may have an attribute ``remark_``: a text for readers of its result, such as
    "gamma = 1: unlabelled rows were not used". Tables mark those fits.

    It may have a method ``diagnostics(**training)`` that returns numbers by name, such as the value
    of the objective at the fitted function. It is called with the arrays that ``fit`` was given,
    after the fit has been timed and scored; the record keeps the numbers under ``diagnostics``.
    """

    tasks: ClassVar[tuple[str, ...]] = ()
    pace: ClassVar[Pace] = Pace()
    _required_methods: ClassVar[RequiredMethods] = (("fit",), ("decision_function", "_values"))
    """Methods that a subclass implements: one of each tuple."""

    _solution: ClassVar[str] = "coef_"
    """The attribute that only a fitted model has."""

    _labeled_only: ClassVar[bool] = False
    """Whether the function depends on the labelled rows alone."""

    max_memory: float | None = preset(None)
    _fit_method: ClassVar[str] = "fit"
    """The method that fits the function, which may be only a part of ``fit``."""

    _warns = True
    """Whether a fit warns about its rows; false for the points of a search."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        compose(cls)

    def fit(self, *args: Any, **training: Any) -> Self:
        """Fit the model; see the subclasses."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the values of the fitted function at the rows of ``X``, shape (n,).

        Raises
        ------
        DataError
            If the rows cannot be used.
        """
        check_is_fitted(self, self._solution)
        X = as_rows(self, X, reset=False)
        values = self._values(X)
        if not np.isfinite(values).all():
            check_finite(X)
        return values

    def _values(self, X: Any) -> NDArray[np.float64]:
        """Return the values of the fitted function at rows that have been checked."""
        raise NotImplementedError

    def uses(self, name: str) -> bool:
        """Return whether the fitted function depends on the array of this name.

        If it does not, a sweep over the number of that array's rows needs one fit only.
        """
        return name != "X_unlabeled" or not self._labeled_only

    def cost(self, n_inputs: int, *, n_models: int = 1, **counts: int) -> Cost:
        """Estimate the cost of a fit, for plans and progress bars.

        Parameters
        ----------
        n_inputs : int
            Columns of the rows.
        n_models : int
            1 for a fit; the number of points times that of folds for `fit_points`.
        **counts : int
            Numbers of rows, such as ``n_labeled`` and ``n_unlabeled``.
        """
        return Cost()

    def settled(self, **counts: int) -> Self:
        """Return a clone whose parameters are fixed to their values for these numbers of rows.

        A search trains on a part of the rows but chooses for a fit on all of them, so that it must
        use, for example, the number of iterations of that fit.

        Parameters
        ----------
        **counts : int
            Numbers of rows, such as ``n_labeled`` and ``n_unlabeled``.
        """
        copy: Self = clone(self)
        return copy

    def fit_points(self, points: Points, *, folds: Folds | None = None, **training: Any) -> Any:
        """Fit a model for each of many parameter settings.

        Parameters
        ----------
        points : sequence of dict
            Settings, which override this estimator's parameters. A sigma of "scale" is fitted to
            all rows and is the same in every fold.
        folds : sequence of int arrays, optional
            Positions in ``X`` and ``y`` that each fold holds out.
        **training : arrays
            As in `fit`.

        Returns
        -------
        PointModels, or ndarray of shape (n_points, n_rows)
            Without folds, models whose ``decision_function`` has one column per point. With folds,
            out-of-fold values: entry ``[g, i]`` is the value at row i of the model with
            ``points[g]`` that was trained without the fold of row i; NaN if it has no solution.
        """
        if folds is None:
            return PointModels([self._fitted(point, training) for point in points])
        X, y = training["X"], np.asarray(training["y"])
        points = self._with_sigma(points, X, training.get("X_unlabeled"))
        values = np.full((len(points), len(y)), np.nan)
        for held_out in folds:
            rows = training_rows(held_out, len(y))
            part = {**training, "X": X[rows], "y": y[rows]}
            models = self.fit_points(points, **part)
            shape = len(held_out), len(points)
            columns = models.decision_function(X[held_out])
            values[:, held_out] = checked_shape(columns, "decision_function of fit_points", shape).T
        return values

    def _fitted(self, point: Mapping[str, Any], training: Mapping[str, Any]) -> Self | None:
        """Return the model fitted with a setting; None if it has no solution."""
        try:
            fitted: Self = getattr(self._without_warnings(point), self._fit_method)(**training)
            return fitted
        except MemoryLimitError:
            raise
        except FitError:
            return None

    def _unfitted(self, points: Points) -> list[Self]:
        """Return one unfitted estimator per setting, with checked parameters."""
        models: list[Self] = [clone(self).set_params(**point) for point in points]
        for model in models:
            model._check_params()
        return models

    def _without_warnings(self, point: Mapping[str, Any]) -> Self:
        """Return an unfitted estimator with a setting, whose fit does not warn about its rows."""
        model: Self = clone(self).set_params(**point)
        model._warns = False
        return model

    def _sigma_for(self, *tables: Any) -> AbstractContextManager[None]:
        """Return the context in which a fit on these rows runs; see `sigma.WithSigma`."""
        return nullcontext()

    def _with_sigma(self, points: Points, *tables: Any) -> Points:
        """Return settings with "scale" replaced by a number; see `sigma.WithSigma`."""
        return points

    def _check_params(self) -> None:
        """Raise `DataError` for a parameter value that is out of range."""
        check_parameters(self)

    def _memory_limit(self) -> int:
        """Return the limit of a fit's memory in bytes: ``max_memory`` (GiB), or the available."""
        return memory_limit() if self.max_memory is None else int(self.max_memory * 2**30)

    def _check_memory(self, cost: Cost) -> None:
        """Raise `MemoryLimitError` if a cost is above the limit."""
        limit = self._memory_limit()
        needed = cost.memory if cost.least_memory is None else cost.least_memory
        if needed > limit:
            raise MemoryLimitError(needed, limit)


compose(Estimator)  # __init_subclass__ composes the subclasses


class BinaryClassifier(ClassifierMixin):
    """Mixin of the classifiers of two classes: the class is the sign of the value."""

    classes_: NDArray[Any]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row, which is positive for values of at least 0."""
        model: Any = self
        positive = model.decision_function(X) >= 0
        return self.classes_[positive.astype(int)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


class SemiSupervisedEstimator(BinaryClassifier, Estimator):
    """Base of the estimators that learn from labelled and unlabelled rows of two classes.

    A subclass of the package implements `_fit` and `_values`; a user-defined one may override
    ``fit(X, y, X_unlabeled)`` and ``decision_function(X)`` instead.
    """

    _required_methods: ClassVar[RequiredMethods] = (
        ("fit", "_fit"),
        ("decision_function", "_values"),
    )

    unlabeled_label: int | float | str = preset(-1)

    classes_: NDArray[Any] = fitted(
        "The two labels; the larger one, the last, is positive.", "(2,)"
    )
    n_features_in_: int = fitted("Columns of the training rows.")

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : rows of shape (n_labeled, n_inputs)
            Array, data frame, list, sparse matrix, memory map or any object with ``shape``, a
            length and indexing by rows.
        y : array-like of shape (n_labeled,)
            Labels of two classes; the larger one is positive. Without ``X_unlabeled``, rows with
            the label ``unlabeled_label`` are the unlabelled ones; if there are none, the labelled
            rows are used as unlabelled rows too.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs), optional

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a parameter is out of range or the rows or labels cannot be used. Unlabelled rows,
            which may be many and on disk, are checked only where training reads them.
        MemoryLimitError
            If the fit needs more memory than ``max_memory`` or than is available; raised before
            anything is allocated.
        FitError
            If there is no solution, or none that can be computed.
        """
        self._check_params()
        X, positive, X_unlabeled = self._inputs(X, y, X_unlabeled)
        with self._sigma_for(X, X_unlabeled):
            self._fit(X, positive, X_unlabeled)
        check_solution(self)
        return self

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, **others: Any
    ) -> Any:
        """Fit a model for each of many parameter settings; see `Estimator.fit_points`."""
        if folds is not None:
            columns = clone(self)
            X = as_rows(columns, X, reset=True)  # folds index these rows
            if (unlabeled := others.get("X_unlabeled")) is not None:
                rows = as_rows(columns, unlabeled, reset=False, name="X_unlabeled")
                others = {**others, "X_unlabeled": rows}
        return super().fit_points(points, folds=folds, X=X, y=y, **others)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy at the labelled rows of ``X``.

        Raises
        ------
        DataError
            For a label that the model was not fitted on.
        """
        return float(super().score(*self._labeled_part(X, y, sample_weight)))

    def _labeled_part(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Any]:
        """Return rows, labels and weights without the unlabelled rows."""
        check_is_fitted(self, self._solution)
        labels = np.asarray(y)
        known = np.isin(labels, self.classes_)
        unknown = np.unique(labels[~known & (labels != self.unlabeled_label)])
        if len(unknown):
            raise DataError(
                f"the model does not know the labels {unknown[:5].tolist()}; it was fitted on "
                f"{self.classes_.tolist()}"
            )
        if known.all():
            return X, labels, sample_weight
        rows = np.flatnonzero(known)
        weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
        return _safe_indexing(X, rows), labels[rows], weights

    def _fit(self, X: Any, labels: NDArray[Any], X_unlabeled: Any) -> None:
        """Compute the fitted attributes from checked rows, and labels as `_encode` returns them."""
        raise NotImplementedError

    def _inputs(self, X: Any, y: Any, X_unlabeled: Any) -> tuple[Any, NDArray[np.bool_], Any]:
        """Return checked labelled rows, a mask of the positive ones, and unlabelled rows.

        Sets ``classes_`` and ``n_features_in_``: `fit_points` calls it on a clone.
        """
        X = as_rows(self, X, reset=True)
        labels = as_labels(y, len(X))
        hint = ""
        if X_unlabeled is None:
            is_unlabeled = labels == self.unlabeled_label
            if is_unlabeled.any():
                hint = (
                    f"; rows labelled {self.unlabeled_label} count as unlabelled: pass X_unlabeled,"
                    " or name another unlabeled_label"
                )
                X_unlabeled = take(X, is_unlabeled)
                X, labels = take(X, ~is_unlabeled), labels[~is_unlabeled]
            else:
                X_unlabeled = X
        else:
            X_unlabeled = as_rows(self, X_unlabeled, reset=False, name="X_unlabeled")
            if not len(X_unlabeled):
                raise DataError("X_unlabeled must hold at least one row")
        classes, codes = self._encode(labels, hint)
        check_finite(X)
        self.classes_ = classes
        return X, codes, X_unlabeled

    def _codes(self, labels: NDArray[Any]) -> NDArray[np.integer]:
        """Return class codes 0, 1, .. for the labels that `_fit` takes."""
        return labels

    def _encode(self, labels: NDArray[Any], hint: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the classes, and labels as `_fit` takes them; errors end with the hint."""
        classes = two_classes(labels, hint)
        return classes, labels == classes[1]


class PairwiseAUCEstimator(SemiSupervisedEstimator):
    """Base of the estimators that learn a ranking."""

    tasks = ("semi_supervised_auc",)
    _labeled: tuple[Any, NDArray[np.bool_]] = fitted()

    def _codes(self, positive: NDArray[np.bool_]) -> NDArray[np.integer]:
        return np.where(positive, 0, 1)

    def _inputs(self, X: Any, y: Any, X_unlabeled: Any) -> tuple[Any, NDArray[np.bool_], Any]:
        X, positive, X_unlabeled = super()._inputs(X, y, X_unlabeled)
        # keep sparse rows sparse until `predict` needs them
        self._labeled = (X if isinstance(X, SparseRows) else X[:]), positive
        return X, positive, X_unlabeled

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class whose labelled rows have the nearer mean value.

        A ranking has no threshold: adding a constant to the function changes no pair.
        """
        values = self.decision_function(X)
        rows, positive = self._labeled
        labeled = self._values(rows)
        threshold = (labeled[positive].mean() + labeled[~positive].mean()) / 2
        return self.classes_[(values >= threshold).astype(int)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the area under the ROC curve at the labelled rows of ``X``.

        Raises
        ------
        DataError
            For a label that the model was not fitted on.
        """
        from sklearn.metrics import roc_auc_score

        X, y, sample_weight = self._labeled_part(X, y, sample_weight)
        values = self.decision_function(X)
        return float(roc_auc_score(y == self.classes_[1], values, sample_weight=sample_weight))


class SemiSupervisedClassifier(SemiSupervisedEstimator):
    """Base of the estimators that learn a classifier: the class is the sign of the value."""

    tasks = ("semi_supervised_svm",)
