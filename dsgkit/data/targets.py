"""Targets: what becomes of the labels of a file, decided when a dataset is opened."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import in_a_line

Kind = Literal["binary", "ordered", "classes", "numeric"]
Label = int | float | str

MISSING_VALUES = (
    *("", "?", "-", ".", "na", "n/a", "nan", "NaN", "null", "none"),
    *("<na>", "#n/a", "#na", "-nan", "-NaN", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"),
)
"""Texts for a missing value in files, in any case."""

MOST_CLASSES = 2**15 - 1
"""Classes that int16 can count."""

_USES = {"ordered": "ordered classes", "classes": "classes for judging only", "numeric": "numbers"}
NEEDS: dict[Kind, str] = {
    "binary": "two classes: {positive: [labels]}",
    "ordered": "ordered classes: {bins: 5} for numbers, {ordered: true} for classes",
    "classes": "classes to evaluate clusters by: {classes: true}",
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
        """Return the target for the keys of a `TargetSpec`, or of the catalogue (``negative``)."""
        kind: Any = next(iter(settings))
        value = settings[kind]
        if kind == "bins":
            return cls("ordered", bins=value)
        if kind in NEEDS:
            return cls(kind, labels=None if value is True else tuple(value))
        sides: dict[str, Any] = {side: tuple(labels) for side, labels in settings.items()}
        return cls("binary", **sides)

    @property
    def identity(self) -> list[Any]:
        if self.bins is not None:
            return ["bins", self.bins]
        kinds = {"binary": (self.positive, self.negative), "numeric": ()}
        sets = kinds.get(self.kind, (self.labels,))
        texts = [labels and [*map(label_text, labels)] for labels in sets]
        if self.kind != "ordered":
            texts = [labels and sorted(labels) for labels in texts]
        return [self.kind, *texts]

    @property
    def words(self) -> str:
        """A description that needs no labels."""
        if self.kind == "binary":
            if self.positive is None:
                return "positive class: the larger label"
            rest = "the rest" if self.negative is None else label_text(*self.negative)
            plural = "es" if len(self.positive) > 1 else ""
            return f"positive class{plural}: {label_text(*self.positive)}; negative: {rest}"
        if self.bins is not None:
            return f"{self.bins} bins of equal frequency"
        listed = f": {label_text(*self.labels)}" if self.labels else ""
        return f"the labels are {_USES[self.kind]}{listed}"

    def describe(self, training: NDArray[Any], y: NDArray[Any]) -> str:
        """Return a description of the labels of the training rows, converted to ``y``."""
        if self.kind == "numeric":
            return f"numbers from {y.min():.6g} to {y.max():.6g}, mean {y.mean():.6g}"
        classes, _ = self._known(training)
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
        """Convert labels to int8, int16 or float64; `ValueError` names a row that does not suit."""
        if training.dtype.kind == "U" and (self.kind == "numeric" or self.bins is not None):
            raise ValueError(f"the target needs numbers as labels, not text such as {training[0]}")
        if self.kind == "numeric":
            return np.asarray(labels, np.float64)
        known, why = self._known(training)
        if self.bins is not None:
            return (np.searchsorted(known[:-1], labels, side="left") + 1).astype(np.int16)
        ascending = np.argsort(known, kind="stable")
        place = np.searchsorted(known, labels, sorter=ascending).clip(max=len(known) - 1)
        indices = ascending[place]
        is_other = known[indices] != labels
        if why and is_other.any():
            row = int(np.argmax(is_other))
            raise ValueError(f"row {row + 1:,}: label {label_text(labels[row])} {why}")
        if self.kind != "binary":
            return (indices + 1).astype(np.int16)
        is_positive = ~is_other & (indices < len(self.positive or [1]))
        if is_positive.all() or not is_positive.any():
            present = in_a_line(label_text(*np.unique(labels)[:20]))
            which = "every" if is_positive.all() else "no"
            raise ValueError(f"{which} row is of the positive class; the labels are {present}")
        return np.where(is_positive, 1, -1).astype(np.int8)

    def _known(self, training: NDArray[Any]) -> tuple[NDArray[Any], str]:
        """Return the label of each class (of bins the upper bound), and why others are refused."""
        named = self.labels or (self.positive or ()) + (self.negative or ())
        is_text = training.dtype.kind == "U"
        if not (is_text or are_numbers(named)):
            raise ValueError(f"the labels are numbers; {label_text(*named)} is not")
        known = np.array([label_text(x) if is_text else float(x) for x in named])
        if self.positive is not None:
            why = "is neither a positive nor a negative label of the target"
            return known, "" if self.negative is None else why
        classes, counts = np.unique(training, return_counts=True)
        if self.kind == "binary":
            mark = unlabeled_mark(dict(zip(classes.tolist(), counts.tolist(), strict=True)))
            ends = f"is a third label after {label_text(classes[0])} and {label_text(classes[-1])}"
            none = "" if mark is None else label_text(mark)
            none = f"; if {none} means no label: `label: {{unlabeled: {none}}}`" if none else ""
            return classes[[-1, 0]], f"{ends}; say by `positive` which labels are +1{none}"
        if self.bins is not None:
            last = -(-np.arange(1, self.bins + 1) * len(training) // self.bins) - 1
            classes = np.unique(np.partition(training, last)[last])
        if self.labels is not None:
            is_other = ~np.isin(training, known)
            if is_other.any():
                row = int(np.argmax(is_other))
                text = f"row {row + 1:,}: label {label_text(training[row])}"
                raise ValueError(f"{text} is not one of {label_text(*named)}")
            classes = known[np.isin(known, classes)] if self.kind == "ordered" else classes
        elif self.kind == "ordered" and is_text:
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
        return classes, "is not in the training rows"


def label_text(*labels: Label) -> str:
    """Return labels as text, whole numbers without a decimal point."""
    return ", ".join(
        str(x) if isinstance(x, str | int) else repr(float(x)).removesuffix(".0") for x in labels
    )


def unlabeled_mark(counts: Mapping[Any, int]) -> Label | None:
    """Return the label that looks like "no label" next to two or more others; None if none does.

    scikit-learn marks rows without a label by -1 next to classes from 0; files with the classes -1
    and 1 by 0, of -1, 0 and 1 the more frequent mark; and others by a word or a missing value.
    """
    if len(counts) < 3:
        return None
    words = ("unlabeled", "unlabelled", "unknown", "no label", *MISSING_VALUES)
    marks: list[Label] = [label for label in counts if str(label).lower() in words]
    if marks or not are_numbers(counts):
        return marks[0] if marks else None
    by_number = {float(label): n for label, n in counts.items()}
    if by_number.keys() == {-1, 0, 1}:
        return -1 if by_number[-1] > by_number[0] else 0
    return -1 if min(by_number) == -1 and all(x == round(x) for x in by_number) else None


def are_numbers(labels: Iterable[Label]) -> bool:
    """Return whether all labels are finite numbers, and whole ones exact in float64."""
    try:
        values = [(str(label), float(label)) for label in labels]
    except (ValueError, OverflowError):
        return False
    return all(
        math.isfinite(value) and (not text.lstrip("+-").isdecimal() or int(text) == value)
        for text, value in values
    )
