"""Solvers of a user's own: classes outside of the package, named by their import path."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from dsgkit.errors import ConfigError
from dsgkit.hints import spelled
from dsgkit.origin import one_line
from dsgkit.own import ask_own, modules_of, version_of
from dsgkit.rehearsal import asks_to_stop
from dsgkit.solvers.catalogue import SolverInfo
from dsgkit.solvers.parameters import Parameter, parameters

_EXAMPLE = "my_module:MySolver"
_BASE = "dsgkit.solvers.base"
_BASES = (
    f"{_BASE}.PairwiseAUCEstimator or {_BASE}.SemiSupervisedClassifier, which have all but fit and "
    "decision_function, or from sklearn.base.BaseEstimator and ClusterMixin for a clustering, of "
    "which fit sets labels_, or ClassifierMixin for a classifier with a fit(X, y)"
)
_WRITTEN = {"fit": "_fit", "decision_function": "_values"}
"""What a class has to write, by itself or through the hook that its base class calls."""

_INHERITED = ("cost", "fit_points", "get_params")
_OF_OTHERS = ("get_params",)
"""What is needed of scikit-learn's clusterers and classifiers, which are taken as they are."""


def describe(import_path: str) -> SolverInfo:
    """Return what the runner needs to know of a solver class, having checked the class.

    Parameters
    ----------
    import_path : str
        ``module:class``. The module is looked for on ``sys.path`` and then in the current folder,
        which is added to ``sys.path``.

    Returns
    -------
    SolverInfo
        Its version is the class attribute ``version``, or else a hash of the code that defines the
        class, in its file and the files beside it that this imports, as it was when imported.

    Raises
    ------
    ConfigError
        If there is no such class, importing it fails, or it is not one that the runner can use.
    """
    return ask_own(
        import_path,
        "class",
        _is_class,
        lambda solver: _described(import_path, solver),
        _EXAMPLE,
        _BASE,
    )


@dataclass(frozen=True)
class _OwnSolver(SolverInfo):
    """What a class of a user's own has said of itself: it is not asked again."""

    estimator: Any = None
    declared: Mapping[str, Parameter] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    identity: int | str = ""
    defined_in: tuple[str, ...] = ()

    def load(self) -> Any:
        """Return the class, as the runner uses it."""
        return self.estimator

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """What is declared of every parameter, by name."""
        return self.declared

    @property
    def tasks(self) -> tuple[str, ...]:
        """Kinds of the tasks that it is for."""
        return self.kinds

    @property
    def version(self) -> int | str:
        """Part of the identity of every result."""
        return self.identity

    @property
    def modules(self) -> tuple[str, ...]:
        """Names of the modules that define it."""
        return self.defined_in


def tasks_of(solver: type) -> tuple[str, ...]:
    """Return the kinds of the tasks that a class is for; a clusterer need not say."""
    declared = getattr(solver, "tasks", ())
    if isinstance(declared, str):
        return (declared,)
    if not isinstance(declared, tuple | list) or not all(isinstance(k, str) for k in declared):
        raise ConfigError(
            f"{solver.__name__}.tasks must be a tuple of task names, got {spelled(declared)}"
        )
    return tuple(declared) or (("clustering",) if _is_a(solver, "ClusterMixin") else ())


def estimator_class(solver: type) -> type:
    """Return a class as the runner uses it: classifiers get what estimators have."""
    if not _is_classifier(solver):
        return solver
    from dsgkit.solvers.classifiers import estimator_of

    return estimator_of(solver)


def _is_classifier(solver: type) -> bool:
    """Tell whether a class is a classifier of scikit-learn's kind, and none of the package's."""
    if not _is_a(solver, "ClassifierMixin") or hasattr(solver, "fit_points"):
        return False
    return "X_unlabeled" not in inspect.signature(cast(Any, solver).fit).parameters


def _is_a(solver: type, mixin: str) -> bool:
    """Tell whether a class has one of scikit-learn's mixins, which then has been imported."""
    base = sys.modules.get("sklearn.base")
    return base is not None and issubclass(solver, getattr(base, mixin))


def _is_class(found: Any) -> bool:
    return isinstance(found, type)


def _described(import_path: str, solver: type) -> SolverInfo:
    _check_methods(solver)
    _check_defaults(solver)
    estimator = estimator_class(solver)
    return _OwnSolver(
        import_path,
        solver.__name__,
        import_path,
        estimator=estimator,
        declared=parameters(estimator),
        kinds=tasks_of(estimator),
        identity=version_of(estimator, import_path),
        defined_in=modules_of(estimator, import_path),
    )


def _check_methods(solver: type) -> None:
    """Refuse a class that lacks what the runner calls."""
    missing = [name for name in _WRITTEN if not _writes(solver, name)]
    as_it_is = _is_a(solver, "ClusterMixin") or _is_classifier(solver)
    needed = _OF_OTHERS if as_it_is else _INHERITED
    missing += [name for name in needed if not callable(getattr(solver, name, None))]
    if not tasks_of(estimator_class(solver)):
        missing.append("tasks")
    if missing:
        inherit = f"; derive it from {_BASES}"
        hint = inherit if set(missing) - set(_WRITTEN) else ""
        raise ConfigError(f"{solver.__name__} lacks {_and(missing)}{hint}")


def _writes(solver: type, name: str) -> bool:
    """Tell whether a class has a method of its own, or the hook that a base's method calls."""
    if name != "fit" and not hasattr(solver, name):
        # not every task asks for values, but those of classifiers do
        return not _is_classifier(solver) or hasattr(solver, "predict_proba")
    hook = _WRITTEN[name]
    called = any(hook in vars(cls) for cls in solver.__mro__ if cls.__module__ == _BASE)
    return _overrides(solver, name) or (called and _overrides(solver, hook))


def _overrides(solver: type, name: str) -> bool:
    """Tell whether a method is there, and not merely as the bases of all solvers have it."""
    if not callable(getattr(solver, name, None)):
        return False
    return next(cls for cls in solver.__mro__ if name in vars(cls)).__module__ != _BASE


def _and(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _check_defaults(solver: type) -> None:
    """Refuse a class whose parameters cannot be told apart in the records of results."""
    try:
        defaults = solver().get_params()
    except BaseException as error:
        if asks_to_stop(error):
            raise
        raise ConfigError(
            f"{solver.__name__}().get_params() raises {one_line(error)}"
            "; every parameter needs a default, and an attribute of its name"
        ) from error
    for name, value in defaults.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ConfigError(
                f"the default of {solver.__name__}'s {name!r} must be a finite number, text, true, "
                f"false or null, got {spelled(value)}"
            ) from None
