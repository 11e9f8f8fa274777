"""Datasets of configs: rows as memory maps, labels, and what tasks ask of them; views of rows."""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsgkit.data.catalogue import DatasetInfo, label_setting
from dsgkit.data.files import obtain, prepared_folder
from dsgkit.data.loaders import read_pairs
from dsgkit.data.prepare import FILE_ROWS, prepare
from dsgkit.data.spec import DatasetSpec, resolve
from dsgkit.data.targets import Target
from dsgkit.errors import DataError, MissingDataError
from dsgkit.linalg import Array, Single, fixed, read_rows, row_blocks
from dsgkit.seeds import derive_seed

Index = slice | NDArray[np.integer]
_BLOCK_ROWS = 10_000


@dataclass(frozen=True)
class Dataset:
    """Rows and labels of a dataset, and the target that converts the labels.

    Attributes
    ----------
    name, title : str
        Name in configs, and in texts.
    X : memmap or ndarray of float32, shape (n + n_unlabeled, d)
        All training rows, unscaled: those with a label, then those without one, each in the order
        of the file.
    X_test : memmap of float32, or None
        The official test split, if there is one.
    labels, labels_test : ndarray of float64 or of text, shape (n,)
        As in the file. Rows without a label have no entry.
    target : Target
        Converts ``labels`` to ``y``.
    minimum, maximum : ndarray of float64, shape (d,)
        Extremes of each column over all training rows.
    content_hash : str
        Hash of the rows and labels, whatever the target.
    made, label_setting : str
        How the features were made, and which column is the label, for messages.
    offsets : ndarray of float64, shape (d,), or None
        What was subtracted from the columns of the file, as float32 would lose their differences.
    similar_pairs : ndarray of int, shape (n_pairs, 2), or None
        Numbers in ``X`` of the rows of each similar pair that the user has; None to draw pairs.
    file_rows : ndarray of int, or None
        Number in the file, from 0, of each row of ``X``; None if the order is that of the file.
    """

    name: str
    title: str
    X: Any
    X_test: Any
    labels: NDArray[Any]
    labels_test: NDArray[Any] | None
    target: Target
    minimum: Array
    maximum: Array
    content_hash: str
    made: str = ""
    label_setting: str = ""
    offsets: Array | None = None
    similar_pairs: NDArray[np.integer] | None = None
    file_rows: NDArray[np.integer] | None = None

    def error(self, text: str) -> DataError:
        return DataError(f"dataset {self.name}: {text}")

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def unlabeled_rows(self) -> NDArray[np.integer]:
        """Numbers of the training rows without a label, which come last."""
        return np.arange(len(self.labels), len(self.X))

    @functools.cached_property
    def y(self) -> NDArray[Any]:
        """Converted labels of the training rows: -1 and +1, classes, or numbers.

        `DataError` if the labels do not suit the target. Rows without a label have no entry.
        """
        return self._converted(self.labels)

    @functools.cached_property
    def y_test(self) -> NDArray[Any] | None:
        return None if self.labels_test is None else self._converted(self.labels_test, " (test)")

    def _converted(self, labels: NDArray[Any], part: str = "") -> NDArray[Any]:
        try:
            return self.target.apply(labels, self.labels)
        except ValueError as error:
            setting = f"; {self.label_setting}" if self.label_setting else ""
            raise DataError(f"dataset {self.name}{part}: {error}{setting}") from error

    @property
    def identity(self) -> list[Any]:
        """Identity of content and target, which results depend on, ready for JSON."""
        identity: list[Any] = [self.content_hash, *self.target.identity]
        if self.similar_pairs is not None:
            pairs = np.ascontiguousarray(self.similar_pairs, "<i8").tobytes()
            identity += ["similar pairs", hashlib.sha256(pairs).hexdigest()]
        return identity

    def describe(self) -> dict[str, Any]:
        """Return the facts for reports, ready for JSON."""
        target, labels = self.target, self.labels
        optional = {"n_unlabeled": len(self.X) - len(labels), "features": self.made}
        return {
            "name": self.name,
            "title": self.title,
            "content_hash": self.content_hash,
            "target": target.words if target.kind == "binary" else target.describe(labels, self.y),
            "n_rows": len(self.X),
            "n_test_rows": 0 if self.X_test is None else len(self.X_test),
            "n_features": self.n_features,
        } | {key: value for key, value in optional.items() if value}

    @property
    def summary(self) -> str:
        """How its file was read: numbers of rows and features, and what the labels are."""
        facts = self.describe()
        unlabeled = f", {facts['n_unlabeled']:,} without a label" if "n_unlabeled" in facts else ""
        rows = f"{facts['n_rows']:,} rows{unlabeled}, {facts['n_features']:,} features"
        share = f" ({np.mean(self.y == 1):.1%} positive)" if self.target.kind == "binary" else ""
        return f"{self.title}: {rows}; {facts['target']}{share}"

    def scaling(self, scale: str | tuple[float, float] = (0.0, 1.0)) -> tuple[Single, Single]:
        """Return the scaling of every column, computed over all training rows in float64.

        Parameters
        ----------
        scale : (low, high), "standard" or "common"
            Map the range of every column to an interval; give every column mean 0 and standard
            deviation 1; or divide all by one factor, so that the root mean square of row norms
            becomes 1.

        Returns
        -------
        offset, factor : ndarray of float32, shape (d,)
            For ``(x - offset) * factor``, as `Rows` computes it. A constant column becomes ``low``,
            or 0; rows that are all zero keep the common factor 1.

        Raises
        ------
        DataError
            When the range of a column is beyond float32.
        """
        tiny = np.finfo(np.float32).tiny
        if scale == "common":
            norms = (np.square(part).sum(axis=1).tolist() for part in self._blocks())
            norm = math.sqrt(math.fsum(chain.from_iterable(norms)) / len(self.X))
            factor = 1.0 if norm < tiny else 1.0 / norm
            return np.zeros(self.n_features, np.float32), np.full(self.n_features, factor, "f4")
        if scale == "standard":
            n = len(self.X)
            mean: Any = sum(part.sum(axis=0) / n for part in self._blocks())
            variance: Any = sum(((part - mean) ** 2).sum(axis=0) / n for part in self._blocks())
            # a constant column may have a tiny spread due to rounding
            constant = np.sqrt(variance) <= 1e-7 * np.abs(mean) + tiny
            factors = np.where(constant, 1.0, 1 / np.sqrt(np.where(constant, 1.0, variance)))
            return mean.astype(np.float32), factors.astype(np.float32)
        low, high = (float(end) for end in scale)
        width = self.maximum - self.minimum
        if (width > np.finfo(np.float32).max).any():
            column = int(np.argmax(width)) + 1
            raise self.error(f"the range of feature {column} overflows float32")
        # the width as float32 subtraction gives it, so that the largest value becomes `high`
        width = width.astype(np.float32)
        constant = width < tiny
        factors = np.where(constant, 1.0, (high - low) / np.where(constant, 1.0, width))
        factors = factors.astype(np.float32)
        return (self.minimum - low / factors.astype(np.float64)).astype(np.float32), factors

    def _blocks(self) -> Iterator[Array]:
        for block in row_blocks(len(self.X), _BLOCK_ROWS):
            yield read_rows(self.X, block).astype(np.float64)


class Rows:
    """A lazy two-dimensional view ``(base[index] - offset) * factor`` in float32.

    Parameters
    ----------
    base : ndarray or memmap of shape (n, d)
        The whole matrix.
    index : array of int, optional
        Row numbers in ``base``, in the order of the view; all rows by default.
    offset, factor : array of shape (d,), optional
        Scaling per column; none by default.

    Notes
    -----
    Rows are read by a slice or an array of positions into a new C-contiguous array; a second index
    selects columns. The index and the scaling are read-only, because views share them.
    """

    ndim = 2
    dtype = np.dtype(np.float32)

    def __init__(
        self,
        base: Any,
        index: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        factor: ArrayLike | None = None,
    ) -> None:
        self.base = base
        self.index = None if index is None else fixed(np.asarray(index))
        self.offset = None if offset is None else fixed(np.asarray(offset, np.float32))
        self.factor = None if factor is None else fixed(np.asarray(factor, np.float32))

    def __len__(self) -> int:
        return len(self.base) if self.index is None else len(self.index)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.base.shape[1]

    def __getitem__(self, key: Index | tuple[slice, Any]) -> Single:
        if isinstance(key, tuple):
            rows, columns = key
            return self[rows][:, columns]
        values = read_rows(self.base, key if self.index is None else self.index[key])
        if self.offset is not None:
            values -= self.offset
        if self.factor is not None:
            values *= self.factor
        return values

    def __array__(
        self, dtype: np.dtype[Any] | None = None, copy: bool | None = None
    ) -> NDArray[Any]:
        return self[:].astype(dtype or self.dtype, copy=False)

    def take(self, key: Index) -> Rows:
        """Return a view of some of these rows, without reading them."""
        index = np.arange(len(self.base)) if self.index is None else self.index
        return Rows(self.base, index[key], self.offset, self.factor)


def load_dataset(spec: DatasetSpec | DatasetInfo) -> Dataset:
    """Open a dataset; the first time, its files are located or downloaded, and parsed.

    Parameters
    ----------
    spec : DatasetSpec or DatasetInfo
        The ``dataset`` part of a config, or an entry of the catalogue.

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
    info = spec if isinstance(spec, DatasetInfo) else resolve(spec)
    try:
        paths = obtain(info)
    except MissingDataError as error:
        prepared = prepared_folder(info, [Path(file.name) for file in info.files])
        forms = prepared.parent.glob(f"{prepared.name.rpartition('-')[0]}-*")
        place = next((f"; its rows as they were are in {path}" for path in forms), "")
        raise MissingDataError(f"{error}{place if info.local else ''}") from None
    folder = prepared_folder(info, paths)
    if not (folder / "meta.json").is_file():
        prepare(info, paths, folder)
    X, labels = dict[str, Any](test=None), dict[str, Any](test=None)
    try:
        meta = json.loads((folder / "meta.json").read_text())
        for part, texts in meta["texts"].items():
            X[part], stored = (np.load(folder / f"{k}_{part}.npy", mmap_mode="r") for k in "Xy")
            labels[part] = stored if texts is None else np.array(texts)[stored]
    except (OSError, ValueError) as error:
        raise DataError(
            f"{folder}: the prepared data cannot be opened ({error}); remove the folder, or set "
            "DSGKIT_CACHE to a local disk"
        ) from error
    is_set = info.local and info.loader == "delimited" and info.label_columns
    rows = np.load(path, mmap_mode="r") if (path := folder / FILE_ROWS).is_file() else None
    pairs = None
    if isinstance(spec, DatasetSpec) and spec.pairs is not None:
        pairs = read_pairs(Path(spec.pairs).expanduser(), len(X["train"]))
        pairs = pairs if rows is None else np.argsort(rows)[pairs]
    dataset = Dataset(
        info.name,
        info.title if info.rows is None else f"{info.title}, first {info.rows:,} rows",
        *(X["train"], X["test"], labels["train"], labels["test"], info.target),
        minimum=np.float32(meta["minimum"]).astype(float),
        maximum=np.float32(meta["maximum"]).astype(float),
        content_hash=meta["content_hash"],
        made=meta["made"],
        label_setting=label_setting(info.label_columns) if is_set else "",
        offsets=None if meta["offsets"] is None else np.array(meta["offsets"]),
        similar_pairs=pairs,
        file_rows=rows,
    )
    return dataset if info.double is None else doubled(dataset, info.double)


def doubled(dataset: Dataset, noise: float) -> Dataset:
    """Return a dataset with every training row twice, as in the paper on similar-unlabelled data.

    The copies come second and have Gaussian noise in their first feature, of the standard deviation
    ``noise`` in units of its range, which the paper does not state. It is the same in every run.
    Both are drawn like any others: one may be in the training set and the other in the test set, as
    in the paper, so test errors are too low for methods that memorise rows.
    """
    from dsgkit.random import normal_blocks  # compiles kernels

    if len(dataset.unlabeled_rows):
        raise dataset.error("`double` needs a label in every row")
    n, width = len(dataset.X), dataset.maximum[0] - dataset.minimum[0]
    draws = normal_blocks(derive_seed(0, "double"), 0, 1, 1, n).reshape(n)
    X = np.concatenate([dataset.X, dataset.X])
    with np.errstate(over="ignore"):
        X[n:, 0] = X[:n, 0].astype(np.float64) + noise * width * draws
    if not width > 0 or not np.isfinite(X[n:, 0]).all():
        raise dataset.error(
            f"`double: {noise:g}` is noise in units of the range of the "
            f"first feature, which is {width:g}"
        )
    how = f"every row twice, the copy with noise of {noise:g} of its range in the first feature"
    identity = json.dumps([dataset.content_hash, "doubled", noise])
    return replace(
        dataset,
        title=f"{dataset.title}, doubled with noise {noise:g}",
        X=X,
        labels=np.concatenate([dataset.labels, dataset.labels]),
        minimum=X.min(axis=0).astype(np.float64),
        maximum=X.max(axis=0).astype(np.float64),
        made="; ".join(filter(None, [dataset.made, how])),
        content_hash=hashlib.sha256(identity.encode()).hexdigest(),
    )
