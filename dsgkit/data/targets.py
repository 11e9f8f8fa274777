"""What a learning task makes of the labels of a dataset, decided when it is opened.

numpy is imported where it is used: checks of configs read targets too, and need no arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

Label = int | float | str


class Target(Protocol):
    """A way from the labels of a file to those that a task learns from."""

    @property
    def words(self) -> str:
        """What becomes of the labels, for people."""

    def identity(self) -> list[Any]:
        """Return what tells this target from others, ready for JSON."""

    def apply(self, labels: NDArray[Any], training: NDArray[Any]) -> NDArray[Any]:
        """Return what becomes of some labels.

        Parameters
        ----------
        labels : ndarray of float64 or of text, shape (n,)
            As the file has them.
        training : ndarray, shape (n_training,)
            Those of the training rows, for what depends on the labels that there are.

        Returns
        -------
        ndarray of shape (n,)

        Raises
        ------
        ValueError
            When the labels do not suit the target; the text names label and row.
        """


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Binary:
    """Two classes, -1 and +1.

    Parameters
    ----------
    positive : tuple of labels, optional
        Labels that become +1. By default the training rows must have exactly two labels, of which
        the larger is positive.
    negative : tuple of labels, optional
        Labels that become -1; by default all others.
    """

    positive: tuple[Label, ...] | None = None
    negative: tuple[Label, ...] | None = None

    @property
    def words(self) -> str:
        """What becomes of the labels, for people."""
        if self.positive is None:
            return "the larger label is +1, the smaller -1"
        rest = "the rest" if self.negative is None else _any_of(self.negative)
        return f"{_any_of(self.positive)} is +1, {rest} -1"

    def identity(self) -> list[Any]:
        """Return the labels of both sides, in an order and a spelling of their own."""
        sides = (self.positive, self.negative)
        return [
            "binary",
            *(None if side is None else sorted(map(label_text, side)) for side in sides),
        ]

    def apply(self, labels: NDArray[Any], training: NDArray[Any]) -> NDArray[Any]:
        """Return -1 and +1 as int8; see `Target.apply`.

        Raises
        ------
        ValueError
            For a label of neither side, and when all labels are of one.
        """
        import numpy as np

        positive, negative = self._sides(training)
        is_positive = np.isin(labels, positive)
        if negative is not None:
            strange = ~is_positive & ~np.isin(labels, negative)
            if strange.any():
                raise ValueError(self._strange(labels, int(np.argmax(strange)), training))
        count = int(np.count_nonzero(is_positive))
        if count in (0, len(labels)):
            one = "+1" if count else "-1"
            raise ValueError(
                f"all {len(labels):,} labels are of one class ({one}; {self.words}); two are needed"
            )
        return np.where(is_positive, 1, -1).astype(np.int8)

    def _sides(self, training: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return the labels of both sides in the type of the file's; None for all others."""
        if self.positive is None:
            low, high = sorted(_first_two(training))
            return _like([high], training), _like([low], training)
        negative = None if self.negative is None else _like(self.negative, training)
        return _like(self.positive, training), negative

    def _strange(self, labels: NDArray[Any], row: int, training: NDArray[Any]) -> str:
        """Say what is wrong with a label that is of neither side."""
        label = label_text(labels[row])
        if self.positive is None:
            seen = _listed(_first_two(training), " and ")
            return (
                f"row {row + 1:,}: {label} is a third label after {seen}; say by `positive` which "
                "labels are +1"
            )
        known = _listed((*self.positive, *(self.negative or ())), ", ")
        return f"row {row + 1:,}: unknown label {label} (known: {known})"


def are_numbers(labels: Iterable[Label]) -> bool:
    """Tell whether all labels can be read as finite numbers."""
    try:
        return all(math.isfinite(float(label)) for label in labels)
    except ValueError:
        return False


def label_text(label: Label) -> str:
    """Return a label as a file would spell it: whole numbers without a point."""
    return str(label) if isinstance(label, str) else repr(float(label)).removesuffix(".0")


def _listed(labels: Iterable[Label], between: str) -> str:
    return between.join(map(label_text, labels))


def _any_of(labels: Iterable[Label]) -> str:
    """Return labels in words: ``1, 2 or 3``."""
    *first, last = map(label_text, labels)
    return f"{', '.join(first)} or {last}" if first else last


def _first_two(labels: NDArray[Any]) -> tuple[Label, Label]:
    """Return the first label and the first other one, or the first twice if there is none."""
    return labels[0], labels[(labels != labels[0]).argmax()]


def _like(named: Sequence[Label], labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels that a person named in the type of those of the file."""
    import numpy as np

    if labels.dtype.kind == "U":
        return np.array([label_text(label) for label in named])
    if not are_numbers(named):
        raise ValueError(f"the labels are numbers; {_any_of(named)} is none")
    return np.array([float(label) for label in named])
