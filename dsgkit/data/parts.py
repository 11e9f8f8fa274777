"""The rows of a dataset part by part, whatever they are read from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data import reviews
from dsgkit.data.catalogue import DatasetInfo
from dsgkit.data.find import FoundFile
from dsgkit.data.reading import (
    Block,
    count_features,
    find_categories,
    read_blocks,
    read_labels,
)
from dsgkit.progress import Bar


@dataclass(frozen=True)
class Parts:
    """A dataset that is ready to be read.

    Attributes
    ----------
    n_features : int
        Number of columns.
    blocks : callable
        Takes a part, ``train`` or ``test``, and yields its rows and labels.
    made : str
        How the features were made, in words; empty when they are those of the file.
    facts : dict
        The numbers behind the words, ready for JSON.
    """

    n_features: int
    blocks: Callable[[str], Iterator[Block]]
    made: str = ""
    facts: dict[str, Any] | None = None


def open_parts(info: DatasetInfo, sources: Sequence[FoundFile]) -> Parts:
    """Find out, from the files if need be, how to make rows of them.

    Parameters
    ----------
    info : DatasetInfo
        What to read.
    sources : sequence of FoundFile
        Its files; none for a bundled dataset.

    Raises
    ------
    DataError
        When a file cannot be used.
    """
    if info.loader == "bundled":
        return _bundled(info)
    return _of_reviews(info, sources) if info.loader == "reviews" else _of_tables(info, sources)


def _bundled(info: DatasetInfo) -> Parts:
    def blocks(part: str) -> Iterator[Block]:
        import sklearn.datasets

        assert info.function is not None
        yield getattr(sklearn.datasets, info.function)(return_X_y=True)

    assert info.n_features is not None
    return Parts(info.n_features, blocks)


def _of_tables(info: DatasetInfo, sources: Sequence[FoundFile]) -> Parts:
    categories = find_categories(sources, info)
    n_features = info.n_features
    if n_features is None:
        n_features = count_features(sources, info, categories)
    known = replace(info, n_features=n_features)

    def blocks(part: str) -> Iterator[Block]:
        apart = [read_labels(s, known) for s in sources if s.file.part == f"{part}_labels"]
        files = (s for s in sources if s.file.part == part)
        rows = (block for source in files for block in read_blocks(source, known, categories))
        return _joined(rows, np.concatenate(apart)) if apart else rows

    columns = [f"column {column + 1} ({', '.join(x)})" for column, x in categories.items()]
    return Parts(n_features, blocks, f"one-hot {', '.join(columns)}" if columns else "")


def _joined(blocks: Iterator[Block], labels: NDArray[Any]) -> Iterator[Block]:
    """Put labels from a file of their own beside the rows."""
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

    return Parts(X.shape[1], blocks, reviews.told(embedding.facts), embedding.facts)
