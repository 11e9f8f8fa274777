"""Interface of random features for the engine."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dsgkit.linalg import Array, Single


class BlockSums(Protocol):
    """Sums of random features over blocks, and over rows.

    Block t of a kernel's features is ``phi_t(x) = sqrt(1/m) psi_t(x)`` with
    ``E <phi_t(x), phi_t(x')> = k(x, x')``; the factor depends on the kind of features.
    Coefficients belong to ``psi_t``: they include the factor twice, of the features from which they
    were computed and of those with which they are multiplied.
    """

    def add(self, X: Single, first: int, coefficients: Single, values: Single) -> None:
        """Add ``sum_t psi_{first + t}(x) coefficients[t]`` to the values at rows x, in place.

        Parameters
        ----------
        X : ndarray of float32, shape (n, n_inputs)
        first : int
            Number of the first block.
        coefficients : ndarray of float32, shape (n_blocks, width, G)
        values : ndarray of float32, shape (n, G)
        """
        ...

    def correlate(self, X: Single, block: int, C: Single, factor: Array) -> Single:
        """Return the coefficients of ``factor * sum_i C[i] k(x_i, .)`` in the features of a block.

        Parameters
        ----------
        X : ndarray of float32, shape (n, n_inputs)
        block : int
        C : ndarray of float32, shape (n, G)
        factor : ndarray of float64, shape (G,)

        Returns
        -------
        ndarray of float32, shape (width, G)
            ``sum_i psi(x_i) C[i] * factor / m``.
        """
        ...


class FeatureBlocks(BlockSums, Protocol):
    """Blocks of random features, defined by a kernel, its parameters and a seed.

    Attributes
    ----------
    seed : int
        Seed of the stream; blocks are numbered from 0.
    width : int
        Number of features of a block.
    """

    @property
    def seed(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def scale(self) -> float:
        """The factor of ``phi = scale psi``."""
        ...

    def read(self, table: Any, index: slice | NDArray[np.integer]) -> Single:
        """Copy rows of a table in the format of the other methods.

        Raises
        ------
        DataError
            If the features of a row would be wrong: it holds NaN, or its norm is too large.
        """
        ...

    def in_order(self, n_inputs: int, n_blocks: int) -> BlockSums:
        """Return the sums for access to blocks ``0 .. n_blocks`` one at a time and in order.

        Work that several blocks can share, such as drawing random numbers, is done for many blocks
        at a time. Features without such work return themselves.
        """
        ...

    def transform(self, X: Any, block: int) -> Single:
        """Return the features ``phi`` of a block at the rows of ``X``, shape (n, width).

        Parameters
        ----------
        X : rows of shape (n, n_inputs)
        block : int
        """
        ...

    def row_flops(self, n_inputs: int) -> float:
        """Return the operations of a block's features at one row, as counted in `Cost`."""
        ...

    def entries(self) -> dict[str, Any]:
        """Return the entries of a model file from which `load_features` restores the features.

        The entry ``kernel`` is the kernel's name; the width is that of the coefficients.
        """
        ...
