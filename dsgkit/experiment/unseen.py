"""A placeholder for a dataset that is not on this machine, with its numbers of rows and columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dsgkit.data.catalogue import DatasetInfo
from dsgkit.data.dataset import Dataset, resolve
from dsgkit.data.spec import DatasetSpec
from dsgkit.numerics.arrays import Single

ASSUMED = "numbers of rows are the catalogue's, and shares of classes are assumed"

_TWO_CLASSES = (1, 1, 1, -1, -1)
"""Labels of every five rows. The classes differ in size: for pairs, the prior must not be 1/2."""

_CLASSES = 5
"""Assumed number of classes of a target that does not state it."""


def stand_in(spec: DatasetSpec) -> Dataset | None:
    """Return a placeholder dataset for planning; None if the catalogue lacks its numbers of rows.

    Its rows are 0 and take no memory. Keys of cells that are planned with it are meaningless.
    """
    info = resolve(spec)
    if info.local or info.n_rows is None or info.n_features is None:
        return None
    n_rows = min(info.n_rows, info.rows or info.n_rows) * (1 if info.double is None else 2)
    n_test = sum(file.n_rows or 0 for file in info.files if file.part == "test")
    zeros, codes = np.zeros(info.n_features), _codes(info)
    labels, labels_test = np.resize(codes, n_rows), np.resize(codes, n_test)
    dataset = Dataset(
        name=info.name,
        title=info.title,
        X=_rows(n_rows, info.n_features),
        X_test=_rows(n_test, info.n_features) if n_test else None,
        labels=labels,
        labels_test=labels_test if n_test else None,
        target=info.target,
        minimum=zeros,
        maximum=zeros,
        made="",
        content_hash="",
    )
    # computed from the labels by the target in a real dataset
    vars(dataset).update(y=labels, y_test=dataset.labels_test)
    return dataset


def _rows(n: int, d: int) -> Single:
    return np.broadcast_to(np.float32(0), (n, d))


def _codes(info: DatasetInfo) -> Sequence[float]:
    """Return assumed values of a target, a short sequence to be repeated."""
    kind = info.target.kind
    if kind == "binary":
        return _TWO_CLASSES
    if kind == "numeric":
        return (0.0, 1.0)
    return range(1, (info.target.bins or _CLASSES) + 1)
