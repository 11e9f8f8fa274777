"""Blocks of parsed rows from the files of a dataset, with the place of every error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.data import delimited, libsvm
from dsgkit.data.catalogue import DatasetInfo
from dsgkit.data.find import FoundFile
from dsgkit.data.lines import BLANK, CAREFUL, ROW, Chunk, LineReader, Lines, check_rows, checked
from dsgkit.data.numbers import MOST_FEATURES, LineError
from dsgkit.errors import DataError

Block = tuple[NDArray[np.float32], NDArray[Any] | None]
Categories = Mapping[int, NDArray[Any]]
"""The values, in sorted order, of every categorical column, from 0."""

BLOCK_VALUES = 2**23
"""Values of the dense blocks that rows are read into."""

PLAIN_BYTES = 2**17
"""Bytes of lines from which on compiled code reads the plain ones; loading it takes a second."""

_ARFF_HEADER = re.compile(rb"(?:\s*[%@][^\n]*\n)*?\s*@data[^\n]*\n", re.IGNORECASE)

_SMALL_BYTES, _MOST_SPREAD = 2**28, 1000
"""Bytes that rows may always take, and how many times those of their text they may."""


class Table(Protocol):
    """Rows to be filled from as many lines; each format has its own."""

    def read_plain(self, lines: Lines) -> NDArray[np.uint8]:
        """Read the plain lines fast; return which ones are `ROW`, `BLANK` or `CAREFUL`."""

    def read_line(self, i: int, line: bytes) -> bool:
        """Read any line; return whether it has a row. It alone raises a `LineError`."""


TableT = TypeVar("TableT", bound=Table)


def read_blocks(
    source: FoundFile, info: DatasetInfo, categories: Categories | None = None
) -> Iterator[Block]:
    """Read one file as blocks of rows.

    Parameters
    ----------
    source : FoundFile
        The file.
    info : DatasetInfo
        How to read it; ``n_features`` must be known.
    categories : mapping, optional
        What `find_categories` found.

    Yields
    ------
    X : ndarray of float32, shape (n_block, n_features)
    labels : ndarray of float64 or of text, shape (n_block,), or None in a file without labels

    Raises
    ------
    DataError
        With file and line for a malformed line; for an empty file, an unexpected number of rows
        and a wrong checksum.
    """
    reader = LineReader(source)
    n_rows = 0
    with closing(iter(reader)) as chunks:
        for table, rows in _tables(source, info, categories or {}, chunks):
            block = table.finish(rows)
            n_rows += len(block[0])
            yield block
    check_rows(source, n_rows)
    reader.check_sha256()


def _tables(
    source: FoundFile, info: DatasetInfo, categories: Categories, chunks: Iterator[Chunk]
) -> Iterator[tuple[libsvm.Table | delimited.Table, NDArray[np.bool_]]]:
    """Yield the tables that are filled from a file, with which of their rows are filled."""
    assert info.n_features is not None
    n_features = info.n_features
    if info.loader == "libsvm":
        return _filled(source, chunks, lambda n: libsvm.Table(n_features, n), n_features)
    chunks, first = _skip_header(source, chunks, info.header)
    n_labels = 0 if _labels_apart(source, info) else len(info.label_columns)
    n_columns = n_features - sum(len(values) - 1 for values in categories.values())
    n_columns += n_labels + len(info.ignored)
    columns = _layout(source, info, first, n_columns, categories)
    return _filled(source, chunks, lambda n: delimited.Table(columns, n), columns.n_values)


def _filled(
    source: FoundFile, chunks: Iterator[Chunk], table: Callable[[int], TableT], n_values: int
) -> Iterator[tuple[TableT, NDArray[np.bool_]]]:
    """Fill tables from chunks; a row of them takes so many values."""
    for chunk in chunks:
        is_large = len(chunk.data) >= PLAIN_BYTES
        for lines in Lines.of(chunk).parts(max(1, BLOCK_VALUES // max(1, n_values))):
            filled = table(len(lines))
            state = np.full(len(lines), CAREFUL, np.uint8)
            if is_large:
                state = filled.read_plain(lines)
            for i in np.flatnonzero(state == CAREFUL).tolist():
                with _located(source, lines.first_line + i):
                    state[i] = ROW if filled.read_line(i, lines[i]) else BLANK
            yield filled, state == ROW


@contextmanager
def _located(source: FoundFile, line: int) -> Iterator[None]:
    """Put file and line before what is wrong with a line."""
    try:
        yield
    except LineError as error:
        raise DataError(f"{source.label}:{line}: {error}") from error


def read_labels(source: FoundFile, info: DatasetInfo) -> NDArray[Any]:
    """Read a file that holds one label a line."""
    alone = replace(
        info,
        n_features=0,
        label_columns=(0,),
        categorical=(),
        values={},
        ignored=(),
        loader="delimited",
        header=False,
    )
    return np.concatenate([y for _, y in read_blocks(source, alone) if y is not None])


def find_categories(sources: Sequence[FoundFile], info: DatasetInfo) -> Categories:
    """Find the values of the categorical columns in all files; these are read once for it.

    Raises
    ------
    DataError
        As `read_blocks`.
    """
    if not info.categorical:
        return {}
    found: dict[int, set[str]] = {}
    for source in sources:
        if not source.file.part.endswith("_labels"):
            for column, values in _categories_of(source, info):
                found.setdefault(column, set()).update(values)
    return {column: np.array(sorted(values)) for column, values in found.items()}


def _categories_of(source: FoundFile, info: DatasetInfo) -> Iterator[tuple[int, set[str]]]:
    with closing(iter(LineReader(source))) as all_chunks:
        chunks, first = _skip_header(source, all_chunks, info.header)
        n_columns = _n_columns(source, info, first)
        categorical = _places(source, "categorical", info.categorical, n_columns)
        unknown = dict.fromkeys(categorical, np.array([]))
        columns = _layout(source, info, first, n_columns, unknown)
        for table, _ in _filled(
            source, chunks, lambda n: delimited.Categories(columns, n), columns.n_values
        ):
            yield from table.found.items()


def count_features(sources: Sequence[FoundFile], info: DatasetInfo, categories: Categories) -> int:
    """Find the number of features of files that are not known beforehand.

    The largest index in LIBSVM files (all of them are read once), the columns of the first row
    in delimited ones.

    Raises
    ------
    DataError
        With file and line for an index beyond all reason.
    """
    if info.loader == "libsvm":
        return _largest_index(sources)
    with closing(iter(LineReader(sources[0]))) as chunks:
        _, first = _skip_header(sources[0], chunks, info.header)
    n_columns = _n_columns(sources[0], info, first)
    return _layout(sources[0], info, first, n_columns, categories).n_features if n_columns else 0


def _largest_index(sources: Sequence[FoundFile]) -> int:
    """Return the largest index of LIBSVM files, unless it cannot be meant.

    Only the last index of a line is looked for: a line whose indices do not increase is told when
    it is read.
    """
    largest, place, n_lines, n_bytes = 0, "", 0, 0
    for source in sources:
        for chunk in LineReader(source):
            lines = Lines.of(chunk)
            n_lines += len(lines)
            n_bytes += len(chunk.data)
            indices = _last_indices(source, lines, len(chunk.data) >= PLAIN_BYTES)
            i = int(indices.argmax())
            if indices[i] > largest:
                largest, place = int(indices[i]), f"{source.label}:{lines.first_line + i}"
            if largest > MOST_FEATURES:
                raise DataError(
                    f"{place}: an index asks for {largest:,} features; rows are kept dense, with "
                    f"at most {MOST_FEATURES:,}"
                )
    if 4 * largest * n_lines > max(_SMALL_BYTES, _MOST_SPREAD * n_bytes):
        raise DataError(
            f"{place}: an index asks for {largest:,} features; rows are kept dense, and these "
            f"{n_lines:,} would take over {_MOST_SPREAD:,} times the size of their text: if the "
            "index is meant, say `dataset.n_features`"
        )
    return largest


def _last_indices(source: FoundFile, lines: Lines, is_large: bool) -> NDArray[np.int64]:
    if is_large:
        from dsgkit.data.plain import last_indices

        indices = last_indices(lines)
    else:
        indices = np.full(len(lines), libsvm.CAREFUL_INDEX)
    for i in np.flatnonzero(indices == libsvm.CAREFUL_INDEX).tolist():
        with _located(source, lines.first_line + i):
            indices[i] = libsvm.last_index(lines[i])
    return indices


def _n_columns(source: FoundFile, info: DatasetInfo, first: tuple[int, bytes]) -> int:
    """Return the number of columns of a line, given with its number."""
    line, content = first
    with _located(source, line):
        return len(delimited.split(content, _delimiter(info, content)))


def _layout(
    source: FoundFile,
    info: DatasetInfo,
    first: tuple[int, bytes],
    n_columns: int,
    categories: Categories,
) -> delimited.Columns:
    """Return how the columns of a file are laid out, `first` being its first line."""
    delimiter = _delimiter(info, first[1])
    ignored = _places(source, "ignored", info.ignored, n_columns)
    recoded = _places(source, "values", tuple(info.values), n_columns)
    values = dict(zip(recoded, info.values.values(), strict=True))
    labels: tuple[int, ...] = ()
    if not _labels_apart(source, info):
        labels = _places(source, "label_column", info.label_columns, n_columns)
        if info.text_labels and len(labels) > 1:
            raise DataError(f"{source.label}: labels that are text have no mean; take one column")
        for column in set(labels) & set(categories):
            raise DataError(f"{source.label}: column {column + 1} is of the label, not categorical")
    text_labels = info.text_labels and bool(labels)
    return delimited.Columns(n_columns, delimiter, labels, text_labels, categories, values, ignored)


def _places(source: FoundFile, key: str, columns: Sequence[int], n_columns: int) -> tuple[int, ...]:
    """Return columns counted from the first one, where negative numbers count from the end."""
    for column in columns:
        if not -n_columns <= column < n_columns:
            raise DataError(f"{source.label}: {key} {column} of a file with {n_columns} columns")
    places = tuple(column % n_columns for column in columns)
    if len(set(places)) < len(places):
        raise DataError(f"{source.label}: {key} names one of the {n_columns} columns twice")
    return places


def _labels_apart(source: FoundFile, info: DatasetInfo) -> bool:
    return any(file.part == f"{source.file.part}_labels" for file in info.files)


def _delimiter(info: DatasetInfo, first: bytes) -> str | None:
    delimiter = info.delimiter or delimited.guess_delimiter(first)
    return None if delimiter == " " else delimiter


def _skip_header(
    source: FoundFile, chunks: Iterator[Chunk], header: bool
) -> tuple[Iterator[Chunk], tuple[int, bytes]]:
    """Cut the header off; return the other lines and, beside them, the first one with its number.

    Blank lines are none.
    """
    chunk = next(chunks, Chunk(b"", 1))
    if header:
        chunk = _drop_header(source, chunk)
    while not chunk.data.strip() and (following := next(chunks, None)):
        chunk = following
    number, start, end = _first_line(chunk)
    return chain([chunk], chunks), (number, chunk.data[start:end])


def _drop_header(source: FoundFile, chunk: Chunk) -> Chunk:
    """Return a chunk without its first line that is not blank, or without an ARFF header."""
    number, start, end = _first_line(chunk)
    with _located(source, number):
        checked(chunk.data[start:end])
    arff = _ARFF_HEADER.match(chunk.data)
    end = arff.end() if arff else min(end + 1, len(chunk.data))
    return Chunk(chunk.data[end:], chunk.first_line + chunk.data.count(b"\n", 0, end))


def _first_line(chunk: Chunk) -> tuple[int, int, int]:
    """Return the number of the first line that is not blank, and where it begins and ends."""
    start = len(chunk.data) - len(chunk.data.lstrip())
    end = chunk.data.find(b"\n", start)
    number = chunk.first_line + chunk.data.count(b"\n", 0, start)
    return number, start, len(chunk.data) if end < 0 else end
