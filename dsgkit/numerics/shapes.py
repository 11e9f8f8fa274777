"""The shape of what solvers return."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.text.errors import FitError


def of_shape(values: Any, method: str, *shapes: tuple[int, ...]) -> NDArray[Any]:
    """Return what a method has returned as an array, which must be of one of some shapes.

    Raises
    ------
    FitError
        If it is not: a wrong shape may be broadcast, and go unnoticed.
    """
    array = np.asarray(values)
    if array.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise FitError(f"{method} must return values of shape {expected}, got {array.shape}")
    return array
