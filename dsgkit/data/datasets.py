"""Datasets as configs name them, opened as memory maps."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.catalogue import DATASETS, DataFile, DatasetInfo, get
from dsgkit.data.find import FoundFile, find
from dsgkit.data.prepare import (
    is_current,
    open_part,
    prepare,
    prepared_folder,
    raw_labels,
    read_meta,
)
from dsgkit.data.targets import Binary, Target, are_numbers
from dsgkit.errors import DataError


class DatasetSpec(Protocol):
    """What a config says of a dataset: a registered name, or a file and how to read it.

    Attributes
    ----------
    name : str or None
        Registered name, or how to call a file of one's own.
    loader : str or None
        ``libsvm``, ``delimited`` or ``bundled``.
    path, test_path : str or None
        Files of one's own.
    positive : sequence of labels or None
        Labels that are +1, the rest being -1; None for the target of the catalogue, and for the
        larger of two in a file of one's own.
    n_features : int or None
        Number of features; None to find out.
    delimiter : str or None
        Of delimited text; None takes commas if there are any, else white space.
    header : bool
        Whether delimited text starts with a line of names.
    label_column : int
        Column of the label in delimited text, negative from the end.
    """

    name: Any
    loader: Any
    path: Any
    test_path: Any
    positive: Any
    n_features: Any
    delimiter: Any
    header: Any
    label_column: Any


@dataclass(frozen=True)
class Dataset:
    """A prepared dataset.

    Attributes
    ----------
    name, title : str
        Its name in configs, and for people.
    X : memmap of float32, shape (n, d)
        All training rows, unscaled.
    X_test : like X, or None
        The official test split, where there is one.
    labels : ndarray of float64 (a memmap) or of text, shape (n,)
        The labels of the training rows as the file has them.
    labels_test : like labels, or None
    target : Target
        What makes ``y`` of ``labels``.
    minimum, maximum : ndarray of float64, shape (d,)
        Of each column, over all training rows.
    content_hash : str
        Of the rows and the labels as the files have them, whatever the target.
    """

    name: str
    title: str
    X: NDArray[np.float32]
    X_test: NDArray[np.float32] | None
    labels: NDArray[Any]
    labels_test: NDArray[Any] | None
    target: Target
    minimum: NDArray[np.float64]
    maximum: NDArray[np.float64]
    content_hash: str

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    @functools.cached_property
    def y(self) -> NDArray[Any]:
        """Labels of the training rows as the target makes them: -1 or +1 of a `Binary` one.

        Raises
        ------
        DataError
            When the labels do not suit the target.
        """
        return self._targeted(self.labels, "")

    @functools.cached_property
    def y_test(self) -> NDArray[Any] | None:
        """Labels of the test rows, likewise."""
        return None if self.labels_test is None else self._targeted(self.labels_test, " (test)")

    def _targeted(self, labels: NDArray[Any], part: str) -> NDArray[Any]:
        try:
            return self.target.apply(labels, self.labels)
        except ValueError as error:
            raise DataError(f"dataset {self.name}{part}: {error}") from error

    @property
    def identity(self) -> list[Any]:
        """What results depend on, ready for JSON: the content and the target."""
        return [self.content_hash, *self.target.identity()]

    def describe(self) -> dict[str, Any]:
        """Return what reports say of it, ready for JSON: they may outlive the catalogue's entry."""
        return {
            "name": self.name,
            "title": self.title,
            "content_hash": self.content_hash,
            "target": self.target.words,
            "n_rows": len(self.X),
            "n_test_rows": 0 if self.X_test is None else len(self.X_test),
            "n_features": self.n_features,
        }

    def scaling(
        self, low: float = 0.0, high: float = 1.0
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the scaling that takes every column's range to ``[low, high]``.

        Parameters
        ----------
        low, high : float
            The range to scale to.

        Returns
        -------
        offset, factor : ndarray of float32, shape (d,)
            For ``(x - offset) * factor``, as `Rows` computes it. A constant column becomes
            ``low``; with ``low = 0`` the smallest value becomes exactly 0.

        Raises
        ------
        DataError
            When the range of a column is beyond float32.
        """
        width = self.maximum - self.minimum
        if (width > np.finfo(np.float32).max).any():
            column = int(np.argmax(width)) + 1
            raise DataError(f"dataset {self.name}: the range of feature {column} overflows float32")
        # the width as float32 subtraction gives it, so that the largest value becomes `high`
        width = width.astype(np.float32)
        constant = width < np.finfo(np.float32).tiny
        factor = np.where(constant, 1.0, (high - low) / np.where(constant, 1.0, width))
        factor = factor.astype(np.float32)
        return (self.minimum - low / factor.astype(np.float64)).astype(np.float32), factor


def load_dataset(spec: DatasetSpec) -> Dataset:
    """Open a dataset; the first time its files are found or downloaded, and parsed.

    Parameters
    ----------
    spec : DatasetSpec
        The ``dataset`` part of a config.

    Returns
    -------
    Dataset

    Raises
    ------
    MissingDataError
        When a file is not on this machine and cannot be downloaded.
    DataError
        When a file, or the spec itself, cannot be used.
    """
    return open_dataset(resolve(spec))


def open_dataset(info: DatasetInfo) -> Dataset:
    """Open a dataset by its description; prepare it first unless that was done before.

    A prepared form outlives its files: it is made anew only when they are there and differ.
    """
    folder = prepared_folder(info)
    meta = read_meta(folder)
    if meta is None or _outdated(meta, info):
        prepare(info, obtain(info))
        meta = read_meta(folder)
    assert meta is not None
    return _open(info, folder, meta)


def _outdated(meta: dict[str, Any], info: DatasetInfo) -> bool:
    found = [find(info, file) for file in info.files]
    sources = [source for source in found if source is not None]
    return len(sources) == len(found) and not is_current(meta, sources)


def obtain(info: DatasetInfo) -> list[FoundFile]:
    """Return the files of a dataset, downloading what is missing."""
    return [find(info, file) or _download(info, file) for file in info.files]


def _download(info: DatasetInfo, file: DataFile) -> FoundFile:
    from dsgkit.data.fetch import download

    return download(info, file)


def _open(info: DatasetInfo, folder: Path, meta: dict[str, Any]) -> Dataset:
    X, labels = _part(folder, meta, "train")
    X_test, labels_test = _part(folder, meta, "test") if "test" in meta["parts"] else (None, None)
    train = meta["parts"]["train"]
    return Dataset(
        name=info.name,
        title=info.title,
        X=X,
        X_test=X_test,
        labels=labels,
        labels_test=labels_test,
        target=info.target,
        minimum=np.array(train["minimum"]),
        maximum=np.array(train["maximum"]),
        content_hash=meta["content_hash"],
    )


def _part(
    folder: Path, meta: dict[str, Any], part: str
) -> tuple[NDArray[np.float32], NDArray[Any]]:
    X, stored = open_part(folder, part)
    return X, raw_labels(stored, meta["parts"][part]["texts"])


def resolve(spec: DatasetSpec) -> DatasetInfo:
    """Return the description that a config's ``dataset`` stands for.

    Raises
    ------
    DataError
        For an unknown name, or settings that contradict it.
    """
    return _registered(spec) if spec.path is None else _local(spec)


def _registered(spec: DatasetSpec) -> DatasetInfo:
    if spec.name is None:
        raise DataError("dataset: say `name` (a registered dataset) or `path` (a file)")
    info = get(spec.name)
    if spec.loader not in (None, info.loader):
        raise DataError(
            f"dataset {info.name} is read by loader {info.loader!r}, not {spec.loader!r}"
        )
    for key in ("test_path", "n_features", "delimiter"):
        if getattr(spec, key) is not None:
            raise DataError(f"dataset {info.name} is registered: `{key}` is for files by `path`")
    return info if spec.positive is None else replace(info, target=Binary(tuple(spec.positive)))


def _local(spec: DatasetSpec) -> DatasetInfo:
    path = Path(spec.path).expanduser().absolute()
    if spec.loader not in ("libsvm", "delimited"):
        raise DataError(f"dataset {path}: say `loader: libsvm` or `loader: delimited`")
    if spec.name in DATASETS:
        raise DataError(f"{spec.name!r} is a registered dataset; call {path} by another name")
    files = [DataFile(str(path))]
    if spec.test_path is not None:
        files.append(DataFile(str(Path(spec.test_path).expanduser().absolute()), "test"))
    return DatasetInfo(
        name=spec.name or path.name,
        title=path.name,
        loader=spec.loader,
        files=tuple(files),
        n_features=spec.n_features,
        target=Binary(None if spec.positive is None else tuple(spec.positive)),
        delimiter=spec.delimiter,
        header=spec.header,
        label_column=spec.label_column,
        text_labels=not are_numbers(spec.positive or ()),
        local=True,
    )
