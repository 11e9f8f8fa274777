"""Target of two classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from dsgkit.data.targets.base import Kind
from dsgkit.data.targets.labels import Label, label_text, like, listed
from dsgkit.errors import in_a_line

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MAX_SHOWN = 20


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
        """A description of the target."""
        if self.positive is None:
            return "positive class: the larger label"
        rest = "the rest" if self.negative is None else listed(self.negative, ", ")
        plural = "es" if len(self.positive) > 1 else ""
        return f"positive class{plural}: {listed(self.positive, ', ')}; negative: {rest}"

    @property
    def named(self) -> tuple[Label, ...]:
        """The labels of both classes."""
        return (*(self.positive or ()), *(self.negative or ()))

    def description(self, training: NDArray[Any]) -> str:
        """Return `words`, which do not depend on the labels."""
        return self.words

    def identity(self) -> list[Any]:
        """Return the sorted labels of both classes as text."""
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
            For a label of neither class, or if all rows are of the same class.
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
            raise ValueError(self._one_class(np.unique(labels), bool(count)))
        return np.where(is_positive, 1, -1).astype(np.int8)

    def _sides(self, training: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return the labels of both classes in the file's type; None for all others."""
        if self.positive is None:
            low, high = sorted(_first_two(training))
            return like([high], training), like([low], training)
        negative = None if self.negative is None else like(self.negative, training)
        return like(self.positive, training), negative

    def _one_class(self, present: NDArray[Any], are_positive: bool) -> str:
        """Return a message that all rows are of the same class."""
        labels = in_a_line(", ".join(map(label_text, present[:_MAX_SHOWN])))
        if len(present) == 1:
            no_row = self.positive is not None and not are_positive
            named = listed(self.positive or (), " or ")
            why = f"; none has {named}, which `positive` names" if no_row else ""
            return f"every row has the label {labels}{why}: two classes are needed"
        if are_positive:
            return (
                f"`positive` names every label of the rows ({labels}): two classes are needed, "
                "leave a label out"
            )
        named = listed(self.positive or (), " or ")
        return f"no row has the label {named}, which `positive` names; the rows have {labels}"

    def _strange(self, labels: NDArray[Any], row: int, training: NDArray[Any]) -> str:
        """Return a message about a label of neither class."""
        label = label_text(labels[row])
        if self.positive is None:
            seen = listed(_first_two(training), " and ")
            return (
                f"row {row + 1:,}: {label} is a third label after {seen}; say by `positive` which "
                "labels are +1"
            )
        known = listed((*self.positive, *(self.negative or ())), ", ")
        return f"row {row + 1:,}: unknown label {label} (known: {known})"


def _first_two(labels: NDArray[Any]) -> tuple[Label, Label]:
    """Return the first label and the first other one, or the first twice if there is none."""
    return labels[0], labels[(labels != labels[0]).argmax()]
