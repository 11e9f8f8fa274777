"""Tables of delimited text: what becomes of each column, and the rows in blocks."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.catalogue import DataFile, DatasetInfo, label_setting
from dsgkit.data.files import no_such_file, obtain
from dsgkit.data.layout import (
    COMMA_NUMBER,
    FLOAT32_OVERFLOW,
    Layout,
    column_name,
    fields_of,
    is_missing,
    read_layout,
    split,
    why_no_number,
)
from dsgkit.data.loaders import Block, Lines, check_lines, chunks, read_idx, read_libsvm
from dsgkit.data.targets import MISSING_VALUES, label_text
from dsgkit.errors import DataError, in_a_line, shown
from dsgkit.linalg import Array, Single

MARKED_SHARE = 0.05  # of missing values, above which another column marks them
_MISSING = [
    f"{spelled}{end}"
    for text in MISSING_VALUES
    for spelled in (text, text.upper(), text.title())
    for end in ("", " ")
]
_DOUBTFUL = (b'"', b"\0", b"\v", b"\f", b"\r")  # which pandas and `split` may read differently
_MAX_WORD = 256  # characters of a label or category; a longer text is not the name of a class


@dataclass(frozen=True)
class Feature:
    """What a column becomes: numbers, 0 or 1 per category, shares of rows by text, or days."""

    kind: str = "number"  # or category, share, date
    known: Mapping[str, float] = field(default_factory=dict)  # of texts: place, share or number
    format: str = ""  # of dates
    median: float | None = None  # replaces missing values; None if these are refused
    is_marked: bool = False  # whether a further feature says where a value was missing

    def numbers(self, column: Any, decimal: str) -> Array:
        """Return the numbers of a column; NaN where a value is missing."""
        import pandas as pd  # not at every start of a worker

        numbers = column
        if self.kind == "date":
            times = pd.to_datetime(column, format=self.format, errors="coerce", utc=True)
            numbers = (times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
        elif column.dtype.kind != "f":
            others = pd.to_numeric(column.str.replace(decimal, "."), errors="coerce")
            numbers = column.map(self.known).fillna(0.0 if self.kind == "share" else others)
        return numbers.to_numpy(float)


@dataclass(frozen=True)
class Table:
    """A delimited file: its layout, the columns of the label, and what the others become."""

    layout: Layout
    features: Mapping[int, Feature]  # by the place of their column; others are left out
    labels: tuple[int, ...] = ()  # places of the columns whose mean is the label
    text_labels: bool = False
    unlabeled: str | None = None  # marks rows without a label, which is NaN or empty then

    @classmethod
    def of(cls, info: DatasetInfo, layout: Layout) -> Table:
        median = 0.0 if info.fill else None
        features = {place: Feature(median=median) for place in range(layout.n_columns)}
        for column in info.categorical:
            features[layout.place("categorical", column)] = Feature("category", median=median)
        for column in info.by_share:
            features[layout.place("by_share", column)] = Feature("share", median=median)
        for column, form in info.dates.items():
            features[layout.place("dates", column)] = Feature("date", {}, form, median)
        for column, known in info.values.items():
            features[layout.place("values", column)] = Feature("number", known, "", median)
        labels = tuple(layout.place("label_column", column) for column in info.label_columns)
        ignored = {layout.place("ignored", column) for column in info.ignored}
        if info.text_labels and len(labels) > 1:
            raise DataError(f"{layout.path}: labels that are text have no mean; use one column")
        for place in {*labels, *ignored}:
            del features[place]
        unlabeled = None if info.unlabeled is None else label_text(info.unlabeled)
        return cls(layout, features, labels, info.text_labels and bool(labels), unlabeled)

    def blocks(self) -> Iterator[Block]:
        """Yield the rows and their labels: means of numbers, texts, or 0 without a label."""
        for first, lines, frame in self.frames():
            parts = [np.empty((len(frame), 0))]
            for place, feature in self.features.items():
                numbers = feature.numbers(frame[place], self.layout.decimal)
                missing = np.isnan(numbers)
                if feature.kind == "category":
                    parts.append(np.eye(len(feature.known))[numbers.astype(np.intp)])
                elif feature.median is not None:
                    parts.append(np.where(missing, feature.median, numbers))
                else:
                    parts.append(numbers)
                if feature.is_marked:
                    parts.append(missing)
            X = np.column_stack(parts)
            y: NDArray[Any] = np.zeros(len(frame))
            if self.text_labels:
                texts = frame[self.labels[0]]
                y = np.array(texts.mask(texts == self.unlabeled, ""), str)
            elif self.labels:
                y = np.mean([frame[place].to_numpy() for place in self.labels], axis=0)
            infinite = not self.text_labels and np.isinf(y).any()
            if infinite or not (np.abs(X) < FLOAT32_OVERFLOW).all():
                self._check(first, lines, "a number that is not finite")
            yield X, y

    def frames(self) -> Iterator[tuple[int, Lines, Any]]:
        """Yield chunks of lines as frames, whose columns are float64, or text if they may be."""
        import pandas as pd

        delimiter, n = self.layout.delimiter, self.layout.n_columns
        numbers = {p for p, f in self.features.items() if f.kind == "number" and not f.known}
        filled = {place for place in numbers if self.features[place].median is not None}
        labels = set() if self.text_labels else {*self.labels}
        words = {*self.features, *self.labels} - numbers - labels
        types = {place: float if place in numbers | labels else str for place in range(n)}
        # an artificial first row: pandas refuses lines with more fields, and fills shorter ones
        top = (delimiter or " ").join("0" if types[place] is float else "x" for place in types)
        marks = [*_MISSING, *([] if self.unlabeled is None else [self.unlabeled])]
        options: dict[str, Any] = {
            "dtype": types,
            "na_values": dict.fromkeys(filled, _MISSING) | dict.fromkeys(labels, marks),
            "sep": delimiter or r"\s+",
            "decimal": self.layout.decimal,
        }
        options |= {"header": None, "keep_default_na": False, "skipinitialspace": True}
        if [int(part) for part in pd.__version__.split(".")[:2]] < [3, 1]:
            options["float_precision"] = "round_trip"  # the default since
        blank = re.compile(rb"(?m)^[ \t\v\f\r%b]*\n" % re.escape(delimiter or " ").encode())
        path = self.layout.path
        for first, lines in chunks(path, self.layout.member, self.layout.n_skipped):
            text = blank.sub(b"", b"".join(lines) + b"\n")
            if not text:
                continue
            content = io.BytesIO(top.encode() + b"\n" + text)
            try:
                frame = pd.read_csv(content, engine="c", **options)
            except ValueError as error:
                self._check(first, lines, error)
            for place in range(n):
                if types[place] is str:
                    frame[place] = frame[place].str.strip()
            frame = frame[1:]
            plain = text.replace(b"\r\n", b"\n")
            if (
                frame[n - 1].isin(["", np.nan]).any()
                or any(sign in plain for sign in _DOUBTFUL)
                or any(self._why_field(k, text) for k in words for text in frame[k].unique())
            ):
                self._check(first, lines)
            yield first, lines, frame

    def _check(self, first: int, lines: Lines, refused: object = "") -> None:
        """Raise `DataError` as `check_lines` does; it names all columns that cannot be read."""
        n = self.layout.n_columns
        try:
            check_lines(self.layout.path, first, lines, self._why, refused)
        except DataError as error:
            texts = (line.rstrip(b"\r\n").decode(errors="replace") for line in lines)
            rows = (fields_of(text, self.layout.delimiter) for text in texts)
            columns = zip(*(row for row in rows if len(row) == n), strict=True)
            bad = [
                k
                for k, column in enumerate(columns)
                if any(self._why_field(k, text) for text in {*column})
            ]
            names = ", ".join(shown(self.layout.key(k)) for k in bad)
            more = f"; columns that cannot be read: {names}" if len(bad) > 1 else ""
            raise DataError(f"{error}{more}") from None

    def _why(self, line: str) -> str:
        n, delimiter = self.layout.n_columns, self.layout.delimiter
        if not line.strip(f" \t\v\f{delimiter or ''}"):
            return ""
        fields = split(line, delimiter)
        if len(fields) != n:
            doubled = len(fields) > n == sum(map(bool, fields))
            why = ": some delimiters are doubled; write one between two fields" if doubled else ""
            return f"{len(fields)} columns instead of {n}{why}"
        for place, text in enumerate(fields):
            if why := self._why_field(place, text):
                return f"{column_name(self.layout.key(place))}: {why}"
        return ""

    def _why_field(self, place: int, text: str) -> str:
        """Return why a field cannot be used, and what to do; empty if it can."""
        import pandas as pd

        if place in self.labels:
            if text in ("", self.unlabeled) or (is_missing(text) and not self.text_labels):
                return ""
            feature = Feature("category" if self.text_labels else "label")
        elif place in self.features:
            feature = self.features[place]
            if text in feature.known:
                return ""
            if feature.kind == "category" and feature.known:
                return f"no row of the dataset has the category {shown(text)}"
            if is_missing(text) and feature.median is not None:
                return ""
            if not text or (is_missing(text) and feature.kind in ("number", "date")):
                advice = f"leave the column out: ignored: [{shown(self.layout.key(place))}]"
                return f"a missing value; set `fill: median`, or {advice}"
        else:
            return ""
        if feature.kind in ("category", "share"):
            is_long = len(text) > _MAX_WORD
            return f"a text of {len(text):,} characters; at most {_MAX_WORD}" if is_long else ""
        if feature.kind == "date":
            day = feature.numbers(pd.Series([text]), self.layout.decimal)[0]
            return f"{shown(text)} is no date of the form {feature.format}" if np.isnan(day) else ""
        why = why_no_number(text, self.layout.decimal, is_label=feature.kind == "label")
        if not why.endswith("not a number"):
            return why
        if COMMA_NUMBER.fullmatch(text):
            return f'{why}; for decimal commas set `decimal: ","`, and remove commas of thousands'
        setting = label_setting([self.layout.key(label) for label in self.labels])
        advice = f"name a text column in `categorical` or `ignored` ({setting})"
        if feature.kind == "label":
            example = f"`positive: [{shown(text)}]`"
            advice = f"labels that are text need the positive one, such as {example}, or a `target`"
        return f"{why}; {advice}" if text[:1].isalpha() else why


def open_tables(
    info: DatasetInfo, sources: Sequence[tuple[Path, DataFile]]
) -> tuple[dict[DataFile, Table], str]:
    """Return the table of every delimited file, and a description of how features were made."""
    apart = {f.part.removesuffix("_labels") for f in info.files if f.part.endswith("_labels")}
    tables = {}
    for path, file in sources:
        known = replace(info, label_columns=()) if file.part in apart else info
        tables[file] = Table.of(known, read_layout(path, info, file.member))
    first, *others = tables.values()
    for other in others:
        if other.layout.names != first.layout.names:
            name = first.layout.path.name
            raise DataError(f"{other.layout.path}: other names of columns than in {name}")
    features = _fitted(tables)
    tables = {file: replace(table, features=features) for file, table in tables.items()}
    groups: dict[str, list[int]] = {}
    for place, feature in features.items():
        if feature.kind == "category":
            groups.setdefault(", ".join(feature.known), []).append(place)
    made = ", ".join(f"{_columns(places)} ({names})" for names, places in groups.items())
    said = [f"one-hot {made}"] if made else []
    return tables, "; ".join([*said, *(["gaps filled by medians"] if info.fill else [])])


def _fitted(tables: Mapping[DataFile, Table]) -> dict[int, Feature]:
    """Return the features with the categories of all files, and shares and medians in training."""
    features = dict(next(iter(tables.values())).features)
    counts = {p: Counter[str]() for p, f in features.items() if f.kind in ("category", "share")}
    values: dict[int, list[Array]] = {
        p: [] for p, f in features.items() if f.median is not None and p not in counts
    }
    for file, table in tables.items() if counts or values else ():
        in_training = file.part == "train"
        for _, _, frame in table.frames():
            for place, counter in counts.items():
                for text, n in frame[place].value_counts().items():
                    counter[str(text)] += n * in_training
            for place, blocks in values.items() if in_training else ():
                blocks.append(features[place].numbers(frame[place], table.layout.decimal))
    for place, counter in counts.items():
        known = {text: float(k) for k, text in enumerate(sorted(counter))}
        if features[place].kind == "share":
            known = {text: counter[text] / counter.total() for text in known}
        features[place] = replace(features[place], known=known)
    for place, blocks in values.items():
        column = np.concatenate(blocks)
        missing = np.isnan(column)
        median = 0.0 if missing.all() else float(np.median(column[~missing]))
        marked = bool(missing.mean() > MARKED_SHARE)
        features[place] = replace(features[place], median=median, is_marked=marked)
    return features


def _columns(places: Sequence[int]) -> str:
    """Return columns as text, counted from 1: ``columns 1 to 4`` or ``columns 1, 3 and 8``."""
    *others, last = [place + 1 for place in places]
    if not others:
        return f"column {last}"
    if last - others[0] == len(others):
        return f"columns {others[0]} to {last}"
    return f"columns {', '.join(map(str, others))} and {last}"


def read_labels(path: Path, info: DatasetInfo) -> NDArray[Any]:
    if info.loader == "idx":
        return read_idx(path).ravel().astype(np.float64)
    layout = read_layout(path, replace(info, header=False, local=False))
    return np.concatenate([y for _, y in Table(layout, {}, labels=(0,)).blocks()])


def read_new_rows(
    info: DatasetInfo, path: Path, n_features: int, offsets: Array | None = None
) -> Single:
    """Return the features of a file's rows as a dataset has them, with or without a label."""
    if not path.is_file():
        raise DataError(no_such_file(path))
    if info.loader == "reviews":
        raise DataError(f"{path}: features of reviews are made of all texts of a dataset at once")
    if info.loader == "delimited":
        blocks = _like(info, path).blocks()
    elif info.loader == "libsvm" and path.suffix != ".csv":
        blocks = read_libsvm(path, n_features)
    else:
        layout = read_layout(path, replace(info, header=False, delimiter=None, local=False))
        if (n := layout.n_columns) != n_features:
            raise DataError(f"{path}: {n} columns, not the {n_features} of the dataset")
        blocks = Table(layout, {k: Feature() for k in range(n)}).blocks()
    parts = [X for X, _ in blocks]
    if not parts:
        raise DataError(f"{path}: the file holds no rows")
    X = np.concatenate(parts)
    return (X if offsets is None else X - offsets).astype(np.float32)


def _like(info: DatasetInfo, path: Path) -> Table:
    """Return the table of a file with a dataset's columns; if named, in any order."""
    pairs = zip(obtain(info), info.files, strict=True)
    sources = [(found, file) for found, file in pairs if not file.part.endswith("_labels")]
    known = open_tables(info, sources)[0][sources[0][1]]
    layout, names = read_layout(path, info), known.layout.names
    places = range(known.layout.n_columns)
    used = {names[place]: feature for place, feature in known.features.items() if names}
    if len({*names}) == len(names) == len(places) and len({*layout.names}) == layout.n_columns:
        if others := ({*used} - {*layout.names}) | ({*layout.names} - {*names}):
            listed = in_a_line(", ".join(sorted(others)), 200)
            raise DataError(
                f"{path}: its columns are not those of the run: they differ in {listed}"
            )
        return Table(layout, {layout.names.index(name): used[name] for name in used})
    for kept in ([*places], [place for place in places if place not in known.labels]):
        expected = tuple(names[place] for place in kept) if names else ()
        if (layout.n_columns, layout.names) == (len(kept), expected):
            features = {k: known.features[p] for k, p in enumerate(kept) if p in known.features}
            return Table(layout, features)
    differing = ", ".join(sorted({*expected} ^ {*layout.names})) or "number or order"
    raise DataError(
        f"{path}: its {layout.n_columns} columns are not the {len(kept)} of the run: they differ "
        f"in {in_a_line(differing, 200)}"
    )
