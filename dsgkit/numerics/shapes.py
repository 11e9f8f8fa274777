"""Check of the shapes of arrays that solvers return."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import FitError


def checked_shape(values: Any, method: str, *shapes: tuple[int, ...]) -> NDArray[Any]:
    """Return the result of a method as an array of one of these shapes.

    Raises
    ------
    FitError
        If it has another shape, which could be broadcast without an error.
    """
    array = np.asarray(values)
    if array.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise FitError(f"{method} must return values of shape {expected}, got {array.shape}")
    return array
