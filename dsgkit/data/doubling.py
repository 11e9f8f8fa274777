"""Doubled datasets: every row is repeated with noise in its first feature."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DataError
from dsgkit.numerics.arrays import Array, Single
from dsgkit.random.seeds import derive_seed
from dsgkit.system.mapped import fixed, positions, read_rows

if TYPE_CHECKING:
    from dsgkit.data.datasets import Dataset

_BLOCK_VALUES = 2**22
_SEED = derive_seed(0, "double")


class Doubled:
    """The rows of a matrix, then the same rows with another first column; read lazily.

    Parameters
    ----------
    base : ndarray or memmap of float32, shape (n, d)
        The matrix.
    first : ndarray of float32, shape (n,)
        The first column of the second half.
    """

    ndim = 2
    dtype = np.dtype(np.float32)

    def __init__(self, base: Single | Doubled, first: Single) -> None:
        self.base = base
        self.first = fixed(first)

    def __len__(self) -> int:
        return 2 * len(self.base)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows in both halves, and of columns."""
        return len(self), self.base.shape[1]

    def __getitem__(self, key: slice | NDArray[np.integer]) -> Single:
        rows = positions(key, len(self))
        second, original = np.divmod(rows, len(self.base))
        values = read_rows(self.base, original)
        values[:, 0] = np.where(second, self.first[original], values[:, 0])
        return values


def doubled(dataset: Dataset, noise: float) -> Dataset:
    """Return a dataset with every training row twice, as in the paper on similar-unlabelled data.

    Parameters
    ----------
    dataset : Dataset
    noise : float
        Standard deviation of the Gaussian noise that is added to the first feature of the second
        copy, in units of that feature's range over the training rows. The paper does not state its
        value. The noise is part of the dataset, and the same in every run and trial.

    Returns
    -------
    Dataset
        With 2 n training rows: row n + i is the copy of row i, with its label. The test rows are
        unchanged. Of the copies, only the first feature is kept in memory.

    Raises
    ------
    DataError
        If the first feature is constant, or the noise makes it too large.

    Notes
    -----
    A row and its copy are drawn like any others: if a task draws training and test rows from all
    of them, one may be in the training set and the other in the test set, as in the paper. Test
    errors on doubled data are too low for methods that memorise rows.
    """
    width = dataset.maximum[0] - dataset.minimum[0]
    if not width > 0:
        raise DataError(
            f"dataset {dataset.name}: the first feature is the same in every row; `double` "
            "scales its noise by the range of that feature"
        )
    n = len(dataset.X)
    column = _first_column(dataset.X)
    with np.errstate(over="ignore"):
        copies = (column + noise * width * _normals(n)).astype(np.float32)
    if not np.isfinite(copies).all():
        raise DataError(
            f"dataset {dataset.name}: `double: {noise:g}` makes its first feature, whose range is "
            f"{width:g}, too large for float32"
        )
    minimum, maximum = dataset.minimum.copy(), dataset.maximum.copy()
    minimum[0] = min(minimum[0], copies.min())
    maximum[0] = max(maximum[0], copies.max())
    gain = np.square(copies, dtype=np.float64) - np.square(column)
    how = f"every row twice, the copy with noise of {noise:g} of its range in the first feature"
    identity = json.dumps([dataset.content_hash, "doubled", noise])
    return replace(
        dataset,
        title=f"{dataset.title}, doubled with noise {noise:g}",
        X=Doubled(dataset.X, copies),
        labels=np.concatenate([dataset.labels, dataset.labels]),
        minimum=minimum,
        maximum=maximum,
        mean_square=dataset.mean_square + float(gain.mean()) / 2,
        made="; ".join(filter(None, [dataset.made, how])),
        content_hash=hashlib.sha256(identity.encode()).hexdigest(),
    )


def _first_column(X: Any) -> Array:
    step = max(1, _BLOCK_VALUES // X.shape[1])
    blocks = (read_rows(X, slice(i, i + step))[:, 0] for i in range(0, len(X), step))
    return np.concatenate([block.astype(np.float64) for block in blocks])


def _normals(n: int) -> Single:
    # imported here, as it compiles kernels
    from dsgkit.random.stream import normal_blocks

    return normal_blocks(_SEED, 0, 1, 1, n).reshape(n)
