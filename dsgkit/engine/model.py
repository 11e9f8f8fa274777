"""Trained functions: G columns each, evaluated together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine.sizes import MAX_BLOCK_ROWS, rows_at_once
from dsgkit.errors import DataError, FitError, MemoryLimitError
from dsgkit.features import Blocks
from dsgkit.kernels import kernel_named
from dsgkit.linalg import Array, Single, row_blocks
from dsgkit.seeds import STREAM_VERSION
from dsgkit.system.machine import single_blas_thread
from dsgkit.system.progress import part, report


@dataclass(frozen=True, eq=False)
class BlockModel:
    """``f_g(x) = sum_t <coef[t, :, g], psi_{first + t}(x)> + offset[g]``.

    With ``mean_of_kernels`` the penalty was the norm with respect to the mean of the blocks'
    kernels, and `squared_norm` is exact; else it is a bound, the square of the sum of their norms.
    """

    blocks: Blocks  # kernel and seed, from which every block is computed again
    coef: Single  # shape (n_blocks, width, G)
    first: int = 0  # number of the first block; those before it have decayed
    offset: Any = 0.0  # one, or one per model
    mean_of_kernels: bool = False

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "stream_version": STREAM_VERSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        stored = state.pop("stream_version")
        if stored != STREAM_VERSION:
            raise DataError(
                f"this model's features are drawn by version {stored} of the random stream, here "
                f"is version {STREAM_VERSION}: fit it again"
            )
        vars(self).update(state)

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Whether each function has finite coefficients, shape (G,)."""
        return np.isfinite(self.coef).all(axis=(0, 1)) & np.isfinite(self.offset)

    def values(self, X: Any) -> Single:
        """Return the values at rows, shape (n, G), a block of rows at a time."""
        n, G = X.shape[0], self.coef.shape[2]
        out = np.zeros((n, G), np.float32)
        with single_blas_thread():
            for rows in row_blocks(n, rows_at_once(X.shape[1], G)):
                self.blocks.add(self.blocks.read(X, rows), self.first, self.coef, out[rows])
                out[rows] += self.offset
                report(rows.stop / n)
        return out

    def squared_norm(self) -> Array:
        """Return the squared norm of each function, or a bound on it, shape (G,)."""
        squares = np.einsum("tkg,tkg->tg", self.coef, self.coef, dtype=np.float64)
        norms = np.sqrt(squares) / self.blocks.scale
        if self.mean_of_kernels:
            return len(norms) * (norms**2).sum(axis=0)
        return norms.sum(axis=0) ** 2


@dataclass(frozen=True, eq=False)
class TableValues:
    """Functions of which only the values at the rows of the training tables are known."""

    tables: list[Single]

    @property
    def finite(self) -> NDArray[np.bool_]:
        return np.all([np.isfinite(F).all(axis=0) for F in self.tables], axis=0)


@dataclass(frozen=True, eq=False)
class Expansion:
    """``f_g(x) = sum_i coef[i, g] phi_i(x) + offset[g]``, with ``phi_i(x) = k(x, centers[i])``."""

    kernel: str | None  # None for explicit features
    sigma: float
    centers: Any  # shape (p, n_inputs); without a kernel, the map from rows to ``phi``, (n, p)
    coef: Array  # shape (p, G)
    offset: Any = 0.0  # one, or one per model
    norm_of_coef: bool = False  # whether the penalty was their norm; without a kernel it is

    @property
    def finite(self) -> NDArray[np.bool_]:
        return np.isfinite(self.coef).all(axis=0) & np.isfinite(self.offset)

    def values(self, X: Any) -> Array:
        """Return the values at rows, shape (n, G), a block of rows at a time."""
        finite = self.finite
        coef = np.where(finite, self.coef, 0.0)
        if self.kernel is not None:
            out = kernel_named(self.kernel).expansion(X, self.centers, coef, self.sigma)
        else:
            out = np.empty((X.shape[0], len(finite)))
            for block in row_blocks(len(out), MAX_BLOCK_ROWS):
                out[block] = self.centers(X[block]).astype(np.float64, copy=False) @ coef
        return np.where(finite, out + self.offset, np.nan)

    def squared_norm(self) -> Array:
        """Return the squared norm of each function, or of its coefficients, shape (G,)."""
        of_coef = self.norm_of_coef or self.kernel is None
        other = self.coef if of_coef else self.values(self.centers) - self.offset
        return np.einsum("ig,ig->g", self.coef, other)


@dataclass(frozen=True, eq=False)
class NoSolution:
    """Columns of models without a solution: NaN."""

    n_columns: int = 1

    @property
    def finite(self) -> NDArray[np.bool_]:
        return np.zeros(self.n_columns, np.bool_)

    def values(self, X: Any) -> Array:
        return np.full((X.shape[0], self.n_columns), np.nan)


@dataclass(frozen=True, eq=False)
class Separate:
    """Functions that were trained one by one, of one or more columns."""

    functions: list[Any]

    @property
    def finite(self) -> NDArray[np.bool_]:
        return np.concatenate([f.finite for f in self.functions])

    def values(self, X: Any) -> Array:
        return np.hstack([f.values(X) for f in self.functions])


@dataclass(frozen=True, eq=False)
class Columns:
    """Functions with several values at a row: each has ``count`` of the columns of `functions`."""

    functions: Any
    count: int

    @property
    def finite(self) -> NDArray[np.bool_]:
        return np.all(self.functions.finite.reshape(-1, self.count), axis=1)

    def values(self, X: Any) -> Array:
        """Return the values at rows, shape (n, G, count)."""
        return np.reshape(self.functions.values(X), (X.shape[0], -1, self.count))

    def squared_norm(self) -> Array:
        """Return the mean squared norm of the columns of each function."""
        return np.mean(self.functions.squared_norm().reshape(-1, self.count), axis=1)


def one_by_one(
    problem: Any,
    solve: Callable[..., Any],
    prepare: Callable[[Any], Any] | None = None,
    order: Any = None,
    n_columns: int = 1,
) -> Any:
    """Return the functions that ``solve`` finds in problems of one model on its own rows.

    Models are solved in ``order``, by default that of their numbers. ``solve`` also gets what
    ``prepare`` returns for the data, once for successive models on the same rows. A function has
    ``n_columns``. A single model without a solution raises `FitError`.
    """
    G = problem.n_models
    functions: list[Any] = [NoSolution(n_columns)] * G
    data: Any = None
    prepared: list[Any] = []
    for done, g in enumerate(range(G) if order is None else order):
        own = problem.alone(g)
        if prepare and own.data is not data:
            prepared, data = [], own.data  # frees what was prepared before
            prepared = [prepare(data)]
        try:
            with part(done / G, (done + 1) / G):
                functions[g] = solve(own, *prepared)
        except FitError as error:
            if G == 1 or isinstance(error, MemoryLimitError):
                raise
    if G == 1:
        return functions[0]
    rows = {id(getattr(f, "centers", None)) for f in functions}
    if len(rows) > 1 or not isinstance(functions[0], Expansion):
        return Separate(functions)
    # on the same rows, which share their kernel values
    coef = np.hstack([f.coef for f in functions])
    return replace(functions[0], coef=coef, offset=np.array([f.offset for f in functions]))


def beside(parts: Sequence[Any]) -> Any:
    """Return functions that were trained in several passes as one, in order."""
    head = parts[0]
    if len(parts) == 1:
        return head
    if isinstance(head, TableValues):
        return TableValues([np.hstack(F) for F in zip(*(p.tables for p in parts), strict=True)])
    first = min(part.first for part in parts)
    coef = [np.pad(part.coef, ((part.first - first, 0), (0, 0), (0, 0))) for part in parts]
    return replace(head, coef=np.concatenate(coef, axis=2), first=first)
