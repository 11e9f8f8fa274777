"""Target of unordered classes, for the evaluation of clusters only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from dsgkit.data.targets.base import Kind
from dsgkit.data.targets.classes import MOST_CLASSES, class_counts, numbers_of, with_counts
from dsgkit.data.targets.labels import Label, label_text, like, listed

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Nominal:
    """Classes 1..k: the labels that the training rows have, sorted.

    Parameters
    ----------
    labels : tuple of labels, optional
        All possible labels, such as the texts of a local file.
    """

    kind: ClassVar[Kind] = "classes"
    labels: tuple[Label, ...] | None = None

    @property
    def words(self) -> str:
        """A description of the target."""
        known = "" if self.labels is None else f", {listed(self.labels, ', ')},"
        return f"the labels{known} are classes for judging only"

    @property
    def named(self) -> tuple[Label, ...]:
        """All possible labels, if given."""
        return self.labels or ()

    def description(self, training: NDArray[Any]) -> str:
        """Return the labels, each with its number of training rows."""
        classes = self._classes(training)
        if len(classes) == 1:
            return "one class alone, so that there is nothing to judge by"
        counts = class_counts(self.apply(training, training), len(classes))
        rows = zip(map(label_text, classes), counts, strict=True)
        return f"{len(classes)} classes for judging only: {with_counts(rows)}"

    def identity(self) -> list[Any]:
        """Return the sorted labels as text."""
        return ["classes", None if self.labels is None else sorted(map(label_text, self.labels))]

    def apply(self, labels: NDArray[Any], training: NDArray[Any]) -> NDArray[Any]:
        """Return 1..k as int16; see `Target.apply`.

        Raises
        ------
        ValueError
            For a label that no training row has or that is not possible, and for too many classes.
        """
        return numbers_of(labels, self._classes(training))

    def _classes(self, training: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of the training rows, sorted."""
        import numpy as np

        present = np.unique(training)
        if len(present) > MOST_CLASSES:
            raise ValueError(f"{len(present):,} different labels are too many for classes")
        if self.labels is not None:
            known = np.isin(training, like(self.labels, training))
            if not known.all():
                row = int(np.argmin(known))
                raise ValueError(
                    f"row {row + 1:,}: label {label_text(training[row])} is not one of "
                    f"{listed(self.labels, ', ')}"
                )
        return present
