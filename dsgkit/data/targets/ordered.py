"""Target of ordered classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from dsgkit.data.targets.base import Kind
from dsgkit.data.targets.classes import check_count, class_counts, numbers_of, with_counts
from dsgkit.data.targets.labels import Label, any_of, label_text, like, listed

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Ordered:
    """Classes 1..k: the labels that the training rows have, in their order.

    Parameters
    ----------
    order : tuple of labels, optional
        All labels from the lowest to the highest; labels that no training row has are not classes.
        By default the labels are numbers in ascending order.
    """

    kind: ClassVar[Kind] = "ordered"
    order: tuple[Label, ...] | None = None

    @property
    def words(self) -> str:
        """A description of the target."""
        if self.order is None:
            return "the labels in ascending order are the classes"
        return f"the classes in order are {listed(self.order, ', ')}"

    @property
    def named(self) -> tuple[Label, ...]:
        """The labels of the order, if given."""
        return self.order or ()

    def description(self, training: NDArray[Any]) -> str:
        """Return the labels in their order, each with its number of training rows."""
        classes = self._classes(training)
        counts = class_counts(self.apply(training, training), len(classes))
        rows = zip(map(label_text, classes), counts, strict=True)
        text = f"{len(classes)} ordered classes: {with_counts(rows)}"
        absent = [x for x in self.order or () if label_text(x) not in map(label_text, classes)]
        return f"{text}; no row has {any_of(absent)}" if absent else text

    def identity(self) -> list[Any]:
        """Return the order as text."""
        return ["ordered", None if self.order is None else [label_text(x) for x in self.order]]

    def apply(self, labels: NDArray[Any], training: NDArray[Any]) -> NDArray[Any]:
        """Return 1..k as int16; see `Target.apply`.

        Raises
        ------
        ValueError
            For a label that no training row has or the order lacks, for text without an order, or
            if the training rows have fewer than two labels.
        """
        classes = self._classes(training)
        check_count(len(classes), "label")
        return numbers_of(labels, classes, name_known=True)

    def _classes(self, training: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of the training rows from the lowest to the highest."""
        import numpy as np

        present = np.unique(training)
        if self.order is None:
            if training.dtype.kind == "U":
                raise ValueError(
                    f"the labels are text, such as {training[0]}; set their order by `ordered: "
                    "[lowest, ..., highest]`"
                )
            return present
        order = like(self.order, training)
        if not np.isin(present, order).all():
            row = int(np.argmin(np.isin(training, order)))
            raise ValueError(
                f"row {row + 1:,}: label {label_text(training[row])} is not in the order "
                f"{listed(self.order, ', ')}"
            )
        return order[np.isin(order, present)]
