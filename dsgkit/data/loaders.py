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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.catalogue import Column, DataFile, DatasetInfo
from dsgkit.data.files import open_content
from dsgkit.data.layout import (
    FLOAT32_OVERFLOW,
    Layout,
    LineError,
    decoded,
    is_missing,
    read_layout,
    split,
    why_columns,
    why_no_number,
)
from dsgkit.data.targets import label_text
from dsgkit.errors import DataError, shown
from dsgkit.numerics.arrays import Array, Single

Block = tuple[Array, NDArray[Any]]
Lines = Sequence[bytes]
Categories = Mapping[int, Sequence[str]]
"""The sorted values of every categorical column, by its place from 0."""

CHUNK_BYTES = 2**24
BLOCK_VALUES = 2**23
"""Bytes of text read at a time, and values of a dense block made of them."""

MAX_FEATURES = 2**20
"""Maximum number of features, so that a mistyped index or an endless line does not fill memory."""

TEXT, STARS = "reviewText", "overall"
"""Fields of a review that are read."""

_MAX_WORD = 256  # characters of a label or category; a longer text is not the name of a class
_FREE_BYTES, _MAX_EXPANSION = 2**28, 1000


def _chunks(path: Path, member: str | None = None, skipped: int = 0) -> Iterator[tuple[int, Lines]]:
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


def _refused(
    path: Path, first: int, lines: Lines, why: Callable[[str], str], error: object
) -> DataError:
    """Return the error for some lines that a library refused: about the first wrong one."""
    wrong = next(_wrong_lines(path, first, lines, why), None)
    return wrong or DataError(f"{path}:{first}: cannot be read: {' '.join(str(error).split())}")


def _wrong_lines(
    path: Path, first: int, lines: Lines, why: Callable[[str], str]
) -> Iterator[DataError]:
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

    for first, lines in _chunks(path, member):
        text = b"".join(lines)
        if any(sign in text for sign in (b"_", b"\0", b"qid:")):  # which scikit-learn accepts
            for wrong in _wrong_lines(path, first, lines, why):
                raise wrong
        try:
            X, y = load_svmlight_file(
                io.BytesIO(text), n_features=n_features, dtype=np.float64, zero_based=False
            )
        except ValueError as error:
            raise _refused(path, first, lines, why, error) from error
        if not ((np.abs(X.data) < FLOAT32_OVERFLOW).all() and np.isfinite(y).all()):
            raise _refused(path, first, lines, why, "a number that is not finite")
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
        for first, lines in _chunks(path):
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


@dataclass(frozen=True)
class Table:
    """The columns of a delimited file: which are labels, features, left out.

    Attributes
    ----------
    labels, ignored : tuple of int
        Places of columns, from 0. The label is the mean of its columns.
    categories : mapping of int to sequence of text
        The values of categorical columns; a column becomes a feature of 0 and 1 for each.
    values : mapping of int to mapping
        Numbers that texts of a column stand for.
    unlabeled : str or None
        The label of rows without one; the label of a row is NaN or empty then.
    """

    path: Path
    member: str | None
    layout: Layout
    labels: tuple[int, ...] = ()
    text_labels: bool = False
    ignored: tuple[int, ...] = ()
    categories: Categories | None = None
    values: Mapping[int, Mapping[str, float]] | None = None
    unlabeled: str | None = None

    @classmethod
    def of(cls, path: Path, info: DatasetInfo, layout: Layout, member: str | None = None) -> Table:
        """Return the table that a dataset's description makes of a file."""

        def places(option: str, columns: Sequence[Column]) -> tuple[int, ...]:
            found = tuple(layout.place(option, column) for column in columns)
            if len(set(found)) < len(found):
                raise LineError(f"{option} names one of the {layout.n_columns} columns twice")
            return found

        try:
            labels = places("label_column", info.label_columns)
            ignored, categorical = (
                places("ignored", info.ignored),
                places("categorical", info.categorical),
            )
            recoded = places("values", tuple(info.values))
            for option, columns in (("ignored", ignored), ("categorical", categorical)):
                if both := {*labels} & {*columns}:
                    name = layout.name(both.pop())
                    raise LineError(f"{name} is the label and cannot be `{option}` too")
            if info.text_labels and len(labels) > 1:
                raise LineError("labels that are text have no mean; use one column")
        except LineError as error:
            raise DataError(f"{path}: {error}") from error
        values = dict(zip(recoded, info.values.values(), strict=True))
        categories: Categories = dict.fromkeys(sorted(categorical), ())
        text = info.text_labels and bool(labels)
        unlabeled = None if info.unlabeled is None else label_text(info.unlabeled)
        return cls(path, member, layout, labels, text, ignored, categories, values, unlabeled)

    @cached_property
    def places(self) -> dict[int, int]:
        """The first feature of each column of features."""
        found, n = {}, 0
        for place in range(self.layout.n_columns):
            if place not in self.labels and place not in self.ignored:
                found[place] = n
                n += len((self.categories or {}).get(place, " "))
        return found

    @property
    def n_features(self) -> int:
        """Number of features."""
        widths = (len((self.categories or {}).get(place, " ")) for place in self.places)
        return sum(widths)

    def blocks(self) -> Iterator[Block]:
        """Yield the rows and their labels: means of numbers, texts, or 0 without a label."""
        for first, lines, frame in self._frames():
            X = np.zeros((len(frame), self.n_features))
            rows = np.arange(len(frame))
            for place, start in self.places.items():
                if place in (self.categories or {}):
                    index = {v: k for k, v in enumerate((self.categories or {})[place])}
                    codes = self._coded(frame[place], index.__getitem__)
                    X[rows, start + codes.astype(np.intp)] = 1
                elif place in (self.values or {}):
                    X[:, start] = self._coded(frame[place], self._number_of(place))
                else:
                    X[:, start] = frame[place].to_numpy()
            if self.text_labels:
                codes, texts = frame[self.labels[0]].factorize()
                names = [str(text).strip() for text in texts]
                y = np.array(["" if self._is_no_label(name) else name for name in names])[codes]
            else:
                numbers = [self._label_numbers(frame[place]) for place in self.labels]
                y = np.mean(numbers, axis=0) if numbers else np.zeros(len(frame))
            if not (np.abs(X) < FLOAT32_OVERFLOW).all() or (
                y.dtype.kind == "f" and np.isinf(y).any()
            ):
                raise _refused(self.path, first, lines, self._why, "a number that is not finite")
            yield X, y

    def _is_no_label(self, text: str) -> bool:
        """Return whether a field of the label's column marks a row without a label."""
        if text in ("", self.unlabeled) or (is_missing(text) and not self.text_labels):
            return True
        same = self.unlabeled is not None and not self.text_labels
        return same and not why_no_number(text) and label_text(float(text)) == self.unlabeled

    def _label_numbers(self, column: Any) -> Array:
        """Return labels as numbers, NaN for rows without one."""
        if column.dtype.kind == "f":
            numbers = column.to_numpy(np.float64, copy=True)
            if self.unlabeled is not None and not why_no_number(self.unlabeled):
                numbers[numbers == float(self.unlabeled)] = np.nan
            return numbers
        sign = self.layout.decimal
        return self._coded(
            column, lambda t: np.nan if self._is_no_label(t) else float(t.replace(sign, "."))
        )

    def find_categories(self) -> dict[int, set[str]]:
        """Return the values of every categorical column; the whole file is read for it."""
        found: dict[int, set[str]] = {place: set() for place in self.categories or {}}
        for _, _, frame in self._frames() if found else ():
            for place, values in found.items():
                values.update(str(text).strip() for text in frame[place].unique())
        return found

    @staticmethod
    def _coded(column: Any, number: Callable[[str], float]) -> Array:
        codes, texts = column.factorize()
        return np.array([number(str(text).strip()) for text in texts], np.float64)[codes]

    def _number_of(self, place: int) -> Callable[[str], float]:
        known, comma = (self.values or {})[place], self.layout.decimal == ","
        return lambda text: (
            known[text] if text in known else float(text.replace(",", ".") if comma else text)
        )

    def _frames(self) -> Iterator[tuple[int, Lines, Any]]:
        """Yield chunks of lines as data frames, whose columns are float64, or text if they may be.

        An artificial first row makes pandas refuse lines with more fields; those with fewer end in
        an empty field, which is not a number.
        """
        import pandas as pd

        delimiter, n = self.layout.delimiter, self.layout.n_columns
        words = {*(self.categories or {}), *(self.values or {})} - {*self.ignored}
        words |= {*self.labels} if self.text_labels else set()
        texts = words | {*self.ignored}
        blank = re.compile(rb"(?m)^[ \t\v\f\r%b]*\n" % re.escape(delimiter or " ").encode())
        version = [int(part) for part in pd.__version__.split(".")[:2]]
        exact: Any = {"float_precision": "round_trip"} if version < [3, 1] else {}
        for first, lines in _chunks(self.path, self.member, self.layout.n_skipped):
            text = blank.sub(b"", b"".join(lines) + b"\n")
            if not text:
                continue
            doubtful = self._is_doubtful(text)
            read = partial(
                pd.read_csv,
                sep=delimiter or r"\s+",
                decimal=self.layout.decimal,
                header=None,
                **exact,
                na_filter=False,
                skipinitialspace=True,
                engine="c",
            )
            for as_text in (texts, texts | {*self.labels}):  # as some rows may have no label
                top = (delimiter or " ").join("x" if k in as_text else "0" for k in range(n))
                types = {place: str if place in as_text else float for place in range(n)}
                try:
                    frame = read(io.BytesIO(top.encode() + b"\n" + text), dtype=types)[1:]
                    break
                except ValueError as error:
                    if as_text.issuperset(self.labels):
                        raise _refused(self.path, first, lines, self._why, error) from error
            words_wrong = any(
                self._why_field(place, str(text).strip())
                for place in words | ({*self.labels} & as_text)
                for text in frame[place].unique()
            )
            if doubtful or words_wrong or (n - 1 in as_text and (frame[n - 1] == "").any()):
                for wrong in _wrong_lines(self.path, first, lines, self._why):
                    raise wrong
            yield first, lines, frame

    def _is_doubtful(self, text: bytes) -> bool:
        """Return whether pandas and `split` may read a text differently."""
        if b"\0" in text or b"\v" in text or b"\f" in text or b"\r" in text.replace(b"\r\n", b"\n"):
            return True
        if b'"' not in text:
            return False
        other = re.escape(self.layout.delimiter or " \t").encode()
        field = rb'(?m)(?:^|(?<=[%b])) *"[^"\n]*" *(?=[%b]|\r?$)' % (other, other)
        return b'"' in re.sub(field, b"", text)

    def _why(self, line: str) -> str:
        """Return what is wrong with a line; empty if it is right."""
        n, delimiter = self.layout.n_columns, self.layout.delimiter
        if not line.strip(f" \t\v\f{delimiter or ''}"):
            return ""
        fields = split(line, delimiter)
        if len(fields) != n:
            return why_columns(fields, n)
        for place, text in enumerate(fields):
            if place not in self.ignored and (why := self._why_field(place, text)):
                return f"{self.layout.name(place)}: {why}"
        return ""

    def _why_field(self, place: int, text: str) -> str:
        """Return what is wrong with a field; empty if it is right."""
        is_label = place in self.labels
        if is_label and self._is_no_label(text):
            return ""
        if place in (self.categories or {}) or (is_label and self.text_labels):
            if not text and not is_label:
                return (
                    f"a missing value; fill it in, or leave the column out: {self._left_out(place)}"
                )
            long = f"a text of {len(text):,} characters; at most {_MAX_WORD} make a class"
            return long if len(text) > _MAX_WORD else ""
        if text in (self.values or {}).get(place, ()):
            return ""
        if is_missing(text):
            return f"a missing value; fill it in, or leave the column out: {self._left_out(place)}"
        why = why_no_number(text, self.layout.decimal, is_label=is_label)
        if not why.endswith("not a number"):
            return why
        if re.fullmatch(r"[+-]?\d+,\d+", text) and self.layout.delimiter != ",":
            return f'{why}; for decimal commas set `decimal: ","`'
        if is_label:
            return f"{why}; labels that are text have to be named by `dataset.target`"
        if text[:1].isalpha():
            setting = label_setting([self.layout.key(label) for label in self.labels])
            where = "there, in `categorical` or in `ignored`"
            return f"{why}; {setting}: name a column of text {where}"
        return why

    def _left_out(self, place: int) -> str:
        return f"ignored: [{shown(self.layout.key(place))}]"


def open_tables(
    info: DatasetInfo, sources: Sequence[tuple[Path, DataFile]]
) -> tuple[dict[DataFile, Table], str]:
    """Return the table of every delimited file, and a description of one-hot encoded columns.

    Categories are those of all files, which are read once for them.
    """
    has_label_file = {f.part[:-7] for f in info.files if f.part.endswith("_labels")}
    tables = {}
    for path, file in sources:
        known = replace(info, label_columns=()) if file.part in has_label_file else info
        layout = read_layout(path, info, file.member)
        tables[file] = Table.of(path, known, layout, file.member)
    first, *others = tables.values()
    by_name = any(
        isinstance(c, str) for c in (*info.label_columns, *info.categorical, *info.ignored)
    )
    for other in others:
        if by_name and other.layout.names != first.layout.names:
            raise DataError(
                f"{other.path}: its columns have other names than those of {first.path.name}"
            )
    found: dict[int, set[str]] = {}
    for table in tables.values():
        for place, values in table.find_categories().items():
            found.setdefault(place, set()).update(values)
    categories = {place: sorted(values) for place, values in found.items()}
    groups: dict[str, list[int]] = {}
    for place, names in categories.items():
        groups.setdefault(", ".join(names), []).append(place + 1)
    made = ", ".join(f"{_columns(places)} ({names})" for names, places in groups.items())
    tables = {file: replace(table, categories=categories) for file, table in tables.items()}
    return tables, f"one-hot {made}" if made else ""


def _columns(numbers: Sequence[int]) -> str:
    """Return columns as text: ``column 2``, ``columns 1 to 4`` or ``columns 1, 3 and 8``."""
    *others, last = numbers
    if not others:
        return f"column {last}"
    if [*numbers] == [*range(numbers[0], last + 1)]:
        return f"columns {numbers[0]} to {last}"
    return f"columns {', '.join(map(str, others))} and {last}"


def read_labels(path: Path, info: DatasetInfo) -> NDArray[Any]:
    """Read a file of labels: one per line, or an IDX file."""
    if info.loader == "idx":
        return read_idx(path).ravel().astype(np.float64)
    plain = replace(info, header=False, local=False, categorical=(), ignored=(), values={})
    table = Table.of(path, replace(plain, label_columns=(0,)), read_layout(path, plain))
    return np.concatenate([y for _, y in table.blocks()])


def label_setting(keys: Sequence[Column]) -> str:
    """Return a description of the config's setting of the label's columns."""
    if len(keys) == 1:
        return f"`label_column` is {shown(keys[0])}"
    return f"`label_columns` is {shown([*keys])}" if keys else "`label_column` is null"


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
                texts.append(_review_text(record[TEXT]))
                stars.append(float(record[STARS]))
                if not math.isfinite(stars[-1]):
                    raise ValueError(f"{STARS} {shown(record[STARS])} is not a finite number")
        except KeyError as error:
            raise DataError(f"{path}: review {number}: no field {error}") from error
        except (ValueError, TypeError, csv.Error, RecursionError) as error:
            raise DataError(f"{path}: review {number}: {shown(str(error))}") from error
    return texts, stars


def _review_text(text: object) -> str:
    if not isinstance(text, str):
        raise ValueError(f"{TEXT} is not text")
    return text


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
