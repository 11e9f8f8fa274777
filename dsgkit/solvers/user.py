"""User-defined solvers: classes and functions named by their import path."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dsgkit.solvers.catalogue import SolverInfo
from dsgkit.solvers.methods import (
    BASES,
    Method,
    base_of,
    check_hooks,
    check_methods,
    listed,
    methods_of,
    unwritten,
)
from dsgkit.solvers.parameters import Parameter, parameters
from dsgkit.text.errors import ConfigError
from dsgkit.text.hints import spelled
from dsgkit.users_code.origin import at, place_of
from dsgkit.users_code.own import ask_own, modules_of, version_of
from dsgkit.users_code.rehearsal import users_code

if TYPE_CHECKING:
    from dsgkit.solvers.adapted import Role
    from dsgkit.tasks.base import Task

_EXAMPLE = "my_module:MySolver"
_DERIVE_FROM = (
    f"derive it from a class of {BASES}, or from scikit-learn's BaseEstimator and one of its "
    "ClassifierMixin, RegressorMixin or ClusterMixin"
)


def describe(import_path: str) -> SolverInfo:
    """Return what the runner needs to know of a solver class, having checked the class.

    Parameters
    ----------
    import_path : str
        ``module:class``, or ``module:function`` for one that returns a scikit-learn estimator. The
        module is looked for on ``sys.path`` and then in the current folder, which is added to
        ``sys.path``.

    Returns
    -------
    SolverInfo
        Its version is the class attribute ``version``, or else a hash of the code that defines the
        class, in its file and the files next to it that this imports, as it was when imported.

    Raises
    ------
    ConfigError
        If there is no such class, importing it fails, or it is not one that the runner can use.
    """
    return ask_own(
        import_path,
        "class or function",
        _is_class_or_function,
        lambda found: _described(import_path, found),
        _EXAMPLE,
        BASES,
    )


@dataclass(frozen=True)
class _OwnSolver(SolverInfo):
    """Facts about a user-defined class, asked for once."""

    estimator: Any = None
    role: Role | None = None
    declared: Mapping[str, Parameter] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    identity: int | str = ""
    defined_in: tuple[str, ...] = ()
    methods: Mapping[str, Method] = field(default_factory=dict)
    place: str = ""

    def load(self) -> Any:
        """Return the class, as the runner uses it."""
        return self.estimator

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The declared parameters by name."""
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

    def seed(self, seed: int) -> int:
        """Return a seed as the class takes it: scikit-learn's kind takes 32 bits."""
        return super().seed(seed) if self.role is None else seed % 2**32

    def suits(self, task: Task) -> bool:
        """Return whether the class is for a task: both may say so."""
        return super().suits(task) or self.role in task.takes

    def learns_from(self, names: Sequence[str], params: Mapping[str, Any]) -> bool:
        """Return whether ``fit`` is given any of some arrays."""
        return any(self.methods["fit"].is_given(name) for name in names)

    def check_for(self, task: Task) -> None:
        """Raise `ConfigError` unless the class has what a task calls."""
        check_methods(self.label, self.place, self.methods, task)


def tasks_of(solver: type) -> tuple[str, ...]:
    """Return the kinds of the tasks that a class is for; a clusterer need not say."""
    declared = getattr(solver, "tasks", ())
    if isinstance(declared, str):
        return (declared,)
    if not isinstance(declared, tuple | list) or not all(isinstance(k, str) for k in declared):
        raise ConfigError(
            f"{solver.__name__}.tasks must be a tuple of task names, got {spelled(declared)}"
        )
    return tuple(declared) or (("clustering",) if _role_of(solver) == "clusterer" else ())


def _is_class_or_function(found: Any) -> bool:
    return isinstance(found, type) or inspect.isfunction(found)


def _described(import_path: str, found: Any) -> SolverInfo:
    solver, role = _made_by(found) if inspect.isfunction(found) else _as_used(found)
    _check_defaults(solver)
    modules = [*modules_of(found, import_path), *modules_of(solver, import_path)]
    return _OwnSolver(
        import_path,
        found.__name__,
        import_path,
        estimator=solver,
        role=role,
        declared=parameters(solver),
        kinds=tasks_of(solver),
        identity=version_of(found, import_path),
        defined_in=tuple(dict.fromkeys(modules)),
        methods=methods_of(solver),
        place=place_of(found),
    )


def _made_by(function: Callable[..., Any]) -> tuple[type, Role]:
    """Return the class of solvers that a function makes, and what they are to scikit-learn."""
    from dsgkit.solvers.adapted import is_semi_supervised, role_of_model, wrapped

    model = _called(function)
    role = role_of_model(model)
    if role is None:
        raise ConfigError(
            f"{function.__name__}() must return a classifier, regressor or clustering of "
            f"scikit-learn's kind, and returns {type(model).__name__}{at(place_of(function))}"
        )
    _check_values(model, role, function)
    return wrapped(function, role, semi_supervised=is_semi_supervised(model)), role


def _as_used(solver: type) -> tuple[type, Role | None]:
    """Return a class as the runner uses it, and what it is to scikit-learn."""
    role, missing = _role_of(solver), unwritten(solver)
    wraps = role in ("classifier", "regressor")
    if not wraps:
        missing += [] if callable(getattr(solver, "get_params", None)) else ["get_params"]
        missing += [] if tasks_of(solver) else ["tasks"]
    if missing:
        hint = f"; {_DERIVE_FROM}" if {"get_params", "tasks"} & {*missing} else ""
        if missing[0].startswith("_"):
            hint = f", which its base class {base_of(solver).__name__} calls"
        raise ConfigError(f"{solver.__name__} lacks {listed(missing)}{hint}{at(place_of(solver))}")
    check_hooks(solver)
    if role is None or not wraps:
        return solver, role
    from dsgkit.solvers.adapted import is_semi_supervised, wrapped

    _check_values(solver, role, solver)
    _called(solver)
    return wrapped(solver, role, semi_supervised=is_semi_supervised(solver)), role


def _role_of(solver: type) -> Role | None:
    """Return what a class is to scikit-learn, which then has been imported."""
    if "sklearn.base" not in sys.modules:
        return None
    from dsgkit.solvers.adapted import role_of

    return role_of(solver)


def _called(make: Callable[..., Any]) -> Any:
    """Return what a class or a function makes by default."""
    with users_code(f"{make.__name__}()", (), "every parameter needs a default"):
        return make()


def _check_values(model: Any, role: Role, defined: Any) -> None:
    """Raise `ConfigError` for a class that cannot predict new rows."""
    asked = {
        "classifier": ("decision_function", "predict_proba"),
        "regressor": ("predict",),
        "clusterer": (),
    }[role]
    if asked and not any(callable(getattr(model, name, None)) for name in asked):
        name = getattr(model, "__name__", type(model).__name__)
        raise ConfigError(f"{name} lacks {' or '.join(asked)}{at(place_of(defined))}")


def _check_defaults(solver: type) -> None:
    """Refuse a class whose parameters cannot be told apart in the records of results."""
    advice = "every parameter needs a default, and an attribute of its name"
    with users_code(f"{solver.__name__}().get_params()", (), advice):
        defaults = solver().get_params()
    for name, value in defaults.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ConfigError(
                f"the default of {solver.__name__}'s {name!r} must be a finite number, text, true, "
                f"false or null, got {spelled(value)}"
            ) from None
