"""Parameters that are one number, or one for every cut between ordered classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsgkit.errors import DataError


def for_cuts(name: str, value: Any, n_cuts: int) -> tuple[Any, ...]:
    """Return the value of a parameter for every cut: its own, or the one of all.

    Raises
    ------
    DataError
        If it is another number of values than there are cuts.
    """
    if not isinstance(value, list | tuple | np.ndarray):
        return (value,) * n_cuts
    if len(value) != n_cuts:
        raise DataError(
            f"{name} must be one number, or one for each of the {n_cuts} cuts between the "
            f"{n_cuts + 1} classes, got {len(value)}"
        )
    return tuple(value)
