"""Rows of another file, read as those of a dataset: for predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dsgkit.data import files
from dsgkit.data.catalogue import DatasetInfo
from dsgkit.data.layout import Layout, read_layout
from dsgkit.data.loaders import Block, read_libsvm
from dsgkit.data.tables import Feature, Table, open_tables
from dsgkit.errors import DataError, in_a_line, listed, shown
from dsgkit.numerics.arrays import Array, Single


def read_new_rows(
    info: DatasetInfo, path: Path, n_features: int, offsets: Array | None = None
) -> Single:
    """Return the features of the rows of a file, in the units of a dataset.

    Parameters
    ----------
    info : DatasetInfo
        The dataset; delimited text has its columns, with or without those of the label, and
        categories become the features that they are in the dataset.
    path : Path
        Delimited text, or LIBSVM text if the dataset is: unless the name ends in ``.csv``.
    n_features : int
        Columns of the dataset's features.
    offsets : ndarray of float64, shape (n_features,), optional
        Subtracted from the columns, as from the dataset's.

    Returns
    -------
    ndarray of float32, shape (n, n_features)

    Raises
    ------
    DataError
        If the columns differ from those of the dataset, or a value cannot be used.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if info.loader == "libsvm" and path.suffix != ".csv":
        return _shifted(read_libsvm(path, n_features), offsets)
    if info.loader == "reviews":
        raise DataError(f"{path}: features of reviews are made of all texts of a dataset at once")
    table = _like(info, path) if info.loader == "delimited" else _plain(info, path, n_features)
    try:
        return _shifted(table.blocks(), offsets)
    except KeyError as error:
        value = shown(error.args[0])
        raise DataError(f"{path}: no row of the dataset has the category {value}") from error


def _shifted(blocks: Iterator[Block], offsets: Array | None) -> Single:
    X = np.concatenate([X for X, _ in blocks])
    return (X if offsets is None else X - offsets).astype(np.float32)


def _plain(info: DatasetInfo, path: Path, n_features: int) -> Table:
    """Return a table of numbers without a header."""
    layout = read_layout(path, replace(info, header=False, delimiter=None, local=False))
    if layout.n_columns != n_features:
        raise DataError(f"{path}: {layout.n_columns} columns, not the {n_features} of the dataset")
    return Table(path, None, layout, (), False, {k: Feature() for k in range(n_features)})


def _like(info: DatasetInfo, path: Path) -> Table:
    """Return the table of a file, with the columns and categories of a dataset."""
    pairs = zip(files.obtain(info), info.files, strict=True)
    sources = [(found, file) for found, file in pairs if not file.part.endswith("_labels")]
    tables, _ = open_tables(info, sources)
    known = tables[sources[0][1]]
    layout = read_layout(path, info)
    places = range(known.layout.n_columns)
    kept = [place for place in places if place not in known.labels]
    if layout.n_columns == len(places) and _names(known.layout, places) == layout.names:
        return replace(known, path=path, layout=layout, labels=(), text_labels=False)
    if layout.n_columns != len(kept) or _names(known.layout, kept) != layout.names:
        raise DataError(f"{path}: {_difference(layout, known.layout, kept)}")
    moved = {number: place for number, place in enumerate(kept) if place in known.features}
    features = {number: known.features[place] for number, place in moved.items()}
    return Table(path, None, layout, (), False, features)


def _names(layout: Layout, places: Sequence[int]) -> tuple[str, ...]:
    return tuple(layout.names[place] for place in places) if layout.names else ()


def _difference(layout: Layout, known: Layout, kept: Sequence[int]) -> str:
    """Return how the columns of a file differ from those of a dataset."""
    ours = _names(known, kept)
    missing = [name for name in ours if name not in layout.names]
    strange = [name for name in layout.names if name not in known.names]
    if missing or strange:
        parts = {"without": missing, "with": strange}
        words = (
            f"{word} {in_a_line(listed(names), 200)}" for word, names in parts.items() if names
        )
        return f"its columns differ from those of the run: {', '.join(words)}"
    if sorted(ours) == sorted(layout.names):
        return f"its columns are in another order than those of the run: {listed(ours)}"
    return f"{layout.n_columns} columns instead of {len(kept)}, or {known.n_columns} with labels"
