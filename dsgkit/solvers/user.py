"""User-defined solvers: classes and functions named by their import path."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dsgkit.errors import ConfigError, spelled
from dsgkit.solvers.catalogue import SolverInfo
from dsgkit.solvers.methods import (
    BASES,
    Method,
    check_hooks,
    check_methods,
    declaring_base,
    methods_of,
    missing_methods,
)
from dsgkit.solvers.parameters import Parameter, parameters
from dsgkit.user_code import calling, load, place_of, version_of

if TYPE_CHECKING:
    from dsgkit.solvers.adapted import Role
    from dsgkit.tasks.base import Task

_EXAMPLE = "my_module:MySolver"
_DERIVE_FROM = (
    f"derive it from a class of {BASES}, or from scikit-learn's BaseEstimator and one of its "
    "ClassifierMixin, RegressorMixin or ClusterMixin"
)


def describe(import_path: str) -> SolverInfo:
    """Import and check a user-defined solver, and return its facts for the runner.

    Parameters
    ----------
    import_path : str
        ``module:class``, or ``module:function`` for a function that returns a scikit-learn
        estimator. The module is searched on ``sys.path`` and then in the current folder, which is
        added to ``sys.path``.

    Returns
    -------
    SolverInfo
        Its version is the class attribute ``version``, or else a hash of the code, when imported,
        of the class's file and of the files next to it that it imports.

    Raises
    ------
    ConfigError
        If the class does not exist, cannot be imported, or cannot be used by the runner.
    """
    defined = load(import_path, "class or function", _is_class_or_function, _EXAMPLE)
    with calling(import_path):
        return _described(import_path, defined)


@dataclass(frozen=True)
class _UserSolver(SolverInfo):
    """Facts about a user-defined class, which are read once."""

    estimator: Any = None
    role: Role | None = None
    declared: Mapping[str, Parameter] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    identity: int | str = ""
    methods: Mapping[str, Method] = field(default_factory=dict)
    defined: Any = None

    def load(self) -> Any:
        """Return the class that the runner uses, which may be a wrapper."""
        return self.estimator

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The declared parameters by name."""
        return self.declared

    @property
    def tasks(self) -> tuple[str, ...]:
        """Kinds of the tasks that the class is for."""
        return self.kinds

    @property
    def version(self) -> int | str:
        """Part of the identity of every result."""
        return self.identity

    def seed(self, seed: int) -> int:
        """Return a seed in the class's range: scikit-learn's estimators take 32 bits."""
        return super().seed(seed) if self.role is None else seed % 2**32

    def suits(self, task: type[Task]) -> bool:
        """Return whether the class is for a task, by its own or the task's declaration."""
        return super().suits(task) or self.role in task.takes

    def learns_from(self, names: Sequence[str], params: Mapping[str, Any]) -> bool:
        """Return whether ``fit`` takes any of the named arrays."""
        return any(self.methods["fit"].is_given(name) for name in names)

    def check_for(self, task: type[Task]) -> None:
        """Raise `ConfigError` unless the class has the methods that a task calls."""
        check_methods(self.label, self.defined, self.methods, task)


def tasks_of(solver: type) -> tuple[str, ...]:
    """Return the kinds of the tasks that a class is for; "clustering" for undeclared clusterers."""
    declared = getattr(solver, "tasks", ())
    if isinstance(declared, str):
        return (declared,)
    if not isinstance(declared, tuple | list) or not all(isinstance(k, str) for k in declared):
        raise ConfigError(
            f"{solver.__name__}.tasks must be a tuple of task names, got {spelled(declared)}"
        )
    return tuple(declared) or (("clustering",) if _role_of(solver) == "clusterer" else ())


def _is_class_or_function(defined: Any) -> bool:
    return isinstance(defined, type) or inspect.isfunction(defined)


@functools.lru_cache  # by the class, which is another one if its module is imported again
def _described(import_path: str, defined: Any) -> SolverInfo:
    read = _solver_of_function if inspect.isfunction(defined) else _solver_of_class
    solver, role = read(defined)
    _check_defaults(solver)
    return _UserSolver(
        import_path,
        defined.__name__,
        import_path,
        estimator=solver,
        role=role,
        declared=parameters(solver),
        kinds=tasks_of(solver),
        identity=version_of(defined),
        methods=methods_of(solver),
        defined=defined,
    )


def _solver_of_function(function: Callable[..., Any]) -> tuple[type, Role]:
    """Return a wrapper class for the estimators that a function returns, and their role."""
    from dsgkit.solvers.adapted import is_semi_supervised, role_of_model, wrapped

    model = _default_instance(function)
    role = role_of_model(model)
    if role is None:
        raise ConfigError(
            f"{function.__name__}() must return a scikit-learn classifier, regressor or clusterer, "
            f"got {type(model).__name__}{place_of(function)}"
        )
    _check_values(model, role, function)
    return wrapped(function, role, semi_supervised=is_semi_supervised(model)), role


def _solver_of_class(solver: type) -> tuple[type, Role | None]:
    """Return the class that the runner uses, wrapped if need be, and its role."""
    role, missing = _role_of(solver), missing_methods(solver)
    wraps = role in ("classifier", "regressor")
    if not wraps:
        missing += [] if callable(getattr(solver, "get_params", None)) else ["get_params"]
        missing += [] if tasks_of(solver) else ["tasks"]
    if missing:
        hint = f"; {_DERIVE_FROM}" if {"get_params", "tasks"} & {*missing} else ""
        if missing[0].startswith("_"):
            hint = f", which its base class {declaring_base(solver).__name__} calls"
        raise ConfigError(f"{solver.__name__} lacks {', '.join(missing)}{hint}{place_of(solver)}")
    check_hooks(solver)
    if role is None or not wraps:
        return solver, role
    from dsgkit.solvers.adapted import is_semi_supervised, wrapped

    _check_values(solver, role, solver)
    _default_instance(solver)
    return wrapped(solver, role, semi_supervised=is_semi_supervised(solver)), role


def _role_of(solver: type) -> Role | None:
    """Return a class's role; None if it is not a scikit-learn estimator."""
    if "sklearn.base" not in sys.modules:  # then no class derives from it
        return None
    from dsgkit.solvers.adapted import role_of

    return role_of(solver)


def _default_instance(make: Callable[..., Any]) -> Any:
    """Return the result of calling a class or function without arguments."""
    with calling(f"{make.__name__}()", "every parameter needs a default"):
        return make()


def _check_values(model: Any, role: Role, defined: Any) -> None:
    """Raise `ConfigError` for a class that cannot predict new rows."""
    needed = {
        "classifier": ("decision_function", "predict_proba"),
        "regressor": ("predict",),
        "clusterer": (),
    }[role]
    if needed and not any(callable(getattr(model, name, None)) for name in needed):
        name = getattr(model, "__name__", type(model).__name__)
        raise ConfigError(f"{name} lacks {' or '.join(needed)}{place_of(defined)}")


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
