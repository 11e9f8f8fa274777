"""Labels in configs and in files: comparison and text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

Label = int | float | str


def are_numbers(labels: Iterable[Label]) -> bool:
    """Return whether all labels can be read as finite numbers."""
    try:
        return all(math.isfinite(float(label)) for label in labels)
    except ValueError:
        return False


def label_text(label: Label) -> str:
    """Return a label as text, whole numbers without a decimal point."""
    return str(label) if isinstance(label, str) else repr(float(label)).removesuffix(".0")


def listed(labels: Iterable[Label], between: str) -> str:
    """Return labels as text, with a separator."""
    return between.join(map(label_text, labels))


def any_of(labels: Iterable[Label]) -> str:
    """Return labels as text: ``1, 2 or 3``."""
    *first, last = map(label_text, labels)
    return f"{', '.join(first)} or {last}" if first else last


def like(named: Sequence[Label], labels: NDArray[Any]) -> NDArray[Any]:
    """Convert labels of a config to the type of the file's labels."""
    import numpy as np

    if labels.dtype.kind == "U":
        return np.array([label_text(label) for label in named])
    if not are_numbers(named):
        raise ValueError(f"the labels are numbers; {any_of(named)} is not")
    return np.array([float(label) for label in named])
