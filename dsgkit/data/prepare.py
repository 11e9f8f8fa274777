"""Preparation of datasets: files are parsed once, to memory maps of float32."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data import files, loaders, made, tables
from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.errors import DataError
from dsgkit.numerics.arrays import Array

VERSION = 6
"""Version of the prepared form; other versions are prepared again."""

FILE_ROWS = "file_rows.npy"
"""Numbers in the file of the training rows, if these are in another order."""

Block = tuple[NDArray[Any], NDArray[Any]]
Source = tuple[Path, DataFile]

_FAR = 16  # times its range that a column is from 0 before float32 may lose its differences


def prepared_folder(info: DatasetInfo, paths: list[Path], states: list[Any] | None = None) -> Path:
    """Return the folder of a dataset's prepared form.

    Its name tells how the files are read, then the state of the files: a changed file has another
    folder. The target is not in it, as labels are stored as they are in the file. Without
    ``states``, which is empty if the files are gone, the name ends in those of the files now.
    """
    settings = json.dumps([VERSION, info.reading(), [str(path.resolve()) for path in paths]])
    if states is None:
        states = [json.dumps([files.state(path) for path in paths])]
    digests = [hashlib.sha256(text.encode()).hexdigest()[:12] for text in (settings, *states)]
    plain = re.sub(r"[^\w.-]", "_", info.name)[:64]
    return files.cache_folder() / "prepared" / "-".join([plain, *digests])


def prepare(info: DatasetInfo, paths: list[Path], folder: Path) -> None:
    """Parse a dataset's files into a folder, which appears as a whole."""
    for file, path in zip(info.files, paths, strict=True):
        if file.sha256 is not None:
            files.check_sha256(file, path)
    with (
        files.writing_to(folder.parent),
        tempfile.TemporaryDirectory(prefix=".preparing-", dir=folder.parent) as made_in,
    ):
        temporary = Path(made_in)
        meta: dict[str, Any] = {"texts": {}}
        digests = []
        parts, meta["made"] = _parts(info, paths)
        offsets: Array | None = None
        for part, blocks in parts.items():
            digest, texts, extremes = _write(blocks, temporary, part, offsets)
            if part == "train":
                again = functools.partial(_parts, info, paths)
                offsets = _offsets(again, *extremes) if info.local else None
                if offsets is not None:
                    digest, texts, extremes = _write(again()[0][part], temporary, part, offsets)
                    said = [f"column {k + 1} minus {offsets[k]:.17g}" for k in offsets.nonzero()[0]]
                    meta["made"] = "; ".join(filter(None, [meta["made"], *said]))
                meta["minimum"], meta["maximum"] = (
                    (x if offsets is None else x - offsets).astype(np.float32).tolist()
                    for x in extremes
                )
            digests.append(digest)
            meta["texts"][part] = texts
        meta["offsets"] = None if offsets is None else offsets.tolist()
        meta["content_hash"] = hashlib.sha256("".join(digests).encode()).hexdigest()
        with (temporary / "meta.json").open("w") as out:
            out.write(json.dumps(meta))
            _sync(out)
        try:
            temporary.rename(folder)
        except OSError:
            if not folder.is_dir():  # another process may have been faster
                raise
        for old in folder.parent.glob(f"{folder.name.rpartition('-')[0]}-*"):
            if old != folder:  # made of an earlier state of the files
                shutil.rmtree(old, ignore_errors=True)


def _offsets(read: Callable[[], Any], low: Array, high: Array) -> Array | None:
    """Return what to subtract from each column, so that float32 keeps its differences.

    It is the minimum of columns that are far from 0, such as seconds since 1970, and would lose
    distinct values, for which the training rows are read again. None if there is none.
    """
    far = np.maximum(np.abs(low), np.abs(high)) > _FAR * (high - low)
    columns = np.flatnonzero(far & (high > low))
    if not len(columns):
        return None
    offsets = np.zeros_like(low)
    values = np.concatenate([X[:, columns] for X, _ in read()[0]["train"]])
    for k, column in zip(columns, values.T, strict=True):
        distinct = np.unique(column)
        if len(np.unique(distinct.astype(np.float32))) < len(distinct):
            offsets[k] = low[k]
    return offsets if offsets.any() else None


def _write(
    blocks: Iterator[Block], folder: Path, part: str, offsets: Array | None
) -> tuple[str, list[str] | None, list[Array]]:
    """Write rows and labels; return a hash, the texts of labels, and the columns' extremes before.

    Labels that are texts are stored as indices into their sorted list.
    """
    sha256, places = hashlib.sha256(), dict[str, int]()
    labels, lows, highs, masks = [], [], [], []
    n_rows = n_features = n_unlabeled = 0
    with (folder / f"X_{part}.npy").open("wb") as file, tempfile.TemporaryFile() as rest:
        for rows, y in blocks:
            X = np.ascontiguousarray(rows if offsets is None else rows - offsets, "<f4")
            if not n_rows:
                n_features = X.shape[1]
                _write_header(file, 0, n_features)
            n_rows += len(X)
            lows.append(rows.min(axis=0))
            highs.append(rows.max(axis=0))
            has_label = y != "" if y.dtype.kind == "U" else ~np.isnan(y)
            masks.append(has_label)
            if not has_label.all():
                rest.write(X[~has_label].data)
                n_unlabeled += int(np.count_nonzero(~has_label))
                X, y = X[has_label], y[has_label]
            file.write(X.data)
            sha256.update(X.data)
            if y.dtype.kind == "U":
                texts, codes = np.unique(y, return_inverse=True)
                known = [places.setdefault(text, len(places)) for text in texts.tolist()]
                y = np.array(known, "<i4")[codes]
            labels.append(y)
        rest.seek(0)
        while block := rest.read(2**24):
            file.write(block)
            sha256.update(block)
        if n_unlabeled and (n_unlabeled == n_rows or part == "test"):
            which = "test rows" if part == "test" else "rows"
            raise DataError(f"{n_unlabeled:,} of the {n_rows:,} {which} have no label to judge by")
        _write_header(file, n_rows, n_features)
        _sync(file)
    if n_unlabeled:
        np.save(folder / FILE_ROWS, np.argsort(~np.concatenate(masks), kind="stable"))
    stored, in_order = np.concatenate(labels), sorted(places)
    if places:
        moved = np.empty(len(places), "<i4")
        moved[[places[text] for text in in_order]] = np.arange(len(places))
        stored = moved[stored]
    else:
        stored = stored.astype("<f8")
    with (folder / f"y_{part}.npy").open("wb") as file:
        np.save(file, stored)
        _sync(file)
    sha256.update(np.ascontiguousarray(stored).data)
    sha256.update(json.dumps(in_order).encode() if places else b"")
    extremes = [np.min(lows, axis=0).astype(float), np.max(highs, axis=0).astype(float)]
    return sha256.hexdigest(), in_order or None, extremes


def _write_header(file: Any, n_rows: int, n_features: int) -> None:
    # numpy pads the header so that its size is the same for any number of rows
    file.seek(0)
    header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_features)}
    np.lib.format.write_array_header_1_0(file, header)
    file.seek(0, os.SEEK_END)


def _sync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _parts(info: DatasetInfo, paths: list[Path]) -> tuple[dict[str, Iterator[Block]], str]:
    """Return the blocks of each part, ``train`` and perhaps ``test``, and how they were made."""
    sources: dict[str, list[Source]] = {}
    for file, path in zip(info.files, paths, strict=True):
        sources.setdefault(file.part, []).append((path, file))
    blocks: dict[str, Iterator[Block]]
    if info.loader == "bundled":
        import sklearn.datasets

        library = made if hasattr(made, str(info.function)) else sklearn.datasets
        function = getattr(library, str(info.function))
        X, y = function(**info.arguments) if info.arguments else function(return_X_y=True)
        blocks, how = {"train": iter([(X, y)])}, ""
    elif info.loader == "reviews":
        blocks, how = _reviews(info, sources)
    else:
        blocks, how = _rows(info, sources)
    if info.rows is not None:
        blocks["train"] = _first_rows(blocks["train"], info.rows)
    return blocks, how


def _first_rows(blocks: Iterator[Block], n_rows: int) -> Iterator[Block]:
    """Yield the first rows of some blocks; later blocks are not read."""
    left = n_rows
    for X, y in blocks:
        yield X[:left], y[:left]
        left -= min(left, len(X))
        if not left:
            return
    raise DataError(f"rows: {n_rows:,}, but there are only {n_rows - left:,}; take at most these")


def _reviews(
    info: DatasetInfo, sources: dict[str, list[Source]]
) -> tuple[dict[str, Iterator[Block]], str]:
    read = {}
    for part, found in sources.items():
        texts, stars = list[str](), list[float]()
        for path, file in found:
            more, values = loaders.read_reviews(path)
            _check_rows(path, file, len(more))
            texts += more
            stars += values
        read[part] = texts, np.array(stars)
    X, embed, how = loaders.embed_reviews(read["train"][0], info.components)
    return {
        part: iter([(X if part == "train" else embed(texts), stars)])
        for part, (texts, stars) in read.items()
    }, how


def _rows(
    info: DatasetInfo, sources: dict[str, list[Source]]
) -> tuple[dict[str, Iterator[Block]], str]:
    """Return the blocks of files in which a line or an item is a row."""
    found = [pair for part in ("train", "test") for pair in sources.get(part, ())]
    found_tables, how = dict[DataFile, tables.Table](), ""
    n_features = info.n_features
    if info.loader == "delimited":
        found_tables, how = tables.open_tables(info, found)
        n_features = found_tables[found[0][1]].n_features
        if n_features != (info.n_features or n_features):
            raise DataError(
                f"{found[0][0]}: {n_features:,} features instead of {info.n_features:,}"
            )
    elif n_features is None:
        n_features = loaders.count_libsvm(path for path, _ in found)
    if not 0 < n_features <= loaders.MAX_FEATURES:
        path = found[0][0]
        holds = f"holds {n_features:,} features; at most {loaders.MAX_FEATURES:,} are"
        holds = f"{holds} possible" if n_features else "holds no features"
        raise DataError(f"{path}: the file {holds if path.stat().st_size else 'is empty'}")

    def rows_of(path: Path, file: DataFile) -> Iterator[Block]:
        if info.loader == "libsvm":
            for X, y in loaders.read_libsvm(path, n_features, file.member):
                yield X, np.where(y == info.unlabeled, np.nan, y)
        elif info.loader == "delimited":
            yield from found_tables[file].blocks()
        else:
            items = loaders.read_idx(path)
            if items.shape[1] != n_features:
                raise DataError(f"{path}: items of {items.shape[1]:,} values, not {n_features:,}")
            yield items.astype(np.float32), np.zeros(len(items))

    def blocks(part: str) -> Iterator[Block]:
        labels = [tables.read_labels(path, info) for path, _ in sources.get(f"{part}_labels", ())]
        y_all, end = np.concatenate(labels) if labels else None, 0
        for path, file in sources[part]:
            start = end
            for X, y in rows_of(path, file):
                end += len(X)
                yield X, y if y_all is None else y_all[end - len(X) : end]
            _check_rows(path, file, end - start)
        if y_all is not None and len(y_all) != end:
            raise DataError(f"dataset {info.name}: {end:,} rows, but {len(y_all):,} labels")

    return {part: blocks(part) for part in ("train", "test") if part in sources}, how


def _check_rows(path: Path, file: DataFile, n_rows: int) -> None:
    """Raise `DataError` if a file has no rows, or others than are registered."""
    if n_rows == 0:
        raise DataError(
            f"{path}: the file {'holds no rows' if path.stat().st_size else 'is empty'}"
        )
    if n_rows != (file.n_rows or n_rows):
        raise DataError(f"{path}: {n_rows:,} rows, but {file.n_rows:,} are expected")
