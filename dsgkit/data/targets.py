"""What a learning task makes of the labels of a dataset, decided when it is opened.

numpy is imported where it is used: checks of configs read targets too, and need no arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

Label = int | float | str
Kind = Literal["binary", "ordered"]

MOST_CLASSES = 2**15 - 1
"""Ordered classes that int16 can count."""


class Target(Protocol):
    """A way from the labels of a file to those that a task learns from.

    Attributes
    ----------
    kind : {"binary", "ordered"}
        What it makes: -1 and +1, or classes 1..k in their order.
    """

    kind: ClassVar[Kind]

    @property
    def words(self) -> str:
        """What becomes of the labels, for people."""

    @property
    def named(self) -> tuple[Label, ...]:
        """The labels that it names: if one is text, the labels of the file are."""

    def told(self, training: NDArray[Any]) -> str:
        """Return what became of the labels of the training rows, for people.

        Raises
        ------
        ValueError
            When the labels do not suit the target.
        """

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

    kind: ClassVar[Kind] = "binary"
    positive: tuple[Label, ...] | None = None
    negative: tuple[Label, ...] | None = None

    @property
    def words(self) -> str:
        """What becomes of the labels, for people."""
        if self.positive is None:
            return "the larger label is +1, the smaller -1"
        rest = "the rest" if self.negative is None else _any_of(self.negative)
        return f"{_any_of(self.positive)} is +1, {rest} -1"

    @property
    def named(self) -> tuple[Label, ...]:
        """The labels of both sides."""
        return (*(self.positive or ()), *(self.negative or ()))

    def told(self, training: NDArray[Any]) -> str:
        """Return the same words whatever the labels are."""
        return self.words

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


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Ordered:
    """Classes 1..k: the labels that the training rows have, in their order.

    Parameters
    ----------
    order : tuple of labels, optional
        All labels from the lowest to the highest; those that no training row has make no class. By
        default the labels are numbers, and ascend.
    """

    kind: ClassVar[Kind] = "ordered"
    order: tuple[Label, ...] | None = None

    @property
    def words(self) -> str:
        """What becomes of the labels, for people."""
        if self.order is None:
            return "the labels in ascending order are the classes"
        return f"the classes in order are {_listed(self.order, ', ')}"

    @property
    def named(self) -> tuple[Label, ...]:
        """The labels of the order."""
        return self.order or ()

    def told(self, training: NDArray[Any]) -> str:
        """Return the labels in their order, each with its number of training rows."""
        classes = self._classes(training)
        counts = _class_counts(self.apply(training, training), len(classes))
        rows = zip(map(label_text, classes), counts, strict=True)
        text = f"{len(classes)} ordered classes: {_with_counts(rows)}"
        absent = [x for x in self.order or () if label_text(x) not in map(label_text, classes)]
        return f"{text}; no row has {_any_of(absent)}" if absent else text

    def identity(self) -> list[Any]:
        """Return the order in a spelling of its own."""
        return ["ordered", None if self.order is None else [label_text(x) for x in self.order]]

    def apply(self, labels: NDArray[Any], training: NDArray[Any]) -> NDArray[Any]:
        """Return 1..k as int16; see `Target.apply`.

        Raises
        ------
        ValueError
            For a label that no training row has or the order lacks, for text without an order, and
            when the training rows have fewer than two labels.
        """
        import numpy as np

        classes = self._classes(training)
        _check_count(len(classes), "label")
        ranks = np.arange(len(classes), dtype=np.int16) + np.int16(1)
        ascending = np.argsort(classes)
        place = np.searchsorted(classes, labels, sorter=ascending).clip(max=len(classes) - 1)
        found = ascending[place]
        strange = classes[found] != labels
        if strange.any():
            row = int(np.argmax(strange))
            raise ValueError(
                f"row {row + 1:,}: label {label_text(labels[row])} is of no training row (known: "
                f"{_listed(classes, ', ')})"
            )
        return ranks[found]

    def _classes(self, training: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of the training rows from the lowest to the highest."""
        import numpy as np

        present = np.unique(training)
        if self.order is None:
            if training.dtype.kind == "U":
                raise ValueError(
                    f"the labels are text, such as {training[0]}; say their order by `ordered: "
                    "[lowest, ..., highest]`"
                )
            return present
        order = _like(self.order, training)
        if not np.isin(present, order).all():
            row = int(np.argmin(np.isin(training, order)))
            raise ValueError(
                f"row {row + 1:,}: label {label_text(training[row])} is not in the order "
                f"{_listed(self.order, ', ')}"
            )
        return order[np.isin(order, present)]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Bins:
    """Classes 1..k: numeric labels cut into bins of equal frequency.

    Class j holds the labels in ``(q_{j-1}, q_j]``, where ``q_j`` is the smallest training label
    that at least the share j / count of the training rows do not exceed. Equal quantiles merge, so
    that there may be fewer classes than asked for, and none is empty.

    Parameters
    ----------
    count : int
        Number of bins, at least 2.
    """

    kind: ClassVar[Kind] = "ordered"
    count: Annotated[int, Field(ge=2, le=MOST_CLASSES)]

    @property
    def words(self) -> str:
        """What becomes of the labels, for people."""
        return f"{self.count} bins of equal frequency"

    @property
    def named(self) -> tuple[Label, ...]:
        """No label is named."""
        return ()

    def told(self, training: NDArray[Any]) -> str:
        """Return the upper bound of every bin with its number of training rows."""
        bounds = self.bounds(training)
        counts = _class_counts(self.apply(training, training), len(bounds))
        uppers = [f"up to {bound:.6g}" for bound in bounds[:-1]] + [f"above {bounds[-2]:.6g}"]
        less = "" if len(bounds) == self.count else f" ({self.count} asked for, equal ones merged)"
        rows = zip(uppers, counts, strict=True)
        return f"{len(bounds)} bins of equal frequency{less}: {_with_counts(rows)}"

    def identity(self) -> list[Any]:
        """Return the number of bins."""
        return ["bins", self.count]

    def apply(self, labels: NDArray[Any], training: NDArray[Any]) -> NDArray[Any]:
        """Return 1..k as int16; see `Target.apply`.

        Raises
        ------
        ValueError
            For labels that are text, and when all training labels are the same.
        """
        import numpy as np

        inner = self.bounds(training)[:-1]
        return (np.searchsorted(inner, labels, side="left") + 1).astype(np.int16)

    def bounds(self, training: NDArray[Any]) -> NDArray[Any]:
        """Return the upper bound of every class, the last being the largest training label.

        Parameters
        ----------
        training : ndarray of float64, shape (n,)

        Returns
        -------
        ndarray of float64, shape (k,), k from 2 to `count`
            Strictly ascending.
        """
        import numpy as np

        if training.dtype.kind == "U":
            raise ValueError(f"bins need numbers as labels, not text such as {training[0]}")
        last = -(-np.arange(1, self.count + 1) * len(training) // self.count) - 1
        bounds = np.unique(np.partition(training, last)[last])
        _check_count(len(bounds), "quantile of the labels")
        return bounds


def target_of(settings: Mapping[str, Any]) -> Binary | Bins | Ordered:
    """Return the target that the catalogue or a config describes.

    Parameters
    ----------
    settings : mapping
        ``{positive: labels}``, with ``negative`` if need be; ``{bins: count}``; ``{ordered:
        labels}``, where True stands for ascending numbers.

    Raises
    ------
    ValueError
        For anything else.
    """
    match dict(settings):
        case {"bins": count, **rest} if not rest:
            return Bins(count)
        case {"ordered": order, **rest} if not rest:
            return Ordered(None if order is True else order)
        case sides:
            return Binary(**sides)


def _check_count(n_classes: int, what: str) -> None:
    if n_classes < 2:
        raise ValueError(f"the training rows have one {what} alone; ordered classes need two")
    if n_classes > MOST_CLASSES:
        raise ValueError(
            f"{n_classes:,} different labels are too many for classes; cut them by `bins`"
        )


def _class_counts(y: NDArray[Any], n_classes: int) -> list[int]:
    import numpy as np

    return np.bincount(y, minlength=n_classes + 1)[1:].tolist()


def _with_counts(rows: Iterable[tuple[str, int]]) -> str:
    """Return names and their numbers of rows, the first of which says what is counted."""
    (first, count), *others = rows
    return ", ".join([f"{first} ({count:,} rows)", *(f"{name} ({n:,})" for name, n in others)])


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
