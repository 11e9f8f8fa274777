"""Targets: what becomes of the labels of a file, decided when a dataset is opened."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DataError, in_a_line

if TYPE_CHECKING:
    from dsgkit.data.dataset import Dataset

Kind = Literal["binary", "ordered", "classes", "numeric"]
Label = int | float | str

MOST_CLASSES = 2**15 - 1
"""Classes that int16 can count."""

_USES = {"ordered": "ordered classes", "classes": "classes for judging only", "numeric": "numbers"}
_NEEDS: dict[Kind, str] = {
    "binary": "two classes: {positive: [labels]}",
    "ordered": "ordered classes: {bins: 5} for numbers, {ordered: true} for classes",
    "classes": "classes to judge by: {classes: true}",
    "numeric": "numbers: {numeric: true}",
}


@dataclass(frozen=True)
class Target:
    """Conversion of the labels of a file to those that a task learns from.

    Attributes
    ----------
    kind : {"binary", "ordered", "classes", "numeric"}
        The result: -1 and +1; ordered classes 1..k; classes 1..k for evaluation only; numbers.
    positive, negative : tuple of labels, optional
        Labels of a binary target that become +1 and -1. By default the larger of exactly two
        labels is positive, and all others are negative.
    labels : tuple of labels, optional
        All labels that classes may have; ordered ones from low to high. Labels that no training
        row has make no class. By default those of the training rows in ascending order.
    bins : int, optional
        Cut numeric labels into up to so many ordered classes of equal frequency. Class j has the
        labels in ``(q_{j-1}, q_j]``, where ``q_j`` is the smallest training label that at least the
        share j / bins of the training rows do not exceed; equal quantiles merge.
    """

    kind: Kind = "binary"
    positive: tuple[Label, ...] | None = None
    negative: tuple[Label, ...] | None = None
    labels: tuple[Label, ...] | None = None
    bins: int | None = None

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Target:
        """Return the target for the settings of the catalogue or of a config.

        One of ``positive`` (perhaps with ``negative``), ``bins``, ``ordered``, ``classes`` and
        ``numeric``.
        """
        kind: Any = next(iter(settings))
        value = settings[kind]
        if kind == "bins":
            return cls("ordered", bins=value)
        if kind in _NEEDS:
            return cls(kind, labels=None if value is True else tuple(value))
        sides: dict[str, Any] = {side: tuple(labels) for side, labels in settings.items()}
        return cls("binary", **sides)

    @property
    def has_text(self) -> bool:
        """Whether it names a label that is text; so are the labels of the file then."""
        return not _are_numbers((self.positive or ()) + (self.negative or ()) + (self.labels or ()))

    @property
    def words(self) -> str:
        """A description that needs no labels."""
        if self.kind == "binary":
            if self.positive is None:
                return "positive class: the larger label"
            rest = "the rest" if self.negative is None else _listed(self.negative)
            plural = "es" if len(self.positive) > 1 else ""
            return f"positive class{plural}: {_listed(self.positive)}; negative: {rest}"
        if self.bins is not None:
            return f"{self.bins} bins of equal frequency"
        listed = f": {_listed(self.labels)}" if self.labels else ""
        return f"the labels are {_USES[self.kind]}{listed}"

    def identity(self) -> list[Any]:
        """Return what distinguishes this target from others, ready for JSON."""
        if self.kind == "binary":
            sides = (self.positive, self.negative)
            return ["binary", *(None if s is None else sorted(map(label_text, s)) for s in sides)]
        if self.kind == "numeric":
            return ["numeric"]
        if self.bins is not None:
            return ["bins", self.bins]
        texts = None if self.labels is None else [*map(label_text, self.labels)]
        return [self.kind, sorted(texts) if texts and self.kind == "classes" else texts]

    def describe(self, training: NDArray[Any], y: NDArray[Any]) -> str:
        """Return a description of the labels of the training rows, converted to ``y``."""
        if self.kind == "numeric":
            return f"numbers from {y.min():.6g} to {y.max():.6g}, mean {y.mean():.6g}"
        classes = self._classes(training)
        names, k = [label_text(label) for label in classes], len(classes)
        head = f"{k} {_USES[self.kind]}"
        if self.bins is not None:
            names = [f"up to {x:.6g}" for x in classes[:-1]] + [f"above {classes[-2]:.6g}"]
            less = "" if k == self.bins else f" ({self.bins} asked for, equal ones merged)"
            head = f"{k} bins of equal frequency{less}"
        counts = [f"{n:,}" for n in np.bincount(y)[1:].tolist()]
        counts[0] += " rows"
        rows = ", ".join(f"{name} ({n})" for name, n in zip(names, counts, strict=True))
        return f"{head}: {rows}"

    def apply(self, labels: NDArray[Any], training: NDArray[Any]) -> NDArray[Any]:
        """Convert labels as in the file to int8, int16 or float64, by the kind.

        The conversion may depend on the labels of the training rows. `ValueError` if the labels do
        not suit the target; its text names label and row.
        """
        if self.kind == "binary":
            return self._signs(labels, training)
        if training.dtype.kind == "U" and (self.kind == "numeric" or self.bins is not None):
            raise ValueError(f"the target needs numbers as labels, not text such as {training[0]}")
        if self.kind == "numeric":
            return np.asarray(labels, np.float64)
        classes = self._classes(training)
        if self.bins is not None:
            return (np.searchsorted(classes[:-1], labels, side="left") + 1).astype(np.int16)
        ascending = np.argsort(classes)
        place = np.searchsorted(classes, labels, sorter=ascending).clip(max=len(classes) - 1)
        indices = ascending[place]
        _refuse(labels, classes[indices] != labels, "is not in the training rows")
        return (indices + 1).astype(np.int16)

    def _classes(self, training: NDArray[Any]) -> NDArray[Any]:
        """Return the label of each class, or the upper bound of each bin."""
        if self.bins is not None:
            last = -(-np.arange(1, self.bins + 1) * len(training) // self.bins) - 1
            classes = np.unique(np.partition(training, last)[last])
        else:
            classes = np.unique(training)
        if self.labels is not None:
            known = _like(self.labels, training)
            _refuse(training, ~np.isin(training, known), f"is not one of {_listed(self.labels)}")
            if self.kind == "ordered":
                classes = known[np.isin(known, classes)]
        elif self.kind == "ordered" and training.dtype.kind == "U":
            raise ValueError(
                f"the labels are text, such as {training[0]}; set their order by `ordered: "
                "[lowest, ..., highest]`"
            )
        if self.kind == "ordered" and len(classes) < 2:
            raise ValueError("the labels make one class alone; ordered classes need two")
        if len(classes) > MOST_CLASSES:
            raise ValueError(
                f"{len(classes):,} different labels are too many for classes; cut them by `bins`"
            )
        return classes

    def _signs(self, labels: NDArray[Any], training: NDArray[Any]) -> NDArray[np.int8]:
        negative: NDArray[Any] | None
        if self.positive is None:
            values, counts = np.unique(training, return_counts=True)
            positive, negative = values[-1:], values[:1]
            mark = unlabeled_mark(dict(zip(values.tolist(), counts.tolist(), strict=True)))
            text = "" if mark is None else label_text(mark)
            none = f"; if {text} means no label: `label: {{unlabeled: {text}}}`" if text else ""
            why = (
                f"is a third label after {label_text(values[0])} and {label_text(values[-1])}; say "
                f"by `positive` which labels are +1{none}"
            )
        else:
            positive = _like(self.positive, training)
            negative = None if self.negative is None else _like(self.negative, training)
            why = "is neither a positive nor a negative label of the target"
        is_positive = np.isin(labels, positive)
        if negative is not None:
            _refuse(labels, ~is_positive & ~np.isin(labels, negative), why)
        if is_positive.all() or not is_positive.any():
            present = in_a_line(_listed(np.unique(labels)[:20]))
            which = "every" if is_positive.all() else "no"
            raise ValueError(f"{which} row is of the positive class; the labels are {present}")
        return np.where(is_positive, 1, -1).astype(np.int8)


def check_kind(dataset: Dataset, kind: Kind) -> None:
    """Raise `DataError` if the target of a dataset is not of the kind that a task needs."""
    if dataset.target.kind != kind:
        raise DataError(
            f"dataset {dataset.name}: the target is: {dataset.target.words}; set `dataset.target`, "
            f"as the task needs {_NEEDS[kind]}"
        )


def label_text(label: Label) -> str:
    """Return a label as text, whole numbers without a decimal point."""
    return str(label) if isinstance(label, str | int) else repr(float(label)).removesuffix(".0")


def unlabeled_mark(counts: Mapping[Any, int]) -> Label | None:
    """Return the label that looks like "no label" next to two or more others; None if none does.

    scikit-learn marks rows without a label by -1 next to classes from 0; files with the classes -1
    and 1 by 0, of -1, 0 and 1 the more frequent mark; and others by a word.
    """
    words = ("unlabeled", "unlabelled", "unknown", "no label")
    marks: list[Label] = [label for label in counts if str(label).lower() in words]
    if len(counts) < 3 or marks or not _are_numbers(counts):
        return marks[0] if marks and len(counts) > 2 else None
    by_number = {float(label): n for label, n in counts.items()}
    if by_number.keys() == {-1, 0, 1}:
        return -1 if by_number[-1] > by_number[0] else 0
    return -1 if min(by_number) == -1 and all(x == round(x) for x in by_number) else None


def is_large(label: Label) -> bool:
    """Return whether a label is a whole number that float64 would round."""
    try:
        return not isinstance(label, float) and int(float(label)) != int(label)
    except (ValueError, OverflowError):
        return False


def _are_numbers(labels: Iterable[Label]) -> bool:
    """Return whether all labels are finite numbers that float64 tells apart from others."""
    try:
        return all(math.isfinite(float(label)) and not is_large(label) for label in labels)
    except ValueError:
        return False


def _listed(labels: Iterable[Label]) -> str:
    return ", ".join(map(label_text, labels))


def _like(named: Sequence[Label], labels: NDArray[Any]) -> NDArray[Any]:
    """Convert labels of a config to the type of the file's labels."""
    if labels.dtype.kind == "U":
        return np.array([label_text(label) for label in named])
    if not _are_numbers(named):
        raise ValueError(f"the labels are numbers; {_listed(named)} is not")
    return np.array([float(label) for label in named])


def _refuse(labels: NDArray[Any], wrong: NDArray[np.bool_], why: str) -> None:
    """Raise ValueError with the first wrong label and its row, if there is one."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"row {row + 1:,}: label {label_text(labels[row])} {why}")
