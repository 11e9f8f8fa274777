"""Blocks of parsed rows from the files of a dataset, with the place of every error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data import delimited, libsvm
from dsgkit.data.catalogue import DatasetInfo
from dsgkit.data.find import FoundFile
from dsgkit.data.lines import Chunk, LineReader, check_rows, check_sha256
from dsgkit.errors import DataError

Block = tuple[NDArray[np.float32], NDArray[Any] | None]
Parser = Callable[[bytes], tuple[Any, NDArray[Any] | None]]
Problem = Callable[[bytes], str | None]
Categories = Mapping[int, NDArray[Any]]
"""The values, in sorted order, of every categorical column, from 0."""

BLOCK_VALUES = 2**23
"""Values of the dense blocks that sparse rows are spread into."""


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
    parse, problem, chunks = _format(source, info, categories or {}, iter(reader))
    n_rows = 0
    for chunk in chunks:
        try:
            X, labels = _parsed(parse, chunk)
        except (ValueError, OverflowError) as error:
            raise _located(source, chunk, problem, error) from error
        n_rows += X.shape[0]
        yield from _dense(X, labels)
    check_rows(source, n_rows)
    check_sha256(source, reader.sha256.hexdigest())


def _parsed(parse: Parser, chunk: Chunk) -> tuple[Any, NDArray[Any] | None]:
    X, labels = parse(chunk.data)
    if labels is not None and labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("a label is not finite")
    return X, labels


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
    chunks, first = _skip_header(iter(LineReader(source)), info.header)
    n_columns = len(delimited.split(first, _delimiter(info, first)))
    categorical = _places(source, "categorical", info.categorical, n_columns)
    unknown = dict.fromkeys(categorical, np.array([]))
    columns = _layout(source, info, first, n_columns, unknown)
    for chunk in chunks:
        try:
            yield from delimited.categories(chunk.data, columns).items()
        except ValueError as error:
            raise _located(
                source, chunk, lambda line: delimited.problem(line, columns), error
            ) from error


def count_features(sources: Sequence[FoundFile], info: DatasetInfo, categories: Categories) -> int:
    """Find the number of features of files that are not known beforehand.

    The largest index in LIBSVM files (all of them are read once), the columns of the first row
    in delimited ones.
    """
    if info.loader == "libsvm":
        chunks = chain.from_iterable(LineReader(source) for source in sources)
        return max((libsvm.largest_index(chunk.data) for chunk in chunks), default=0)
    _, first = _skip_header(iter(LineReader(sources[0])), info.header)
    n_columns = len(delimited.split(first, _delimiter(info, first)))
    return _layout(sources[0], info, first, n_columns, categories).n_features if n_columns else 0


def _format(
    source: FoundFile, info: DatasetInfo, categories: Categories, chunks: Iterator[Chunk]
) -> tuple[Parser, Problem, Iterator[Chunk]]:
    """Return the parser of a file, its slow twin that explains errors, and the lines to parse."""
    assert info.n_features is not None
    n_features = info.n_features
    if info.loader == "libsvm":
        return (
            lambda data: libsvm.parse(data, n_features),
            lambda line: libsvm.problem(line, n_features),
            chunks,
        )
    chunks, first = _skip_header(chunks, info.header)
    n_labels = 0 if _labels_apart(source, info) else len(info.label_columns)
    n_columns = n_features - sum(len(values) - 1 for values in categories.values())
    n_columns += n_labels + len(info.ignored)
    columns = _layout(source, info, first, n_columns, categories)
    return (
        lambda data: delimited.parse(data, columns),
        lambda line: delimited.problem(line, columns),
        chunks,
    )


def _layout(
    source: FoundFile, info: DatasetInfo, first: bytes, n_columns: int, categories: Categories
) -> delimited.Columns:
    """Return how the columns of a file are laid out, `first` being its first line of data."""
    delimiter = _delimiter(info, first)
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
    return info.delimiter or delimited.guess_delimiter(first)


def _skip_header(chunks: Iterator[Chunk], header: bool) -> tuple[Iterator[Chunk], bytes]:
    """Cut the header off; return the other lines and, beside them, the first line of data."""
    chunk = next(chunks, Chunk(b"", 1))
    if header:
        chunk = _drop_line(chunk)
    while not chunk.data.strip() and (following := next(chunks, None)):
        chunk = following
    first = chunk.data.lstrip().partition(b"\n")[0]
    return chain([chunk], chunks), first


def _drop_line(chunk: Chunk) -> Chunk:
    """Return a chunk without its first line that is not blank."""
    blank = len(chunk.data) - len(chunk.data.lstrip())
    end = chunk.data.find(b"\n", blank) + 1 or len(chunk.data)
    return Chunk(chunk.data[end:], chunk.first_line + chunk.data.count(b"\n", 0, end))


def _dense(X: Any, labels: NDArray[Any] | None) -> Iterator[Block]:
    """Yield dense blocks of bounded size from dense or sparse rows."""
    if isinstance(X, np.ndarray):
        yield X, labels
        return
    step = max(1, BLOCK_VALUES // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        yield X[rows].toarray(), None if labels is None else labels[rows]


def _located(source: FoundFile, chunk: Chunk, problem: Problem, error: Exception) -> DataError:
    """Return the error of the first bad line of a chunk that did not parse."""
    for number, line in enumerate(chunk.data.split(b"\n"), chunk.first_line):
        if trouble := problem(line):
            return DataError(f"{source.label}:{number}: {trouble}")
    # the fast parser and its slow twin disagree: better its own words than none
    return DataError(f"{source.label}: from line {chunk.first_line} on: {error}")
