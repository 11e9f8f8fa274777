"""The base of all estimators: one ``fit``, one ``fit_points``; and that of two classes.

A method is a class with fields and three sentences::

    class QSGS2AUC(PairwiseAUCEstimator):
        lam: Lam = 0.125                       # a parameter; its annotation states type and range

        def risk(self, data): ...              # the loss of one model on some rows
        def learn(self, problem): ...          # the functions of all models of a problem
        def cost(self, n, n_models=1): ...     # time and memory, before anything is allocated

Its base, the family's, checks the arrays that users pass (`Estimator.data`). A class outside of the
package may define ``fit`` and ``decision_function`` instead, or ``_fit`` and ``_values``.
"""

from __future__ import annotations

import copy
import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags, _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from dsgkit.costs import Cost, Pace
from dsgkit.engine.clock import NO_CLOCK, Clock
from dsgkit.engine.model import Columns, Expansion, NoSolution, TableValues, one_by_one
from dsgkit.engine.problem import Data, Fold, Problem, Sizes, stacked
from dsgkit.errors import DataError, FitError, MemoryLimitError, SolverError
from dsgkit.estimators.inputs import (
    as_labels,
    as_rows,
    check_finite,
    marked,
    naming_bad_rows,
    take,
    two_classes,
    warn_of_scales,
)
from dsgkit.estimators.parameters import UnlabeledLabel, check_parameters, parameters
from dsgkit.estimators.sigma import sample_of, scale_of, sigma_for
from dsgkit.features import Blocks, random_features
from dsgkit.linalg import Array, training_rows
from dsgkit.system.machine import memory_limit
from dsgkit.user_code import place_of

Points = Sequence[Mapping[str, Any]]

if TYPE_CHECKING:  # scikit-learn has no types: with these, a wrong argument is an error

    class BaseEstimator:
        """`sklearn.base.BaseEstimator`."""

        n_features_in_: int

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Tags: ...

    class ClassifierMixin:
        """`sklearn.base.ClassifierMixin`."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class ClusterMixin:
        """`sklearn.base.ClusterMixin`."""

        def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> NDArray[Any]: ...
else:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.base import ClusterMixin as ClusterMixin


@dataclass_transform(eq_default=False)
class Estimator(BaseEstimator):
    """Base of all estimators: annotated names with a default are the constructor's parameters.

    Attributes
    ----------
    tasks : tuple of str
        Kinds of the tasks that the estimator is for.
    version : int or str
        Part of the identity of every result. Raise it when a change makes results differ: then they
        are computed again.
    pace : Pace
        Measured time relative to the operations that `cost` counts.
    failure : FitError
        Raised by a fit without a solution, with the parameters in braces filled in.
    folds_in_one_pass : bool
        Whether the models of all folds are trained together.
    labeled_only : bool
        Whether the function depends on the labelled rows alone.
    has_intercept : bool
        Whether a kernel expansion has an offset, ``intercept_``.

    Notes
    -----
    A fitted estimator may have an attribute ``remark_``: a text for readers of its result, such as
    "gamma = 1: unlabelled rows were not used". Tables mark those fits.

    It may have a method ``diagnostics(**training)`` that returns numbers by name, such as the value
    of the objective at the fitted function. It is called with the arrays that ``fit`` was given,
    after the fit has been timed and scored; the record keeps the numbers under ``diagnostics``.
    """

    tasks: ClassVar[tuple[str, ...]] = ()
    version: ClassVar[int | str] = 1
    pace: ClassVar[Pace] = Pace()
    failure: ClassVar[FitError] = FitError("no solution that can be computed")
    folds_in_one_pass: ClassVar[bool] = True
    labeled_only: ClassVar[bool] = False
    has_intercept: ClassVar[bool] = True

    _own_init: ClassVar[bool] = False

    # types of what fits set, and of a parameter of many families
    classes_: Any
    function_: Any
    sigma_: float
    own_thresholds_: Any
    gamma: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_fit" in vars(cls):  # a class of one's own is trained on one set of rows at a time
            cls.folds_in_one_pass = False
        own = inspect.get_annotations(cls)
        given = {name: hint for name, hint in own.items() if name in vars(cls) or name == "_"}
        cls.__annotations__ = given  # others are of fitted attributes, not of parameters
        if "__init__" in vars(cls):
            cls._own_init = True
        dataclass(eq=False, repr=False, init=not cls._own_init)(cls)
        cls.__annotations__ = own

    def _check_params(self) -> None:
        """Raise `DataError` for parameters that cannot be used, or not together."""
        check_parameters(self)
        vars(self).pop("_drawn_seed", None)

    @property
    def _seed(self) -> int:
        """``random_state``; if it is no number, one drawn from it for this fit."""
        state = getattr(self, "random_state", 0)
        if isinstance(state, Real):
            return int(state)  # type: ignore[call-overload]
        if "_drawn_seed" not in vars(self):
            self._drawn_seed = int(check_random_state(state).randint(2**31))
        return self._drawn_seed

    def data(self, *arrays: Any, **named: Any) -> Data:
        """Return checked rows; sets ``classes_`` and ``n_features_in_``."""
        raise NotImplementedError

    def risk(self, data: Any) -> Any:
        """Return the loss of this model on some rows."""
        return None

    def learn(self, problem: Problem) -> Any:
        """Return the functions of all models of a problem; they differ in ``PER_MODEL`` parameters.

        They have ``finite``, ``values(X)`` with a column each, and ``on(tables)``.
        """
        raise NotImplementedError

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        """Return the predicted time and memory of `learn`."""
        return Cost()

    def settled(self, **counts: int) -> Self:
        """Return a clone whose parameters are fixed to their values for these numbers of rows.

        A search trains on a part of the rows but chooses for a fit on all of them, so that it must
        use, for example, the number of iterations of that fit. ``counts`` are numbers of rows, such
        as ``n_labeled`` and ``n_unlabeled``.
        """
        copy: Self = clone(self)
        return copy

    def uses(self, name: str) -> bool:
        """Return whether the fitted function depends on the array of this name.

        If it does not, a sweep over the number of that array's rows needs one fit only.
        """
        return name != "X_unlabeled" or not self.labeled_only

    @naming_bad_rows
    def decision_function(self, X: Any) -> Array:
        """Return the values of the fitted function at rows, shape (n,)."""
        check_is_fitted(self, "function_")
        X = as_rows(self, X, reset=False)
        values: Array = self.function_.values(X)[:, 0].astype(np.float64)
        if not np.isfinite(values).all():
            check_finite(X)
        return values

    @property
    def _penalty(self) -> float:
        """Weight of the squared norm in the objective."""
        return getattr(self, "lam", 1.0) / 2

    @naming_bad_rows
    def fit_points(self, points: Points, *, folds: Any = None, **arrays: Any) -> Any:
        """Fit a model for each of many settings; those that share a pass, together.

        Parameters
        ----------
        points : sequence of dict
            Settings, which override this estimator's parameters. A sigma of "scale" is fitted to
            all rows and is the same in every fold.
        folds : sequence, optional
            Positions of the rows that each fold holds out.
        **arrays
            As for ``fit``, by name.

        Returns
        -------
        Grid, or out-of-fold values of shape (n_points, n_rows) or (n_points, n_rows, n_cuts)
            Without folds, functions whose ``decision_function`` has one column per point. With
            folds, entry ``[g, i]`` is the value at row i of the model with ``points[g]`` that was
            trained without the fold of row i. NaN for a model without a solution, and for rows that
            no fold holds out.
        """
        if type(self).learn is Estimator.learn:  # a class that has a ``fit`` of its own
            return self._fit_points_one_by_one(points, folds, arrays)
        checked = clone(self)
        data = checked.data(**arrays)
        models = checked._models(points, data)
        if folds is None:
            return Grid(checked, list(_learned(models, data, None)))
        held = checked._folds(folds, data)
        own_rows = data.U is data.X  # the labelled rows of a fold are its unlabelled ones too
        tables = data.tables[: 1 if held[0].unlabeled is None else 2]
        shape = checked._value_shape(data)
        values = [np.full((len(models), len(X), *shape), np.nan) for X in tables]
        if self.folds_in_one_pass and not own_rows:
            for members, functions in _learned(models, data, held):
                for out, own in zip(values, held_out(functions, data, held), strict=True):
                    out[members] = own
            return checked._out_of_fold(values)
        for fold in held:
            rows = training_rows(fold.labeled, len(data.X))
            rows_u: Any = rows
            if not own_rows:
                out_u = fold.unlabeled
                rows_u = None if out_u is None else training_rows(out_u, len(data.U))
            grid = Grid(checked, list(_learned(models, data.take(rows, rows_u), None)))
            for out, X, at in zip(values, tables, fold, strict=False):
                own = grid.values(X[at]).reshape(len(at), -1, *shape)
                out[:, at] = own.swapaxes(0, 1)
        return checked._out_of_fold(values)

    def diagnostics(self, *arrays: Any, **named: Any) -> dict[str, float]:
        """Return the ``objective`` at the fitted function, its ``risk`` and its ``squared_norm``.

        It takes the training arrays, as ``fit``; there is nothing if the estimator states no risk.
        """
        if not hasattr(getattr(self, "function_", None), "squared_norm"):
            return {}  # a class of one's own
        data = clone(self).data(*arrays, **named)
        loss = stacked([self.risk(data)], [data.counts])
        if loss is None:
            return {}
        values = self.values_at(data)
        risk, norm = float(loss.value(values)[0]), float(self.function_.squared_norm()[0])
        return {"objective": risk + self._penalty * norm, "risk": risk, "squared_norm": norm}

    def values_at(self, data: Data) -> list[Array]:
        """Return the fitted function's values at the rows of each source, shape (n_k, 1)."""
        labeled = self.function_.values(data.X).astype(np.float64)
        by_class = [labeled[data.codes == k] for k in range(data.n_sources)]
        return [*by_class, self.function_.values(data.U).astype(np.float64)]

    def _fit_to(self, data: Data, clock: Clock = NO_CLOCK) -> Self:
        """Fit to checked rows; an observer of the clock gets copies of this estimator."""
        with sigma_for(self, data):
            refuse_above_memory(self, self.cost(data.sizes))
            function = self.learn(Problem.of([self], data, clock=clock))
            if not function.finite.all():
                raise type(self.failure)(str(self.failure).format(**vars(self)))
        self._keep(function)
        return self

    def _keep(self, function: Any) -> None:
        """Set the fitted attributes of a function."""
        self.function_ = function
        expansion = function.functions if isinstance(function, Columns) else function
        if isinstance(expansion, Expansion):
            self.coef_ = expansion.coef[:, 0] if expansion is function else expansion.coef
            if self.has_intercept:
                self.intercept_ = expansion.offset
            self.__dict__.pop("centers_", None)
            if expansion.kernel is not None:
                self.centers_ = expansion.centers

    def _models(self, points: Points, data: Data) -> list[Self]:
        """Return an estimator with checked parameters and a numeric sigma for each setting."""
        models: list[Self] = [clone(self).set_params(**point) for point in points]
        scale = functools.cache(lambda kernel: scale_of(kernel, sample_of(self, data)))
        seen = {k: v for k, v in vars(self).items() if k in ("classes_", "n_features_in_")}
        for model in models:
            model._check_params()
            vars(model).update(seen)
            sigma = getattr(model, "sigma", 1.0)
            kernel = getattr(model, "kernel", "gaussian")
            model.sigma_ = float(scale(kernel) if sigma == "scale" else sigma)
        return models

    def _folds(self, folds: Any, data: Data) -> list[Fold]:
        return [Fold(rows) for rows in folds]

    def _value_shape(self, data: Data) -> tuple[int, ...]:
        """Return the shape of the function's value at a row."""
        return ()

    def _out_of_fold(self, values: list[Array]) -> Any:
        return values[0]

    def _fit_points_one_by_one(self, points: Points, folds: Any, arrays: dict[str, Any]) -> Any:
        if folds is None:
            return OwnModels([self._fitted(point, arrays) for point in points])
        X, y = arrays["X"], np.asarray(arrays["y"])
        values = np.full((len(points), len(y)), np.nan)
        for fold in folds:
            rows = training_rows(fold, len(y))
            part = {**arrays, "X": X[rows], "y": y[rows]}
            values[:, fold] = self.fit_points(points, **part).decision_function(X[fold]).T
        return values

    def _fitted(self, point: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self | None:
        """Return the model fitted with a setting; None if it has no solution."""
        try:
            model: Self = clone(self).set_params(**point).fit(**arrays)
            return model
        except MemoryLimitError:
            raise
        except FitError:
            return None


class OwnModels:
    """Fitted estimators of a class of one's own, one per setting; None without a solution."""

    def __init__(self, models: Sequence[Any]) -> None:
        self._models = models

    def decision_function(self, X: Any) -> Array:
        """Return every model's values at rows, shape (n, n_points); NaN for None."""
        columns = np.full((len(X), len(self._models)), np.nan)
        for column, model in zip(columns.T, self._models, strict=True):
            if model is not None:
                values = np.asarray(model.decision_function(X))
                if values.shape != (len(X),):
                    raise SolverError(
                        f"decision_function returned shape {values.shape} for {len(X):,} rows"
                        f"{place_of(model.decision_function)}"
                    )
                column[:] = values
        return columns


class OwnFunction:
    """The fitted function of a user's class that defines ``_fit`` and ``_values``."""

    def __init__(self, model: Any, n_columns: int = 1) -> None:
        self.model, self.finite = model, np.ones(n_columns, bool)

    def values(self, X: Any) -> Array:
        values: Array = np.asarray(self.model._values(X))
        return values.reshape(len(values), len(self.finite))


def by_own_fit(problem: Problem, arrays: Callable[[Data], Any], n_columns: int = 1) -> Any:
    """Return the functions of a class of one's own, which defines ``_fit`` and ``_values``."""

    def solve(part: Problem) -> OwnFunction:
        model = part.settings[0]
        if problem.n_models > 1:  # else its attributes are those of the fit
            model = copy.copy(model)
        model._fit(*arrays(part.data))
        return OwnFunction(model, n_columns)

    return one_by_one(problem, solve, n_columns=n_columns)


class Grid:
    """Functions of several settings, and the settings' numbers."""

    def __init__(self, estimator: Any, parts: Sequence[tuple[list[int], Any]]) -> None:
        self._estimator, self.parts = estimator, parts

    @naming_bad_rows
    def decision_function(self, X: Any) -> Array:
        """Return all values at rows, a column each, shape (n, n_points); NaN without a solution."""
        return self.values(as_rows(self._estimator, X, reset=False))

    def values(self, X: Any) -> Array:
        """Return the same at checked rows."""
        columns: list[Any] = [None] * sum(len(members) for members, _ in self.parts)
        for members, functions in self.parts:
            values, finite = functions.values(X), functions.finite
            if not np.isfinite(values[:, finite]).all():
                check_finite(X)
            values = np.where(finite.reshape(-1, *[1] * (values.ndim - 2)), values, np.nan)
            for column, g in enumerate(members):
                columns[g] = values[:, column]
        return np.column_stack(columns)


def _learned(
    models: Sequence[Any], data: Data, folds: Sequence[Fold] | None
) -> Iterator[tuple[list[int], Any]]:
    """Yield the numbers and the functions of models that are trained together."""
    groups: dict[Any, list[int]] = {}
    for number, model in enumerate(models):
        kind: Any = type(model)
        values = [getattr(model, n) for n, p in parameters(kind).items() if not p.per_model]
        shared = [tuple(v) if isinstance(v, list | np.ndarray) else v for v in values]
        groups.setdefault((*shared, model.sigma_), []).append(number)
    for members in groups.values():
        group, first = [models[i] for i in members], models[members[0]]
        n = data.sizes
        if folds is not None:
            n = n._replace(folds=len(folds), pooled=folds[0].unlabeled is not None)
        refuse_above_memory(first, first.cost(n, len(group) * max(1, n.folds)))
        problem = Problem.of(group, data, folds)
        try:
            functions = first.learn(problem)
        except MemoryLimitError:
            raise
        except FitError:  # of a single model, or of what all models share
            shape = first._value_shape(data)
            functions = NoSolution(problem.n_models * math.prod(shape))
            functions = Columns(functions, *shape) if shape else functions
        yield members, functions


def held_out(functions: Any, data: Data, folds: Sequence[Fold], centre: Any = None) -> list[Array]:
    """Return out-of-fold values, shape (n_points, n_rows, ..), for each table with held-out rows.

    With rows ``centre``, each model's mean there is subtracted, as the origin of a ranking is
    arbitrary.
    """
    tables = data.tables[: 1 if folds[0].unlabeled is None else 2]
    known = isinstance(functions, TableValues)
    final = functions.tables if known else [functions.values(X) for X in tables]
    n_points = final[0].shape[1] // len(folds)
    out = [np.full((n_points, len(X), *final[0].shape[2:]), np.nan) for X in tables]
    origin = 0.0 if centre is None else functions.values(centre).mean(axis=0, dtype=np.float64)
    for k, fold in enumerate(folds):
        models = slice(k * n_points, (k + 1) * n_points)
        own = [
            (F.astype(np.float64) - origin)[rows, models].swapaxes(0, 1)
            for F, rows in zip(final, fold, strict=False)
        ]
        solved = np.ones(n_points, bool)
        for values in own:
            solved &= np.isfinite(values.reshape(n_points, -1)).all(axis=1)
        for values, at, rows in zip(out, own, fold, strict=False):
            at[~solved] = np.nan
            values[:, rows] = at
    return out


def refuse_above_memory(estimator: Any, cost: Cost) -> None:
    """Raise `MemoryLimitError` if a fit needs more than ``max_memory``, or than is available."""
    limit = memory_for(estimator)
    if cost.memory > limit:
        raise MemoryLimitError(int(cost.memory), limit)


def memory_for(estimator: Any) -> int:
    """Return the bytes that a fit may take: ``max_memory`` (GiB), or what is available."""
    most = getattr(estimator, "max_memory", None)
    return memory_limit() if most is None else int(most * 2**30)


def blocks_of(estimator: Any, sigma: float | None = None, n_features: int | None = None) -> Blocks:
    """Return the random features of an estimator's parameters; for a cost, with any sigma."""
    return random_features(
        getattr(estimator, "kernel", "gaussian"),
        estimator.sigma_ if sigma is None else sigma,
        int(estimator.n_features if n_features is None else n_features),
        estimator._seed,
        estimator.frequencies,
    )


@naming_bad_rows
def fit_observed(
    self: Any, *, at: Sequence[int], observe: Callable[..., Any], **arrays: Any
) -> Any:
    """Fit as ``fit`` does, and call ``observe`` with the function at some iterations.

    Parameters
    ----------
    at : sequence of int
        Iterations, ascending, at most the number of those made; others raise `ValueError`.
    observe : callable
        ``observe(t, seconds, model)`` is called after each of these iterations: with the time of
        the fit so far, without that of observing, and a copy of the model.
    **arrays
        As for ``fit``, by name.
    """

    def see(t: int, seconds: float, function: Any) -> None:
        model = copy.copy(self)
        model._keep(function)
        observe(t, seconds, model)

    clock = Clock(at, see)
    self._check_params()
    return self._fit_to(self.data(**arrays), clock)


class BinaryClassifier(ClassifierMixin, Estimator):
    """Base of the classifiers of two classes by the sign of a function."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row: the last of ``classes_`` for values of at least 0."""
        positive = self.decision_function(X) >= 0
        return self.classes_[positive.astype(int)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class, tags.input_tags.sparse = False, True
        return tags


class LabeledEstimator(BinaryClassifier):
    """Base of the classifiers that learn from labelled rows of two classes."""

    labeled_only = True
    folds_in_one_pass = False

    @naming_bad_rows
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : rows of shape (n, n_inputs)
        y : array-like of shape (n,)
            Labels of two classes; the larger one is positive.

        Raises
        ------
        DataError, MemoryLimitError, FitError
            As `SemiSupervisedEstimator.fit`.
        """
        self._check_params()
        return self._fit_to(self.data(X, y))

    def data(self, X: Any, y: Any, **others: Any) -> Data:
        X = as_rows(self, X, reset=True)
        labels = as_labels(y, len(X))
        self.classes_ = two_classes(labels)
        check_finite(X)
        return Data(X, np.where(labels == self.classes_[1], 0, 1), X[:0])


class SemiSupervisedEstimator(BinaryClassifier):
    """Base of the estimators that learn from labelled and unlabelled rows of two classes."""

    _: KW_ONLY
    unlabeled_label: UnlabeledLabel = -1

    @naming_bad_rows
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

        Warns
        -----
        DsgWarning
            If ``X_unlabeled`` is on another scale than ``X``.
        """
        return self._fit_to(self._training(X, y, X_unlabeled))

    def _training(self, X: Any, y: Any, X_unlabeled: Any) -> Data:
        """Return the checked rows of a fit."""
        self._check_params()
        data = self.data(X, y, X_unlabeled)
        if X_unlabeled is not None:
            warn_of_scales(data.X, data.U, getattr(self, "feature_names_in_", None))
        return data

    def data(self, X: Any, y: Any, X_unlabeled: Any = None) -> Data:
        X = as_rows(self, X, reset=True)
        labels = as_labels(y, len(X), self.unlabeled_label)
        hint, U, self._n_given = "", X, len(X)
        if X_unlabeled is not None:
            U = as_rows(self, X_unlabeled, reset=False, name="X_unlabeled")
            if not len(U):
                raise DataError("X_unlabeled must hold at least one row")
        elif (is_unlabeled := marked(labels, self.unlabeled_label)).any():
            hint = (
                f"; rows labelled {self.unlabeled_label} count as unlabelled: pass X_unlabeled, "
                "or name another unlabeled_label"
            )
            U, X, labels = take(X, is_unlabeled), take(X, ~is_unlabeled), labels[~is_unlabeled]
        self.classes_, codes = self._coded(labels, hint)
        check_finite(X)
        return Data(X, codes, U, len(self.classes_))

    def _coded(self, labels: NDArray[Any], hint: str) -> tuple[NDArray[Any], NDArray[np.integer]]:
        """Return the classes, and the source of each row: 0 for the positive class."""
        classes = two_classes(labels, hint)
        return classes, np.where(labels == classes[1], 0, 1)

    def _folds(self, folds: Any, data: Data) -> list[Fold]:
        if self._n_given != len(data.X):
            raise DataError("with folds, y must have no unlabelled rows: pass them as X_unlabeled")
        return super()._folds(folds, data)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy at the labelled rows; refuse a label that it was not fitted on."""
        return float(super().score(*self._labeled_part(X, y, sample_weight)))

    def _labeled_part(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Any]:
        """Return rows, labels and weights without the unlabelled rows."""
        check_is_fitted(self)
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
