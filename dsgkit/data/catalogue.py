"""The known datasets: where they come from, what they must look like, how they are read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from dsgkit.data.targets import Binary, Bins, Nominal, Numeric, Ordered, target_of
from dsgkit.text.errors import DataError
from dsgkit.text.hints import nearest_or_all, spelled

CATALOGUE = Path(__file__).with_name("catalogue.toml")

_STRICT = ConfigDict(extra="forbid")

REVIEW_COMPONENTS = 1000
"""Components of review texts, as the paper has them."""

_TargetField = Annotated[
    Binary | Bins | Ordered | Nominal | Numeric,
    BeforeValidator(lambda value: target_of(value) if isinstance(value, dict) else value),
]


@dataclass(frozen=True, config=_STRICT)
class DataFile:
    """One file of a dataset.

    Attributes
    ----------
    name : str
        Name under which it is published, or the path of a local file.
    part : str
        Files of one part follow each other.
    n_rows : int or None
        Expected number of rows.
    sha256 : str or None
        Hash of the uncompressed content, so that it holds whatever the container.
    url : str or None
        Official address; without one the file cannot be downloaded.
    member : str or None
        Name inside ``name`` when that is a zip archive.
    aliases : tuple of str
        Other names that the content goes by.
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
        Name in configs, and for people.
    loader : str
        How the files are read; a bundled dataset has none.
    target : Target
        The use of the labels, unless a config says otherwise. In the catalogue as `target_of`
        takes it.
    n_rows, n_features : int or None
        Expected shape of the training part; None for a file not known beforehand.
    folder : str
        Folder of the files below ``DSGKIT_DATA`` and the cache.
    homepage, licence, citation, note : str
        For people.
    delimiter : str or None
        Sign between columns of delimited text; None takes commas when the first line has one,
        else white space.
    decimal : {".", ","}
        Decimal sign of delimited text.
    header : bool
        Whether the first line of delimited text holds names, or the first lines are the header of
        an ARFF file.
    label_columns : tuple of int or str
        Columns of the label in delimited text, negative from the end, or by their names in the
        header: the label is their mean. In the catalogue ``label_column`` for one alone.
    text_labels : bool
        Whether the labels of delimited text are text rather than numbers.
    categorical : tuple of int or str
        Columns of delimited text, likewise, that hold categories: each becomes one column of 0 and
        1 per category, in sorted order.
    ignored : tuple of int or str
        Columns of delimited text, likewise, that are left out.
    values : mapping of int to mapping
        Columns of delimited text, likewise, with the numbers that texts in them stand for; other
        texts are read as numbers.
    components : int
        Features that the texts of reviews become, at most.
    function : str or None
        Function of `sklearn.datasets`, which returns a bundled dataset, or makes one; or of
        `dsgkit.data.made`.
    arguments : mapping
        Arguments of that function.
    rows : int or None
        How many of the training rows are read, the first ones; None for all.
    double : float or None
        Noise with which every training row is there twice; see `dsgkit.data.doubling.doubled`.
    local : bool
        True for a user's file, found by its path alone.
    """

    name: str
    title: str
    loader: Literal["libsvm", "delimited", "reviews", "idx", "bundled"]
    files: tuple[DataFile, ...] = ()
    target: _TargetField = Binary()
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
    """Return the registered dataset of that name.

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
        TOML as in ``catalogue.toml``, whose head says how entries are written.

    Raises
    ------
    ValueError
        For text that is no TOML, and for an entry with unknown or missing keys or wrong types.
    KeyError
        For a file without its number of rows, and for a shared text that there is not.
    """
    tables = tomllib.loads(text)
    shared = tables.pop("shared", {})
    entries = {name: _completed(name, _filled(entry, shared)) for name, entry in tables.items()}
    return TypeAdapter(dict[str, DatasetInfo]).validate_python(entries)


def _filled(value: Any, shared: Mapping[str, str]) -> Any:
    """Put the shared texts into the places that name them in braces."""
    if isinstance(value, dict):
        return {key: _filled(x, shared) for key, x in value.items()}
    if isinstance(value, list):
        return [_filled(x, shared) for x in value]
    return value.format_map(shared) if isinstance(value, str) else value


def _completed(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Add to an entry what follows from the rest of it."""
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
