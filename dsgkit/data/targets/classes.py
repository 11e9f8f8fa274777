"""Helpers of targets with classes 1..k: checks, numbering and counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dsgkit.data.targets.labels import label_text, listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_CLASSES = 2**15 - 1
"""Ordered classes that int16 can count."""


def check_count(n_classes: int, what: str) -> None:
    """Refuse fewer than two classes or more than `MOST_CLASSES`.

    Parameters
    ----------
    n_classes : int
    what : str
        Noun for a class in the message, such as ``label``.

    Raises
    ------
    ValueError
    """
    if n_classes < 2:
        raise ValueError(f"the training rows have one {what} alone; ordered classes need two")
    if n_classes > MOST_CLASSES:
        raise ValueError(
            f"{n_classes:,} different labels are too many for classes; cut them by `bins`"
        )


def numbers_of(
    labels: NDArray[Any], classes: NDArray[Any], *, name_known: bool = False
) -> NDArray[Any]:
    """Return the class number of each label, from 1, as int16.

    Parameters
    ----------
    labels : ndarray of shape (n,)
    classes : ndarray of shape (k,)
        The labels of the training rows, in the order of the classes.
    name_known : bool
        Whether the error names all classes.

    Raises
    ------
    ValueError
        For a label without a class.
    """
    import numpy as np

    ascending = np.argsort(classes)
    place = np.searchsorted(classes, labels, sorter=ascending).clip(max=len(classes) - 1)
    indices = ascending[place]
    unknown = classes[indices] != labels
    if unknown.any():
        row = int(np.argmax(unknown))
        known = f" (known: {listed(classes, ', ')})" if name_known else ""
        raise ValueError(
            f"row {row + 1:,}: label {label_text(labels[row])} is not in the training rows{known}"
        )
    return (indices + 1).astype(np.int16)


def class_counts(y: NDArray[Any], n_classes: int) -> list[int]:
    """Return the number of rows of each class 1..k."""
    import numpy as np

    return np.bincount(y, minlength=n_classes + 1)[1:].tolist()


def with_counts(rows: Iterable[tuple[str, int]]) -> str:
    """Return names with their numbers of rows: ``a (3 rows), b (2)``."""
    (first, count), *others = rows
    return ", ".join([f"{first} ({count:,} rows)", *(f"{name} ({n:,})" for name, n in others)])
