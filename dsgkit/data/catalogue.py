"""The registered datasets: their files, expected shapes and how to read them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsgkit.data.targets import Label, Target
from dsgkit.errors import DataError, nearest_or_all, spelled

CATALOGUE = Path(__file__).with_name("catalogue.toml")

REVIEW_COMPONENTS = 1000
"""Components of review texts in the paper."""

Column = int | str
"""A column of delimited text: its number from 0, negative from the end, or its name."""


@dataclass(frozen=True)
class DataFile:
    """One file of a dataset.

    Attributes
    ----------
    name : str
        Published name, or the path of a local file.
    part : {"train", "test", "train_labels", "test_labels"}
        Files of the same part are concatenated.
    n_rows : int or None
        Expected number of rows.
    sha256 : str or None
        Hash of the uncompressed content, which is independent of the compression.
    url : str or None
        Official address; without one the file cannot be downloaded.
    member : str or None
        Name inside ``name`` if that is a zip archive.
    aliases : tuple of str
        Other file names of the content.
    """

    name: str
    part: str = "train"
    n_rows: int | None = None
    sha256: str | None = None
    url: str | None = None
    member: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset: its files, its expected shape and how it is read.

    Attributes
    ----------
    name, title : str
        Name in configs, and in texts.
    loader : {"libsvm", "delimited", "idx", "reviews", "bundled"}
        Format of the files; a bundled dataset has none.
    target : Target
        The use of the labels, unless a config sets another; `Target.of` reads the catalogue's.
    n_rows, n_features : int or None
        Expected shape of the training part; None if unknown, as for a local file.
    folder : str
        Folder of the files below ``DSGKIT_DATA`` and the cache.
    homepage, licence, citation, note : str
        Texts for users.
    delimiter, decimal, header, categorical, ignored, by_share, dates, fill, pairs
        How delimited text is read, as `DatasetSpec` says. A None as delimiter is a comma if rows
        have one, else white space. A header may be that of an ARFF file.
    label_columns : tuple of column
        The label of delimited text is their mean. ``label_column`` in the catalogue if it is one.
    text_labels : bool
        Whether the labels of delimited text are text rather than numbers.
    unlabeled : label or None
        The label of rows without one; so are rows whose label is empty.
    values : mapping of int to mapping
        Columns in which texts stand for numbers, with these numbers.
    components : int
        Maximum number of features made from review texts.
    function, arguments : str or None, mapping
        Function of `sklearn.datasets` or `dsgkit.data.made` that returns a bundled dataset.
    rows : int or None
        Number of training rows to read from the start.
    double : float or None
        Repeat the training rows with noise of this standard deviation; see `dataset.doubled`.
    local : bool
        Whether it is a user's file, which is compared with its config.
    """

    name: str
    title: str
    loader: str
    files: tuple[DataFile, ...] = ()
    target: Target = field(default_factory=Target)
    n_rows: int | None = None
    n_features: int | None = None
    folder: str = ""
    homepage: str = ""
    licence: str = ""
    citation: str = ""
    note: str = ""
    delimiter: str | None = None
    decimal: str = "."
    header: bool = False
    label_columns: tuple[Column, ...] = (-1,)
    text_labels: bool = False
    unlabeled: Label | None = None
    categorical: tuple[Column, ...] = ()
    ignored: tuple[Column, ...] = ()
    by_share: tuple[Column, ...] = ()
    dates: Mapping[Column, str] = field(default_factory=dict)
    fill: str | None = None
    values: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    components: int = REVIEW_COMPONENTS
    function: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    rows: int | None = None
    double: float | None = None
    local: bool = False

    def reading(self) -> dict[str, Any]:
        """Return the settings that the content depends on, ready for JSON."""
        keys = "loader n_features delimiter decimal header label_columns text_labels unlabeled"
        keys += " categorical ignored by_share dates fill values components function arguments rows"
        files = [(file.part, file.member, file.n_rows, file.sha256) for file in self.files]
        return {"files": files} | {key: getattr(self, key) for key in keys.split()}


def get(name: str) -> DatasetInfo:
    """Return a registered dataset; `DataError` for an unknown name, with the nearest ones."""
    if name in DATASETS:
        return DATASETS[name]
    hint = nearest_or_all(name, sorted(DATASETS), "dsg list datasets")
    raise DataError(f"unknown dataset {spelled(name)}{hint}")


def read_catalogue(text: str) -> dict[str, DatasetInfo]:
    """Return the datasets of a catalogue by name.

    Raises
    ------
    TypeError, KeyError, ValueError
        For unknown or missing keys, unknown shared texts, and text that is not TOML.
    """
    tables = tomllib.loads(text)
    shared = tables.pop("shared", {})
    return {name: _info(name, _filled(entry, shared)) for name, entry in tables.items()}


def _filled(value: Any, shared: Mapping[str, str]) -> Any:
    """Replace the names of shared texts, which are in braces, by the texts."""
    if isinstance(value, dict):
        return {key: _filled(x, shared) for key, x in value.items()}
    if isinstance(value, list):
        return tuple(_filled(x, shared) for x in value)
    return value.format_map(shared) if isinstance(value, str) else value


def _info(name: str, entry: dict[str, Any]) -> DatasetInfo:
    """Return an entry with its derived values."""
    address = entry.pop("address", None)
    urls = [
        {"url": f"{address}/{file['name']}"} if address else {} for file in entry.get("files", ())
    ]
    files = [DataFile(**file | url) for file, url in zip(entry.get("files", ()), urls, strict=True)]
    known = {"n_rows": sum(file.n_rows or 0 for file in files if file.part == "train")}
    if entry["loader"] == "reviews":
        known["n_features"] = entry.get("components", REVIEW_COMPONENTS)
    if "label_column" in entry:
        entry["label_columns"] = (entry.pop("label_column"),)
    values = {int(column): table for column, table in entry.get("values", {}).items()}
    target = Target.of(entry.pop("target"))
    own = {"name": name, "files": tuple(files), "target": target, "values": values}
    return DatasetInfo(**known | {"folder": name} | entry | own)


DATASETS = read_catalogue(CATALOGUE.read_text(encoding="utf-8"))
"""All registered datasets by name."""
