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

_MAX_SHOWN = 20
_NEEDS: dict[Kind, tuple[str, str]] = {
    "binary": ("two classes", "{positive: [labels]}"),
    "ordered": ("ordered classes", "{bins: 5} for numbers, {ordered: true} for classes"),
    "classes": ("classes to judge by", "{classes: true}"),
    "numeric": ("numbers", "{numeric: true}"),
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

        They are one of ``positive`` (perhaps with ``negative``), ``bins``, ``ordered``, ``classes``
        and ``numeric``.
        """
        kind: Any
        kind, *others = settings
        if not others and kind in ("ordered", "classes"):
            labels = settings[kind]
            return cls(kind, labels=None if labels is True else tuple(labels))
        if not others and kind == "bins":
            return cls("ordered", bins=settings["bins"])
        if not others and kind == "numeric":
            return cls("numeric")
        sides: dict[str, Any] = {side: tuple(labels) for side, labels in settings.items()}
        return cls("binary", **sides)

    @property
    def has_text(self) -> bool:
        """Whether it names a label that is text; so are the labels of the file then."""
        named = (*(self.positive or ()), *(self.negative or ()), *(self.labels or ()))
        return not _are_numbers(named)

    @property
    def words(self) -> str:
        """A description that needs no labels."""
        if self.kind == "numeric":
            return "the labels are numbers"
        if self.bins is not None:
            return f"{self.bins} bins of equal frequency"
        if self.kind == "binary":
            if self.positive is None:
                return "positive class: the larger label"
            rest = "the rest" if self.negative is None else _listed(self.negative)
            plural = "es" if len(self.positive) > 1 else ""
            return f"positive class{plural}: {_listed(self.positive)}; negative: {rest}"
        if self.kind == "classes":
            known = "" if self.labels is None else f", {_listed(self.labels)},"
            return f"the labels{known} are classes for judging only"
        if self.labels is None:
            return "the labels in ascending order are the classes"
        return f"the classes in order are {_listed(self.labels)}"

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

    def describe(self, training: NDArray[Any]) -> str:
        """Return a description of the converted labels of the training rows.

        Raises
        ------
        ValueError
            If the labels do not suit the target.
        """
        if self.kind == "binary":
            return self.words
        y = self.apply(training, training)
        if self.kind == "numeric":
            return f"numbers from {y.min():.6g} to {y.max():.6g}, mean {y.mean():.6g}"
        classes = self._classes(training)
        k = len(classes)
        names, more = [label_text(label) for label in classes], ""
        if self.bins is not None:
            names = [f"up to {x:.6g}" for x in classes[:-1]] + [f"above {classes[-2]:.6g}"]
            less = "" if k == self.bins else f" ({self.bins} asked for, equal ones merged)"
            head = f"{k} bins of equal frequency{less}"
        elif self.kind == "classes":
            if k == 1:
                return "one class alone, so that there is nothing to judge by"
            head = f"{k} classes for judging only"
        else:
            head = f"{k} ordered classes"
            absent = [text for text in map(label_text, self.labels or ()) if text not in names]
            more = f"; no row has {_any_of(absent)}" if absent else ""
        counts = [f"{n:,}" for n in np.bincount(y, minlength=k + 1)[1:].tolist()]
        counts[0] += " rows"
        rows = ", ".join(f"{name} ({n})" for name, n in zip(names, counts, strict=True))
        return f"{head}: {rows}{more}"

    def apply(self, labels: NDArray[Any], training: NDArray[Any]) -> NDArray[Any]:
        """Convert labels.

        Parameters
        ----------
        labels : ndarray of float64 or of text, shape (n,)
            As in the file.
        training : ndarray, shape (n_training,)
            Labels of the training rows, which the conversion may depend on.

        Returns
        -------
        ndarray of shape (n,)
            int8, int16 or float64, by the kind.

        Raises
        ------
        ValueError
            If the labels do not suit the target; the text names label and row.
        """
        if self.kind == "binary":
            return self._signs(labels, training)
        if self.kind == "numeric":
            if training.dtype.kind == "U":
                raise ValueError(f"a numeric target needs numbers, not text such as {training[0]}")
            return np.asarray(labels, np.float64)
        classes = self._classes(training)
        if self.bins is not None:
            return (np.searchsorted(classes[:-1], labels, side="left") + 1).astype(np.int16)
        ascending = np.argsort(classes)
        place = np.searchsorted(classes, labels, sorter=ascending).clip(max=len(classes) - 1)
        indices = ascending[place]
        known = f" (known: {_listed(classes)})" if self.kind == "ordered" else ""
        _refuse(labels, classes[indices] != labels, f"is not in the training rows{known}")
        return (indices + 1).astype(np.int16)

    def _classes(self, training: NDArray[Any]) -> NDArray[Any]:
        """Return the label of each class, or the upper bound of each bin."""
        is_text = training.dtype.kind == "U"
        what = "label"
        if self.bins is not None:
            if is_text:
                raise ValueError(f"bins need numbers as labels, not text such as {training[0]}")
            last = -(-np.arange(1, self.bins + 1) * len(training) // self.bins) - 1
            classes = np.unique(np.partition(training, last)[last])
            what = "quantile of the labels"
        else:
            classes = np.unique(training)
            if self.labels is not None:
                known = _like(self.labels, training)
                order = "in the order" if self.kind == "ordered" else "one of"
                strange = ~np.isin(training, known)
                _refuse(training, strange, f"is not {order} {_listed(self.labels)}")
                if self.kind == "ordered":
                    classes = known[np.isin(known, classes)]
            elif self.kind == "ordered" and is_text:
                raise ValueError(
                    f"the labels are text, such as {training[0]}; set their order by `ordered: "
                    "[lowest, ..., highest]`"
                )
        if self.kind == "ordered" and len(classes) < 2:
            raise ValueError(f"the training rows have one {what} alone; ordered classes need two")
        if len(classes) > MOST_CLASSES:
            raise ValueError(
                f"{len(classes):,} different labels are too many for classes; cut them by `bins`"
            )
        return classes

    def _signs(self, labels: NDArray[Any], training: NDArray[Any]) -> NDArray[np.int8]:
        """Return -1 and +1."""
        negative: NDArray[Any] | None
        if self.positive is None:
            first = training[0]
            both = [first, training[(training != first).argmax()]]  # the first twice if alone
            positive, negative = np.array([max(both)]), np.array([min(both)])
            why = (
                f"is a third label after {label_text(both[0])} and {label_text(both[1])}; say by "
                "`positive` which labels are +1"
            )
            counts = dict(zip(*np.unique(training, return_counts=True), strict=True))
            if (mark := unlabeled_mark(counts)) is not None:
                why += f", or by `label: {{unlabeled: {label_text(mark)}}}` that it means no label"
        else:
            positive = _like(self.positive, training)
            negative = None if self.negative is None else _like(self.negative, training)
            why = f"is unknown (known: {_listed((*self.positive, *(self.negative or ())))})"
        is_positive = np.isin(labels, positive)
        if negative is not None:
            _refuse(labels, ~is_positive & ~np.isin(labels, negative), why)
        if is_positive.all() or not is_positive.any():
            present = in_a_line(_listed(np.unique(labels)[:_MAX_SHOWN]))
            named = " or ".join(map(label_text, self.positive or ()))
            which = "every" if is_positive.all() else "no"
            which = f"; {which} row has {named}, which `positive` names" if named else ""
            raise ValueError(f"the rows have the labels {present}{which}: two classes are needed")
        return np.where(is_positive, 1, -1).astype(np.int8)


def check_kind(dataset: Dataset, kind: Kind) -> None:
    """Raise `DataError` if the target of a dataset is not of the kind that a task needs."""
    if dataset.target.kind != kind:
        needs, remedy = _NEEDS[kind]
        raise DataError(
            f"dataset {dataset.name}: the task needs {needs}, but the target is: "
            f"{dataset.target.words}; set `dataset.target`: {remedy}"
        )


def label_text(label: Label) -> str:
    """Return a label as text, whole numbers without a decimal point."""
    if isinstance(label, str | int):
        return str(label)
    return repr(float(label)).removesuffix(".0")


def unlabeled_mark(counts: Mapping[Any, int]) -> Label | None:
    """Return the label that looks like "no label" next to two or more others; None if none does.

    scikit-learn marks rows without a label by -1 next to classes from 0; files with the classes -1
    and 1 by 0, of -1, 0 and 1 the more frequent mark; and others by a word.
    """
    if len(counts) < 3:
        return None
    for label in counts:
        if str(label).lower() in ("unlabeled", "unlabelled", "unknown", "no label"):
            return label
    if not _are_numbers(counts):
        return None
    by_number = {float(label): n for label, n in counts.items()}
    if by_number.keys() == {-1, 0, 1}:
        return -1 if by_number[-1] > by_number[0] else 0
    return -1 if min(by_number) == -1 and all(x == round(x) for x in by_number) else None


def _listed(labels: Iterable[Label]) -> str:
    return ", ".join(map(label_text, labels))


def _any_of(texts: Sequence[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} or {last}" if first else last


def _are_numbers(labels: Iterable[Label]) -> bool:
    """Return whether all labels are finite numbers that float64 tells apart from others."""
    try:
        return all(math.isfinite(float(label)) and not is_large(label) for label in labels)
    except ValueError:
        return False


def is_large(label: Label) -> bool:
    """Return whether a label is a whole number that float64 would round."""
    try:
        return not isinstance(label, float) and int(float(label)) != int(label)
    except (ValueError, OverflowError):
        return False


def _like(named: Sequence[Label], labels: NDArray[Any]) -> NDArray[Any]:
    """Convert labels of a config to the type of the file's labels."""
    if labels.dtype.kind == "U":
        return np.array([label_text(label) for label in named])
    if not _are_numbers(named):
        raise ValueError(f"the labels are numbers; {_any_of([*map(label_text, named)])} is not")
    return np.array([float(label) for label in named])


def _refuse(labels: NDArray[Any], wrong: NDArray[np.bool_], why: str) -> None:
    """Raise ValueError with the first wrong label and its row, if there is one."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"row {row + 1:,}: label {label_text(labels[row])} {why}")
