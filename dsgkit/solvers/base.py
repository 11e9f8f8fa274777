"""Bases of the estimators: of all, and of each family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import check_is_fitted

from dsgkit.numerics.costs import Cost, Pace
from dsgkit.numerics.rows import training_rows
from dsgkit.numerics.shapes import of_shape
from dsgkit.objectives.pairwise_risk import NEGATIVE as NEGATIVE_CLASS
from dsgkit.objectives.pairwise_risk import POSITIVE as POSITIVE_CLASS
from dsgkit.solvers.declared import compose, fitted, preset
from dsgkit.solvers.inputs import SparseRows, as_labels, as_rows, check_finite, take, two_classes
from dsgkit.solvers.parameters import check_parameters
from dsgkit.system.memory import memory_limit
from dsgkit.text.errors import DataError, FitError, MemoryLimitError, SolverError
from dsgkit.users_code.origin import at, place_of

Points = Sequence[Mapping[str, Any]]
Folds = Sequence[NDArray[np.integer]]


class PointModels:
    """Fitted estimators, one for each of some parameter settings.

    Parameters
    ----------
    models : sequence of estimators or None
        None where a setting has no solution.
    """

    def __init__(self, models: Sequence[Any]) -> None:
        self._models = models

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the values of each at the rows of ``X``, shape (n, n_points); NaN without one.

        A model with a function for every cut has a column for each.
        """
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        found = [None if model is None else _values_of(model, X, n) for model in self._models]
        shape = next((values.shape for values in found if values is not None), (n,))
        missing = np.full(shape, np.nan)
        return np.column_stack([missing if values is None else values for values in found])


def _values_of(model: Any, X: Any, n_rows: int) -> NDArray[Any]:
    """Return a model's values, a number for every row, or for every row and cut."""
    values = np.asarray(model.decision_function(X))
    if len(values.shape) == 0 or len(values) != n_rows:
        raise FitError(
            f"decision_function returned shape {values.shape} for {n_rows:,} rows"
            f"{at(place_of(model.decision_function))}"
        )
    return values


ToWrite = tuple[tuple[str, ...], ...]


def check_solution(estimator: Any) -> None:
    """Raise `SolverError` unless a fit has set the attribute that only a fitted model has."""
    if not hasattr(estimator, estimator._solution):
        kind = type(estimator).__name__
        raise SolverError(
            f"{kind}._fit must set {estimator._solution}, or {kind}._solution name what it sets"
            f"{at(place_of(estimator._fit))}"
        )


@dataclass_transform(field_specifiers=(fitted, preset), eq_default=False)
class Estimator(BaseEstimator):
    """Base of all estimators.

    Subclasses declare their parameters (`dsgkit.solvers.declared`) and implement ``fit``, each
    family with its own named arrays, and `_values` or all of ``decision_function``. Those that can
    train several settings at once also override `fit_points`.

    Attributes
    ----------
    tasks : tuple of str
        Kinds of the tasks that it is for.
    version : int or str
        Part of the identity of every result: raised when a change makes results differ, so that
        they are computed again.
    pace : Pace
        How much longer it takes than the operations that `cost` counts.

    Notes
    -----
    A fitted estimator may have an attribute ``remark_``: in words, what a reader of its result has
    to know, such as that a part of the method had nothing to do. Tables mark such fits.

    It may have a method ``diagnostics(**training)`` that returns numbers by name, such as the value
    of the objective at the fitted function. It is called after the fit was timed and judged, with
    the arrays that ``fit`` was given; the numbers are kept under ``diagnostics`` in the record.
    """

    tasks: ClassVar[tuple[str, ...]] = ()
    pace: ClassVar[Pace] = Pace()
    _to_write: ClassVar[ToWrite] = (("fit",), ("decision_function", "_values"))
    """Methods that a subclass must write: one of each tuple."""

    _solution: ClassVar[str] = "coef_"
    """The attribute that only a fitted model has."""

    max_memory: float | None = preset(None)
    _fits: ClassVar[str] = "fit"
    """The method that trains as much as `decision_function` needs."""

    _warns = True
    """Whether a fit warns about the rows; a search turns it off."""

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
        """Return whether the fitted function depends on one of the named arrays that ``fit`` takes.

        One fit serves every number of rows that it does not depend on.
        """
        return True

    def cost(self, n_inputs: int, *, n_models: int = 1, **counts: int) -> Cost:
        """Return about what a fit takes, for plans and progress bars.

        Parameters
        ----------
        n_inputs : int
            Columns of the rows.
        n_models : int
            1 for a fit; for `fit_points`, the number of points, times that of folds.
        **counts : int
            Numbers of rows, such as ``n_labeled`` and ``n_unlabeled``.
        """
        return Cost()

    def settled(self, **counts: int) -> Self:
        """Return a clone whose parameters no longer depend on how many rows it is given.

        A search that trains on a part of the rows is to choose for a fit on all of them: with its
        number of iterations, say.

        Parameters
        ----------
        **counts : int
            Numbers of rows, such as ``n_labeled`` and ``n_unlabeled``: what depends on them is
            fixed as it is for these.
        """
        copy: Self = clone(self)
        return copy

    def fit_points(self, points: Points, *, folds: Folds | None = None, **training: Any) -> Any:
        """Fit a model for each of many parameter settings.

        Parameters
        ----------
        points : sequence of dict
            Settings, laid over this estimator's own parameters. A sigma of "scale" is fitted to all
            rows, the same one for every fold.
        folds : sequence of int arrays, optional
            Positions of ``X`` and ``y`` that are held out, fold by fold.
        **training : arrays
            What `fit` takes.

        Returns
        -------
        PointModels, or ndarray of shape (n_points, n_rows)
            Without folds, models with a ``decision_function`` of a column per point. With folds,
            out-of-fold values: entry ``[g, i]`` is the value at row i of the model with
            ``points[g]`` trained without the fold that holds i; NaN where it has no solution.
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
            found = models.decision_function(X[held_out])
            values[:, held_out] = of_shape(found, "decision_function of fit_points", shape).T
        return values

    def _fitted(self, point: Mapping[str, Any], training: Mapping[str, Any]) -> Self | None:
        """Return the model of a setting; None if it has no solution."""
        try:
            fitted: Self = getattr(self._quiet(point), self._fits)(**training)
            return fitted
        except MemoryLimitError:
            raise
        except FitError:
            return None

    def _of_points(self, points: Points) -> list[Self]:
        """Return an estimator for each of some settings, its parameters checked."""
        models: list[Self] = [clone(self).set_params(**point) for point in points]
        for model in models:
            model._check_params()
        return models

    def _quiet(self, point: Mapping[str, Any]) -> Self:
        """Return an estimator of a setting, not fitted, whose fit does not warn of the rows."""
        model: Self = clone(self).set_params(**point)
        model._warns = False
        return model

    def _settled(self, *tables: Any) -> AbstractContextManager[None]:
        """Return a context for a fit on some rows; see `sigma.WithSigma`."""
        return nullcontext()

    def _with_sigma(self, points: Points, *tables: Any) -> Points:
        """Return settings without what depends on the rows; see `sigma.WithSigma`."""
        return points

    def _check_params(self) -> None:
        """Raise `DataError` for a parameter value that is out of range."""
        check_parameters(self)

    def _memory_limit(self) -> int:
        """Return the bytes that a fit may take: ``max_memory`` (GiB), or what is available."""
        return memory_limit() if self.max_memory is None else int(self.max_memory * 2**30)

    def _check_memory(self, cost: Cost) -> None:
        """Raise `MemoryLimitError` if a cost is above the limit."""
        limit = self._memory_limit()
        needed = cost.memory if cost.least_memory is None else cost.least_memory
        if needed > limit:
            raise MemoryLimitError(needed, limit)


compose(Estimator)  # its subclasses are composed as they are made


class BinaryClassifier(ClassifierMixin):
    """Base of the classifiers of two classes: the class is the sign of the value."""

    classes_: NDArray[Any]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row; a value of at least 0 is taken for positive."""
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

    _to_write: ClassVar[ToWrite] = (("fit", "_fit"), ("decision_function", "_values"))

    unlabeled_label: int | float | str = preset(-1)

    classes_: NDArray[Any] = fitted("The labels, the larger and positive one last.", "(2,)")
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
            rows serve as those too.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs), optional

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a parameter is out of range or the rows or labels cannot be used. Of unlabelled rows,
            which may be many and on disk, only those that training reads are looked at.
        MemoryLimitError
            If the fit needs more memory than ``max_memory`` or than there is, before anything is
            allocated.
        FitError
            If there is no solution, or none that can be computed.
        """
        self._check_params()
        X, positive, X_unlabeled = self._inputs(X, y, X_unlabeled)
        with self._settled(X, X_unlabeled):
            self._fit(X, positive, X_unlabeled)
        check_solution(self)
        return self

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, **others: Any
    ) -> Any:
        """Fit a model for each of many parameter settings; see `Estimator.fit_points`."""
        if folds is not None:
            columns = clone(self)
            X = as_rows(columns, X, reset=True)  # which can be taken by their numbers
            if (unlabeled := others.get("X_unlabeled")) is not None:
                rows = as_rows(columns, unlabeled, reset=False, name="X_unlabeled")
                others = {**others, "X_unlabeled": rows}
        return super().fit_points(points, folds=folds, X=X, y=y, **others)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy at the rows of ``X``; unlabelled ones do not count.

        Raises
        ------
        DataError
            For a label that the model does not know.
        """
        return float(super().score(*self._judged(X, y, sample_weight)))

    def _judged(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Any]:
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
        """Compute the fitted attributes from checked rows, and labels as `_coded` returns them."""
        raise NotImplementedError

    def _inputs(self, X: Any, y: Any, X_unlabeled: Any) -> tuple[Any, NDArray[np.bool_], Any]:
        """Return labelled rows, which of them are positive, and unlabelled rows, all checked.

        Sets ``classes_`` and ``n_features_in_``: `fit_points` calls it on a clone.
        """
        X = as_rows(self, X, reset=True)
        labels = as_labels(y, len(X))
        hint = ""
        if X_unlabeled is None:
            apart = labels == self.unlabeled_label
            if apart.any():
                hint = (
                    f"; rows labelled {self.unlabeled_label} count as unlabelled: pass X_unlabeled,"
                    " or name another unlabeled_label"
                )
                X_unlabeled = take(X, apart)
                X, labels = take(X, ~apart), labels[~apart]
            else:
                X_unlabeled = X
        else:
            X_unlabeled = as_rows(self, X_unlabeled, reset=False, name="X_unlabeled")
            if not len(X_unlabeled):
                raise DataError("X_unlabeled must hold at least one row")
        classes, codes = self._coded(labels, hint)
        check_finite(X)
        self.classes_ = classes
        return X, codes, X_unlabeled

    def _codes(self, labels: NDArray[Any]) -> NDArray[np.integer]:
        """Return the classes, counted from 0, from what `_fit` takes for labels."""
        return labels

    def _coded(self, labels: NDArray[Any], hint: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the classes, and labels as `_fit` takes them; the hint ends what is refused."""
        classes = two_classes(labels, hint)
        return classes, labels == classes[1]


class PairwiseAUCEstimator(SemiSupervisedEstimator):
    """Base of the estimators that learn a ranking."""

    tasks = ("semi_supervised_auc",)
    _labeled: tuple[Any, NDArray[np.bool_]] = fitted()

    def _codes(self, positive: NDArray[np.bool_]) -> NDArray[np.integer]:
        return np.where(positive, POSITIVE_CLASS, NEGATIVE_CLASS)

    def _inputs(self, X: Any, y: Any, X_unlabeled: Any) -> tuple[Any, NDArray[np.bool_], Any]:
        X, positive, X_unlabeled = super()._inputs(X, y, X_unlabeled)
        # sparse rows stay so until they are used
        self._labeled = (X if isinstance(X, SparseRows) else X[:]), positive
        return X, positive, X_unlabeled

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class whose labelled rows have the nearer mean value.

        A ranking has no threshold of its own: a constant added to the function changes no pair.
        """
        values = self.decision_function(X)
        rows, positive = self._labeled
        labeled = self._values(rows)
        threshold = (labeled[positive].mean() + labeled[~positive].mean()) / 2
        return self.classes_[(values >= threshold).astype(int)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the area under the ROC curve at the rows of ``X``; unlabelled ones do not count.

        Raises
        ------
        DataError
            For a label that the model does not know.
        """
        from sklearn.metrics import roc_auc_score

        X, y, sample_weight = self._judged(X, y, sample_weight)
        values = self.decision_function(X)
        return float(roc_auc_score(y == self.classes_[1], values, sample_weight=sample_weight))


class SemiSupervisedClassifier(SemiSupervisedEstimator):
    """Base of the estimators that learn a classifier: the class is the sign of the value."""

    tasks = ("semi_supervised_svm",)
