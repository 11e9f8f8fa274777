"""Selects the arrays of a trial that a solver's ``fit`` names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from dsgkit.tasks.asked import Selective

HIDDEN = "y_unlabeled"
"""The labels of the unlabelled rows, passed only to a ``fit`` that names them."""


def takes(estimator: Any, name: str) -> bool:
    """Return whether an estimator's ``fit`` names an array."""
    return name in inspect.signature(estimator.fit).parameters


def depends_on(estimator: Any, names: Sequence[str]) -> bool:
    """Return whether a fit depends on any of some arrays.

    It does if ``fit`` names the array, unless the estimator's method ``uses`` returns False.
    """
    named = named_by_fit(estimator, dict.fromkeys(names))
    return any(not isinstance(estimator, Selective) or estimator.uses(name) for name in named)


def named_by_fit(estimator: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some arrays that an estimator's ``fit`` names.

    So a ``fit(X, y)`` learns from the labelled rows alone, and only a ``fit`` that names
    ``y_unlabeled`` gets hidden labels: a ``fit(**training)`` gets all others.
    """
    parameters = inspect.signature(estimator.fit).parameters
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    names = {*parameters, *(arrays.keys() - {HIDDEN} if takes_any else ())}
    return {name: array for name, array in arrays.items() if name in names}
