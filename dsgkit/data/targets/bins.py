"""Target of ordered classes from numeric labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from dsgkit.data.targets.base import Kind
from dsgkit.data.targets.classes import MOST_CLASSES, check_count, class_counts, with_counts
from dsgkit.data.targets.labels import Label

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Bins:
    """Classes 1..k: numeric labels cut into bins of equal frequency.

    Class j has the labels in ``(q_{j-1}, q_j]``, where ``q_j`` is the smallest training label
    that at least the share j / count of the training rows do not exceed. Equal quantiles merge, so
    that there may be fewer classes than ``count``, and none is empty.

    Parameters
    ----------
    count : int
        Number of bins, at least 2.
    """

    kind: ClassVar[Kind] = "ordered"
    count: Annotated[int, Field(ge=2, le=MOST_CLASSES)]

    @property
    def words(self) -> str:
        """A description of the target."""
        return f"{self.count} bins of equal frequency"

    @property
    def named(self) -> tuple[Label, ...]:
        """No label is named."""
        return ()

    def description(self, training: NDArray[Any]) -> str:
        """Return the upper bound of every bin with its number of training rows."""
        bounds = self.bounds(training)
        counts = class_counts(self.apply(training, training), len(bounds))
        uppers = [f"up to {bound:.6g}" for bound in bounds[:-1]] + [f"above {bounds[-2]:.6g}"]
        less = "" if len(bounds) == self.count else f" ({self.count} asked for, equal ones merged)"
        rows = zip(uppers, counts, strict=True)
        return f"{len(bounds)} bins of equal frequency{less}: {with_counts(rows)}"

    def identity(self) -> list[Any]:
        """Return the number of bins."""
        return ["bins", self.count]

    def apply(self, labels: NDArray[Any], training: NDArray[Any]) -> NDArray[Any]:
        """Return 1..k as int16; see `Target.apply`.

        Raises
        ------
        ValueError
            If labels are text, or all training labels are equal.
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
        check_count(len(bounds), "quantile of the labels")
        return bounds
