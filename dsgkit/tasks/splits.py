"""Splits of a dataset into labelled, unlabelled and test rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.datasets import Dataset
from dsgkit.data.rows import Rows
from dsgkit.data.targets import Kind, check_kind
from dsgkit.errors import DataError
from dsgkit.numerics.arrays import Single
from dsgkit.random.folds import stratified_folds
from dsgkit.random.seeds import derive_seed, permutation

Positions = NDArray[np.int64]

MIN_LABELED_PER_CLASS = 2
"""Smallest number of labelled rows per class, so that both remain if a fold is held out."""

MIN_LABELED = 2 * MIN_LABELED_PER_CLASS


@dataclass(frozen=True)
class SemiSupervisedSplit:
    """One trial of the semi-supervised protocol.

    Attributes
    ----------
    X : Rows of shape (n_labeled, d)
        Labelled rows, scaled.
    y : ndarray of int, shape (n_labeled,)
        Their labels, -1 and +1 or 1..k.
    X_unlabeled : Rows
        All other training rows, in a random order: the first k are a random subset, so subsets are
        nested.
    y_unlabeled : ndarray of int
        Their hidden labels, only for evaluation.
    X_test : Rows or None
        Official test rows, scaled by the training rows.
    y_test : ndarray of int or None
        Their labels.
    folds : list of int arrays
        Held-out positions of labelled rows in each fold, stratified by class.
    """

    X: Rows
    y: NDArray[np.integer]
    X_unlabeled: Rows
    y_unlabeled: NDArray[np.integer]
    X_test: Rows | None
    y_test: NDArray[np.integer] | None
    folds: list[Positions]


def semi_supervised_split(
    dataset: Dataset,
    *,
    labeled: int,
    folds: int,
    seed: int,
    scale: tuple[float, float] = (0.0, 1.0),
    nested: bool = False,
) -> SemiSupervisedSplit:
    """Draw the labelled rows of one trial with a binary or numeric target; others are unlabelled.

    Parameters
    ----------
    dataset : Dataset
        All rows.
    labeled : int
        Number of labelled rows, with at least two of each class: if fewer are drawn, the next rows
        of that class in the random order are swapped with the last labelled ones of the other.
    folds : int
        Number of cross-validation folds.
    seed : int
        Seed of the trial.
    scale : tuple of float
        Interval that every feature is mapped to, by its range over all training rows.
    nested : bool
        Whether the first `MIN_LABELED` labelled rows, too, have two of each class.

    Returns
    -------
    SemiSupervisedSplit

    Raises
    ------
    DataError
        If there are too few rows.
    """
    numeric = dataset.target.kind == "numeric"
    check_split(dataset, labeled, folds, "numeric" if numeric else "binary")
    order = permutation(len(dataset.y), derive_seed(seed, "labeled"))
    if not numeric:
        _balance(order, dataset.y, MIN_LABELED if nested else labeled)
    return split_in_order(dataset, order, labeled, folds, seed, dataset.scaling(*scale))


def split_in_order(
    dataset: Dataset,
    order: Positions,
    labeled: int,
    folds: int,
    seed: int,
    scaling: tuple[Single, Single],
) -> SemiSupervisedSplit:
    """Split rows with any target: the first ones of an order are labelled.

    Parameters
    ----------
    dataset : Dataset
    order : ndarray of int, shape (n,)
        All rows.
    labeled, folds, seed : int
        As in `semi_supervised_split`.
    scaling : offset, factor
        Scaling of every feature.
    """
    offset, factor = scaling
    rows = Rows(dataset.X, _compact(order), offset, factor)
    y = dataset.y[order]
    X_test = None if dataset.X_test is None else Rows(dataset.X_test, None, offset, factor)
    return SemiSupervisedSplit(
        X=rows.take(slice(labeled)),
        y=y[:labeled],
        X_unlabeled=rows.take(slice(labeled, None)),
        y_unlabeled=y[labeled:],
        X_test=X_test,
        y_test=dataset.y_test,
        folds=stratified_folds(y[:labeled], folds, derive_seed(seed, "folds")),
    )


def check_split(dataset: Dataset, labeled: int, folds: int, target: Kind = "binary") -> None:
    """Raise `DataError` if a dataset has too few rows, or another kind of target."""
    check_kind(dataset, target)
    n = len(dataset.y)
    if labeled >= n:
        raise DataError(
            f"dataset {dataset.name}: {labeled:,} labelled rows asked for, but it has {n:,} rows "
            "and some must stay unlabelled; lower `labeled`"
        )
    check_labeled(labeled, folds)
    for label in (-1, 1) if target == "binary" else ():
        count = int(np.count_nonzero(dataset.y == label))
        if count < MIN_LABELED_PER_CLASS:
            raise DataError(
                f"dataset {dataset.name}: class {label:+d} has {count} of the rows; the labelled "
                f"ones need {MIN_LABELED_PER_CLASS} of each class"
            )


def check_labeled(labeled: int, folds: int) -> None:
    """Raise `DataError` if there are too few labelled rows for two classes, or for the folds."""
    if labeled < MIN_LABELED:
        raise DataError(
            f"{labeled} labelled rows are too few: at least {MIN_LABELED}, two of each class"
        )
    if not 2 <= folds <= labeled:
        raise DataError(
            f"{folds} folds of {labeled} labelled rows: the number must be 2 to {labeled}"
        )


def _balance(order: Positions, y: NDArray[np.int8], labeled: int) -> None:
    """Swap rows, in place, until each class has its minimum among the labelled."""
    for label in (-1, 1):
        of_class = y[order] == label
        missing = MIN_LABELED_PER_CLASS - int(np.count_nonzero(of_class[:labeled]))
        if missing > 0:
            added = labeled + np.flatnonzero(of_class[labeled:])[:missing]
            removed = np.flatnonzero(~of_class[:labeled])[-missing:]
            order[removed], order[added] = order[added], order[removed]


def _compact(order: Positions) -> NDArray[np.integer]:
    """Return row numbers as int32 if they fit, as one is kept per row."""
    return order.astype(np.int32) if len(order) <= np.iinfo(np.int32).max else order
