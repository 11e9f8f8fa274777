"""Interface of targets, and a check that a dataset's target suits a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from dsgkit.data.targets.labels import Label
from dsgkit.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dsgkit.data.datasets import Dataset

Kind = Literal["binary", "ordered", "classes", "numeric"]


class Target(Protocol):
    """Conversion of the labels of a file to those that a task learns from.

    Attributes
    ----------
    kind : {"binary", "ordered", "classes", "numeric"}
        Resulting labels: -1 and +1, ordered classes 1..k, unordered classes 1..k for evaluation
        only, or numbers.
    """

    kind: ClassVar[Kind]

    @property
    def words(self) -> str:
        """A description of the target."""

    @property
    def named(self) -> tuple[Label, ...]:
        """The labels that it names; if one is text, so are the labels of the file."""

    def description(self, training: NDArray[Any]) -> str:
        """Return a description of the converted labels of the training rows.

        Raises
        ------
        ValueError
            If the labels do not suit the target.
        """

    def identity(self) -> list[Any]:
        """Return what distinguishes this target from others, ready for JSON."""

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

        Raises
        ------
        ValueError
            If the labels do not suit the target; the text names label and row.
        """


_NEEDS: dict[Kind, tuple[str, str]] = {
    "binary": ("two classes", "{positive: [labels]}"),
    "ordered": ("ordered classes", "{bins: 5} for numbers, {ordered: true} for classes"),
    "classes": ("classes to judge by", "{classes: true}"),
    "numeric": ("numbers", "{numeric: true}"),
}


def check_kind(dataset: Dataset, kind: Kind) -> None:
    """Refuse a dataset whose target is of another kind than a task needs.

    Parameters
    ----------
    dataset : Dataset
    kind : {"binary", "ordered", "classes", "numeric"}
        The kind that the task needs.

    Raises
    ------
    DataError
        If the target is of another kind.
    """
    if dataset.target.kind == kind:
        return
    needs, remedy = _NEEDS[kind]
    raise DataError(
        f"dataset {dataset.name}: the task needs {needs}, but the target is: "
        f"{dataset.target.words}; set `dataset.target`: {remedy}"
    )
