"""Plain lines of text files, compiled: most lines of most files, and nothing that needs a message.

A line that is not plain in any way, wrong or only unusual, is left to the careful parser of its
format. What is read here, the careful parser would read in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit._jit import exact, exact_nogil
from dsgkit.data.libsvm import CAREFUL_INDEX
from dsgkit.data.lines import BLANK, CAREFUL, ROW, Lines
from dsgkit.data.scan import read_number
from dsgkit.threads import available_threads

NUMBER, LABEL, WORD, IGNORED = 0, 1, 2, 3
"""What a column of a delimited file is."""

WORD_BYTES = 32
"""Bytes of a text up to which it is plain."""

_MOST_DIGITS = 9
_TAB, _RETURN, _SPACE, _QUOTE, _COMMENT, _COLON = b'\t\r "#:'


def libsvm_lines(lines: Lines, X: NDArray[np.float32], labels: NDArray[Any]) -> NDArray[np.uint8]:
    """Read the plain ones of some LIBSVM lines.

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
        What each line is.
    """
    return _shared(_libsvm, lines, np.uint8, X, labels)


def largest_indices(lines: Lines) -> NDArray[np.int64]:
    """Return what `libsvm.largest_index` does for each line; CAREFUL_INDEX if not plain."""
    return _shared(_largest_indices, lines, np.int64)


def delimited_lines(
    lines: Lines,
    delimiter: str | None,
    kinds: NDArray[np.int64],
    places: NDArray[np.int64],
    X: NDArray[np.float32],
    labels: NDArray[np.float64],
    words: NDArray[np.uint8],
) -> NDArray[np.uint8]:
    """Read the plain ones of some lines of delimited text.

    Parameters
    ----------
    lines : Lines
        The lines.
    delimiter : str or None
        One character that is part of no number; None for white space.
    kinds, places : ndarray of int64, shape (n_columns,)
        What each column is, and its place in the array that it goes to.
    X : ndarray of float32, shape (n_lines, n_features)
        Filled with the features that are numbers.
    labels : ndarray of float64, shape (n_lines, n_labels)
        Filled with the labels that are numbers.
    words : ndarray of uint8, shape (n_lines, n_words, WORD_BYTES)
        Zeros; filled with the columns that are text.

    Returns
    -------
    ndarray of uint8, shape (n_lines,)
        What each line is.
    """
    separator = _SPACE if delimiter is None else ord(delimiter)
    return _shared(
        lambda *arrays: _delimited(separator, kinds, places, *arrays),
        *(lines, np.uint8, X, labels, words),
    )


def _shared(kernel: Callable[..., None], lines: Lines, dtype: Any, *outputs: NDArray[Any]) -> Any:
    """Fill arrays of a row per line in threads; return one of a number per line."""
    data = np.frombuffer(lines.data, np.uint8)
    state = np.empty(len(lines), dtype)
    arrays = (lines.starts, lines.ends, *outputs, state)
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
    ends: NDArray[np.int64],
    X: NDArray[np.float32],
    labels: NDArray[np.float64],
    state: NDArray[np.uint8],
) -> None:
    for i in range(len(starts)):
        state[i] = _libsvm_line(data, starts[i], ends[i], X, labels, i)


@exact
def _libsvm_line(
    data: NDArray[np.uint8],
    at: int,
    end: int,
    X: NDArray[np.float32],
    labels: NDArray[np.float64],
    i: int,
) -> int:
    end = _stripped(data, at, end)
    at = _after_blanks(data, at, end)
    if at == end or data[at] == _COMMENT:
        return BLANK if _is_text(data, at, end) else CAREFUL
    found, value, at = read_number(data, at, end)
    if not found:
        return CAREFUL
    labels[i] = value
    previous = 0
    while at < end:
        if not _is_blank(data[at]):
            return CAREFUL
        at = _after_blanks(data, at, end)
        if at < end and data[at] == _COMMENT:
            return ROW if _is_text(data, at, end) else CAREFUL
        index, at = _read_index(data, at, end)
        if at == end or data[at] != _COLON or index <= previous or index > X.shape[1]:
            return CAREFUL
        found, value, at = read_number(data, at + 1, end)
        single = np.float32(value)
        if not found or not np.isfinite(single):
            return CAREFUL
        X[i, index - 1] = single + np.float32(0)  # a zero that is left out has no sign either
        previous = index
    return ROW


@exact_nogil
def _largest_indices(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    largest: NDArray[np.int64],
) -> None:
    for i in range(len(starts)):
        largest[i] = _largest_index(data, starts[i], ends[i])


@exact
def _largest_index(data: NDArray[np.uint8], at: Any, end: int) -> Any:
    largest: Any = 0
    index: Any = 0
    start = at
    while at < end and data[at] != _COMMENT:
        if 48 <= data[at] <= 57:
            index = 10 * index + np.int64(data[at]) - 48
        else:
            if data[at] == _COLON:
                if at - start > _MOST_DIGITS:
                    return CAREFUL_INDEX
                largest = max(largest, index)
            index, start = 0, at + 1
        at += 1
    return largest


@exact_nogil
def _delimited(
    separator: int,
    kinds: NDArray[np.int64],
    places: NDArray[np.int64],
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    X: NDArray[np.float32],
    labels: NDArray[np.float64],
    words: NDArray[np.uint8],
    state: NDArray[np.uint8],
) -> None:
    for i in range(len(starts)):
        state[i] = _delimited_line(
            separator, kinds, places, data, starts[i], ends[i], X, labels, words, i
        )


@exact
def _delimited_line(
    separator: int,
    kinds: NDArray[np.int64],
    places: NDArray[np.int64],
    data: NDArray[np.uint8],
    at: int,
    end: int,
    X: NDArray[np.float32],
    labels: NDArray[np.float64],
    words: NDArray[np.uint8],
    i: int,
) -> int:
    while end > at and data[end - 1] == _RETURN:
        end -= 1
    if _after_blanks(data, at, end) == end:
        return BLANK
    if separator == _SPACE:
        end = _stripped(data, at, end)
    for column in range(len(kinds)):
        at = _after_spaces(data, at, end, separator)
        kind, place = kinds[column], places[column]
        if kind in (NUMBER, LABEL):
            found, value, at = read_number(data, at, end)
            if not found:
                return CAREFUL
            if kind == LABEL:
                labels[i, place] = value
            else:
                single = np.float32(value)
                if not np.isfinite(single):
                    return CAREFUL
                X[i, place] = single
        else:
            start = at
            at = _after_word(data, at, end, separator)
            stop = at
            while stop > start and data[stop - 1] == _SPACE:
                stop -= 1
            if stop == start:
                return CAREFUL
            if kind == WORD:
                if stop - start > words.shape[2]:
                    return CAREFUL
                for k in range(stop - start):
                    words[i, place, k] = data[start + k]
        following = _after_spaces(data, at, end, separator)
        if column == len(kinds) - 1:
            return ROW if following == end else CAREFUL
        if separator == _SPACE:
            if following in (at, end):
                return CAREFUL
            at = following
        else:
            if following == end or data[following] != separator:
                return CAREFUL
            at = following + 1
    return CAREFUL


@exact
def _after_word(data: NDArray[np.uint8], at: int, end: int, separator: int) -> int:
    """Return where a text ends: at the separator, or at a byte that is not plain."""
    while at < end and data[at] != separator:
        if data[at] < _SPACE or data[at] > 126 or data[at] == _QUOTE:
            return at
        at += 1
    return at


@exact
def _after_spaces(data: NDArray[np.uint8], at: int, end: int, separator: int) -> int:
    """Return the place of the next byte that is no blank; a tab that separates is none."""
    while at < end and (data[at] == _SPACE or (data[at] == _TAB and separator != _TAB)):
        at += 1
    return at


@exact
def _read_index(data: NDArray[np.uint8], at: Any, end: int) -> Any:
    """Read an index; it is 0 if there is none, and one of many digits ends too early."""
    stop = min(end, at + _MOST_DIGITS)
    index: Any = 0
    while at < stop and 48 <= data[at] <= 57:
        index = 10 * index + np.int64(data[at]) - 48
        at += 1
    return index, at


@exact
def _is_blank(byte: int) -> bool:
    return byte in (_SPACE, _TAB)


@exact
def _after_blanks(data: NDArray[np.uint8], at: int, end: int) -> int:
    while at < end and _is_blank(data[at]):
        at += 1
    return at


@exact
def _stripped(data: NDArray[np.uint8], at: int, end: int) -> int:
    """Return where a line ends without the blanks and carriage returns at its end."""
    while end > at and data[end - 1] == _RETURN:
        end -= 1
    while end > at and _is_blank(data[end - 1]):
        end -= 1
    return end


@exact
def _is_text(data: NDArray[np.uint8], at: int, end: int) -> bool:
    """Tell whether a comment holds neither carriage returns nor NUL bytes."""
    while at < end and data[at] not in (0, _RETURN):
        at += 1
    return at == end
