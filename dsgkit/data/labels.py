"""Labels of any two-sided kind become -1 and +1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.registry import Label


class LabelMap:
    """Maps the labels of a dataset to -1 and +1, a block at a time.

    Parameters
    ----------
    positive : tuple of labels or None
        Labels that become +1. None when the data must have exactly two labels, of which the larger
        is positive: blocks are then coded in order of appearance until `finish` knows both.
    negative : tuple of labels or None
        Labels that become -1; None for all others.

    Attributes
    ----------
    text : bool
        Whether labels are compared as text rather than as numbers.
    """

    def __init__(
        self, positive: tuple[Label, ...] | None, negative: tuple[Label, ...] | None = None
    ) -> None:
        self.text = not _numeric((positive or ()) + (negative or ()))
        self.positive = None if positive is None else self._array(positive)
        self.negative = None if negative is None else self._array(negative)
        self._seen: list[float] = []

    def _array(self, labels: tuple[Label, ...]) -> NDArray[Any]:
        return np.array([str(x) if self.text else float(x) for x in labels])

    def encode(self, labels: NDArray[Any]) -> NDArray[np.int8]:
        """Return the codes -1 and +1 of some labels.

        Raises
        ------
        ValueError
            For a label that has no code; the text names it.
        """
        if not self.text and not np.isfinite(labels).all():
            raise ValueError("the label is not a finite number")
        if self.positive is None:
            return self._encode_two(labels)
        positive = np.isin(labels, self.positive)
        if self.negative is not None:
            unknown = labels[~positive & ~np.isin(labels, self.negative)]
            if unknown.size:
                known = ", ".join(map(_shown, (*self.positive, *self.negative)))
                raise ValueError(f"unknown label {_shown(unknown[0])} (known: {known})")
        return _signs(positive)

    def _encode_two(self, labels: NDArray[Any]) -> NDArray[np.int8]:
        values, first = np.unique(labels, return_index=True)
        seen = list(dict.fromkeys([*self._seen, *values[np.argsort(first)]]))
        if len(seen) > 2:
            raise ValueError(
                f"{_shown(seen[2])} is a third label after {_shown(seen[0])} and "
                f"{_shown(seen[1])}; say by `positive` which labels are +1"
            )
        self._seen = seen
        return _signs(labels != seen[0]) if seen else np.empty(0, np.int8)

    def finish(self, codes: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the final codes, once all labels have been seen."""
        larger_first = len(self._seen) == 2 and self._seen[0] > self._seen[1]
        return -codes if larger_first else codes


def _numeric(labels: tuple[Label, ...]) -> bool:
    try:
        return all(np.isfinite(float(x)) for x in labels)
    except ValueError:
        return False


def _signs(positive: NDArray[np.bool_]) -> NDArray[np.int8]:
    return np.where(positive, 1, -1).astype(np.int8)


def _shown(label: Any) -> str:
    return str(label) if isinstance(label, str) else f"{label:g}"
