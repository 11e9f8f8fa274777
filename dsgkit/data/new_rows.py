"""Rows of another file, read as those of a dataset: for predictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dsgkit.data import files
from dsgkit.data.catalogue import DatasetInfo
from dsgkit.data.layout import read_layout
from dsgkit.data.loaders import read_libsvm
from dsgkit.data.tables import Feature, Table, open_tables
from dsgkit.errors import DataError, in_a_line
from dsgkit.numerics.arrays import Array, Single


def read_new_rows(
    info: DatasetInfo, path: Path, n_features: int, offsets: Array | None = None
) -> Single:
    """Return the features of the rows of a file, as a dataset has them.

    The file has the columns of the dataset, with or without the label, or is LIBSVM text if the
    dataset is, unless its name ends in ``.csv``. Offsets are subtracted as from the dataset's.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if info.loader == "reviews":
        raise DataError(f"{path}: features of reviews are made of all texts of a dataset at once")
    if info.loader == "libsvm" and path.suffix != ".csv":
        blocks = read_libsvm(path, n_features)
    else:
        table = _like(info, path) if info.loader == "delimited" else _plain(info, path, n_features)
        blocks = table.blocks()
    X = np.concatenate([X for X, _ in blocks])
    return (X if offsets is None else X - offsets).astype(np.float32)


def _plain(info: DatasetInfo, path: Path, n_features: int) -> Table:
    layout = read_layout(path, replace(info, header=False, delimiter=None, local=False))
    if layout.n_columns != n_features:
        raise DataError(f"{path}: {layout.n_columns} columns, not the {n_features} of the dataset")
    return Table(layout, {k: Feature() for k in range(n_features)})


def _like(info: DatasetInfo, path: Path) -> Table:
    """Return the table of a file that has the columns of a dataset, perhaps but for the label."""
    pairs = zip(files.obtain(info), info.files, strict=True)
    sources = [(found, file) for found, file in pairs if not file.part.endswith("_labels")]
    known = open_tables(info, sources)[0][sources[0][1]]
    layout, names = read_layout(path, info), known.layout.names
    places = range(known.layout.n_columns)
    for kept in ([*places], [place for place in places if place not in known.labels]):
        expected = tuple(names[place] for place in kept) if names else ()
        if (layout.n_columns, layout.names) == (len(kept), expected):
            features = {k: known.features[p] for k, p in enumerate(kept) if p in known.features}
            return Table(layout, features)
    differing = ", ".join(sorted({*expected} ^ {*layout.names})) or "number or order"
    raise DataError(
        f"{path}: its {layout.n_columns} columns are not the {len(kept)} of the run: they differ "
        f"in {in_a_line(differing, 200)}"
    )
