"""The registered datasets: their sources, expected shapes and how to read them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from dsgkit.data.targets import Target
from dsgkit.errors import DataError, nearest_or_all, spelled

CATALOGUE = Path(__file__).with_name("catalogue.toml")

_STRICT = ConfigDict(extra="forbid")

REVIEW_COMPONENTS = 1000
"""Components of review texts in the paper."""

_TargetField = Annotated[
    Target, BeforeValidator(lambda value: Target.of(value) if isinstance(value, dict) else value)
]


@dataclass(frozen=True, config=_STRICT)
class DataFile:
    """One file of a dataset.

    Attributes
    ----------
    name : str
        Published name, or the path of a local file.
    part : str
        Part of the dataset; files of the same part are concatenated.
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
    part: Literal["train", "test", "train_labels", "test_labels"] = "train"
    n_rows: int | None = None
    sha256: str | None = None
    url: str | None = None
    member: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, config=_STRICT)
class DatasetInfo:
    """A dataset: its files, its expected shape and how it is read.

    Attributes
    ----------
    name, title : str
        Name in configs, and in texts.
    loader : str
        Format of the files; a bundled dataset has no files.
    target : Target
        The use of the labels, unless a config sets another. The catalogue has the settings of
        `Target.of`.
    n_rows, n_features : int or None
        Expected shape of the training part; None if unknown, as for a local file.
    folder : str
        Folder of the files below ``DSGKIT_DATA`` and the cache.
    homepage, licence, citation, note : str
        Texts for users.
    delimiter : str or None
        Delimiter of the columns of delimited text; None is a comma if the first line has one,
        else white space.
    decimal : {".", ","}
        Decimal sign of delimited text.
    header : bool
        Whether the first line of delimited text has the names of the columns, or the first lines
        are the header of an ARFF file.
    label_columns : tuple of int or str
        Columns of the label in delimited text: numbers (negative from the end) or names in the
        header. The label is their mean. In the catalogue ``label_column`` if there is one.
    text_labels : bool
        Whether the labels of delimited text are text rather than numbers.
    categorical : tuple of int or str
        Categorical columns of delimited text: each becomes one column of 0 and 1 per category, in
        sorted order.
    ignored : tuple of int or str
        Columns of delimited text that are left out.
    values : mapping of int to mapping
        Columns of delimited text in which texts stand for numbers, with these numbers; other texts
        are read as numbers.
    components : int
        Maximum number of features made from review texts.
    function : str or None
        Function of `sklearn.datasets` or `dsgkit.data.made` that returns a bundled dataset or
        generates one.
    arguments : mapping
        Arguments of that function.
    rows : int or None
        Number of training rows to read from the start; None for all.
    double : float or None
        Noise for the copies of all training rows; see `dsgkit.data.doubling.doubled`.
    local : bool
        True for a user's file, which is given by its path.
    """

    name: str
    title: str
    loader: Literal["libsvm", "delimited", "reviews", "idx", "bundled"]
    files: tuple[DataFile, ...] = ()
    target: _TargetField = Target()
    n_rows: int | None = None
    n_features: int | None = None
    folder: str = ""
    homepage: str = ""
    licence: str = ""
    citation: str = ""
    note: str = ""
    delimiter: str | None = None
    decimal: Literal[".", ","] = "."
    header: bool = False
    label_columns: tuple[int | str, ...] = (-1,)
    text_labels: bool = False
    categorical: tuple[int | str, ...] = ()
    ignored: tuple[int | str, ...] = ()
    values: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    components: int = REVIEW_COMPONENTS
    function: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    rows: int | None = None
    double: float | None = None
    local: bool = False


def get(name: str) -> DatasetInfo:
    """Return a registered dataset by name.

    Raises
    ------
    DataError
        For an unknown name, with the nearest known ones.
    """
    if name in DATASETS:
        return DATASETS[name]
    hint = nearest_or_all(name, sorted(DATASETS), "dsg list datasets")
    raise DataError(f"unknown dataset {spelled(name)}{hint}")


def read_catalogue(text: str) -> dict[str, DatasetInfo]:
    """Return the datasets of a catalogue by name.

    Parameters
    ----------
    text : str
        TOML in the format that the head of ``catalogue.toml`` describes.

    Raises
    ------
    ValueError
        If the text is not TOML, or an entry has unknown or missing keys or wrong types.
    KeyError
        If a file lacks its number of rows, or a shared text does not exist.
    """
    tables = tomllib.loads(text)
    shared = tables.pop("shared", {})
    entries = {name: _completed(name, _filled(entry, shared)) for name, entry in tables.items()}
    return TypeAdapter(dict[str, DatasetInfo]).validate_python(entries)


def _filled(value: Any, shared: Mapping[str, str]) -> Any:
    """Replace the names of shared texts, which are in braces, by the texts."""
    if isinstance(value, dict):
        return {key: _filled(x, shared) for key, x in value.items()}
    if isinstance(value, list):
        return [_filled(x, shared) for x in value]
    return value.format_map(shared) if isinstance(value, str) else value


def _completed(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Add derived values to an entry."""
    address = entry.pop("address", None)
    files = entry.get("files", [])
    if address is not None:
        files = [file | {"url": f"{address}/{file['name']}"} for file in files]
    n_rows = sum(file["n_rows"] for file in files if file.get("part", "train") == "train")
    known: dict[str, Any] = {"n_rows": n_rows, "folder": name}
    if entry.get("loader") == "reviews":
        known["n_features"] = entry.get("components", REVIEW_COMPONENTS)
    if "label_column" in entry:
        known["label_columns"] = [entry.pop("label_column")]
    return known | entry | {"name": name, "files": files}


DATASETS = read_catalogue(CATALOGUE.read_text(encoding="utf-8"))
"""All registered datasets by name."""
