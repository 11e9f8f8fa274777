"""What a solver is given: those of a trial's arrays that its ``fit`` names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any


def takes(estimator: Any, name: str) -> bool:
    """Tell whether an estimator's ``fit`` names an array."""
    return name in inspect.signature(estimator.fit).parameters


def named_by_fit(estimator: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some arrays that an estimator's ``fit`` names.

    So what has a ``fit(X, y)`` learns from the labelled rows alone, and hidden labels are for what
    asks for them by ``y_unlabeled``.
    """
    return {name: array for name, array in arrays.items() if takes(estimator, name)}
