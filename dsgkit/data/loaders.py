"""Readers of dataset files: each yields blocks of rows with their labels.

scikit-learn reads LIBSVM text and pandas delimited text, in chunks of lines. Only if they refuse a
chunk, or might misread it, are its lines looked at one by one, to name the first wrong one.
"""

from __future__ import annotations

import csv
import functools
import io
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.files import open_content
from dsgkit.data.layout import FLOAT32_OVERFLOW, LineError, decoded, why_no_number
from dsgkit.errors import DataError, shown
from dsgkit.linalg import Single, row_blocks

Block = tuple[NDArray[Any], NDArray[Any]]
Lines = Sequence[bytes]
CHUNK_BYTES = 2**24  # of text read at a time
BLOCK_VALUES = 2**23  # of a dense block of rows
MAX_FEATURES = 2**20  # so that a mistyped index or an endless line does not fill memory
TEXT, STARS = "reviewText", "overall"  # fields of a review


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


def check_lines(
    path: Path, first: int, lines: Lines, why: Callable[[str], str], refused: object = ""
) -> None:
    """Raise `DataError` for the first line of which ``why`` says something, or with ``refused``."""
    for number, line in enumerate(lines, first):
        try:
            what = why(decoded(line, number))
        except LineError as error:
            what = str(error)
        if what:
            raise DataError(f"{path}:{number}: {what}")
    if refused:
        raise DataError(f"{path}:{first}: cannot be read: {' '.join(str(refused).split())}")


def read_libsvm(path: Path, n_features: int, member: str | None = None) -> Iterator[Block]:
    """Read LIBSVM text: ``label index:value ...``, indices from 1 and increasing."""
    from sklearn.datasets import load_svmlight_file

    why = functools.partial(_why_no_pairs, n_features)
    for first, lines in chunks(path, member):
        text = b"".join(lines)
        if any(sign in text for sign in (b"_", b"\0", b"qid:")):  # which scikit-learn accepts
            check_lines(path, first, lines, why)
        try:
            X, y = load_svmlight_file(
                io.BytesIO(text), n_features=n_features, dtype=np.float64, zero_based=False
            )
            if not ((np.abs(X.data) < FLOAT32_OVERFLOW).all() and np.isfinite(y).all()):
                raise ValueError("a number that is not finite")
        except ValueError as error:
            check_lines(path, first, lines, why, error)
        X.data += 0.0  # no -0.0, as zeros that are left out have no sign
        for block in row_blocks(len(y), max(1, BLOCK_VALUES // n_features)):
            yield X[block].toarray(), y[block]


def _why_no_pairs(n_features: int, line: str) -> str:
    """Return why a line is not LIBSVM text; empty if it is."""
    label, *pairs = line.partition("#")[0].split() or ["0"]
    if no_number := why_no_number(label, is_label=True):
        return f"label {no_number}"
    previous = 0
    for pair in pairs:
        found = re.fullmatch(r"(\d{1,18}):(.*)", pair, re.ASCII)
        if found is None:
            return f"{shown(pair)} is not index:value"
        index = int(found[1])
        if not previous < index <= n_features:
            return f"feature index {index} after {previous}; they increase from 1 to {n_features}"
        if no_number := why_no_number(found[2]):
            return f"feature {index}: {no_number}"
        previous = index
    return ""


def read_pairs(path: Path, n_rows: int) -> NDArray[np.int64]:
    """Read similar pairs: the numbers of two rows, from 0, in every line."""
    pairs = []
    with open_content(path) as file:
        for number, line in enumerate(file, 1):
            found = re.fullmatch(rb"\s*(\d{1,18})(?:\s*[,;]\s*|\s+)(\d{1,18})\s*", line)
            pair = [int(text) for text in found.groups()] if found else [0, 0]
            if pair[0] == pair[1] or max(pair) >= n_rows:
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
                pairs = line.partition(b"#")[0].rpartition(b":")[0][-20:]
                index = (pairs.split() or [b""])[-1]
                if index.isdigit() and len(index) < 19 and int(index) > largest:
                    largest, place = int(index), f"{path}:{number}"
            n_lines += len(lines)
            n_bytes += sum(map(len, lines))
    if largest > MAX_FEATURES or 4 * largest * n_lines > max(2**28, 1000 * n_bytes):
        raise DataError(
            f"{place}: an index implies {largest:,} features, and rows are kept dense, with at "
            f"most {MAX_FEATURES:,}: if the index is correct, set `dataset.n_features`"
        )
    return largest


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an IDX file of bytes, such as those of MNIST, as an array of one row per item."""
    with open_content(path) as file:
        content = file.read()
    try:
        if content[:3] != b"\0\0\x08":
            raise ValueError(f"it begins with {content[:3].hex(' ')}, not 00 00 08")
        shape = np.frombuffer(content, ">u4", content[3], 4).tolist()
        items = np.frombuffer(content, np.uint8, offset=4 + 4 * len(shape))
        return items.reshape(shape).reshape(shape[0], -1)
    except (ValueError, IndexError) as error:
        raise DataError(f"{path}: not an IDX file of unsigned bytes: {error}") from error


def read_reviews(path: Path) -> tuple[list[str], list[float]]:
    """Read the texts and the stars of reviews: JSON lines, or a CSV table with a header."""
    texts, stars, number = list[str](), list[float](), 1
    with open_content(path) as file:
        text = io.TextIOWrapper(file, "utf-8-sig", newline="")
        try:
            first = text.readline()
            lines = itertools.chain([first], text)
            records: Any = csv.DictReader(lines, strict=True)
            if first.lstrip().startswith("{"):
                records = map(json.loads, filter(str.strip, lines))
            for record in records:
                if not isinstance(record[TEXT], str) or not math.isfinite(float(record[STARS])):
                    raise ValueError(f"{TEXT} must be text, and {STARS} a finite number")
                texts.append(record[TEXT])
                stars.append(float(record[STARS]))
                number += 1
        except KeyError as error:
            raise DataError(f"{path}: review {number}: no field {error}") from error
        except (ValueError, TypeError, csv.Error, RecursionError) as error:
            raise DataError(f"{path}: review {number}: {shown(str(error))}") from error
    return texts, stars


def embed_reviews(
    texts: Sequence[str], components: int
) -> tuple[Single, Callable[[Sequence[str]], Single], str]:
    """Return features of texts (TF-IDF, truncated SVD), a function for others, and how made.

    A text without a known word is a row of zeros.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    from dsgkit.system.machine import single_blas_thread

    vectorizer = TfidfVectorizer(dtype=np.float32)
    try:
        words = vectorizer.fit_transform(texts)
        svd = TruncatedSVD(min(components, *words.shape), random_state=0)
        # one thread: the order of sums is fixed; identical reviews have no variance
        with single_blas_thread(), np.errstate(invalid="ignore"):
            X = svd.fit_transform(words)
    except ValueError as error:
        raise DataError(f"the texts of the reviews have too few words: {error}") from error
    share = float(np.nan_to_num(svd.explained_variance_ratio_, nan=1).sum())
    made = (
        f"{X.shape[1]:,} components of TF-IDF over {words.shape[1]:,} terms, with {share:.1%} of "
    )
    made += "its variance"
    return X, lambda others: svd.transform(vectorizer.transform(others)), made
