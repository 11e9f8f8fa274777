"""Product reviews: features from the words of the text, with the stars as label.

Features are TF-IDF reduced by a truncated SVD, both of scikit-learn and fitted on the training
rows. Files are JSON lines, as in McAuley's Amazon product data, or a CSV table with a header; of
each review the fields `TEXT` and `STARS` are read.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from dsgkit.data import numbers
from dsgkit.data.find import FoundFile
from dsgkit.data.lines import LineReader, check_rows
from dsgkit.errors import DataError, shown
from dsgkit.numerics.arrays import Array, Single

TEXT, STARS = "reviewText", "overall"
"""Names of the fields to read."""

SEED = 0
"""Seed of the SVD's initial random projection."""

Review = tuple[str, float]
_TOO_FEW_TERMS = "the texts of the reviews hold fewer than two different words"
_Fail = Callable[[int, str], DataError]
_Records = Iterator[tuple[int, Mapping[str, Any]]]


def read_reviews(source: FoundFile) -> Iterator[Review]:
    """Read the reviews of a file.

    Parameters
    ----------
    source : FoundFile
        JSON lines, which start with ``{``, or a table with a header.

    Yields
    ------
    text : str
        May be empty.
    stars : float
        As in the file.

    Raises
    ------
    DataError
        For a malformed review, with file and line; an empty file, an unexpected number of rows, or
        a wrong checksum.
    """

    def fail(line: int, text: str) -> DataError:
        return DataError(f"{source.label}:{line}: {text}")

    reader = LineReader(source)
    lines = _lines(reader, fail)
    first = next(lines, "")
    records = _from_json if first.lstrip().startswith("{") else _from_table
    n_rows = 0
    for line, record in records(chain([first], lines), fail):
        yield _review(record, line, fail)
        n_rows += 1
    check_rows(source, n_rows)
    reader.check_sha256()


def _lines(reader: LineReader, fail: _Fail) -> Iterator[str]:
    for chunk in reader:
        lines = chunk.data.removesuffix(b"\n").split(b"\n")
        for number, line in enumerate(lines, chunk.first_line):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8") + "\n"
            except UnicodeDecodeError as error:
                raise fail(number, f"not UTF-8 ({error.reason})") from error


def _from_json(lines: Iterable[str], fail: _Fail) -> _Records:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise fail(number, f"not JSON ({error})") from error
        if not isinstance(record, dict):
            raise fail(number, "not a JSON object")
        yield number, record


def _from_table(lines: Iterable[str], fail: _Fail) -> _Records:
    table = csv.reader(lines, strict=True)
    names: list[str] | None = None
    try:
        for row in table:
            if names is None:
                names = row
                if lacking := [name for name in (TEXT, STARS) if name not in names]:
                    raise fail(1, f"neither JSON nor a line of names with {lacking[0]}")
            elif len(row) not in (0, len(names)):
                raise fail(table.line_num, f"{len(row)} columns instead of {len(names)}")
            elif row:
                yield table.line_num, dict(zip(names, row, strict=True))
    except csv.Error as error:
        raise fail(table.line_num, f"not a table ({error})") from error


def _review(record: Mapping[str, Any], line: int, fail: _Fail) -> Review:
    for name in (TEXT, STARS):
        if name not in record:
            raise fail(line, f"a review without {name}")
    text, stars = record[TEXT], record[STARS]
    if not isinstance(text, str):
        raise fail(line, f"{TEXT} is not text")
    try:
        value = numbers.number(stars.strip()) if isinstance(stars, str) else float(stars)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise fail(line, f"{STARS} {shown(stars)} is not a finite number")
    return text, value


@dataclass(frozen=True)
class Embedding:
    """Converts the texts of reviews to rows.

    Attributes
    ----------
    facts : dict
        ``n_asked`` and ``n_components``, the requested and the actual number of components;
        ``n_terms`` of the vocabulary; ``explained_variance``, the components' share of the variance
        of TF-IDF.
    """

    vectorizer: Any
    svd: Any
    facts: dict[str, Any]

    def rows(self, reviews: Iterable[Review]) -> tuple[Single, Array]:
        """Return rows of shape (n, n_components) and stars of shape (n,)."""
        stars: list[float] = []
        words = self.vectorizer.transform(_texts(reviews, stars))
        return self.svd.transform(words), np.array(stars)


def fit(reviews: Iterable[Review], components: int) -> tuple[Embedding, Single, Array]:
    """Fit the conversion from texts to rows; the result is the same in every bit each time.

    Parameters
    ----------
    reviews : iterable of Review
        The training rows.
    components : int
        Requested number of features; capped by the numbers of rows and terms.

    Returns
    -------
    embedding : Embedding
    X : ndarray of float32, shape (n, n_components)
        A text without any word is a row of zeros.
    stars : ndarray of float64, shape (n,)

    Raises
    ------
    DataError
        If the texts have fewer than two different words.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    from dsgkit.system.threads import single_blas_thread

    stars: list[float] = []
    vectorizer = TfidfVectorizer(dtype=np.float32)
    try:
        words = vectorizer.fit_transform(_texts(reviews, stars))
    except DataError:
        raise
    except ValueError as error:  # empty vocabulary
        raise DataError(_TOO_FEW_TERMS) from error
    if words.shape[1] < 2:
        raise DataError(_TOO_FEW_TERMS)
    svd = TruncatedSVD(min(components, *words.shape), random_state=SEED)
    # one thread: the order of sums is fixed; identical reviews have no variance
    with single_blas_thread(), np.errstate(invalid="ignore"):
        X = svd.fit_transform(words)
    facts = {
        "n_asked": components,
        "n_components": X.shape[1],
        "n_terms": words.shape[1],
        "explained_variance": float(np.nan_to_num(svd.explained_variance_ratio_, nan=1).sum()),
    }
    return Embedding(vectorizer, svd, facts), X, np.array(stars)


def described(facts: Mapping[str, Any]) -> str:
    """Return a description of how the features of reviews were made."""
    less = f" ({facts['n_asked']:,} asked for)" if facts["n_components"] < facts["n_asked"] else ""
    return (
        f"{facts['n_components']:,} components{less} of TF-IDF over {facts['n_terms']:,} terms, "
        f"with {facts['explained_variance']:.1%} of its variance"
    )


def _texts(reviews: Iterable[Review], stars: list[float]) -> Iterator[str]:
    """Yield the texts, and append the stars to a list."""
    for text, value in reviews:
        stars.append(value)
        yield text
