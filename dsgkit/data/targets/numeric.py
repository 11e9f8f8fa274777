"""Target of numeric labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from dsgkit.data.targets.base import Kind
from dsgkit.data.targets.labels import Label

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Numeric:
    """The numbers in the file, for regression."""

    kind: ClassVar[Kind] = "numeric"

    @property
    def words(self) -> str:
        """A description of the target."""
        return "the labels are numbers"

    @property
    def named(self) -> tuple[Label, ...]:
        """No label is named."""
        return ()

    def description(self, training: NDArray[Any]) -> str:
        """Return the range of the labels of the training rows."""
        values = self.apply(training, training)
        return f"numbers from {values.min():.6g} to {values.max():.6g}, mean {values.mean():.6g}"

    def identity(self) -> list[Any]:
        """Return the kind: there are no settings."""
        return ["numeric"]

    def apply(self, labels: NDArray[Any], training: NDArray[Any]) -> NDArray[Any]:
        """Return the labels as float64; see `Target.apply`.

        Raises
        ------
        ValueError
            If labels are text.
        """
        import numpy as np

        if labels.dtype.kind == "U":
            raise ValueError(f"a numeric target needs numbers, not text such as {labels[0]}")
        return np.asarray(labels, np.float64)
