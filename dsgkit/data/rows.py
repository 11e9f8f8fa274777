"""Lazy views of a large matrix with selected and scaled rows, which are copied when read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsgkit.numerics.arrays import Single
from dsgkit.numerics.rows import fixed, read_rows

Index = slice | NDArray[np.integer]


class Rows:
    """A lazy two-dimensional view ``(base[index] - offset) * factor`` in float32.

    Parameters
    ----------
    base : ndarray or memmap of shape (n, d)
        The whole matrix.
    index : array of int, optional
        Row numbers in ``base``, in the order of the view; all rows by default.
    offset, factor : array of shape (d,), optional
        Scaling per column; none by default.

    Notes
    -----
    Rows are read by a slice or an array of positions into a new C-contiguous array; a second index
    selects columns. The index and the scaling are read-only, because views share them.
    """

    ndim = 2
    dtype = np.dtype(np.float32)

    def __init__(
        self,
        base: Any,
        index: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        factor: ArrayLike | None = None,
    ) -> None:
        self.base = base
        self.index = None if index is None else fixed(np.asarray(index))
        self.offset = None if offset is None else fixed(np.asarray(offset, np.float32))
        self.factor = None if factor is None else fixed(np.asarray(factor, np.float32))

    def __len__(self) -> int:
        return len(self.base) if self.index is None else len(self.index)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.base.shape[1]

    def __getitem__(self, key: Index | tuple[slice, Any]) -> Single:
        if isinstance(key, tuple):
            rows, columns = key
            return self[rows][:, columns]
        values = read_rows(self.base, key if self.index is None else self.index[key])
        if self.offset is not None:
            values -= self.offset
        if self.factor is not None:
            values *= self.factor
        return values

    def __array__(
        self, dtype: np.dtype[Any] | None = None, copy: bool | None = None
    ) -> NDArray[Any]:
        return self[:].astype(dtype or self.dtype, copy=False)

    def take(self, key: Index) -> Rows:
        """Return a view of some of these rows, without reading them."""
        index = np.arange(len(self.base)) if self.index is None else self.index
        return Rows(self.base, index[key], self.offset, self.factor)
