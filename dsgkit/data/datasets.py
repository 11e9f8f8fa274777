"""Datasets of configs, opened as memory maps."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.catalogue import DATASETS, REVIEW_COMPONENTS, DataFile, DatasetInfo, get
from dsgkit.data.doubling import Doubled, doubled
from dsgkit.data.find import FoundFile, find_all, missing
from dsgkit.data.names import label_setting
from dsgkit.data.prepare import (
    open_part,
    prepare,
    prepared_folder,
    raw_labels,
    read_meta,
    refresh_meta,
)
from dsgkit.data.targets import Target
from dsgkit.errors import DataError, MissingDataError
from dsgkit.numerics.arrays import Array, Single
from dsgkit.system.mapped import read_rows

if TYPE_CHECKING:
    from dsgkit.data.spec import DatasetSpec

_BLOCK_ROWS = 10_000
_AS_WRITTEN = ("loader", "n_features", "delimiter", "decimal", "header", "rows", "double")
"""Settings with the same name and form in a config and in `DatasetInfo`."""


@dataclass(frozen=True)
class Dataset:
    """A prepared dataset.

    Attributes
    ----------
    name, title : str
        Name in configs, and in texts.
    X : memmap of float32, or Doubled, of shape (n, d)
        All training rows, unscaled.
    X_test : memmap of float32, or None
        The official test split, if there is one.
    labels : ndarray of float64 (a memmap) or of text, shape (n,)
        The labels of the training rows as in the file.
    target : Target
        Converts ``labels`` to ``y``.
    minimum, maximum : ndarray of float64, shape (d,)
        Extremes of each column over all training rows.
    mean_square : float
        Mean over all training rows of the squared norm of a row.
    made : str
        Description of how the features were made; empty if they are those of the file.
    content_hash : str
        Hash of the rows and labels as in the files, and of the noise of doubled rows; independent
        of the target.
    label_setting : str
        Setting of the config for the label's column, for messages; empty if there is none.
    """

    name: str
    title: str
    X: Single | Doubled
    X_test: Single | None
    labels: NDArray[Any]
    labels_test: NDArray[Any] | None
    target: Target
    minimum: Array
    maximum: Array
    mean_square: float
    made: str
    content_hash: str
    label_setting: str = ""

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    @property
    def n_bytes(self) -> int:
        """Bytes of all rows."""
        n_test = 0 if self.X_test is None else len(self.X_test)
        return (len(self.X) + n_test) * self.n_features * np.dtype(np.float32).itemsize

    @functools.cached_property
    def y(self) -> NDArray[Any]:
        """Converted labels of the training rows: -1 and +1, classes, or numbers.

        Raises
        ------
        DataError
            If the labels do not suit the target.
        """
        with self._naming():
            return self.target.apply(self.labels, self.labels)

    @functools.cached_property
    def y_test(self) -> NDArray[Any] | None:
        """Converted labels of the test rows."""
        if self.labels_test is None:
            return None
        with self._naming(" (test)"):
            return self.target.apply(self.labels_test, self.labels)

    @contextmanager
    def _naming(self, part: str = "") -> Iterator[None]:
        """Name the dataset in errors about labels that do not suit the target."""
        try:
            yield
        except ValueError as error:
            setting = f"; {self.label_setting}" if self.label_setting else ""
            raise DataError(f"dataset {self.name}{part}: {error}{setting}") from error

    @property
    def identity(self) -> list[Any]:
        """Identity of content and target, which results depend on, ready for JSON."""
        return [self.content_hash, *self.target.identity()]

    def describe(self) -> dict[str, Any]:
        """Return the facts for reports, ready for JSON."""
        with self._naming():
            target = self.target.describe(self.labels)
        described = {
            "name": self.name,
            "title": self.title,
            "content_hash": self.content_hash,
            "target": target,
            "n_rows": len(self.X),
            "n_test_rows": 0 if self.X_test is None else len(self.X_test),
            "n_features": self.n_features,
        }
        return described | ({"features": self.made} if self.made else {})

    def scaling(self, low: float = 0.0, high: float = 1.0) -> tuple[Single, Single]:
        """Return the scaling that maps every column's range to ``[low, high]``.

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

    def standard_scaling(self) -> tuple[Single, Single]:
        """Return the scaling after which every column has mean 0 and standard deviation 1.

        Returns
        -------
        offset, factor : ndarray of float32, shape (d,)
            As `scaling` returns them, computed in float64 over all training rows; a constant column
            becomes 0.
        """
        n, mean = len(self.X), np.zeros(self.n_features)
        for part in self._blocks():
            mean += part.sum(axis=0) / n
        variance = np.zeros(self.n_features)
        for part in self._blocks():
            variance += ((part - mean) ** 2).sum(axis=0) / n
        # a constant column may have a tiny spread due to rounding
        constant = np.sqrt(variance) <= 1e-7 * np.abs(mean) + np.finfo(np.float32).tiny
        factor = np.where(constant, 1.0, 1 / np.sqrt(np.where(constant, 1.0, variance)))
        return mean.astype(np.float32), factor.astype(np.float32)

    def _blocks(self) -> Iterator[Array]:
        """Yield all training rows, some at a time."""
        for start in range(0, len(self.X), _BLOCK_ROWS):
            rows = read_rows(self.X, slice(start, start + _BLOCK_ROWS))
            yield rows.astype(np.float64)

    def common_scaling(self) -> tuple[Single, Single]:
        """Return the scaling by one factor after which the root mean square of row norms is 1.

        Returns
        -------
        offset, factor : ndarray of float32, shape (d,)
            As `scaling` returns them: the offset is 0, the factor the same everywhere. It is
            computed in float64 over all training rows; rows that are all zero keep it at 1.
        """
        norm = math.sqrt(self.mean_square)
        factor = 1.0 if norm < np.finfo(np.float32).tiny else 1.0 / norm
        return np.zeros(self.n_features, np.float32), np.full(self.n_features, factor, np.float32)


def load_dataset(spec: DatasetSpec) -> Dataset:
    """Open a dataset; the first time, its files are located or downloaded, and parsed.

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
        If a file is not on this machine and cannot be downloaded.
    DataError
        If a file, or the spec itself, cannot be used.
    """
    return open_dataset(resolve(spec))


def check_present(spec: DatasetSpec) -> None:
    """Raise `MissingDataError` if `load_dataset` would have to download a file."""
    info = resolve(spec)
    if read_meta(prepared_folder(info)) is None and (lacking := find_all(info)[1]):
        raise MissingDataError(missing(info, *lacking))


def open_dataset(info: DatasetInfo) -> Dataset:
    """Open a dataset by its description; prepare it first, if necessary.

    A prepared form remains valid without its files: it is replaced only if they exist and differ.
    """
    folder = prepared_folder(info)
    meta = read_meta(folder)
    if meta is None or _outdated(meta, info):
        prepare(info, obtain(info))
        meta = read_meta(folder)
    assert meta is not None
    dataset = _open(info, folder, meta)
    return dataset if info.double is None else doubled(dataset, info.double)


def _outdated(meta: dict[str, Any], info: DatasetInfo) -> bool:
    sources, lacking = find_all(info)
    return not lacking and not refresh_meta(prepared_folder(info), meta, sources)


def obtain(info: DatasetInfo) -> list[FoundFile]:
    """Return the files of a dataset; download missing ones."""
    found, lacking = find_all(info)
    if lacking:
        from dsgkit.data.fetch import download

        download(info, lacking)
        found, _ = find_all(info)
    return found


def _open(info: DatasetInfo, folder: Path, meta: dict[str, Any]) -> Dataset:
    X, labels = _part(folder, meta, "train")
    X_test, labels_test = _part(folder, meta, "test") if "test" in meta["parts"] else (None, None)
    train = meta["parts"]["train"]
    return Dataset(
        name=info.name,
        title=info.title if info.rows is None else f"{info.title}, first {info.rows:,} rows",
        X=X,
        X_test=X_test,
        labels=labels,
        labels_test=labels_test,
        target=info.target,
        minimum=np.array(train["minimum"]),
        maximum=np.array(train["maximum"]),
        mean_square=train["mean_square"],
        made=meta["made"],
        content_hash=meta["content_hash"],
        label_setting=label_setting(info.label_columns) if _has_label_setting(info) else "",
    )


def _has_label_setting(info: DatasetInfo) -> bool:
    """Return whether the config of a dataset sets the columns of the label."""
    return info.local and info.loader == "delimited" and bool(info.label_columns)


def _part(folder: Path, meta: dict[str, Any], part: str) -> tuple[Single, NDArray[Any]]:
    recorded = meta["parts"][part]
    X, stored = open_part(folder, part, recorded)
    return X, raw_labels(stored, recorded["texts"])


def resolve(spec: DatasetSpec) -> DatasetInfo:
    """Return the description of the dataset of a config.

    Raises
    ------
    DataError
        For an unknown name, or settings that contradict it.
    """
    return _registered(spec) if spec.path is None else _local(spec)


def _registered(spec: DatasetSpec) -> DatasetInfo:
    info = get(str(spec.name))
    if spec.components is not None:
        if info.loader != "reviews":
            raise DataError(f"dataset {info.name} holds no reviews: `components` is for these")
        info = replace(info, components=spec.components, n_features=spec.components)
    changes: dict[str, Any] = {key: getattr(spec, key) for key in ("rows", "double")}
    changes["target"] = _target(spec)
    known = {key: value for key, value in changes.items() if value is not None}
    return replace(info, **known) if known else info


def _target(spec: DatasetSpec) -> Target | None:
    """Return the target of a spec; None if it states none."""
    if spec.positive is not None:
        return Target.of({"positive": spec.positive})
    return None if spec.target is None else Target.of(spec.target.settings)


def _local(spec: DatasetSpec) -> DatasetInfo:
    path = Path(str(spec.path)).expanduser().absolute()
    if spec.name in DATASETS:
        raise DataError(f"{spec.name!r} is a registered dataset; call {path} by another name")
    files = [DataFile(str(path))]
    if spec.test_path is not None:
        files.append(DataFile(str(Path(spec.test_path).expanduser().absolute()), "test"))
    target = _target(spec) or Target("ordered" if spec.loader == "reviews" else "binary")
    columns: tuple[Any, ...] = tuple(spec.label_columns or (spec.label_column,))
    as_written: dict[str, Any] = {key: getattr(spec, key) for key in _AS_WRITTEN}
    if columns == (None,):
        columns, target = (), Target("classes")  # all rows get the same label
    return DatasetInfo(
        name=spec.name or path.name,
        title=path.name,
        files=tuple(files),
        target=target,
        label_columns=columns,
        text_labels=target.has_text,
        categorical=tuple(spec.categorical or ()),
        ignored=tuple(spec.ignored or ()),
        components=spec.components or REVIEW_COMPONENTS,
        local=True,
        **as_written,
    )
