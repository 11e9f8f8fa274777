"""Solvers outside of the package: classes by import path, scikit-learn's, functions that make them.

Whether a class works is found by a rehearsal on a few rows before a run, where its cells run.
"""

from __future__ import annotations

import functools
import inspect
import json
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
from dsgkit.engine.problem import Sizes
from dsgkit.errors import FOREIGN_ERRORS, ConfigError, DsgError, spelled, warn_of_point
from dsgkit.estimators.base import Estimator
from dsgkit.estimators.parameters import behind_keywords, is_same
from dsgkit.linalg import Array, row_blocks
from dsgkit.user_code import calling, load, place_of, version_of

Role = Literal["classifier", "regressor", "clusterer"]

_ROLES: dict[Role, tuple[type, Callable[[Any], bool]]] = {
    "classifier": (ClassifierMixin, is_classifier),
    "regressor": (RegressorMixin, is_regressor),
    "clusterer": (ClusterMixin, is_clusterer),
}
_DERIVE = (
    "derive it from a class of dsgkit.bases, or from scikit-learn's BaseEstimator and one of its "
    "ClassifierMixin, RegressorMixin or ClusterMixin"
)
_BLOCK_ROWS = 2**12


def solver_at(import_path: str) -> tuple[str, Any, Role | None, int | str]:
    """Return the name of a class or function, the class that the runner uses, its role and version.

    A function must return a scikit-learn estimator. The module of ``module:name`` is searched on
    ``sys.path`` and then in the current folder, which is added to ``sys.path``.
    """
    named = lambda x: isinstance(x, type) or inspect.isfunction(x)  # noqa: E731
    defined = load(import_path, "class or function", named, "my_module:MySolver")
    with calling(import_path):
        return defined.__name__, *_solver_of(defined)


@functools.lru_cache  # by the class, which is another one if its module is imported again
def _solver_of(defined: Any) -> tuple[Any, Role | None, int | str]:
    is_function = inspect.isfunction(defined)
    role = role_of(_made(defined) if is_function else defined)
    if is_function and role is None:
        raise ConfigError(
            f"{defined.__name__}() must return a scikit-learn classifier, regressor or clusterer, "
            f"got {type(defined()).__name__}{place_of(defined)}"
        )
    if is_function or role in ("classifier", "regressor"):
        solver = wrapped(defined, role or "classifier")
    else:
        solver = defined
        lacking = [name for name in ("fit", "get_params") if not callable(getattr(solver, name, 0))]
        lacking += [] if tasks_of(solver) else ["tasks"]
        if lacking:
            hint = f"; {_DERIVE}" if {"get_params", "tasks"} & {*lacking} else ""
            what = f"{solver.__name__} lacks {', '.join(lacking)}"
            raise ConfigError(f"{what}{hint}{place_of(solver)}")
    _check_defaults(solver)
    return solver, role, version_of(defined)


def _made(make: Callable[..., Any]) -> Any:
    with calling(f"{make.__name__}()", "every parameter needs a default"):
        return make()


def _check_defaults(solver: type) -> None:
    """Raise `ConfigError` for a class whose default parameters cannot be stored as JSON."""
    advice = "every parameter needs a default, and an attribute of its name"
    with calling(f"{solver.__name__}().get_params()", advice):
        defaults = solver().get_params()
    for name, value in defaults.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            raise ConfigError(
                f"the default of {solver.__name__}'s {name!r} must be a number, text, true, false "
                f"or null, got {spelled(value)}"
            ) from None


def tasks_of(solver: type) -> tuple[str, ...]:
    """Return the kinds of the tasks that a class is for; "clustering" for undeclared clusterers."""
    declared = getattr(solver, "tasks", ())
    if isinstance(declared, str):
        return (declared,)
    if not isinstance(declared, tuple | list) or not all(isinstance(k, str) for k in declared):
        raise ConfigError(
            f"{solver.__name__}.tasks must be a tuple of task names, got {spelled(declared)}"
        )
    return tuple(declared) or (("clustering",) if role_of(solver) == "clusterer" else ())


def role_of(solver: Any) -> Role | None:
    """Return the role of a scikit-learn estimator or its class; None for any other object."""
    fit = getattr(solver, "fit", None)
    if hasattr(solver, "fit_points") or not callable(fit):
        return None
    if isinstance(solver, type):
        if "X_unlabeled" in inspect.signature(fit).parameters:
            return None
        return next(
            (role for role, (mixin, _) in _ROLES.items() if issubclass(solver, mixin)), None
        )
    if not isinstance(solver, BaseEstimator):
        return None
    return next((role for role, (_, is_role) in _ROLES.items() if is_role(solver)), None)


class _Wrapper(BaseEstimator):
    """Base of the wrappers, which make and fit the wrapped estimator in ``fit``.

    Its fitted attributes can be read from the wrapper.
    """

    _make: ClassVar[Callable[..., Any]]
    _behind: ClassVar[Mapping[str, Any]] = {}  # defaults of what it takes by ``**kwargs``

    def _fit_model(self, *arrays: Any) -> Self:
        params = self.get_params(deep=False)
        # a constructor may hand some of these on by itself: only those that are set are given
        unset = [n for n, default in self._behind.items() if is_same(params[n], default)]
        self.model_ = self._make(**{name: params[name] for name in params if name not in unset})
        self.model_.fit(*arrays)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "model_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.model_, name)


class _Clusterer(ClusterMixin, _Wrapper):
    def fit(self, X: Any, y: Any = None) -> Self:
        return self._fit_model(X)


class _Supervised(_Wrapper, Estimator):
    """Base of the wrappers that learn from labelled rows."""

    pace = Pace(training=15, per_model=6)

    def fit(self, X: Any, y: Any) -> Self:
        return self._fit_model(np.asarray(X), y)

    def decision_function(self, X: Any) -> Array:
        blocks = row_blocks(len(X), _BLOCK_ROWS)
        return np.concatenate([self._values(np.asarray(X[block])) for block in blocks])

    def _values(self, X: NDArray[Any]) -> Array:
        raise NotImplementedError

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        """Return the cost of a kernel matrix of all rows: that of the fit is not known."""
        n_rows = self._n_rows(n)
        row = n_rows * (3.0 * n.inputs + ENTRY_FLOPS)
        return Cost(n_models * n_rows * row, 8 * n_rows**2, row)

    def _n_rows(self, n: Sizes) -> int:
        return n.labeled or n.unlabeled

    def _fitted(self, point: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self | None:
        try:
            model = super()._fitted(point, arrays)
            if model is not None:  # too few rows for its neighbours raise only here
                model.decision_function(arrays["X"][:1])
            return model
        except DsgError:
            raise
        except FOREIGN_ERRORS as error:
            warn_of_point(point, error)
            return None


class _Classifier(_Supervised):
    """Wrapper of classifiers of labelled rows."""

    tasks = ("semi_supervised_auc", "semi_supervised_svm")
    _takes_codes: ClassVar[bool] = False  # found to refuse -1 and 1, and to take 0 and 1

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

    pace = Pace(training=3, scoring=3.5, per_model=2)

    def fit(self, X: Any, y: Any, X_unlabeled: Any) -> Self:  # type: ignore[override]
        rows = np.vstack([np.asarray(X), np.asarray(X_unlabeled)])
        codes = np.asarray(y) == np.max(y)
        return self._fit_model(rows, np.concatenate([codes, np.full(len(X_unlabeled), -1)]))

    def _n_rows(self, n: Sizes) -> int:
        return n.labeled + n.unlabeled


class _Regressor(_Supervised):
    """Wrapper of regressors: ordered classes are fitted as numbers."""

    tasks = ("ordinal",)

    def fit(self, X: Any, y: Any) -> Self:
        self.classes_ = np.unique(y)
        return super().fit(X, y)

    def _values(self, X: NDArray[Any]) -> Array:
        return np.asarray(self.model_.predict(X), np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        return self.classify(self.decision_function(X))

    def classify(self, values: Array) -> NDArray[Any]:
        """Return the class nearest to each value; of two equally near classes, the lower."""
        between = (self.classes_[1:] + self.classes_[:-1]) / 2
        return self.classes_[np.searchsorted(between, values)]


@functools.cache
def wrapped(make: Callable[..., Any], role: Role) -> type:
    """Return a solver class around the estimators that a class or a function makes.

    Its parameters, with their annotations, become those of the solver. A classifier of
    `sklearn.semi_supervised`, also at the end of a pipeline, learns from unlabelled rows too.
    """
    last = make if isinstance(make, type) else _made(make)
    if isinstance(steps := getattr(last, "steps", None), list):  # a pipeline
        last = steps[-1][1]
    kind = last if isinstance(last, type) else type(last)
    bases = {"classifier": _Classifier, "regressor": _Regressor, "clusterer": _Clusterer}
    base: type = bases[role]
    if role == "classifier" and any("sklearn.semi_supervised" in c.__module__ for c in kind.mro()):
        base = _SemiSupervisedClassifier
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


def _constructor(signature: inspect.Signature, behind: Mapping[str, Any]) -> Callable[..., None]:
    """Return an ``__init__`` that stores its arguments, as scikit-learn requires."""
    P = inspect.Parameter
    variadic = (P.VAR_KEYWORD, P.VAR_POSITIONAL)
    named = [p for p in signature.parameters.values() if p.kind not in variadic]
    named += [P(name, P.KEYWORD_ONLY, default=default) for name, default in behind.items()]
    own = signature.replace(parameters=named, return_annotation=signature.empty)

    def construct(self: Any, *args: Any, **params: Any) -> None:
        given = own.bind(*args, **params)
        given.apply_defaults()
        vars(self).update(given.arguments)

    this = P("self", P.POSITIONAL_ONLY)
    setattr(construct, "__signature__", own.replace(parameters=[this, *named]))  # noqa: B010
    return construct
