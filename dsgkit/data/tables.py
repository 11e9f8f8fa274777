"""Tables of delimited text: what becomes of each column, and the rows in blocks."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.catalogue import Column, DataFile, DatasetInfo
from dsgkit.data.layout import (
    FLOAT32_OVERFLOW,
    Layout,
    LineError,
    is_missing,
    read_layout,
    split,
    why_columns,
    why_no_number,
)
from dsgkit.data.loaders import Block, Lines, check_lines, chunks, read_idx, refused
from dsgkit.data.targets import label_text
from dsgkit.errors import DataError, shown
from dsgkit.numerics.arrays import Array

MARKED_SHARE = 0.05
"""Share of missing values above which a filled column gets another that marks them."""

_MISSING = "a missing value"
_MAX_WORD = 256  # characters of a label or category; a longer text is not the name of a class


@dataclass(frozen=True)
class Feature:
    """How a column of delimited text becomes features.

    Attributes
    ----------
    kind : {"number", "category", "share", "date"}
        A number; a column of 0 and 1 for each of the ``known`` texts; the share of the training
        rows that have its text; the days since 1970 of a date in ``format``.
    known : mapping of text to number
        Places of categories, shares, or numbers that texts stand for.
    median : float or None
        Replaces missing values; None if these are refused.
    is_marked : bool
        Whether a further feature says where a value was missing.
    """

    kind: str = "number"
    known: Mapping[str, float] = field(default_factory=dict)
    format: str = ""
    median: float | None = None
    is_marked: bool = False

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.known) if self.kind == "category" else 1 + self.is_marked

    @property
    def is_text(self) -> bool:
        """Whether the fields have to be read as text."""
        return self.kind != "number" or bool(self.known) or self.median is not None

    def why(self, text: str, decimal: str) -> str:
        """Return why a field cannot be used; empty if it can."""
        if len(text) > _MAX_WORD and self.kind in ("category", "share"):
            return f"a text of {len(text):,} characters; at most {_MAX_WORD} make a class"
        if text in self.known or (is_missing(text) and self.median is not None):
            return ""
        if (is_missing(text) and self.kind in ("number", "date")) or not text:
            return _MISSING
        if self.kind == "date":
            return "" if np.isfinite(_days([text], self.format)[0]) else f"{shown(text)} is no date"
        return "" if self.kind != "number" else why_no_number(text, decimal)

    def numbers(self, column: Any, decimal: str) -> Array:
        """Return the numbers of a column; NaN where a value is missing."""
        if column.dtype.kind == "f":
            numbers: Array = column.to_numpy()
            return numbers
        codes, texts = column.factorize()
        words = [str(text).strip() for text in texts]
        if self.kind == "date":
            return _days(words, self.format)[codes]
        if self.kind == "category":
            return np.array([self.known[word] for word in words])[codes]
        if self.kind == "share":
            return np.array([self.known.get(word, 0.0) for word in words])[codes]
        return np.array([_number(word, self.known, decimal) for word in words])[codes]


def _number(text: str, known: Mapping[str, float], decimal: str) -> float:
    if text in known:
        return known[text]
    return np.nan if is_missing(text) else float(text.replace(decimal, "."))


def _days(texts: Sequence[str], form: str) -> Array:
    """Return dates as days since 1970, NaN for others."""
    import pandas as pd

    times = pd.to_datetime(pd.Series([*texts]), format=form, errors="coerce", utc=True)
    days: Array = ((times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).to_numpy(float)
    return days


@dataclass(frozen=True)
class Table:
    """A delimited file: its layout, the columns of the label, and what the others become.

    Attributes
    ----------
    labels : tuple of int
        Places of columns, from 0, whose mean is the label.
    features : mapping of int to Feature
        By the place of their column; other columns are left out.
    unlabeled : str or None
        The label of rows without one; the label of a row is NaN or empty then.
    """

    path: Path
    member: str | None
    layout: Layout
    labels: tuple[int, ...]
    text_labels: bool
    features: Mapping[int, Feature]
    unlabeled: str | None = None

    @classmethod
    def of(cls, path: Path, info: DatasetInfo, layout: Layout, member: str | None = None) -> Table:
        """Return the table that a dataset's description makes of a file."""
        kinds: dict[int, str] = {}

        def places(option: str, columns: Iterable[Column], *, kind: str) -> tuple[int, ...]:
            found = tuple(layout.place(option, column) for column in columns)
            if len(set(found)) < len(found):
                raise LineError(f"{option} names one of the {layout.n_columns} columns twice")
            for place in found:
                if kinds.setdefault(place, kind) == "label" != kind:
                    name = layout.name(place)
                    raise LineError(f"{name} is the label and cannot be `{option}` too")
            return found

        try:
            labels = places("label_column", info.label_columns, kind="label")
            places("ignored", info.ignored, kind="ignored")
            places("categorical", info.categorical, kind="category")
            places("by_share", info.by_share, kind="share")
            formats = dict(
                zip(places("dates", info.dates, kind="date"), info.dates.values(), strict=True)
            )
            values = places("values", info.values, kind="number")
            if info.text_labels and len(labels) > 1:
                raise LineError("labels that are text have no mean; use one column")
        except LineError as error:
            raise DataError(f"{path}: {error}") from error
        known = dict(zip(values, info.values.values(), strict=True))
        median = 0.0 if info.fill else None
        features = {
            place: Feature(kind, known.get(place, {}), formats.get(place, ""), median)
            for place in range(layout.n_columns)
            if (kind := kinds.get(place, "number")) not in ("label", "ignored")
        }
        unlabeled = None if info.unlabeled is None else label_text(info.unlabeled)
        text = info.text_labels and bool(labels)
        return cls(path, member, layout, labels, text, features, unlabeled)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return sum(feature.width for feature in self.features.values())

    def blocks(self) -> Iterator[Block]:
        """Yield the rows and their labels: means of numbers, texts, or 0 without a label."""
        decimal = self.layout.decimal
        for first, lines, frame in self.frames():
            X, start = np.zeros((len(frame), self.n_features)), 0
            for place, feature in self.features.items():
                numbers = feature.numbers(frame[place], decimal)
                if feature.kind == "category":
                    X[np.arange(len(X)), start + numbers.astype(np.intp)] = 1
                else:
                    missing = np.isnan(numbers)
                    if feature.median is not None:
                        numbers = np.where(missing, feature.median, numbers)
                    X[:, start] = numbers
                    if feature.is_marked:
                        X[:, start + 1] = missing
                start += feature.width
            y = self._labels_of(frame)
            infinite = y.dtype.kind == "f" and np.isinf(y).any()
            if infinite or not (np.abs(X) < FLOAT32_OVERFLOW).all():
                raise refused(self.path, first, lines, self._why, "a number that is not finite")
            yield X, y

    def _labels_of(self, frame: Any) -> NDArray[Any]:
        """Return labels, NaN or empty for rows without one; all 0 without a column of labels."""
        found = []
        for place in self.labels:
            column, mark = frame[place], self.unlabeled
            if column.dtype.kind == "f":
                numbers = column.to_numpy(np.float64, copy=True)
                if mark is not None and not why_no_number(mark):
                    numbers[numbers == float(mark)] = np.nan
                found.append(numbers)
                continue
            codes, texts = column.factorize()
            words = [str(text).strip() for text in texts]
            if self.text_labels:
                return np.array(["" if self._is_no_label(word) else word for word in words])[codes]
            values = [
                np.nan if self._is_no_label(word) else _number(word, {}, self.layout.decimal)
                for word in words
            ]
            found.append(np.array(values)[codes])
        return np.mean(found, axis=0) if found else np.zeros(len(frame))

    def _is_no_label(self, text: str) -> bool:
        """Return whether a field of the label's column marks a row without a label."""
        if text in ("", self.unlabeled) or (is_missing(text) and not self.text_labels):
            return True
        if self.unlabeled is None or self.text_labels or why_no_number(text, is_label=True):
            return False
        return label_text(float(text)) == self.unlabeled

    def frames(self) -> Iterator[tuple[int, Lines, Any]]:
        """Yield chunks of lines as data frames, whose columns are float64, or text if they may be.

        An artificial first row makes pandas refuse lines with more fields; those with fewer end in
        an empty field, which is not a number.
        """
        import pandas as pd

        delimiter, n = self.layout.delimiter, self.layout.n_columns
        words = {place for place, feature in self.features.items() if feature.is_text}
        words |= {*self.labels} if self.text_labels else set()
        texts = {k for k in range(n) if k not in self.features and k not in self.labels} | words
        blank = re.compile(rb"(?m)^[ \t\v\f\r%b]*\n" % re.escape(delimiter or " ").encode())
        options: dict[str, Any] = {"sep": delimiter or r"\s+", "decimal": self.layout.decimal}
        options |= {"header": None, "na_filter": False, "skipinitialspace": True, "engine": "c"}
        if [int(part) for part in pd.__version__.split(".")[:2]] < [3, 1]:
            options["float_precision"] = "round_trip"  # the default since
        for first, lines in chunks(self.path, self.member, self.layout.n_skipped):
            text = blank.sub(b"", b"".join(lines) + b"\n")
            if not text:
                continue
            for as_text in (texts, texts | {*self.labels}):  # as some rows may have no label
                top = (delimiter or " ").join("x" if k in as_text else "0" for k in range(n))
                types = {place: str if place in as_text else float for place in range(n)}
                content = io.BytesIO(top.encode() + b"\n" + text)
                try:
                    frame = pd.read_csv(content, dtype=types, **options)[1:]
                    break
                except ValueError as error:
                    if as_text.issuperset(self.labels):
                        raise refused(self.path, first, lines, self._why, error) from error
            doubtful = self._is_doubtful(text) or (n - 1 in as_text and (frame[n - 1] == "").any())
            if doubtful or any(
                self._why_field(place, str(text).strip())
                for place in words | ({*self.labels} & as_text)
                for text in frame[place].unique()
            ):
                check_lines(self.path, first, lines, self._why)
            yield first, lines, frame

    def _is_doubtful(self, text: bytes) -> bool:
        """Return whether pandas and `split` may read a text differently."""
        if b"\0" in text or b"\v" in text or b"\f" in text or b"\r" in text.replace(b"\r\n", b"\n"):
            return True
        if b'"' not in text:
            return False
        other = re.escape(self.layout.delimiter or " \t").encode()
        quoted = rb'(?m)(?:^|(?<=[%b])) *"[^"\n]*" *(?=[%b]|\r?$)' % (other, other)
        return b'"' in re.sub(quoted, b"", text)

    def _why(self, line: str) -> str:
        """Return what is wrong with a line; empty if it is right."""
        n, delimiter = self.layout.n_columns, self.layout.delimiter
        if not line.strip(f" \t\v\f{delimiter or ''}"):
            return ""
        fields = split(line, delimiter)
        if len(fields) != n:
            return why_columns(fields, n)
        for place, text in enumerate(fields):
            if why := self._why_field(place, text):
                return f"{self.layout.name(place)}: {why}{self._remedy(place, text, why)}"
        return ""

    def _why_field(self, place: int, text: str) -> str:
        decimal = self.layout.decimal
        if place in self.features:
            return self.features[place].why(text, decimal)
        if place not in self.labels or self._is_no_label(text):
            return ""
        if self.text_labels:
            return Feature("category").why(text, decimal)
        return why_no_number(text, decimal, is_label=True)

    def _remedy(self, place: int, text: str, why: str) -> str:
        """Return advice on a field that cannot be used; empty if there is none."""
        if why == _MISSING:
            key = shown(self.layout.key(place))
            return f"; set `fill: median`, or leave the column out: ignored: [{key}]"
        if not why.endswith("not a number"):
            return ""
        if re.fullmatch(r"[+-]?\d+,\d+", text) and self.layout.delimiter != ",":
            return '; for decimal commas set `decimal: ","`, and remove commas of thousands'
        if place in self.labels:
            return "; labels that are text have to be named by `dataset.target`"
        setting = label_setting([self.layout.key(label) for label in self.labels])
        where = f"; {setting}: name a column of text there, in `categorical` or in `ignored`"
        return where if text[:1].isalpha() else ""


def open_tables(
    info: DatasetInfo, sources: Sequence[tuple[Path, DataFile]]
) -> tuple[dict[DataFile, Table], str]:
    """Return the table of every delimited file, and a description of how features were made.

    Categories are those of all files; shares and medians are of the training rows. The files are
    read once for them, columns with missing values into memory.
    """
    has_label_file = {f.part[:-7] for f in info.files if f.part.endswith("_labels")}
    tables = {}
    for path, file in sources:
        known = replace(info, label_columns=()) if file.part in has_label_file else info
        tables[file] = Table.of(path, known, read_layout(path, info, file.member), file.member)
    first, *others = tables.values()
    columns = (*info.label_columns, *info.categorical, *info.ignored, *info.dates, *info.by_share)
    by_name = any(isinstance(column, str) for column in columns)
    for other in others:
        if by_name and other.layout.names != first.layout.names:
            raise DataError(
                f"{other.path}: its columns have other names than those of {first.path.name}"
            )
    features = _fitted(tables)
    tables = {file: replace(table, features=features) for file, table in tables.items()}
    groups: dict[str, list[int]] = {}
    for place, feature in features.items():
        if feature.kind == "category":
            groups.setdefault(", ".join(feature.known), []).append(place + 1)
    made = ", ".join(f"{_columns(places)} ({names})" for names, places in groups.items())
    said = [f"one-hot {made}"] if made else []
    for what, chosen in (
        ("shares of rows with the text of", [p for p, f in features.items() if f.kind == "share"]),
        ("days since 1970 in", [p for p, f in features.items() if f.kind == "date"]),
        ("missing values marked beside", [p for p, f in features.items() if f.is_marked]),
    ):
        said += [f"{what} {_columns([place + 1 for place in chosen])}"] if chosen else []
    return tables, "; ".join([*said, *(["gaps filled by medians"] if info.fill else [])])


def _fitted(tables: Mapping[DataFile, Table]) -> dict[int, Feature]:
    """Return the features with their categories, shares and medians."""
    features = dict(next(iter(tables.values())).features)
    texts = {p: Counter[str]() for p, f in features.items() if f.kind in ("category", "share")}
    gaps = {p: f for p, f in features.items() if f.median is not None and p not in texts}
    values: dict[int, list[Array]] = {place: [] for place in gaps}
    for file, table in tables.items() if texts or gaps else ():
        for _, _, frame in table.frames():
            for place, counts in texts.items():
                for text, n in frame[place].value_counts().items():
                    counts[str(text).strip()] += n * (file.part == "train")
            for place, feature in gaps.items() if file.part == "train" else ():
                values[place].append(feature.numbers(frame[place], table.layout.decimal))
    for place, counts in texts.items():
        n, kind = sum(counts.values()), features[place].kind
        known = {
            text: counts[text] / n if kind == "share" else k
            for k, text in enumerate(sorted(counts))
        }
        features[place] = replace(features[place], known=known)
    for place, blocks in values.items():
        column = np.concatenate(blocks)
        missing = np.isnan(column)
        median = 0.0 if missing.all() else float(np.median(column[~missing]))
        marked = bool(missing.mean() > MARKED_SHARE)
        features[place] = replace(features[place], median=median, is_marked=marked)
    return features


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
    plain = DatasetInfo(info.name, "", "delimited", delimiter=info.delimiter, decimal=info.decimal)
    table = Table.of(path, replace(plain, label_columns=(0,)), read_layout(path, plain))
    return np.concatenate([y for _, y in table.blocks()])


def label_setting(keys: Sequence[Column]) -> str:
    """Return a description of the config's setting of the label's columns."""
    if len(keys) == 1:
        return f"`label_column` is {shown(keys[0])}"
    return f"`label_columns` is {shown([*keys])}" if keys else "`label_column` is null"
