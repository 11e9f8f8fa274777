"""Wrappers that make solvers of scikit-learn estimators, and of functions that return them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Self, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClusterMixin,
    RegressorMixin,
    is_classifier,
    is_clusterer,
    is_regressor,
)

from dsgkit.costs import ENTRY_FLOPS, Cost, Pace
from dsgkit.errors import FOREIGN_ERRORS, DsgError, warn_of_point
from dsgkit.linalg import Array
from dsgkit.solvers.base import Estimator
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.parameters import behind_keywords, is_same

Role = Literal["classifier", "regressor", "clusterer"]

_SEMI_SUPERVISED = "sklearn.semi_supervised"
_BLOCK_ROWS = 2**12


class _Wrapper(BaseEstimator):
    """Base of the wrappers, which create and fit the wrapped estimator in ``fit``.

    Attributes
    ----------
    model_ : object
        The fitted estimator. Its fitted attributes can be read from the wrapper.
    """

    _make: ClassVar[Callable[..., Any]]
    _behind: ClassVar[Mapping[str, Any]] = {}
    """Defaults of the parameters that it takes by ``**kwargs``."""

    def _unfitted_model(self) -> Any:
        """Return the wrapped estimator with the wrapper's parameters, unfitted."""
        params = self.get_params(deep=False)
        # a constructor may hand some of these on by itself: only those that are set are given
        unset = [n for n, default in self._behind.items() if is_same(params[n], default)]
        return self._make(**{name: params[name] for name in params if name not in unset})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "model_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.model_, name)


class _Clusterer(ClusterMixin, _Wrapper):
    """Wrapper of clusterers: a fit sets ``labels_``."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows."""
        self.model_ = self._unfitted_model()
        self.model_.fit(X)
        return self


class _Supervised(_Wrapper, Estimator):
    """Base of the wrappers that learn from labelled rows."""

    pace: ClassVar[Pace] = Pace(training=30, per_model=8)

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to the labelled rows."""
        self.model_ = self._unfitted_model()
        self.model_.fit(np.asarray(X), y)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the values of the fitted function at the rows of ``X``, shape (n,)."""
        blocks = range(0, len(X), _BLOCK_ROWS)
        return np.concatenate(
            [self._values(np.asarray(X[start : start + _BLOCK_ROWS])) for start in blocks]
        )

    def cost(self, n_inputs: int, *, n_models: int = 1, **counts: int) -> Cost:
        """Return the cost of a kernel matrix of all rows: that of the fit is not known."""
        n_rows = self._n_rows(counts)
        flops_per_row = n_rows * (3.0 * n_inputs + ENTRY_FLOPS)
        return Cost(n_models * n_rows * flops_per_row, 8 * n_rows**2, flops_per_row)

    def _n_rows(self, counts: Mapping[str, int]) -> int:
        """Return the number of training rows."""
        return counts.get("n_labeled", max(counts.values()))

    def _fitted(self, point: Mapping[str, Any], training: Mapping[str, Any]) -> Self | None:
        try:
            model = super()._fitted(point, training)
            if model is not None:  # too few rows for its neighbours raise only here
                model.decision_function(training["X"][:1])
            return model
        except DsgError:
            raise
        except FOREIGN_ERRORS as error:
            warn_of_point(point, error)
            return None


class _Classifier(_Supervised):
    """Wrapper of classifiers of labelled rows."""

    tasks: ClassVar[tuple[str, ...]] = ("semi_supervised_auc", "semi_supervised_svm")
    _takes_codes: ClassVar[bool] = False
    """Whether it was found to refuse the labels -1 and 1, and to take 0 and 1."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier to labelled rows; to labels 0 and 1 if it refuses -1 and 1."""
        codes = (np.asarray(y) == np.max(y)).astype(np.int64)
        if self._takes_codes:
            return super().fit(X, codes)
        try:
            return super().fit(X, y)
        except ValueError as error:
            try:
                super().fit(X, codes)
            except ValueError:
                raise error from None  # it is not for the labels
            type(self)._takes_codes = True
            return self

    def _values(self, X: NDArray[Any]) -> Array:
        """Return the decision function, or else the probability of the larger label less 1/2."""
        if hasattr(self.model_, "decision_function"):
            return np.asarray(self.model_.decision_function(X))
        return np.asarray(self.model_.predict_proba(X)[:, 1] - 0.5)


class _SemiSupervisedClassifier(_Classifier):
    """Same, for `sklearn.semi_supervised` classifiers: the label -1 marks unlabelled rows."""

    pace: ClassVar[Pace] = Pace(training=6, scoring=4, per_model=5)

    def fit(self, X: Any, y: Any, X_unlabeled: Any) -> Self:  # type: ignore[override]
        """Fit the classifier to labelled and unlabelled rows; the labels become 0 and 1."""
        rows = np.vstack([np.asarray(X), np.asarray(X_unlabeled)])
        codes = np.asarray(y) == np.max(y)
        return _Supervised.fit(self, rows, np.concatenate([codes, np.full(len(X_unlabeled), -1)]))

    def _n_rows(self, counts: Mapping[str, int]) -> int:
        return sum(counts.values())


class _Regressor(_Supervised):
    """Wrapper of regressors: ordered classes are fitted as numbers."""

    tasks: ClassVar[tuple[str, ...]] = ("ordinal",)

    classes_: NDArray[Any] = fitted(
        "The labels of the training rows in ascending order.", "(n_classes,)"
    )

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the regressor to the labels as numbers."""
        self.classes_ = np.unique(y)
        return super().fit(X, y)

    def _values(self, X: NDArray[Any]) -> Array:
        """Return the regressor's predictions."""
        return np.asarray(self.model_.predict(X), np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class nearest to the value of every row."""
        return self.classify(self.decision_function(X))

    def classify(self, values: Array) -> NDArray[Any]:
        """Return the class nearest to each value; of two equally near ones, the lower."""
        between = (self.classes_[1:] + self.classes_[:-1]) / 2
        return self.classes_[np.searchsorted(between, values)]


def role_of(solver: type) -> Role | None:
    """Return the role of a scikit-learn estimator class; None for this package's estimators."""
    fit: Any = getattr(solver, "fit", None)
    if hasattr(solver, "fit_points") or not callable(fit):
        return None
    if "X_unlabeled" in inspect.signature(fit).parameters:
        return None
    mixins: dict[Role, type] = {
        "classifier": ClassifierMixin,
        "regressor": RegressorMixin,
        "clusterer": ClusterMixin,
    }
    return next((role for role, mixin in mixins.items() if issubclass(solver, mixin)), None)


def role_of_model(model: Any) -> Role | None:
    """Return the role of a scikit-learn estimator; None for any other object."""
    if not isinstance(model, BaseEstimator) or hasattr(model, "fit_points"):
        return None
    roles: dict[Role, Callable[[Any], bool]] = {
        "classifier": is_classifier,
        "regressor": is_regressor,
        "clusterer": is_clusterer,
    }
    return next((role for role, is_role in roles.items() if is_role(model)), None)


@functools.cache
def wrapped(make: Callable[..., Any], role: Role, *, semi_supervised: bool) -> type:
    """Return a solver class that wraps the estimators that a class or a function creates.

    Parameters
    ----------
    make : callable
        Its parameters, with their annotations, become those of the solver.
    role : {"classifier", "regressor", "clusterer"}
    semi_supervised : bool
        Whether a classifier is fitted to the unlabelled rows too. Other classifiers and regressors
        learn from the labelled rows alone.
    """
    bases = {"classifier": _Classifier, "regressor": _Regressor, "clusterer": _Clusterer}
    base = _SemiSupervisedClassifier if semi_supervised else bases[role]
    signature = inspect.signature(make)
    behind = behind_keywords(make) if isinstance(make, type) else {}
    hints = get_type_hints(make, include_extras=True)
    attributes = {
        "__init__": _constructor(signature, behind),
        "__module__": make.__module__,
        "__doc__": make.__doc__,
        "__annotations__": {n: hints[n] for n in signature.parameters if n in hints},
        "_make": staticmethod(make),
        "_behind": behind,
    }
    return type(make.__name__, (base,), attributes)


def is_semi_supervised(model: Any) -> bool:
    """Return whether a class, an estimator or a pipeline's last step is semi-supervised."""
    if isinstance(steps := getattr(model, "steps", None), list):  # a pipeline
        model = steps[-1][1]
    solver = model if isinstance(model, type) else type(model)
    return any(cls.__module__.startswith(_SEMI_SUPERVISED) for cls in solver.__mro__)


def _constructor(signature: inspect.Signature, behind: Mapping[str, Any]) -> Callable[..., None]:
    """Return an ``__init__`` that stores its arguments, as scikit-learn requires."""
    named = [
        p for p in signature.parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    named += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in behind.items()
    ]
    own = signature.replace(parameters=named, return_annotation=signature.empty)

    def construct(self: Any, *args: Any, **params: Any) -> None:
        given = own.bind(*args, **params)
        given.apply_defaults()
        vars(self).update(given.arguments)

    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    shown = own.replace(parameters=[this, *named])
    setattr(construct, "__signature__", shown)  # noqa: B010  mypy knows no such attribute
    return construct
