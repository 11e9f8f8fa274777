"""Checks and conversions of the rows and labels that users pass to estimators."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from dsgkit.errors import DataError, NotFiniteError, warn
from dsgkit.linalg import row_blocks, spaced

Method = TypeVar("Method", bound=Callable[..., Any])

BLOCK_ROWS, BLOCK_ENTRIES = 8192, 2**23
"""Rows and entries that are checked at a time, at most."""

LARGEST_FEATURE = 2.0**500
"""Absolute value up to which sums of squared differences do not overflow."""


FAR_MEDIAN = 10
"""Standard deviations between medians above which rows count as scaled otherwise."""

CONSTANT = 1e-6
"""Standard deviation, relative to the largest value, of a column that varies by rounding alone."""

FEWEST_COMPARED, MOST_COMPARED = 20, 1000
"""Rows whose medians are compared. Of 20 rows of one distribution, all are on one side of its
median with a probability of 2e-6."""


class SparseRows:
    """Rows of a sparse matrix, made dense when they are read."""

    ndim = 2

    def __init__(self, matrix: Any) -> None:
        self._matrix = sparse.csr_array(matrix)
        self.shape = self._matrix.shape
        self.dtype = self._matrix.dtype

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, key: slice | NDArray[np.integer]) -> NDArray[Any]:
        return self._matrix[key].toarray()

    def take(self, key: NDArray[Any]) -> SparseRows:
        """Return some of the rows, still sparse."""
        return SparseRows(self._matrix[key])


def take(X: Any, mask: NDArray[np.bool_]) -> Any:
    """Return the rows of a mask, without reading lazy rows that have a method ``take``."""
    if isinstance(X, np.ndarray) or not hasattr(X, "take"):
        return X[mask]
    return X.take(np.flatnonzero(mask))


def as_rows(estimator: Any, X: Any, *, reset: bool, name: str = "X") -> Any:
    """Return rows in a form that solvers read: with ``shape``, a length and indexing by rows.

    Arrays, memory maps and lazy rows stay as they are. Data frames and lists become arrays, sparse
    matrices become `SparseRows`, and numbers of more than 64 bits are rounded to 64. The estimator
    stores the number and the names of the columns (``reset``), or compares with the stored ones.
    """
    try:
        lazy = _lazy(X)
        if lazy and _is_wide(getattr(X, "dtype", None)):
            raise ValueError(f"{name} has numbers of more than 64 bits; store them as float64")
        rows = X if lazy else _checked(X, name, estimator)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        text = re.sub(r"^X(?= )", name, " ".join(str(error).split()))
        raise DataError(text) from None
    return SparseRows(rows) if sparse.issparse(rows) else rows


def _checked(X: Any, name: str, estimator: Any = None) -> Any:
    """Return a data frame, list or array as an array; a sparse matrix stays sparse."""
    try:
        rows = check_array(
            X,
            accept_sparse=("csr", "csc", "coo"),
            ensure_all_finite=False,
            ensure_min_samples=0,
            input_name=name,
            estimator=estimator,
        )
        if rows.dtype.kind in "OUS":  # of columns that are categorical
            rows = rows.astype(np.float64)
    except ValueError as error:
        if "Reshape your data" in str(error):  # with all numbers before
            raise ValueError(
                f"{name} must have two dimensions, got shape {np.shape(X)}. Reshape your data: "
                "(-1, 1) for a single column, (1, -1) for a single row"
            ) from None
        raise ValueError(f"{error}{_column_of_text(X)}") from None
    if not rows.shape[0]:
        raise ValueError(f"{name} must hold at least one row: 0 sample(s) found")
    if _is_wide(rows.dtype):
        with np.errstate(over="ignore"):  # infinite values are refused later
            return rows.astype(np.float64)
    return rows


def _column_of_text(X: Any) -> str:
    """Return ``, in column 'a'`` for the first column of a data frame that holds no numbers."""
    for name in getattr(X, "columns", ()):
        try:
            np.asarray(X[name]).astype(np.float64)
        except (TypeError, ValueError):
            return f", in column {str(name)!r}"
    return ""


def _is_wide(dtype: Any) -> bool:
    """Return whether numbers have more than the 64 bits that solvers compute with."""
    return getattr(dtype, "kind", "") == "f" and dtype.itemsize > 8


def _lazy(X: Any) -> bool:
    """Return whether these are rows on disk, or another type that must not be copied or scanned."""
    if isinstance(X, np.ndarray):
        return isinstance(X, np.memmap) and X.ndim == 2
    rows = getattr(X, "ndim", None) == 2 and hasattr(X, "__len__") and hasattr(X, "__getitem__")
    return rows and not (sparse.issparse(X) or hasattr(X, "iloc") or hasattr(X, "columns"))


def as_labels(y: Any, n_rows: int, unlabeled_label: Any = None) -> NDArray[Any]:
    """Return one class label per row, or the mark of unlabelled rows, as an array."""
    if y is None:
        raise DataError("this estimator requires y to be passed, but the target y is None")
    try:
        labels = column_or_1d(y, warn=True)
        missing = _missing(labels)
        if missing.any():
            raise DataError(
                f"y contains NaN or None, first in row {missing.argmax()}: mark unlabelled rows "
                "by a label and name it by unlabeled_label, or pass them as X_unlabeled"
            )
        known = labels[labels != unlabeled_label] if labels.dtype == object else labels
        check_classification_targets(known if len(known) else labels)
    except (ValueError, TypeError) as error:
        raise DataError(" ".join(str(error).split())) from None
    if len(labels) != n_rows:
        raise DataError(
            f"y must hold one label per row of X: {len(labels)} labels, {n_rows} rows "
            "(inconsistent numbers of samples)"
        )
    return labels


def _missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which labels are NaN, None or pandas' NA."""
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    if labels.dtype != object:
        return np.zeros(len(labels), bool)
    nan = (v is None or type(v).__name__ == "NAType" or bool(v != v) for v in labels)
    return np.fromiter(nan, bool, len(labels))


def marked(labels: NDArray[Any], mark: Any) -> NDArray[np.bool_]:
    """Return which labels mark unlabelled rows."""
    found: NDArray[np.bool_] = labels == mark
    text = str(mark)
    if labels.dtype.kind in "OU" and not found.any() and (labels == text).any():
        raise DataError(
            f"y holds the text {text!r}, and unlabeled_label is a number: set "
            f"unlabeled_label={text!r} if those rows are unlabelled"
        )
    return found


def two_classes(labels: NDArray[Any], hint: str = "") -> NDArray[Any]:
    """Return the two distinct labels; the larger one, the last, is positive."""
    classes = np.unique(labels)
    if len(classes) != 2:
        raise DataError(
            "Only binary classification is supported: labels must hold exactly two classes, got "
            f"{len(classes)} class{'es' * (len(classes) != 1)}: {classes[:5].tolist()}{hint}"
        )
    return classes


def check_finite(rows: Any) -> None:
    """Raise `NotFiniteError` for rows with NaN or infinite values."""
    for _, block in _blocks(rows):
        if not np.isfinite(block).all():
            raise NotFiniteError


def _blocks(rows: Any) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the number of the first row of each block, and its rows."""
    size = max(1, min(BLOCK_ROWS, BLOCK_ENTRIES // max(1, rows.shape[1])))
    for block in row_blocks(len(rows), size):
        yield block.start, np.asarray(rows[block])


def naming_bad_rows(method: Method) -> Method:
    """Decorate a method so that its `NotFiniteError` names the array, the row and the column."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def call(*args: Any, **named: Any) -> Any:
        try:
            return method(*args, **named)
        except NotFiniteError:
            given = signature.bind(*args, **named).arguments
            for name, rows in {**given, **given.get("arrays", {})}.items():
                if name in ("X", "X_unlabeled", "X_similar") and rows is not None:
                    _refuse_not_finite(rows, name)
            raise

    return cast(Method, call)


def _refuse_not_finite(X: Any, name: str) -> None:
    """Raise `DataError` with the place of the first value that is NaN or infinite."""
    if name == "X_similar" and isinstance(X, list | tuple) and hasattr(X[0], "shape"):
        for number, half in enumerate(X):
            _refuse_not_finite(half, f"{name}[{number}]")
        return
    is_pairs = name == "X_similar" and np.ndim(X) == 3
    rows = X if _lazy(X) else _checked(np.concatenate(np.asarray(X)) if is_pairs else X, name)
    rows = SparseRows(rows) if sparse.issparse(rows) else rows
    text, n_bad = "", 0
    for start, block in _blocks(rows):
        finite = np.isfinite(block)
        bad = np.flatnonzero(~finite.all(axis=1))
        if len(bad) and not n_bad:
            row, column = int(bad[0]), int(finite[bad[0]].argmin())
            value = "NaN" if np.isnan(block[row, column]) else "an infinite value"
            place: Any = list(divmod(start + row, 2)) if is_pairs else start + row
            text = f"{name} holds {value} in row {place}, column {_column(X, column)}"
        n_bad += len(bad)
    if n_bad == 1:
        raise DataError(f"{text}: remove or replace that row")
    if n_bad:
        raise DataError(f"{text} ({n_bad:,} rows in all): remove or replace those rows")


def _column(X: Any, number: int) -> str:
    """Return a column's number, or its quoted name in a data frame."""
    return repr(str(X.columns[number])) if hasattr(X, "columns") else str(number)


def warn_of_scales(X: Any, U: Any, names: Any = None) -> None:
    """Warn if unlabelled rows seem to be on another scale than the labelled ones.

    That is, if a column's median in the unlabelled rows is beyond all labelled rows, and
    `FAR_MEDIAN` of their standard deviations from their median. Rows that are neither arrays nor
    sparse are not read.
    """
    if min(len(X), len(U)) < FEWEST_COMPARED or not isinstance(U, np.ndarray | SparseRows):
        return
    count = max(FEWEST_COMPARED, min(MOST_COMPARED, BLOCK_ENTRIES // U.shape[1]))
    labeled, unlabeled = (np.asarray(spaced(rows, count), np.float64) for rows in (X, U))
    with np.errstate(all="ignore"):  # what is not finite is refused where it is used
        middle, other, spread = np.median(labeled, 0), np.median(unlabeled, 0), labeled.std(axis=0)
        beyond = (other < labeled.min(axis=0)) | (other > labeled.max(axis=0))
        varies = spread > CONSTANT * np.abs(labeled).max(axis=0)
        away = np.isfinite(other) & (np.abs(other - middle) > FAR_MEDIAN * spread)
        far = np.flatnonzero(beyond & varies & away)
    if len(far):
        k = far[0]
        column = k if names is None else repr(str(names[k]))
        warn(
            f"X_unlabeled is on another scale than X: the median of column {column} is "
            f"{other[k]:.3g}, in X {middle[k]:.3g} with a standard deviation of {spread[k]:.3g} "
            f"({len(far):,} such columns): scale both alike (a Pipeline transforms X alone)"
        )


def check_distances(rows: Any) -> None:
    """Raise `DataError` for rows whose squared distances may overflow."""
    check_finite(rows)
    for _, block in _blocks(rows):
        if (np.abs(block.astype(np.float64, copy=False)) > LARGEST_FEATURE).any():
            raise DataError(
                f"features beyond {LARGEST_FEATURE:.1g} have no distances in double precision: "
                "scale them, e.g. to [0, 1]"
            )
