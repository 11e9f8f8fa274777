"""Methods of user-defined solver classes, checked before the first cell runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsgkit.errors import ConfigError
from dsgkit.tasks.base import HIDDEN
from dsgkit.user_code import place_of

if TYPE_CHECKING:
    from dsgkit.tasks.base import Task

BASES = "dsgkit.bases"

_UNKNOWN = inspect.signature(lambda *args, **kwargs: None)

_ROW_METHODS = ("decision_function", "predict")
"""Methods that are called with rows alone."""


@dataclass(frozen=True)
class Method:
    """A method, and its signature without ``self``."""

    takes: inspect.Signature
    defined: Callable[..., Any]

    def is_given(self, name: str) -> bool:
        """Return whether the method gets the array of this name; see `tasks.base.named_by_fit`."""
        known = self.takes.parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in known.values())
        return name in known or (takes_any and name != HIDDEN)


def missing_methods(solver: type) -> list[str]:
    """Return the required methods that a class does not define."""
    declared = getattr(solver, "_required_methods", (("fit",),))
    return [
        _with_arguments(solver, names[0])
        for names in declared
        if not any(_implemented(solver, names))
    ]


def declaring_base(solver: type) -> type:
    """Return the nearest base class that lists the methods that subclasses must define."""
    return next(cls for cls in solver.__mro__ if "_required_methods" in vars(cls))


def check_hooks(solver: type) -> None:
    """Raise `ConfigError` for a method that takes fewer arguments than its base class passes."""
    for name in (name for names in getattr(solver, "_required_methods", ()) for name in names):
        hook, base = getattr(solver, name, None), _placeholder(solver, name)
        if not name.startswith("_") or not callable(hook) or base is None:
            continue
        passed = _names(base)
        if not _binds(_signature(hook), len(passed)):
            raise ConfigError(
                f"{solver.__name__}.{name} must take {', '.join(passed)}{place_of(hook)}"
            )


def methods_of(solver: type) -> dict[str, Method]:
    """Return the public methods of a class by name."""
    methods = {}
    for name in dir(solver):
        method = getattr(solver, name, None)
        if not name.startswith("_") and callable(method):
            static = isinstance(inspect.getattr_static(solver, name), staticmethod)
            try:
                takes = inspect.signature(method) if static else _signature(method)
            except (TypeError, ValueError):  # compiled code has none
                takes = _UNKNOWN
            methods[name] = Method(takes, method)
    return methods


def check_methods(
    solver: str, defined: Any, methods: Mapping[str, Method], task: type[Task]
) -> None:
    """Raise `ConfigError` unless a class has the methods that a task calls, with their arguments.

    Parameters
    ----------
    solver, defined : str, type or function
        Name of the class, and its definition.
    methods : mapping
    task : type of Task
    """
    if missing := [name for name in task.calls if name not in methods]:
        raise ConfigError(
            f"{solver} lacks {listed(missing)}, which the task {task.kind} calls; derive it from a "
            f"class of {BASES}{place_of(defined)}"
        )
    for name in _ROW_METHODS:
        method = methods.get(name)
        if name in task.calls and method is not None and not _binds(method.takes, 1):
            raise ConfigError(f"{solver}.{name} must take X{place_of(method.defined)}")
    fit = methods["fit"]
    unknown = [name for name in _required(fit.takes) if name not in task.gives]
    if task.gives and unknown:
        raise ConfigError(
            f"{solver}.fit requires {listed(map(repr, unknown))}, but the task {task.kind} gives "
            f"{listed(task.gives)}, by name{place_of(fit.defined)}"
        )


def listed(names: Iterable[str]) -> str:
    """Return names in a sentence: ``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _implemented(solver: type, names: Iterable[str]) -> Iterator[bool]:
    """Yield for each name whether it is a method that is not just a base class's placeholder."""
    for name in names:
        defining = next((cls for cls in solver.__mro__ if name in vars(cls)), None)
        yield (
            defining is not None
            and "_required_methods" not in vars(defining)
            and callable(getattr(solver, name))
        )


def _with_arguments(solver: type, name: str) -> str:
    """Return a method's name; a hook's with the arguments that its base class passes."""
    base = _placeholder(solver, name) if name.startswith("_") else None
    return name if base is None else f"{name}({', '.join(_names(base))})"


def _placeholder(solver: type, name: str) -> Callable[..., Any] | None:
    """Return a base class's placeholder for a method that subclasses define; None without one."""
    bases = (cls for cls in solver.__mro__ if "_required_methods" in vars(cls))
    return next((vars(cls)[name] for cls in bases if name in vars(cls)), None)


def _names(method: Callable[..., Any]) -> list[str]:
    return [*_signature(method).parameters]


def _signature(method: Any) -> inspect.Signature:
    """Return the signature of a method without ``self``."""
    signature = inspect.signature(method)
    if inspect.ismethod(method):  # a class method: already bound
        return signature
    return signature.replace(parameters=[*signature.parameters.values()][1:])


def _binds(signature: inspect.Signature, n_arguments: int) -> bool:
    """Return whether a method can be called with this number of positional arguments."""
    try:
        signature.bind(*[None] * n_arguments)
    except TypeError:
        return False
    return True


def _required(signature: inspect.Signature) -> list[str]:
    """Return the names of the parameters without a default."""
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        p.name
        for p in signature.parameters.values()
        if p.default is p.empty and p.kind not in variadic
    ]
