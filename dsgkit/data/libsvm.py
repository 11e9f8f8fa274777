"""LIBSVM text: ``label index:value index:value ...``, indices from 1 and increasing."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.lines import number_problem

_INDEX = re.compile(rb"(\d+):")
_COMMENT = re.compile(rb"#[^\n]*")


def parse(data: bytes, n_features: int) -> tuple[Any, NDArray[np.float64]]:
    """Parse whole lines; blank lines and ``#`` comments are skipped.

    Parameters
    ----------
    data : bytes
        The lines.
    n_features : int
        Number of columns.

    Returns
    -------
    X : sparse CSR matrix of float32, shape (n_rows, n_features)
    labels : ndarray of float64, shape (n_rows,)

    Raises
    ------
    ValueError
        For anything wrong; `problem` says what, line by line.
    """
    from sklearn.datasets import load_svmlight_file

    X, labels = load_svmlight_file(
        BytesIO(data), n_features=n_features, dtype=np.float32, zero_based=False
    )
    if not np.isfinite(X.data).all():
        raise ValueError("a feature is not finite")
    return X, np.asarray(labels, np.float64)


def largest_index(data: bytes) -> int:
    """Return the largest feature index in some lines, 0 if there is none."""
    text = _COMMENT.sub(b"", data) if b"#" in data else data
    return max(map(int, _INDEX.findall(text)), default=0)


def problem(line: bytes, n_features: int) -> str | None:
    """Find what is wrong with one line, slowly and precisely.

    Returns
    -------
    str or None
        What is wrong, None if nothing is.
    """
    tokens = line.decode(errors="replace").partition("#")[0].split()
    if not tokens:
        return None
    label, *features = tokens
    if trouble := number_problem(label):
        return f"label {trouble}"
    previous = 0
    for token in features:
        if trouble := _feature_problem(token, previous, n_features):
            return trouble
        previous = int(token.partition(":")[0])
    return None


def _feature_problem(token: str, previous: int, n_features: int) -> str | None:
    index, colon, value = token.partition(":")
    if not colon or not index.isdecimal():
        return f"{token!r} is not index:value"
    if int(index) == 0:
        return f"feature index 0 in {token!r}; indices start at 1"
    if int(index) <= previous:
        return f"feature index {index} after {previous}; indices must increase"
    if int(index) > n_features:
        return f"feature index {index} is beyond the {n_features} features"
    trouble = number_problem(value)
    return f"feature {index}: {trouble}" if trouble else None
