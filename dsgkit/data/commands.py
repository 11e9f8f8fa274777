"""Dataset commands of the command line, as functions that return data to print."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.catalogue import DATASETS, DataFile, DatasetInfo, get
from dsgkit.data.datasets import Dataset, obtain, open_dataset
from dsgkit.data.find import find, find_all, missing
from dsgkit.data.lines import checksum
from dsgkit.data.prepare import (
    Statistics,
    is_current,
    open_part,
    prepared_folder,
    raw_labels,
    read_meta,
)
from dsgkit.data.targets import label_text
from dsgkit.errors import DataError

_BLOCK_ROWS = 2**16
_MAX_COUNTED_CLASSES = 30
"""Maximum number of different labels whose rows are counted one by one."""


@dataclass(frozen=True)
class Check:
    """A result of `verify`; ``ok`` is None if there was nothing to compare with."""

    subject: str
    ok: bool | None
    detail: str


def fetch(name: str) -> list[Path]:
    """Download missing files of a dataset, and return the paths of all."""
    return list(dict.fromkeys(source.path for source in obtain(get(name))))


def prepare(name: str) -> Dataset:
    """Parse a dataset, unless it is prepared already, and open it."""
    return open_dataset(get(name))


def state(info: DatasetInfo) -> str:
    """Return ``prepared``, ``bundled``, ``found``, ``to download`` or ``missing``."""
    if read_meta(prepared_folder(info)) is not None:
        return "prepared"
    if info.loader == "bundled":
        return "bundled"
    _, lacking = find_all(info)
    if not lacking:
        return "found"
    return "to download" if all(file.url for file in lacking) else "missing"


def overview() -> list[tuple[str, str, str, str]]:
    """Return name, shape, state and title of every registered dataset."""
    return [(d.name, _shape(d), state(d), d.title) for d in DATASETS.values()]


def _shape(info: DatasetInfo) -> str:
    return f"{info.n_rows:,} x {info.n_features:,}"


def info(name: str) -> list[tuple[str, str]]:
    """Return the facts about a dataset as pairs of a heading and a text."""
    dataset = get(name)
    pairs = [
        ("name", dataset.name),
        ("title", dataset.title),
        ("rows x features", _shape(dataset)),
        ("target", dataset.target.words),
        ("homepage", dataset.homepage),
        ("licence", dataset.licence),
        ("citation", dataset.citation),
        ("note", dataset.note),
        ("loader", dataset.loader),
        *(_described(dataset, file) for file in dataset.files),
        *_prepared_pairs(dataset),
    ]
    return [(heading, text) for heading, text in pairs if text]


def _described(dataset: DatasetInfo, file: DataFile) -> tuple[str, str]:
    source = find(dataset, file)
    place = str(source.path) if source else missing(dataset, file)
    return f"{file.part.replace('_', ' ')} file", place


def _prepared_pairs(dataset: DatasetInfo) -> list[tuple[str, str]]:
    folder = prepared_folder(dataset)
    meta = read_meta(folder)
    if meta is None:
        return [("prepared", "not yet")]
    labels = {
        part: raw_labels(open_part(folder, part, recorded)[1], recorded["texts"])
        for part, recorded in meta["parts"].items()
    }
    try:
        target = dataset.target.describe(labels["train"])
    except ValueError as error:
        target = str(error)
    return [
        ("prepared", str(folder)),
        *((f"{part} labels", _label_counts(values)) for part, values in labels.items()),
        ("prepared target", target if target != dataset.target.words else ""),
        ("prepared features", meta["made"]),
        ("content hash", meta["content_hash"]),
    ]


def _label_counts(labels: NDArray[Any]) -> str:
    """Return the number of rows per label or, if there are many labels, their range."""
    values, counts = np.unique(labels, return_counts=True)
    if len(values) > _MAX_COUNTED_CLASSES:
        ends = f"from {label_text(values[0])} to {label_text(values[-1])}"
        return f"{len(labels):,}, of {len(values):,} kinds {ends}"
    pairs = zip(values, counts, strict=True)
    return f"{len(labels):,} (" + ", ".join(f"{label_text(v)}: {n:,}" for v, n in pairs) + ")"


def verify(name: str) -> list[Check]:
    """Check the files of a dataset and its prepared form; both are read completely.

    Parameters
    ----------
    name : str
        A registered dataset.

    Returns
    -------
    list of Check
    """
    dataset = get(name)
    return [_check_file(dataset, file) for file in dataset.files] + _check_prepared(dataset)


def _check_file(dataset: DatasetInfo, file: DataFile) -> Check:
    source = find(dataset, file)
    if source is None:
        return Check(file.member or file.name, False, missing(dataset, file))
    try:
        actual = checksum(source)
    except DataError as error:
        return Check(source.label, False, str(error))
    if file.sha256 is None:
        return Check(source.label, None, f"sha256 {actual}; none is registered to compare with")
    if actual != file.sha256:
        return Check(source.label, False, f"sha256 {actual}, but {file.sha256} is registered")
    return Check(source.label, True, f"sha256 {actual} as registered")


def _check_prepared(dataset: DatasetInfo) -> list[Check]:
    folder = prepared_folder(dataset)
    meta = read_meta(folder)
    if meta is None:
        return [Check("prepared", None, "not prepared yet")]
    sources, lacking = find_all(dataset)
    checks = [_check_part(folder, part, meta["parts"][part]) for part in meta["parts"]]
    shape = f"{meta['parts']['train']['n_rows']:,} x {meta['n_features']:,}"
    expected = _shape(dataset)
    checks.append(Check("shape", shape == expected, f"{shape}, registered {expected}"))
    if sources and not lacking:
        current = is_current(meta, sources)
        detail = "made of these files" if current else "the files have changed since"
        checks.append(Check("prepared from", current, detail))
    return checks


def _check_part(folder: Path, part: str, recorded: dict[str, Any]) -> Check:
    """Compare the stored rows and labels with the statistics recorded when they were written."""
    try:
        X, stored = open_part(folder, part, recorded)
    except DataError as error:
        return Check(f"prepared {part}", False, str(error))
    statistics = Statistics(X.shape[1])
    for start in range(0, len(X), _BLOCK_ROWS):
        statistics.add(np.ascontiguousarray(X[start : start + _BLOCK_ROWS]))
    actual = statistics.finish(stored, recorded["texts"])
    wrong = [key for key, value in actual.items() if value != recorded[key]]
    shape = f"{X.shape[0]:,} x {X.shape[1]:,} in {folder}"
    detail = f"differs from the record: {', '.join(wrong)}" if wrong else "as recorded"
    return Check(f"prepared {part}", not wrong, f"{shape}: {detail}")
