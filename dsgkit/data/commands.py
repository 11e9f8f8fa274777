"""Facts and checks of registered datasets, for `dsg data` and `dsg list datasets`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data import files
from dsgkit.data.catalogue import DATASETS, DatasetInfo, get
from dsgkit.data.dataset import open_dataset
from dsgkit.data.prepare import prepared_folder
from dsgkit.data.targets import label_text
from dsgkit.errors import DataError

_MAX_COUNTED_CLASSES = 30


def state(info: DatasetInfo) -> str:
    """Return ``prepared``, ``bundled``, ``found``, ``to download`` or ``missing``."""
    if lacking := files.lacking(info):
        return "to download" if all(file.url for file in lacking) else "missing"
    if prepared_folder(info, files.obtain(info)).is_dir():
        return "prepared"
    return "found" if info.files else "bundled"


def overview() -> list[tuple[str, str, str, str]]:
    """Return name, shape, state and title of every registered dataset."""
    return [(d.name, _shape(d), state(d), d.title) for d in DATASETS.values()]


def _shape(info: DatasetInfo) -> str:
    return f"{info.n_rows:,} x {info.n_features:,}"


def info(name: str) -> list[tuple[str, str]]:
    """Return the facts about a dataset as pairs of a heading and a text."""
    known = get(name)
    pairs = [("name", known.name), ("title", known.title), ("rows x features", _shape(known))]
    pairs += [("target", known.target.words)]
    pairs += [(key, getattr(known, key)) for key in ("homepage", "licence", "citation", "note")]
    pairs += [("loader", known.loader)]
    for file in known.files:
        path = files.find(known, file)
        place = str(path) if path else files.missing(known, file)
        pairs.append((f"{file.part.replace('_', ' ')} file", place))
    if state(known) == "prepared":
        dataset = open_dataset(known)
        try:
            target = known.target.describe(dataset.labels)
        except ValueError as error:
            target = str(error)
        pairs += [("prepared", str(prepared_folder(known, files.obtain(known))))]
        pairs += [("train labels", _counts(dataset.labels))]
        if dataset.labels_test is not None:
            pairs += [("test labels", _counts(dataset.labels_test))]
        pairs += [("prepared target", target if target != known.target.words else "")]
        pairs += [("prepared features", dataset.made), ("content hash", dataset.content_hash)]
    else:
        pairs += [("prepared", "not yet")]
    return [(heading, text) for heading, text in pairs if text]


def _counts(labels: NDArray[Any]) -> str:
    """Return the number of rows per label or, if there are many labels, their range."""
    values, counts = np.unique(labels, return_counts=True)
    if len(values) > _MAX_COUNTED_CLASSES:
        ends = f"from {label_text(values[0])} to {label_text(values[-1])}"
        return f"{len(labels):,}, of {len(values):,} kinds {ends}"
    pairs = zip(values, counts, strict=True)
    return f"{len(labels):,} (" + ", ".join(f"{label_text(v)}: {n:,}" for v, n in pairs) + ")"


def verify(name: str) -> list[tuple[bool | None, str, str]]:
    """Compare the files of a dataset with the registered checksums.

    Returns
    -------
    list of (ok, file, detail)
        ``ok`` is None if nothing is registered.
    """
    known, checks = get(name), list[tuple[bool | None, str, str]]()
    for file in known.files:
        if (path := files.find(known, file)) is None:
            checks.append((False, file.member or file.name, files.missing(known, file)))
            continue
        try:
            actual = files.check_sha256(file, path)
        except DataError as error:
            checks.append((False, str(path), str(error).removeprefix(f"{path}: ")))
        else:
            told = "as registered" if file.sha256 else "; none is registered to compare with"
            checks.append((None if not file.sha256 else True, str(path), f"sha256 {actual} {told}"))
    return checks
