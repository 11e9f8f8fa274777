"""Estimators that get read-only views of arrays from any task.

All cells of a trial share their arrays. A solver that wrote into them would change the data of the
others; with views, the write is an error in that solver.
"""

from __future__ import annotations

import copy
import functools
import inspect
import types
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import numpy as np
from scipy import sparse

from dsgkit.errors import DsgWarning, SolverError
from dsgkit.numerics.rows import fixed
from dsgkit.users_code.origin import bracketed, place_of

_inside = False
"""Whether a solver's method is running: arrays that it passes to its other methods are its own."""


@functools.cache
def guarded(estimator: type) -> type:
    """Return a subclass whose public methods get read-only views of their array arguments.

    Its ``fit`` raises `SolverError` unless it returns ``self``. A user-defined
    ``decision_function`` warns if it returns values that are not finite: a search treats them as a
    point without a solution, and would not say why. Copies and pickles of an instance are of the
    original class, which can be imported.
    """
    about = {name: getattr(estimator, name) for name in ("__module__", "__qualname__", "__doc__")}
    subclass = types.new_class(
        estimator.__name__, (estimator,), exec_body=lambda names: names.update(about)
    )

    def reduced(self: Any, protocol: Any) -> Any:
        make, arguments, *state = cast(Any, estimator).__reduce_ex__(self, protocol)
        importable = tuple(estimator if arg is subclass else arg for arg in arguments)
        return _made, (make, importable), *state

    setattr(subclass, "__reduce_ex__", reduced)  # noqa: B010  mypy takes it for a method of `type`
    for name in dir(estimator):
        method = inspect.getattr_static(estimator, name)
        if not name.startswith("_") and inspect.isfunction(method):
            setattr(subclass, name, _guarded(subclass, name, method))
    return subclass


def _made(make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Make a copy: pickle itself refuses a copy of another class than the original's."""
    return make(*arguments)


def _guarded(subclass: type, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of the subclass that calls the inherited one with read-only arrays."""
    users_function = place_of(method) if name == "decision_function" else ""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        global _inside
        inherited = getattr(super(subclass, self), name)
        if _inside:
            result = inherited(*args, **kwargs)
        else:
            _inside = True
            try:
                result = inherited(*read_only(args), **read_only(kwargs))
            finally:
                _inside = False
        if users_function and (values := _not_finite(result)):
            message = f"{type(self).__name__}.{name} returned {values}{bracketed(users_function)}"
            warnings.warn(message, DsgWarning, stacklevel=2)
        if name == "fit" and result is not self:
            kind = type(self).__name__
            raise SolverError(
                f"{kind}.fit must return self, and returns {type(result).__name__}"
                f"{bracketed(place_of(method))}"
            )
        return result

    return call


def _not_finite(values: Any) -> str:
    """Return ``NaN`` or ``infinite values`` if there are some; empty otherwise."""
    with suppress(TypeError, ValueError):
        numbers = np.asarray(values)
        if np.isnan(numbers).any():
            return "NaN"
        if not np.isfinite(numbers).all():
            return "infinite values"
    return ""


def read_only(value: Any) -> Any:
    """Return read-only views of arrays, also inside sparse matrices, lists and dicts.

    Anything else is returned unchanged: lazy rows are always read-only.
    """
    if isinstance(value, np.ndarray):
        return fixed(value)
    if type(value) in (list, tuple):
        return type(value)(map(read_only, value))
    if type(value) is dict:
        return {name: read_only(part) for name, part in value.items()}
    if sparse.issparse(value):
        view = copy.copy(value)
        vars(view).update(read_only(vars(value)))
        return view
    return value
