"""Linear systems, quadratic programs, and rows in blocks.

SciPy is imported where it is needed: opening data reads rows, and needs none.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DataError, FitError, TimeLimitError

Array = NDArray[np.float64]
Single = NDArray[np.float32]

EIGH_FLOPS = 5.0  # time of an eigendecomposition of size n, in n^3 operations of a matrix product
MAPPED_BYTES = 2**26  # size of the largest memory map that is read like an array
_BLOCK_BYTES, _SCATTERED_ROWS = 2**24, 16  # of neighbouring and of scattered rows, read at a time


def eigh(matrix: Array) -> tuple[Array, Array]:
    """Return the eigendecomposition of a positive semi-definite matrix, which is overwritten."""
    from scipy import linalg

    spectrum, vectors = linalg.eigh(
        matrix, lower=True, overwrite_a=True, check_finite=False, driver="evd"
    )
    return np.maximum(spectrum, 0), vectors


def eigh_memory(n: int) -> int:
    """Return the bytes of the eigendecomposition of an n x n matrix, including work space."""
    return 3 * 8 * n * n


def solve_qp(
    quadratic: Any,
    linear: Array,
    equal: tuple[Any, Array],
    at_most: tuple[Any, Array],
    *,
    max_seconds: float | None = None,
    dense: bool = False,
) -> Array:
    """Return the x that minimises ``x'P x/2 + q'x`` subject to ``A x = b`` and ``G x <= h``.

    By Clarabel: OSQP takes 10,000 iterations for SU-DH, and PIQP is three times as slow. Arguments
    are P (sparse; the upper triangle is read), q, (A, b) and (G, h). With dense parts of P, A or G
    set ``dense``: the matrix is then factorised by blocks.
    """
    import clarabel  # slow to import, and rarely needed
    from scipy import sparse

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.equilibrate_enable = False  # it would undo a scale of the objective
    settings.direct_solve_method = "faer" if dense else "qdldl"
    if max_seconds is not None:
        settings.time_limit = max_seconds
    constraints = sparse.vstack([equal[0], at_most[0]], format="csc")
    cones = [clarabel.ZeroConeT(len(equal[1])), clarabel.NonnegativeConeT(len(at_most[1]))]
    bounds = np.concatenate([equal[1], at_most[1]])
    upper = sparse.triu(quadratic, format="csc")
    solution = clarabel.DefaultSolver(upper, linear, constraints, bounds, cones, settings).solve()
    status = str(solution.status)
    if status == "MaxTime":
        raise TimeLimitError(f"the quadratic program took longer than {max_seconds:g} s")
    if status not in ("Solved", "AlmostSolved"):
        raise FitError(f"the quadratic program has no solution that can be computed: {status}")
    return np.asarray(solution.x, np.float64)


def fixed(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def read_rows(table: Any, index: slice | NDArray[np.integer]) -> Single:
    """Copy rows in the format of the compiled kernels: writable, C-contiguous, float32.

    Slices are copied, too: kernels would be compiled again for a read-only array. A row of a
    memory map takes up to 2 MiB around it into memory, and these count as the process's. So a large
    map is read in blocks, whose pages are given back.
    """
    is_map = isinstance(table, np.memmap) and table.mode == "r"  # changes of "c" are in memory only
    if not is_map or table.nbytes <= MAPPED_BYTES:
        return np.array(table[index], np.float32, order="C", subok=False)
    if isinstance(index, slice) and index.step in (None, 1):
        start, stop, _ = index.indices(len(table))
        n_rows, size = max(0, stop - start), max(1, _BLOCK_BYTES * len(table) // table.nbytes)
        places: Any = [slice(start + k.start, start + k.stop) for k in row_blocks(n_rows, size)]
    else:
        rows = np.arange(*index.indices(len(table))) if isinstance(index, slice) else index
        n_rows, size = len(rows), _SCATTERED_ROWS
        places = [rows[k] for k in row_blocks(n_rows, size)]
    out = np.empty((n_rows, table.shape[1]), np.float32)
    for block, place in zip(row_blocks(n_rows, size), places, strict=True):
        out[block] = table[place]
        table._mmap.madvise(mmap.MADV_DONTNEED)
    return out


def row_blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` rows, or models, that cover all in order."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def spaced(X: Any, count: int) -> Any:
    """Return at most ``count`` rows, evenly spaced, as the rows may be sorted."""
    n = len(X)
    return X[np.arange(n)] if n <= count else X[np.arange(count) * n // count]


def rows_at(tables: Sequence[Any], positions: NDArray[np.integer]) -> Array:
    """Return rows by their ascending positions in the tables, one after the other."""
    ends = np.cumsum([len(X) for X in tables])
    parts = np.split(positions, np.searchsorted(positions, ends[:-1]))
    starts = ends - [len(X) for X in tables]
    drawn = zip(tables, parts, starts, strict=True)
    return np.concatenate([np.asarray(X[at - start], np.float64) for X, at, start in drawn])


def training_rows(held_out: NDArray[np.integer], n_rows: int) -> NDArray[np.int64]:
    """Return the rows outside a fold, in order; refuse a fold that is no array of positions."""
    try:
        positions = np.asarray(held_out)
        valid = positions.ndim == 1 and positions.dtype.kind in "iu"
        valid = valid and (not len(positions) or 0 <= positions.min() <= positions.max() < n_rows)
    except ValueError:  # arrays of several lengths
        valid = False
    if not valid:
        raise DataError(
            f"a fold must be an array of held-out positions in 0..{n_rows - 1}, such as "
            "[test for _, test in StratifiedKFold(5).split(X, y)]"
        )
    return np.setdiff1d(np.arange(n_rows), positions)


def checked_shape(values: Any, method: str, *shapes: tuple[int, ...]) -> NDArray[Any]:
    """Return a method's result as an array; refuse shapes that would be broadcast silently."""
    array = np.asarray(values)
    if array.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise FitError(f"{method} must return values of shape {expected}, got {array.shape}")
    return array
