"""Preparation of datasets: files are parsed once to float32 memory maps with statistics."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.catalogue import DatasetInfo
from dsgkit.data.find import FoundFile, cache_folder
from dsgkit.data.lines import holds_no
from dsgkit.data.numbers import MAX_FEATURES
from dsgkit.data.parts import open_parts
from dsgkit.data.reading import Block
from dsgkit.errors import DataError
from dsgkit.numerics.arrays import Single
from dsgkit.system.files import open_regular, sync_folder, temporary_folder, write_atomically
from dsgkit.system.progress import Bar

VERSION = 4
"""Version of the prepared form; other versions are prepared again."""

PARTS = {"train": ("X.npy", "y.npy"), "test": ("X_test.npy", "y_test.npy")}
"""Files of the rows and the labels of each part in a prepared folder."""


MAX_CHECKED_BYTES = 2**26
"""Size up to which a file is checked by its content whenever it is opened, in up to 0.1 s.

The content of a larger file is checked only if its state (size, times and place) has changed.
"""

MAX_META_BYTES = 2**28
"""Bytes of the largest ``meta.json``: with the maximum number of features it has 100 MiB."""


def prepared_folder(info: DatasetInfo) -> Path:
    """Return the folder of a dataset's prepared form.

    Its name has a hash of all settings that determine the content. The target is not among them:
    labels are stored as they are in the file.
    """
    files = [(f.name, f.part, f.n_rows, f.member) for f in info.files]
    columns = (info.label_columns, info.text_labels, info.categorical, info.components)
    reading = (info.loader, info.delimiter, info.header, *columns)
    text = json.dumps([VERSION, info.name, files, *reading, info.n_rows, info.n_features])
    if info.ignored or info.values:  # only then, so that the names of other datasets stay valid
        text += json.dumps([info.ignored, info.values])
    if info.decimal != ".":
        text += json.dumps({"decimal": info.decimal})
    if info.arguments:
        text += json.dumps(info.arguments)
    if info.rows:
        text += json.dumps({"rows": info.rows})
    digest = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    plain = re.sub(r"[^\w.-]", "_", info.name)[:64]
    return cache_folder() / "prepared" / f"{plain}-{digest}"


def read_meta(folder: Path) -> dict[str, Any] | None:
    """Return the metadata of a prepared dataset; None if it is not prepared or damaged."""
    try:
        with open_regular(folder / "meta.json") as file:
            meta = json.loads(file.read(MAX_META_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(meta, dict) or meta.pop("crc32", None) != _crc32_of(meta):
        return None
    return meta


def is_current(meta: dict[str, Any], sources: Sequence[FoundFile]) -> bool:
    """Return whether the prepared form was made from the present content of these files."""
    return _identities(meta, sources) is not None


def refresh_meta(folder: Path, meta: dict[str, Any], sources: Sequence[FoundFile]) -> bool:
    """Return `is_current`, and update the recorded states of the files.

    A large file that was moved or touched is read this time, but not the next time. Records of
    earlier releases get missing hashes.
    """
    identities = _identities(meta, sources)
    if identities is not None and identities != meta["sources"]:
        with suppress(OSError):  # the update is optional
            write_atomically(
                folder / "meta.json", lambda file: file.write(_text(meta | {"sources": identities}))
            )
    return identities is not None


def _identities(
    meta: dict[str, Any], sources: Sequence[FoundFile]
) -> list[dict[str, str | int]] | None:
    """Return the identities of the files to record; None if the prepared form is of others."""
    if len(meta["sources"]) != len(sources):
        return None
    pairs = zip(meta["sources"], sources, strict=True)
    identities = [identity for pair in pairs if (identity := _identity(*pair)) is not None]
    return identities if len(identities) == len(sources) else None


def _identity(recorded: dict[str, Any], source: FoundFile) -> dict[str, str | int] | None:
    """Return the identity of a file to record; None if it is not the recorded file."""
    state = source.state()
    if state["size"] != recorded["size"]:
        return None
    if "sha256" not in recorded:  # earlier releases compared only the rest
        same = all(state[name] == value for name, value in recorded.items())
        return source.identity() if same else None
    large = recorded["size"] > MAX_CHECKED_BYTES
    if large and state.items() <= recorded.items():
        return recorded
    if source.sha256() != recorded["sha256"]:
        return None
    return recorded | state if large else recorded


def open_part(folder: Path, part: str, recorded: dict[str, Any]) -> tuple[Single, NDArray[Any]]:
    """Return the rows and the stored labels of a prepared part as memory maps.

    Parameters
    ----------
    folder : Path
        The prepared folder.
    part : str
        ``train`` or ``test``.
    recorded : dict
        The part's entry in the metadata from `read_meta`.

    Raises
    ------
    DataError
        If the prepared files are damaged.
    """
    paths = [folder / name for name in PARTS[part]]
    try:
        for path in paths:
            _check_file(path, recorded["files"][path.name])
        X, stored = (np.load(path, mmap_mode="r") for path in paths)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{folder}: the prepared data cannot be opened ({error}); remove the folder"
        ) from error
    return X, stored


def _check_file(path: Path, recorded: dict[str, int]) -> None:
    """Raise ValueError if a file is not as it was written."""
    stat = path.stat()
    unchanged = (stat.st_size, stat.st_mtime_ns) == (recorded["size"], recorded["mtime_ns"])
    if unchanged and stat.st_size > MAX_CHECKED_BYTES:
        return
    if stat.st_size != recorded["size"] or _crc32(path) != recorded["crc32"]:
        raise ValueError(f"{path.name} is damaged")


def _described(path: Path) -> dict[str, int]:
    """Return the facts about a finished file that `_check_file` compares."""
    stat = path.stat()
    return {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "crc32": _crc32(path)}


def _crc32(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(2**20):
            checksum = zlib.crc32(block, checksum)
    return checksum


def _crc32_of(meta: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(meta, sort_keys=True).encode())


def raw_labels(stored: NDArray[Any], texts: Sequence[str] | None) -> NDArray[Any]:
    """Return the labels of the file from stored numbers, or from indices into ``texts``."""
    return stored if texts is None else np.array(texts)[stored]


def prepare(info: DatasetInfo, sources: Sequence[FoundFile]) -> Path:
    """Parse the files of a dataset into its prepared folder.

    Parameters
    ----------
    info : DatasetInfo
        The dataset.
    sources : sequence of FoundFile
        Its files, in the order of ``info.files``; empty for a bundled dataset.

    Returns
    -------
    Path
        The prepared folder. If another process has filled it meanwhile, that result is kept.

    Raises
    ------
    DataError
        If a file cannot be used, or the cache cannot be written. No files are left behind.
    """
    target = prepared_folder(info)
    with _writing(target.parent) as folder:
        meta = _write(info, sources, folder)
        _write_meta(meta, folder)
        _publish(folder, target, meta)
    return target


@contextmanager
def _writing(parent: Path) -> Iterator[Path]:
    """Yield a temporary folder next to the target, removed after the block unless renamed."""
    try:
        with temporary_folder(parent, ".preparing-") as folder:
            yield folder
    except OSError as error:
        raise DataError(
            f"cannot write prepared data to {parent}: {error.strerror or error}; free or change "
            "the folder, or set DSGKIT_CACHE to another"
        ) from error


def _write(info: DatasetInfo, sources: Sequence[FoundFile], folder: Path) -> dict[str, Any]:
    identities = [source.identity() for source in sources]  # before they are read
    opened = open_parts(info, sources)
    if not opened.n_features:
        raise holds_no("features", sources[0])
    if opened.n_features > MAX_FEATURES:
        raise DataError(
            f"{sources[0].label}: {opened.n_features:,} features; rows are kept dense, with at "
            f"most {MAX_FEATURES:,}"
        )
    parts = {}
    for part in {file.part: 0 for file in info.files if file.part in PARTS} or ["train"]:
        with _Matrix(folder, part, opened.n_features) as matrix:
            blocks = opened.blocks(part)
            if part == "train" and info.rows is not None:
                blocks = _first_rows(blocks, info.rows)
            for block in _shown(blocks, info, part):
                matrix.append(block)
            parts[part] = matrix.finish()
    digests = "".join(part["content_hash"] for part in parts.values())
    return {
        "version": VERSION,
        "name": info.name,
        "n_features": opened.n_features,
        "made": opened.made,
        "facts": opened.facts,
        "content_hash": hashlib.sha256(digests.encode()).hexdigest(),
        "sources": identities,
        "parts": parts,
    }


def _first_rows(blocks: Iterator[Block], n_rows: int) -> Iterator[Block]:
    """Yield the first rows of some blocks; later blocks are not read."""
    left = n_rows
    for X, labels in blocks:
        yield X[:left], labels if labels is None else labels[:left]
        left -= min(left, len(X))
        if not left:
            return
    raise DataError(f"rows: {n_rows:,}, but there are only {n_rows - left:,}; take at most these")


def _shown(blocks: Iterator[Block], info: DatasetInfo, part: str) -> Iterator[Block]:
    """Yield the blocks of one part of a dataset, with a progress bar on a terminal."""
    with Bar(f"{info.name} ({part})", _expected_rows(info, part)) as bar:
        for X, labels in blocks:
            yield X, labels
            bar.update(len(X))


def _expected_rows(info: DatasetInfo, part: str) -> int | None:
    """Return the expected number of rows of a part; None if unknown."""
    counts = [file.n_rows for file in info.files if file.part == part] or [info.n_rows]
    known = [count for count in counts if count is not None]
    n_rows = sum(known) if len(known) == len(counts) else None
    return info.rows if part == "train" and info.rows is not None else n_rows


class Statistics:
    """Statistics of a part, updated by block: number of rows, extremes, squared norms and a hash.

    They do not depend on the sizes of the blocks.

    Parameters
    ----------
    n_features : int
    """

    def __init__(self, n_features: int) -> None:
        self.n_rows = 0
        self.minimum = np.full(n_features, np.inf)
        self.maximum = np.full(n_features, -np.inf)
        self.squares: tuple[float, ...] = ()
        self.sha256 = hashlib.sha256()

    def add(self, X: Single) -> None:
        """Add rows: C-contiguous, at least one."""
        self.n_rows += len(X)
        self.sha256.update(X.data)
        np.minimum(self.minimum, X.min(axis=0), out=self.minimum)
        np.maximum(self.maximum, X.max(axis=0), out=self.maximum)
        self._add_squares(np.square(X, dtype=np.float64).sum(axis=1).tolist())

    def _add_squares(self, norms: list[float]) -> None:
        """Add squared norms to the sum, which is stored as a number and its rounding error."""
        terms = [*self.squares, *norms]
        total = fsum(terms)
        self.squares = total, fsum([*terms, -total])

    def finish(self, stored: NDArray[Any], texts: Sequence[str] | None) -> dict[str, Any]:
        """Add the labels, and return the statistics, ready for JSON."""
        self.sha256.update(np.ascontiguousarray(stored).data)
        if texts is not None:
            self.sha256.update(json.dumps(texts).encode())
        return {
            "n_rows": self.n_rows,
            "minimum": self.minimum.tolist(),
            "maximum": self.maximum.tolist(),
            "mean_square": fsum(self.squares) / max(1, self.n_rows),
            "texts": texts,
            "content_hash": self.sha256.hexdigest(),
        }


class _Matrix:
    """Writes a matrix block by block and computes its statistics."""

    def __init__(self, folder: Path, part: str, n_features: int) -> None:
        self.rows_path, self.labels_path = (folder / name for name in PARTS[part])
        self.n_features = n_features
        self.labels = _Labels()
        self.statistics = Statistics(n_features)

    def __enter__(self) -> _Matrix:
        self.file = self.rows_path.open("wb")
        self._write_header()
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def _write_header(self) -> None:
        # numpy pads the header so that its size is the same for any number of rows
        shape = (self.statistics.n_rows, self.n_features)
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        self.file.seek(0)
        np.lib.format.write_array_header_1_0(self.file, header)

    def append(self, block: Block) -> None:
        X, labels = np.ascontiguousarray(block[0], "<f4"), block[1]
        if not len(X):
            return
        assert labels is not None
        self.labels.append(labels)
        self.file.write(X.data)
        self.statistics.add(X)

    def finish(self) -> dict[str, Any]:
        """Complete the matrix, write the labels next to it, and return the statistics."""
        self._write_header()
        _sync(self.file)
        stored, texts = self.labels.finish()
        with self.labels_path.open("wb") as file:
            np.save(file, stored)
            _sync(file)
        files = {path.name: _described(path) for path in (self.rows_path, self.labels_path)}
        return self.statistics.finish(stored, texts) | {"files": files}


class _Labels:
    """The labels of a part: numbers as float64, texts as indices into their sorted list."""

    def __init__(self) -> None:
        self._blocks: list[NDArray[Any]] = []
        self._places: dict[str, int] = {}

    def append(self, labels: NDArray[Any]) -> None:
        if labels.dtype.kind == "U":
            values, inverse = np.unique(labels, return_inverse=True)
            places = [self._places.setdefault(text, len(self._places)) for text in values.tolist()]
            labels = np.array(places, "<i4")[inverse]
        self._blocks.append(labels)

    def finish(self) -> tuple[NDArray[Any], list[str] | None]:
        """Return the array to store, and the texts if labels are text."""
        stored = np.concatenate(self._blocks)
        if not self._places:
            return stored.astype("<f8", copy=False), None
        texts = sorted(self._places)
        moved = np.empty(len(texts), "<i4")
        moved[[self._places[text] for text in texts]] = np.arange(len(texts))
        return moved[stored], texts


def _sync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _write_meta(meta: dict[str, Any], folder: Path) -> None:
    with (folder / "meta.json").open("wb") as file:
        file.write(_text(meta))
        _sync(file)
    sync_folder(folder)


def _text(meta: dict[str, Any]) -> bytes:
    return json.dumps(meta | {"crc32": _crc32_of(meta)}, indent=1).encode()


def _publish(folder: Path, target: Path, meta: dict[str, Any]) -> None:
    """Rename a finished folder to its final name, unless another process was first."""
    while True:
        try:
            folder.rename(target)
        except OSError:
            if not target.exists():
                raise
        else:
            return sync_folder(target.parent)
        present = read_meta(target)
        if present is not None and present["sources"] == meta["sources"]:
            return None
        # an outdated form: moved to a temporary folder and deleted
        old = Path(tempfile.mkdtemp(prefix=".preparing-", dir=target.parent))
        with suppress(FileNotFoundError):
            target.rename(old / "old")
        shutil.rmtree(old, ignore_errors=True)
