"""Checks and conversions of the rows and labels that users pass to estimators."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from dsgkit.errors import DataError
from dsgkit.linalg import row_blocks

BLOCK_ROWS = 8192
"""Rows that are checked at a time."""

LARGEST_FEATURE = 2.0**500
"""Absolute value up to which sums of squared differences do not overflow."""


class SparseRows:
    """Rows of a sparse matrix, made dense when they are read.

    Parameters
    ----------
    matrix : sparse matrix or array of shape (n, n_inputs)
    """

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
    lazily = getattr(X, "take", None) if not isinstance(X, np.ndarray) else None
    return lazily(np.flatnonzero(mask)) if lazily else X[mask]


def as_rows(estimator: Any, X: Any, *, reset: bool, name: str = "X") -> Any:
    """Return rows in a form that solvers read: with ``shape``, a length and indexing by rows.

    Arrays, memory maps and lazy rows stay as they are. Data frames and lists become arrays, sparse
    matrices become `SparseRows`, and numbers of more than 64 bits are rounded to 64.

    Parameters
    ----------
    estimator : estimator
        Stores the number and the names of the columns.
    X : array-like, sparse matrix or lazy rows, of shape (n, n_inputs)
    reset : bool
        Whether to store the columns, as in a fit, rather than compare with the stored ones.
    name : str
        Name of the argument in messages.

    Raises
    ------
    DataError
        If ``X`` is not two-dimensional, or has other columns than in the fit.
    TypeError
        If an entry is not a number.
    """
    try:
        lazy = _lazy(X)
        if lazy and _is_wide(getattr(X, "dtype", None)):
            raise ValueError(f"{name} has numbers of more than 64 bits; store them as float64")
        rows = X if lazy else _checked(estimator, X, name)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        text = re.sub(r"^X(?= )", name, " ".join(str(error).split()))
        raise DataError(text) from None
    return SparseRows(rows) if sparse.issparse(rows) else rows


def _checked(estimator: Any, X: Any, name: str) -> Any:
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
    """Return labels as a one-dimensional array.

    Raises
    ------
    DataError
        If these, but for the mark of unlabelled rows, are not class labels, or their number is not
        that of the rows.
    """
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
    """Return the two distinct labels; the larger one, the last, is positive.

    Raises
    ------
    DataError
        If there are not exactly two.
    """
    classes = np.unique(labels)
    if len(classes) != 2:
        raise DataError(
            "Only binary classification is supported: labels must hold exactly two classes, got "
            f"{len(classes)} class{'es' * (len(classes) != 1)}: {classes[:5].tolist()}{hint}"
        )
    return classes


def check_finite(rows: Any) -> None:
    """Raise `DataError` for rows with NaN or infinite values."""
    for block in row_blocks(len(rows), BLOCK_ROWS):
        if not np.isfinite(np.asarray(rows[block])).all():
            raise DataError("features hold NaN or infinite values; remove or replace those rows")


def check_distances(rows: Any) -> None:
    """Raise `DataError` for rows whose squared distances may overflow."""
    check_finite(rows)
    for block in row_blocks(len(rows), BLOCK_ROWS):
        if (np.abs(np.asarray(rows[block], np.float64)) > LARGEST_FEATURE).any():
            raise DataError(
                f"features beyond {LARGEST_FEATURE:.1g} have no distances in double precision: "
                "scale them, e.g. to [0, 1]"
            )
