"""Reading of a dataset's files as blocks of rows, with file and line in every error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.data import delimited, libsvm
from dsgkit.data.catalogue import DatasetInfo
from dsgkit.data.find import FoundFile
from dsgkit.data.headers import Start, fields_of, located, start_of
from dsgkit.data.lines import (
    BLANK_LINE,
    CAREFUL_LINE,
    ROW_LINE,
    Chunk,
    LineReader,
    Lines,
    check_rows,
)
from dsgkit.data.names import column_name, is_missing, key_of
from dsgkit.data.numbers import MAX_FEATURES, LineError, MissingValueError
from dsgkit.errors import DataError, spelled
from dsgkit.numerics.arrays import Single

Block = tuple[Single, NDArray[Any] | None]
Categories = Mapping[int, NDArray[Any]]
"""The sorted values of every categorical column, by its position from 0."""

BLOCK_VALUES = 2**23
"""Number of values in a dense block of rows."""

MAX_COUNTED_ROWS = 200_000
"""Number of rows in which missing values are counted."""

_FREE_BYTES, _MAX_EXPANSION = 2**28, 1000
"""Bytes that rows may always take, and their maximum ratio to the bytes of their text."""


class Table(Protocol):
    """Interface of tables that are filled from lines, one class per format."""

    def read_plain(self, lines: Lines) -> NDArray[np.uint8]:
        """Read the lines that have a fast parser; return the kind of every line."""

    def read_line(self, i: int, line: bytes) -> bool:
        """Read any line; return whether it has a row. Only this method raises `LineError`."""


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
        Its format; ``n_features`` must be known.
    categories : mapping, optional
        Categories, from `find_categories`.

    Yields
    ------
    X : ndarray of float32, shape (n_block, n_features)
    labels : ndarray of float64 or of text, shape (n_block,), or None in a file without labels

    Raises
    ------
    DataError
        For a malformed line, with file and line; an empty file, an unexpected number of rows, or a
        wrong checksum.
    """
    reader = LineReader(source)
    n_rows = 0
    with _missing_counted(source, info), closing(iter(reader)) as chunks:
        for table, rows in _tables(source, info, categories or {}, chunks):
            block = table.finish(rows)
            n_rows += len(block[0])
            yield block
    check_rows(source, n_rows)
    reader.check_sha256()


def _tables(
    source: FoundFile, info: DatasetInfo, categories: Categories, chunks: Iterator[Chunk]
) -> Iterator[tuple[libsvm.Table | delimited.Table, NDArray[np.bool_]]]:
    """Yield the tables filled from a file, each with a mask of its filled rows."""
    assert info.n_features is not None
    n_features = info.n_features
    if info.loader == "libsvm":
        return _filled(source, chunks, lambda n: libsvm.Table(n_features, n), n_features)
    chunks, start = start_of(source, chunks, info)
    n_labels = 0 if _has_label_file(source, info) else len(info.label_columns)
    n_columns = n_features - sum(len(values) - 1 for values in categories.values())
    n_columns += n_labels + len(info.ignored)
    columns = _layout(source, info, start, n_columns, categories)
    return _filled(source, chunks, lambda n: delimited.Table(columns, n), columns.n_values)


def _filled(
    source: FoundFile, chunks: Iterator[Chunk], table: Callable[[int], TableT], n_values: int
) -> Iterator[tuple[TableT, NDArray[np.bool_]]]:
    """Fill tables from chunks; a row takes the memory of ``n_values`` values."""
    for chunk in chunks:
        for lines in Lines.of(chunk).parts(max(1, BLOCK_VALUES // max(1, n_values))):
            filled = table(len(lines))
            state = filled.read_plain(lines)
            for i in np.flatnonzero(state == CAREFUL_LINE).tolist():
                with located(source, lines.first_line + i):
                    state[i] = ROW_LINE if filled.read_line(i, lines[i]) else BLANK_LINE
            yield filled, state == ROW_LINE


@contextmanager
def _missing_counted(source: FoundFile, info: DatasetInfo) -> Iterator[None]:
    """Add the number of missing values of the column, and advice, to the error about one."""
    try:
        yield
    except DataError as error:
        missing = error.__cause__
        if not isinstance(missing, MissingValueError):
            raise
        n, names, whole = _count_missing(source, info, missing.column)
        where = "in all" if whole else f"in the first {MAX_COUNTED_ROWS:,} rows"
        key = spelled(key_of(missing.column, names))
        advice = (
            "remove these rows"
            if missing.is_label
            else f"fill it in, or leave the column out: ignored: [{key}]"
        )
        raise DataError(f"{error}, {n:,} {where}; {advice}") from error


def _count_missing(
    source: FoundFile, info: DatasetInfo, column: int
) -> tuple[int, tuple[str, ...], bool]:
    """Return the missing values of a column, the columns' names, and if all rows were counted."""
    n = n_rows = 0
    with closing(iter(LineReader(source))) as chunks:
        rest, start = start_of(source, chunks, info)
        for line in (line for chunk in rest for line in Lines.of(chunk)):
            fields = fields_of(line, start.delimiter)
            n += column < len(fields) and is_missing(fields[column])
            n_rows += bool(fields)
            if n_rows == MAX_COUNTED_ROWS:
                return n, start.names, False
    return n, start.names, True


def read_labels(source: FoundFile, info: DatasetInfo) -> NDArray[Any]:
    """Read a file with one label per line."""
    labels_only = replace(
        info,
        n_features=0,
        label_columns=(0,),
        categorical=(),
        values={},
        ignored=(),
        loader="delimited",
        header=False,
    )
    return np.concatenate([y for _, y in read_blocks(source, labels_only) if y is not None])


def find_categories(sources: Sequence[FoundFile], info: DatasetInfo) -> Categories:
    """Return the values of the categorical columns, for which all files are read once.

    Raises
    ------
    DataError
        As `read_blocks`.
    """
    if not info.categorical:
        return {}
    categories: dict[int, set[str]] = {}
    for source in sources:
        if not source.file.part.endswith("_labels"):
            for column, values in _categories_of(source, info):
                categories.setdefault(column, set()).update(values)
    return {column: np.array(sorted(values)) for column, values in categories.items()}


def _categories_of(source: FoundFile, info: DatasetInfo) -> Iterator[tuple[int, set[str]]]:
    with _missing_counted(source, info), closing(iter(LineReader(source))) as all_chunks:
        chunks, start = start_of(source, all_chunks, info)
        n_columns = _n_columns(source, start)
        categorical = _places(source, "categorical", info.categorical, n_columns, start)
        unknown = dict.fromkeys(categorical, np.array([]))
        columns = _layout(source, info, start, n_columns, unknown)
        for table, _ in _filled(
            source, chunks, lambda n: delimited.Categories(columns, n), columns.n_values
        ):
            yield from table.categories.items()


def count_features(sources: Sequence[FoundFile], info: DatasetInfo, categories: Categories) -> int:
    """Return the number of features of unregistered files.

    It is the largest index in LIBSVM files, which are all read once for it, or the number of
    features in the first row of a delimited file.

    Raises
    ------
    DataError
        For an implausible index, with file and line.
    """
    if info.loader == "libsvm":
        return _largest_index(sources)
    with closing(iter(LineReader(sources[0]))) as chunks:
        _, start = start_of(sources[0], chunks, info)
    n_columns = _n_columns(sources[0], start)
    return _layout(sources[0], info, start, n_columns, categories).n_features if n_columns else 0


def _largest_index(sources: Sequence[FoundFile]) -> int:
    """Return the largest index of LIBSVM files, unless it is implausible.

    Only the last index of each line is read: indices that do not increase are reported later, when
    the line is read.
    """
    largest, place, n_lines, n_bytes = 0, "", 0, 0
    for source in sources:
        for chunk in LineReader(source):
            lines = Lines.of(chunk)
            n_lines += len(lines)
            n_bytes += len(chunk.data)
            indices = _last_indices(source, lines)
            i = int(indices.argmax())
            if indices[i] > largest:
                largest, place = int(indices[i]), f"{source.label}:{lines.first_line + i}"
            if largest > MAX_FEATURES:
                raise DataError(
                    f"{place}: an index implies {largest:,} features; rows are kept dense, with "
                    f"at most {MAX_FEATURES:,}"
                )
    if 4 * largest * n_lines > max(_FREE_BYTES, _MAX_EXPANSION * n_bytes):
        raise DataError(
            f"{place}: an index implies {largest:,} features; rows are kept dense, and these "
            f"{n_lines:,} would take over {_MAX_EXPANSION:,} times the size of their text: if the "
            "index is correct, set `dataset.n_features`"
        )
    return largest


def _last_indices(source: FoundFile, lines: Lines) -> NDArray[np.int64]:
    if lines.is_large:
        from dsgkit.data.plain import last_indices

        indices = last_indices(lines)
    else:
        indices = np.full(len(lines), libsvm.CAREFUL_INDEX)
    for i in np.flatnonzero(indices == libsvm.CAREFUL_INDEX).tolist():
        with located(source, lines.first_line + i):
            indices[i] = libsvm.last_index(lines[i])
    return indices


def _n_columns(source: FoundFile, start: Start) -> int:
    """Return the number of columns of the first row."""
    with located(source, start.line):
        return len(delimited.split(start.content, start.delimiter))


def _layout(
    source: FoundFile, info: DatasetInfo, start: Start, n_columns: int, categories: Categories
) -> delimited.Columns:
    """Return the layout of the columns of a file."""
    ignored = _places(source, "ignored", info.ignored, n_columns, start)
    recoded = _places(source, "values", tuple(info.values), n_columns, start)
    values = dict(zip(recoded, info.values.values(), strict=True))
    labels: tuple[int, ...] = ()
    if not _has_label_file(source, info):
        labels = _places(source, "label_column", info.label_columns, n_columns, start)
        if info.text_labels and len(labels) > 1:
            raise DataError(f"{source.label}: labels that are text have no mean; use one column")
        _check_disjoint(source, labels, categories, "categorical", start.names)
        _check_disjoint(source, labels, ignored, "ignored", start.names)
    text_labels = info.text_labels and bool(labels)
    return delimited.Columns(
        *(n_columns, start.delimiter, info.decimal, labels, text_labels),
        *(categories, values, ignored, start.names),
    )


def _check_disjoint(
    source: FoundFile, labels: Sequence[int], others: Iterable[int], what: str, names: Sequence[str]
) -> None:
    for column in set(labels) & set(others):
        name = column_name(key_of(column, names))
        raise DataError(f"{source.label}: {name} is the label and cannot be `{what}` too")


def _places(
    source: FoundFile, key: str, columns: Sequence[int | str], n_columns: int, start: Start
) -> tuple[int, ...]:
    """Return the positions of columns, from 0."""
    try:
        places = tuple(start.place(key, column, n_columns) for column in columns)
    except LineError as error:
        raise DataError(f"{source.label}: {error}") from error
    if len(set(places)) < len(places):
        raise DataError(f"{source.label}: {key} names one of the {n_columns} columns twice")
    return places


def check_names(sources: Sequence[FoundFile], info: DatasetInfo) -> None:
    """Raise `DataError` if columns are given by name, and the files' headers differ."""
    columns = (*info.label_columns, *info.categorical, *info.ignored)
    if not any(isinstance(column, str) for column in columns):
        return
    names = []
    for source in sources:
        with closing(iter(LineReader(source))) as chunks:
            names.append(start_of(source, chunks, info)[1].names)
        if names[-1] != names[0]:
            raise DataError(
                f"{source.label}: its columns have other names than those of {sources[0].path.name}"
            )


def _has_label_file(source: FoundFile, info: DatasetInfo) -> bool:
    return any(file.part == f"{source.file.part}_labels" for file in info.files)
