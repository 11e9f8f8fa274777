"""The registered datasets: their files, expected shapes and how to read them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsgkit.data.targets import Label, Target
from dsgkit.errors import DataError, nearest_or_all, shown, spelled

Column = int | str
"""A column of delimited text: its number from 0, negative from the end, or its name."""


@dataclass(frozen=True)
class DataFile:
    """One file of a dataset: its published name, or the path of a local file.

    Files of the same part, ``train``, ``test``, ``train_labels`` or ``test_labels``, are
    concatenated. The hash is of the uncompressed content, and ``member`` the name in a zip archive;
    the content may have other names, ``aliases``.
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
    """A dataset: its files, its expected shape and how it is read, as `DatasetSpec` says.

    The loader is ``libsvm``, ``delimited``, ``idx``, ``reviews`` or ``bundled``, which has no files
    but a ``function`` of `sklearn.datasets` or `dsgkit.data.prepare`. The files are in ``folder``
    below ``DSGKIT_DATA`` and the cache; ``local`` is a user's file. ``values`` are numbers that the
    texts of a column stand for.
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
    label_columns: Sequence[Column] = (-1,)
    text_labels: bool = False
    unlabeled: Label | None = None
    categorical: Sequence[Column] = ()
    ignored: Sequence[Column] = ()
    by_share: Sequence[Column] = ()
    dates: Mapping[Column, str] = field(default_factory=dict)
    fill: str | None = None
    values: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    components: int = 1000  # of review texts, as in the paper
    function: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    rows: int | None = None
    double: float | None = None
    local: bool = False

    @property
    def shape(self) -> str:
        return f"{self.n_rows:,} x {self.n_features:,}"


class Catalogue(dict[str, DatasetInfo]):
    """Datasets by name; an unknown name is a `DataError` with the nearest ones."""

    def __missing__(self, name: str) -> DatasetInfo:
        hint = nearest_or_all(name, sorted(self), "dsg list datasets")
        raise DataError(f"unknown dataset {spelled(name)}{hint}")


def read_catalogue(text: str) -> Catalogue:
    """Return the datasets of a catalogue; in braces are the names of shared texts."""
    tables, datasets = tomllib.loads(text), Catalogue()
    shared = tables.pop("shared", {})
    for name, entry in tables.items():
        for key, value in entry.items():
            if isinstance(value, str):
                entry[key] = value.format_map(shared)
        address, files = entry.pop("address", None), []
        for file in entry.get("files", ()):
            url = address and f"{address}/{file['name']}"
            aliases = tuple(file.pop("aliases", ()))
            files.append(DataFile(**file, url=url, aliases=aliases))
        entry.setdefault("folder", name)
        entry.setdefault("n_rows", sum(file.n_rows or 0 for file in files if file.part == "train"))
        entry["values"] = {int(column): table for column, table in entry.get("values", {}).items()}
        entry |= {"name": name, "files": tuple(files), "target": Target.of(entry["target"])}
        datasets[name] = DatasetInfo(**entry)
    return datasets


def label_setting(keys: Sequence[Column]) -> str:
    """Return a description of the config's setting of the label's columns."""
    if len(keys) > 1:
        return f"`label_columns` is {shown([*keys])}"
    return f"`label_column` is {spelled(keys[0] if keys else None)}"


DATASETS = read_catalogue(Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8"))
"""All registered datasets by name."""
