"""The rows of a dataset by part, from any source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data import idx, made, reviews
from dsgkit.data.catalogue import DatasetInfo
from dsgkit.data.find import FoundFile
from dsgkit.data.reading import (
    Block,
    Categories,
    check_names,
    count_features,
    find_categories,
    read_blocks,
    read_labels,
)
from dsgkit.system.progress import Bar


@dataclass(frozen=True)
class Parts:
    """A dataset that is ready to be read.

    ``blocks`` takes a part, ``train`` or ``test``, and yields its rows and labels. ``made``
    describes how the features were made; it is empty if they are those of the file. ``facts`` has
    the numbers of that description, ready for JSON.
    """

    n_features: int
    blocks: Callable[[str], Iterator[Block]]
    made: str = ""
    facts: dict[str, Any] | None = None


def open_parts(info: DatasetInfo, sources: Sequence[FoundFile]) -> Parts:
    """Return the readers of a dataset; the files are read for unknown shapes and categories.

    Parameters and errors are those of `dsgkit.data.prepare.prepare`.
    """
    if info.loader == "bundled":
        return _bundled(info)
    if info.loader == "idx":
        return _of_images(info, sources)
    return _of_reviews(info, sources) if info.loader == "reviews" else _of_tables(info, sources)


def _bundled(info: DatasetInfo) -> Parts:
    def blocks(part: str) -> Iterator[Block]:
        import sklearn.datasets

        assert info.function is not None
        library = made if hasattr(made, info.function) else sklearn.datasets
        function = getattr(library, info.function)
        # functions with arguments generate data and return (X, y) by default
        yield function(**info.arguments) if info.arguments else function(return_X_y=True)

    assert info.n_features is not None
    return Parts(info.n_features, blocks)


def _of_tables(info: DatasetInfo, sources: Sequence[FoundFile]) -> Parts:
    check_names(sources, info)
    categories = find_categories(sources, info)
    n_features = info.n_features
    if n_features is None:
        n_features = count_features(sources, info, categories)
    known = replace(info, n_features=n_features)

    def rows_of(source: FoundFile) -> Iterator[Block]:
        for X, labels in read_blocks(source, known, categories):
            yield X, labels if known.label_columns else np.zeros(len(X))

    blocks = _blocks(sources, rows_of, lambda source: read_labels(source, known))
    return Parts(n_features, blocks, _described(categories))


def _described(categories: Categories) -> str:
    """Return a description of one-hot encoded columns, grouped by their values."""
    places: dict[tuple[str, ...], list[int]] = {}
    for column, values in categories.items():
        places.setdefault(tuple(values.tolist()), []).append(column + 1)
    if not places:
        return ""
    groups = [f"{_listed(columns)} ({', '.join(values)})" for values, columns in places.items()]
    return f"one-hot {', '.join(groups)}"


def _listed(columns: Sequence[int]) -> str:
    """Return columns as text: ``column 2``, ``columns 1 to 4`` or ``columns 1, 3 and 8``."""
    *others, last = columns
    if not others:
        return f"column {last}"
    if list(columns) == list(range(columns[0], last + 1)):
        return f"columns {columns[0]} to {last}"
    return f"columns {', '.join(map(str, others))} and {last}"


def _of_images(info: DatasetInfo, sources: Sequence[FoundFile]) -> Parts:
    assert info.n_features is not None
    n_features = info.n_features

    def rows_of(source: FoundFile) -> Iterator[Block]:
        return ((X, None) for X in idx.read_rows(source, n_features))

    return Parts(n_features, _blocks(sources, rows_of, idx.read_labels))


def _blocks(
    sources: Sequence[FoundFile],
    rows_of: Callable[[FoundFile], Iterator[Block]],
    labels_of: Callable[[FoundFile], NDArray[Any]],
) -> Callable[[str], Iterator[Block]]:
    """Return a function that yields the blocks of a part, with labels of separate files if any."""

    def blocks(part: str) -> Iterator[Block]:
        rows = chain.from_iterable(rows_of(s) for s in sources if s.file.part == part)
        labels = [labels_of(s) for s in sources if s.file.part == f"{part}_labels"]
        return _joined(rows, np.concatenate(labels)) if labels else rows

    return blocks


def _joined(blocks: Iterator[Block], labels: NDArray[Any]) -> Iterator[Block]:
    """Add labels from a separate file to the rows."""
    start = 0
    for X, _ in blocks:
        stop = start + len(X)
        yield X, labels[start:stop]
        start = stop


def _of_reviews(info: DatasetInfo, sources: Sequence[FoundFile]) -> Parts:
    def read(part: str) -> Iterator[reviews.Review]:
        files = (s for s in sources if s.file.part == part)
        return chain.from_iterable(map(reviews.read_reviews, files))

    with Bar(f"{info.name} (TF-IDF and SVD)"):
        embedding, X, stars = reviews.fit(read("train"), info.components)

    def blocks(part: str) -> Iterator[Block]:
        yield (X, stars) if part == "train" else embedding.rows(read(part))

    return Parts(X.shape[1], blocks, reviews.described(embedding.facts), embedding.facts)
