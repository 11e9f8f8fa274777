"""Preparation of datasets: files are parsed once, to memory maps of float32."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data import files, loaders
from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.data.loaders import Block
from dsgkit.data.targets import label_text
from dsgkit.errors import DataError, shown
from dsgkit.linalg import Array

FILE_ROWS = "file_rows.npy"
"""Numbers in the file of the training rows, if these are in another order."""

_FAR = 16  # times its range that a column is from 0 before float32 may lose its differences


def state(info: DatasetInfo) -> str:
    """Return ``prepared``, ``bundled``, ``found``, ``to download`` or ``missing``."""
    found = files.find(info)
    if lacking := [file for file, path in zip(info.files, found, strict=True) if path is None]:
        return "to download" if all(file.url for file in lacking) else "missing"
    if files.prepared_folder(info, files.obtain(info)).is_dir():
        return "prepared"
    return "found" if info.files else "bundled"


def prepare(info: DatasetInfo, paths: list[Path], folder: Path) -> None:
    """Parse a dataset's files into a folder, which appears as a whole."""
    for file, path in zip(info.files, paths, strict=True):
        if file.sha256 is not None:
            files.check_sha256(file, path)
    with (
        files.writing_to(folder.parent),
        tempfile.TemporaryDirectory(prefix=".preparing-", dir=folder.parent) as name,
    ):
        temporary = Path(name)
        meta = _write_parts(info, paths, temporary, None)
        if info.local and (offsets := _offsets(info, paths, meta)) is not None:
            meta = _write_parts(info, paths, temporary, offsets)
        (temporary / "meta.json").write_text(json.dumps(meta))
        for path in temporary.iterdir():
            with path.open("rb") as written:
                os.fsync(written.fileno())
        try:
            temporary.rename(folder)
        except OSError:
            if not folder.is_dir():  # another process may have been faster
                raise
        for old in folder.parent.glob(f"{folder.name.rpartition('-')[0]}-*"):
            if old != folder:  # made of an earlier state of the files
                shutil.rmtree(old, ignore_errors=True)


def _write_parts(
    info: DatasetInfo, paths: list[Path], folder: Path, offsets: Array | None
) -> dict[str, Any]:
    """Write all parts minus the offsets of columns; return the facts about them."""
    parts, how = _parts(info, paths)
    meta: dict[str, Any] = {"texts": {}, "offsets": None}
    if offsets is not None:
        meta["offsets"] = offsets.tolist()
        said = [f"column {k + 1} minus {offsets[k]:.17g}" for k in offsets.nonzero()[0]]
        how = "; ".join(filter(None, [how, *said]))
    digests = []
    for part, blocks in parts.items():
        shifted = blocks if offsets is None else ((X - offsets, y) for X, y in blocks)
        digest, meta["texts"][part], extremes = _write(shifted, folder, part)
        digests.append(digest)
        if part == "train":
            meta["minimum"], meta["maximum"] = extremes
    if info.unlabeled is not None and not (folder / FILE_ROWS).exists():
        mark = shown(label_text(info.unlabeled))
        raise DataError(
            f"{paths[0]}: no row has the label {mark}: correct `unlabeled`, or leave it out"
        )
    meta["made"] = how
    meta["content_hash"] = hashlib.sha256("".join(digests).encode()).hexdigest()
    return meta


def _offsets(info: DatasetInfo, paths: list[Path], meta: dict[str, Any]) -> Array | None:
    """Return what to subtract from columns far from 0, such as seconds since 1970; None for 0."""
    low, high = np.array(meta["minimum"]), np.array(meta["maximum"])
    far = np.maximum(np.abs(low), np.abs(high)) > _FAR * (high - low)
    columns = np.flatnonzero(far & (high > low))
    if not len(columns):
        return None
    offsets = np.zeros_like(low)
    values = np.concatenate([X[:, columns] for X, _ in _parts(info, paths)[0]["train"]])
    for k, column in zip(columns, values.T, strict=True):
        distinct = np.unique(column)  # of which float32 may lose some
        if len(np.unique(distinct.astype(np.float32))) < len(distinct):
            offsets[k] = low[k]
    return offsets if offsets.any() else None


def _write(
    blocks: Iterator[Block], folder: Path, part: str
) -> tuple[str, list[str] | None, list[list[float]]]:
    """Write rows and labels, rows without one last; return a hash, texts of labels, extremes.

    Labels that are texts are stored as their places in the sorted list of these texts.
    """
    sha256 = hashlib.sha256()
    labels, masks, lows, highs = list[NDArray[Any]](), [], [], []
    with (folder / f"X_{part}.npy").open("wb") as file, tempfile.TemporaryFile() as rest:
        for rows, y in blocks:
            X = np.ascontiguousarray(rows, "<f4")
            has_label = y != "" if y.dtype.kind == "U" else ~np.isnan(y)
            if not labels:
                _write_header(file, 0, X.shape[1])
            labels.append(y)
            masks.append(has_label)
            lows.append(rows.min(axis=0))
            highs.append(rows.max(axis=0))
            rest.write(X[~has_label].data)
            labelled = X[has_label].data
            file.write(labelled)
            sha256.update(labelled)
        rest.seek(0)
        while block := rest.read(2**20):
            file.write(block)
            sha256.update(block)
        y, has_label = np.concatenate(labels), np.concatenate(masks)
        n_unlabeled = int(np.count_nonzero(~has_label))
        if n_unlabeled and (n_unlabeled == len(y) or part == "test"):
            raise DataError(
                f"{n_unlabeled:,} of the {len(y):,} {part} rows have no label to evaluate by"
            )
        _write_header(file, len(y), X.shape[1])
    if n_unlabeled:
        np.save(folder / FILE_ROWS, np.argsort(~has_label, kind="stable"))
    texts, stored = None, y[has_label]
    if stored.dtype.kind == "U":
        known, codes = np.unique(stored, return_inverse=True)
        texts, stored = known.tolist(), codes.astype("<i4")
    else:
        stored = stored.astype("<f8")
    np.save(folder / f"y_{part}.npy", stored)
    sha256.update(np.ascontiguousarray(stored).data)
    sha256.update(json.dumps(texts).encode() if texts else b"")
    extremes = [np.min(lows, axis=0).tolist(), np.max(highs, axis=0).tolist()]
    return sha256.hexdigest(), texts, extremes


def _write_header(file: Any, n_rows: int, n_features: int) -> None:
    file.seek(0)  # numpy pads the header so that its size is the same for any number of rows
    header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_features)}
    np.lib.format.write_array_header_1_0(file, header)
    file.seek(0, os.SEEK_END)


def _parts(info: DatasetInfo, paths: list[Path]) -> tuple[dict[str, Iterator[Block]], str]:
    """Return the blocks of each part, ``train`` and perhaps ``test``, and how they were made."""
    from dsgkit.data import tables  # pandas, which opening does not need

    sources: dict[str, list[tuple[Path, DataFile]]] = {"train": [], "test": []}
    for file, path in zip(info.files, paths, strict=True):
        sources.setdefault(file.part, []).append((path, file))
    found, read, how = sources["train"] + sources["test"], dict[DataFile, Iterator[Block]](), ""
    if info.loader == "libsvm":
        n_features = info.n_features or loaders.count_libsvm(path for path, _ in found)
        if not n_features:
            raise DataError(f"{found[0][0]}: the file holds no features")
        for path, file in found:
            read[file] = loaders.read_libsvm(path, n_features, file.member)
    elif info.loader == "delimited":
        opened, how = tables.open_tables(info, found)
        read = {file: table.blocks() for file, table in opened.items()}
    elif info.loader == "reviews":
        texts = {file: loaders.read_reviews(path) for path, file in found}
        if not texts[found[0][1]][0]:
            raise DataError(f"{found[0][0]}: the file holds no rows")
        X, embed, how = loaders.embed_reviews(texts[found[0][1]][0], info.components)
        for file, (words, stars) in texts.items():
            read[file] = iter([(X if file.part == "train" else embed(words), np.array(stars))])
    elif info.loader == "idx":
        for path, file in found:
            items = loaders.read_idx(path).astype(np.float32)
            read[file] = iter([(items, np.zeros(len(items)))])
    parts = {}
    for part in ("train", "test"):
        labels = [tables.read_labels(path, info) for path, _ in sources.get(f"{part}_labels", ())]
        if of_part := [(path, file, read[file]) for path, file in sources[part]]:
            parts[part] = _blocks(info, of_part, np.concatenate(labels) if labels else None)
    if info.loader == "bundled":
        import sklearn.datasets

        made = {"make_nested_rings": make_nested_rings, "make_layers": make_layers}
        function: Any = made.get(str(info.function))
        function = function or getattr(sklearn.datasets, str(info.function))
        X, y = function(**info.arguments) if info.arguments else function(return_X_y=True)
        parts = {"train": iter([(X, y)])}
    if info.rows is not None:
        parts["train"] = _first_rows(parts["train"], info.rows)
    return parts, how


def _blocks(
    info: DatasetInfo, read: list[tuple[Path, DataFile, Iterator[Block]]], y_all: Array | None
) -> Iterator[Block]:
    """Yield the blocks of the files of a part, perhaps with labels of other files."""
    end = 0
    for path, file, blocks in read:
        start = end
        for X, y in blocks:
            n, expected = X.shape[1], None if info.loader == "reviews" else info.n_features
            if n != (expected or max(n, 1)):
                instead = f" instead of {expected:,}" if expected else ""
                raise DataError(f"{path}: the file holds {n or 'no'} features{instead}")
            end += len(X)
            if info.loader == "libsvm" and info.unlabeled is not None:
                y = np.where(y == float(info.unlabeled), np.nan, y)
            if y_all is None or end <= len(y_all):  # else refused below
                yield X, y if y_all is None else y_all[end - len(X) : end]
        n = end - start
        if n != (file.n_rows or max(n, 1)):
            more = f", but {file.n_rows:,} are expected" if file.n_rows else ""
            raise DataError(f"{path}: the file holds {n or 'no'} rows{more}")
    if y_all is not None and len(y_all) != end:
        raise DataError(f"dataset {info.name}: {end:,} rows, but {len(y_all):,} labels")


def _first_rows(blocks: Iterator[Block], n_rows: int) -> Iterator[Block]:
    left = n_rows
    for X, y in blocks:
        yield X[:left], y[:left]
        left -= min(left, len(X))
        if not left:
            return
    raise DataError(f"rows: {n_rows:,}, but there are only {n_rows - left:,}; take at most these")


def make_nested_rings(
    n_samples: int, *, noise: float, width: float, random_state: int
) -> tuple[Array, NDArray[np.int64]]:
    """Return a Gaussian in the plane within two rings of radius 1 and 2, a third of the rows each.

    The standard deviation of every coordinate is ``width`` in the Gaussian, and ``noise`` around
    the rings.
    """
    rng = np.random.default_rng(random_state)
    y = np.arange(n_samples) * 3 // n_samples
    angle = rng.uniform(0, 2 * np.pi, n_samples)
    spread = np.where(y == 0, width, noise)[:, None]
    ring = np.column_stack([y * np.cos(angle), y * np.sin(angle)])
    return ring + spread * rng.standard_normal((n_samples, 2)), y


def make_layers(
    n_samples: int, *, n_layers: int, n_features: int, gap: float, width: float, random_state: int
) -> tuple[Array, NDArray[np.int64]]:
    """Return parallel layers, one per class, at a distance ``gap`` along a random direction.

    A few labels do not show the direction. Unlabelled rows do: across a layer their standard
    deviation is ``width``, along it 1.
    """
    rng = np.random.default_rng(random_state)
    y = np.arange(n_samples) * n_layers // n_samples
    rows = rng.standard_normal((n_samples, n_features))
    rows[:, 0] = gap * (y - (n_layers - 1) / 2) + width * rows[:, 0]
    directions, _ = np.linalg.qr(rng.standard_normal((n_features, n_features)))
    return rows @ directions, y
