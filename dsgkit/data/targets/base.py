"""Base class of targets, and a check that one suits a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from dsgkit.data.targets.labels import Label
from dsgkit.text.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dsgkit.data.datasets import Dataset

Kind = Literal["binary", "ordered", "classes", "numeric"]


class Target(Protocol):
    """A way from the labels of a file to those that a task learns from.

    Attributes
    ----------
    kind : {"binary", "ordered", "classes", "numeric"}
        The labels that it makes: -1 and +1, classes 1..k in their order, classes 1..k without one,
        which only judge, or numbers.
    """

    kind: ClassVar[Kind]

    @property
    def words(self) -> str:
        """A description of the target for people."""

    @property
    def named(self) -> tuple[Label, ...]:
        """The labels that it names: if one is text, the labels of the file are."""

    def description(self, training: NDArray[Any]) -> str:
        """Return what became of the labels of the training rows, for people.

        Raises
        ------
        ValueError
            When the labels do not suit the target.
        """

    def identity(self) -> list[Any]:
        """Return what distinguishes this target from others, ready for JSON."""

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


_NEEDS: dict[Kind, tuple[str, str]] = {
    "binary": ("two classes", "{positive: [labels]}"),
    "ordered": ("ordered classes", "{bins: 5} for numbers, {ordered: true} for classes"),
    "classes": ("classes to judge by", "{classes: true}"),
    "numeric": ("numbers", "{numeric: true}"),
}


def check_kind(dataset: Dataset, kind: Kind) -> None:
    """Refuse a dataset whose target makes other classes than a task learns.

    Parameters
    ----------
    dataset : Dataset
    kind : {"binary", "ordered", "classes", "numeric"}
        The kind that the task learns, or judges by.

    Raises
    ------
    DataError
        When the target makes something else.
    """
    if dataset.target.kind == kind:
        return
    needs, remedy = _NEEDS[kind]
    raise DataError(
        f"dataset {dataset.name}: the task needs {needs}, but the target is: "
        f"{dataset.target.words}; set `dataset.target`: {remedy}"
    )
