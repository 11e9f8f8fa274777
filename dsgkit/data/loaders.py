"""Readers of dataset files: each yields blocks of rows with their labels.

scikit-learn reads LIBSVM text and pandas delimited text, in chunks of lines. Only if they refuse a
chunk, or might misread it, are its lines looked at one by one, to name the first wrong one.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.files import open_content
from dsgkit.data.layout import (
    FLOAT32_OVERFLOW,
    LineError,
    decoded,
    why_no_number,
)
from dsgkit.errors import DataError, shown
from dsgkit.numerics.arrays import Array, Single

Block = tuple[Array, NDArray[Any]]
Lines = Sequence[bytes]
CHUNK_BYTES = 2**24
BLOCK_VALUES = 2**23
"""Bytes of text read at a time, and values of a dense block made of them."""

MAX_FEATURES = 2**20
"""Maximum number of features, so that a mistyped index or an endless line does not fill memory."""

TEXT, STARS = "reviewText", "overall"
"""Fields of a review that are read."""

_FREE_BYTES, _MAX_EXPANSION = 2**28, 1000


def chunks(path: Path, member: str | None = None, skipped: int = 0) -> Iterator[tuple[int, Lines]]:
    """Yield lines of a file, some MiB at a time, with the number of the first."""
    with open_content(path, member) as file:
        for _ in range(skipped):
            file.readline()
        number = skipped + 1
        while lines := file.readlines(CHUNK_BYTES):
            if number == 1:
                lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
            yield number, lines
            number += len(lines)


def refused(
    path: Path, first: int, lines: Lines, why: Callable[[str], str], error: object
) -> DataError:
    """Return the error for some lines that a library refused: about the first wrong one."""
    wrong = next(wrong_lines(path, first, lines, why), None)
    return wrong or DataError(f"{path}:{first}: cannot be read: {' '.join(str(error).split())}")


def wrong_lines(
    path: Path, first: int, lines: Lines, why: Callable[[str], str]
) -> Iterator[DataError]:
    """Yield an error for each of some lines about which ``why`` has something to say."""
    for number, line in enumerate(lines, first):
        try:
            what = why(decoded(line, number))
        except LineError as error:
            what = str(error)
        if what:
            yield DataError(f"{path}:{number}: {what}")


def read_libsvm(path: Path, n_features: int, member: str | None = None) -> Iterator[Block]:
    """Read LIBSVM text: ``label index:value ...``, indices from 1 and increasing.

    Blank lines and ``#`` comments are skipped.
    """
    from sklearn.datasets import load_svmlight_file

    def why(line: str) -> str:
        return _why_no_pairs(line, n_features)

    for first, lines in chunks(path, member):
        text = b"".join(lines)
        if any(sign in text for sign in (b"_", b"\0", b"qid:")):  # which scikit-learn accepts
            for wrong in wrong_lines(path, first, lines, why):
                raise wrong
        try:
            X, y = load_svmlight_file(
                io.BytesIO(text), n_features=n_features, dtype=np.float64, zero_based=False
            )
        except ValueError as error:
            raise refused(path, first, lines, why, error) from error
        if not ((np.abs(X.data) < FLOAT32_OVERFLOW).all() and np.isfinite(y).all()):
            raise refused(path, first, lines, why, "a number that is not finite")
        X.data += 0.0  # no -0.0, as zeros that are left out have no sign
        step = max(1, BLOCK_VALUES // n_features)
        for start in range(0, len(y), step):
            yield X[start : start + step].toarray(), y[start : start + step]


def _why_no_pairs(line: str, n_features: int) -> str:
    """Return why a line is not LIBSVM text; empty if it is."""
    label, *pairs = line.partition("#")[0].split() or [""]
    if not label:
        return ""
    if no_number := why_no_number(label, is_label=True):
        return f"label {no_number}"
    previous = 0
    for pair in pairs:
        index, colon, value = pair.partition(":")
        if not colon or not (index.isascii() and index.isdigit()):
            return f"{shown(pair)} is not index:value"
        if len(index) > 18 or int(index) > n_features:
            return f"feature index {shown(index, 25)} is beyond the {n_features} features"
        if int(index) <= previous:
            why = f"after {previous}; indices must increase" if previous else "; indices start at 1"
            return f"feature index {index} {why}"
        if no_number := why_no_number(value):
            return f"feature {index}: {no_number}"
        previous = int(index)
    return ""


def read_pairs(path: Path, n_rows: int) -> NDArray[np.int64]:
    """Read similar pairs: the numbers of two rows, from 0, in every line.

    Raises
    ------
    DataError
        If a line has anything else, or a number is not that of a row.
    """
    pairs = []
    with open_content(path) as file:
        for number, line in enumerate(file, 1):
            found = re.fullmatch(rb"\s*(\d{1,18})(?:\s*[,;]\s*|\s+)(\d{1,18})\s*", line)
            pair = [int(text) for text in found.groups()] if found else []
            if not pair or pair[0] == pair[1] or max(pair) >= n_rows:
                raise DataError(
                    f"{path}:{number}: a pair is two different row numbers from 0 to "
                    f"{n_rows - 1:,}, such as 3,17; got {shown(line.decode(errors='replace'))}"
                )
            pairs.append(pair)
    return np.array(pairs, np.int64).reshape(-1, 2)


def count_libsvm(paths: Iterable[Path]) -> int:
    """Return the largest index of LIBSVM files, unless it is implausible."""
    largest, place, n_lines, n_bytes = 0, "", 0, 0
    for path in paths:
        for first, lines in chunks(path):
            for number, line in enumerate(lines, first):
                index = line.partition(b"#")[0].rpartition(b":")[0].rpartition(b" ")[2]
                if index.isdigit() and len(index) < 19 and int(index) > largest:
                    largest, place = int(index), f"{path}:{number}"
            n_lines += len(lines)
            n_bytes += sum(map(len, lines))
    needed = 4 * largest * n_lines
    if largest > MAX_FEATURES or needed > max(_FREE_BYTES, _MAX_EXPANSION * n_bytes):
        raise DataError(
            f"{place}: an index implies {largest:,} features; rows are kept dense, with at most "
            f"{MAX_FEATURES:,}, and these take {needed / 2**30:,.1f} GiB: if the index is correct, "
            "set `dataset.n_features`"
        )
    return largest


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an IDX file of bytes, such as those of MNIST; the first dimension counts the items.

    Returns
    -------
    ndarray of uint8, shape (n_items, n_values)
    """
    with open_content(path) as file:
        content = file.read()
    if content[:3] != b"\0\0\x08":
        begins = content[:4].hex(" ")
        raise DataError(
            f"{path}: not an IDX file of unsigned bytes (it begins with {begins}, not 00 00 08)"
        )
    n_header = 4 + 4 * content[3]
    shape = np.frombuffer(content[4:n_header], ">u4").tolist() if len(content) >= n_header else []
    if not shape or len(content) - n_header != math.prod(shape):
        size = " x ".join(f"{n:,}" for n in shape) or "nothing"
        raise DataError(f"{path}: {len(content) - n_header:,} bytes, but its header says {size}")
    return np.frombuffer(content, np.uint8, offset=n_header).reshape(shape[0], -1)


def read_reviews(path: Path) -> tuple[list[str], list[float]]:
    """Read the texts and the stars of reviews: JSON lines, or a CSV table with a header."""
    texts, stars = [], []
    with open_content(path) as file:
        text = io.TextIOWrapper(file, "utf-8-sig", newline="")
        number = 0
        try:
            first = text.readline()
            lines = (line for part in ([first], text) for line in part)
            is_json = first.lstrip().startswith("{")
            records: Any = (
                map(json.loads, filter(str.strip, lines))
                if is_json
                else csv.DictReader(lines, strict=True)
            )
            for number, record in enumerate(records, 1):  # noqa: B007
                if not isinstance(record[TEXT], str):
                    raise ValueError(f"{TEXT} is not text")
                texts.append(record[TEXT])
                stars.append(float(record[STARS]))
                if not math.isfinite(stars[-1]):
                    raise ValueError(f"{STARS} {shown(record[STARS])} is not a finite number")
        except KeyError as error:
            raise DataError(f"{path}: review {number}: no field {error}") from error
        except (ValueError, TypeError, csv.Error, RecursionError) as error:
            raise DataError(f"{path}: review {number}: {shown(str(error))}") from error
    return texts, stars


def embed_reviews(
    texts: Sequence[str], components: int
) -> tuple[Single, Callable[[Sequence[str]], Single], str]:
    """Make features of texts: TF-IDF reduced by a truncated SVD, the same in every bit each time.

    Returns
    -------
    X : ndarray of float32, shape (n, n_components)
        A text without any word is a row of zeros.
    embed : callable
        Returns the rows of other texts.
    made : str
        A description.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    from dsgkit.system.threads import single_blas_thread

    vectorizer = TfidfVectorizer(dtype=np.float32)
    try:
        words = vectorizer.fit_transform(texts)
    except ValueError:  # empty vocabulary
        words = np.empty((len(texts), 0))
    if words.shape[1] < 2:
        raise DataError("the texts of the reviews hold fewer than two different words")
    svd = TruncatedSVD(min(components, *words.shape), random_state=0)
    # one thread: the order of sums is fixed; identical reviews have no variance
    with single_blas_thread(), np.errstate(invalid="ignore"):
        X = svd.fit_transform(words)
    n = X.shape[1]
    share = float(np.nan_to_num(svd.explained_variance_ratio_, nan=1).sum())
    less = f" ({components:,} asked for)" if n < components else ""
    made = f"{n:,} components{less} of TF-IDF over {words.shape[1]:,} terms, with {share:.1%} of "
    made += "its variance"
    return X, lambda others: svd.transform(vectorizer.transform(others)), made
