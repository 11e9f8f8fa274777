"""Compiled parser for plain lines of LIBSVM text, which are most lines of most files.

Wrong or unusual lines are left to `libsvm.Table.read_line`, which reads plain lines with the same
result.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.libsvm import CAREFUL_INDEX
from dsgkit.data.lines import BLANK_LINE, CAREFUL_LINE, ROW_LINE, Lines
from dsgkit.data.scan import ONE, read_number
from dsgkit.numerics.arrays import Array, Single
from dsgkit.system.jit import exact, exact_nogil
from dsgkit.system.threads import available_threads

_MAX_DIGITS = np.uint64(9)
_TAB, _LINE_FEED, _RETURN, _SPACE, _COMMENT, _COLON = b"\t\n\r #:"


def libsvm_lines(lines: Lines, X: Single, labels: NDArray[Any]) -> NDArray[np.uint8]:
    """Read the plain lines of LIBSVM text.

    Parameters
    ----------
    lines : Lines
        The lines.
    X : ndarray of float32, shape (n_lines, n_features)
        Zeros; filled with the features. Rows of lines for the careful parser may be filled in part.
    labels : ndarray of float64, shape (n_lines,)
        Filled.

    Returns
    -------
    ndarray of uint8, shape (n_lines,)
        The kind of each line.
    """
    return _shared(_libsvm, lines, np.uint8, X, labels)


def last_indices(lines: Lines) -> NDArray[np.int64]:
    """Return `libsvm.last_index` of each line, or CAREFUL_INDEX if the line is not plain."""
    commented = b"#" in lines.data
    return _shared(lambda *arrays: _last_indices(commented, *arrays), lines, np.int64, lines.ends)


def _shared(kernel: Callable[..., None], lines: Lines, dtype: Any, *outputs: NDArray[Any]) -> Any:
    """Run a kernel on shares of the lines in threads; return its number per line."""
    data = np.frombuffer(lines.data, np.uint8)
    state = np.empty(len(lines), dtype)
    arrays = (lines.starts, *outputs, state)
    n_threads = available_threads()
    cuts = [len(lines) * i // n_threads for i in range(n_threads + 1)]
    with ThreadPoolExecutor(n_threads) as threads:
        for done in [
            threads.submit(kernel, data, *(array[start:stop] for array in arrays))
            for start, stop in pairwise(cuts)
        ]:
            done.result()
    return state


@exact_nogil
def _libsvm(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    X: Single,
    labels: Array,
    state: NDArray[np.uint8],
) -> None:
    for i in range(len(starts)):
        state[i] = _libsvm_line(data, np.uint64(starts[i]), X, labels, i)


@exact
def _libsvm_line(data: NDArray[np.uint8], at: Any, X: Single, labels: Array, i: int) -> int:
    at = _after_blanks(data, at)
    if _may_end(data[at]):
        return BLANK_LINE if _ends(data, at) else CAREFUL_LINE
    found, value, at = read_number(data, at)
    if not found:
        return CAREFUL_LINE
    labels[i] = value
    previous = np.uint64(0)
    while _is_blank(data[at]):
        at = _after_blanks(data, at)
        if _may_end(data[at]):
            break
        index, at = _read_index(data, at)
        if data[at] != _COLON or index <= previous or index > np.uint64(X.shape[1]):
            return CAREFUL_LINE
        found, value, at = read_number(data, at + ONE)
        single = np.float32(value)
        if not found or not np.isfinite(single):
            return CAREFUL_LINE
        X[i, index - ONE] = single + np.float32(0)  # a zero that is left out has no sign either
        previous = index
    return ROW_LINE if _ends(data, at) else CAREFUL_LINE


@exact_nogil
def _last_indices(
    commented: bool,
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    last: NDArray[np.int64],
) -> None:
    for i in range(len(starts)):
        start, end = np.uint64(starts[i]), np.uint64(ends[i])
        if commented:
            end = _before_comment(data, start, end)
        last[i] = _last_index(data, start, end)


@exact
def _before_comment(data: NDArray[np.uint8], start: Any, end: Any) -> Any:
    at = start
    while at < end and data[at] != _COMMENT:
        at += ONE
    return at


@exact
def _last_index(data: NDArray[np.uint8], start: Any, end: Any) -> Any:
    """Return the last index between two positions, searched from the end."""
    at = end
    while at > start and data[at - ONE] != _COLON:
        at -= ONE
    if at == start:
        return 0
    colon = at - ONE
    first = colon
    while first > start and 48 <= data[first - ONE] <= 57:
        first -= ONE
    if first == colon or colon - first > _MAX_DIGITS:
        return CAREFUL_INDEX
    index, _ = _read_index(data, first)
    return np.int64(index)


@exact
def _read_index(data: NDArray[np.uint8], at: Any) -> Any:
    """Read an index, 0 if there is none; return it and the position after its first digits."""
    stop = at + _MAX_DIGITS
    index = np.uint64(0)
    while at < stop and 48 <= data[at] <= 57:
        index = np.uint64(10) * index + np.uint64(data[at] - np.uint8(48))
        at += ONE
    return index, at


@exact
def _is_blank(byte: int) -> bool:
    return (byte == _SPACE) | (byte == _TAB)


@exact
def _after_blanks(data: NDArray[np.uint8], at: Any) -> Any:
    while _is_blank(data[at]):
        at += ONE
    return at


@exact
def _may_end(byte: int) -> bool:
    return (byte == _LINE_FEED) | (byte == _RETURN) | (byte == _COMMENT)


@exact
def _ends(data: NDArray[np.uint8], at: Any) -> bool:
    """Return whether only a comment, or carriage returns, follow until the line's end."""
    if data[at] == _COMMENT:
        while data[at] != _LINE_FEED and data[at] != _RETURN and data[at] != 0:
            at += ONE
    while data[at] == _RETURN:
        at += ONE
    return data[at] == _LINE_FEED
