"""Survey of a file of delimited text: its layout, and the use of its columns."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from dsgkit.data import layout as text
from dsgkit.data.catalogue import Column
from dsgkit.data.files import no_such_file, open_content
from dsgkit.data.layout import Layout, LineError, column_name
from dsgkit.data.targets import is_large, label_text
from dsgkit.errors import DataError, in_a_line, nearest_or_all, shown

MAX_ROWS = 20_000
"""Rows that are read, from the start of the file."""

MAX_CATEGORIES = 50
"""Different texts of a categorical column; one with more becomes their shares."""

MAX_MISTAKE_SHARE = 0.1
"""Ratio of texts to numbers in a column up to which the texts are considered mistakes."""

MAX_SHOWN = 6
"""Labels that are listed."""

_MOST_CLASSES = 20
_DATES = ("ISO8601", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%d %b %Y")
_ID = re.compile(r"(?:.*[_ ])?(?:id|uuid|guid|index|row)", re.IGNORECASE)
_LIBSVM = re.compile(r"\s*\S+(?:\s+\d+:\S+)+\s*")


@dataclass
class Field:
    """A column of the file: its key in a config and its texts, by line number."""

    key: Column
    texts: pd.Series
    decimal: str

    @cached_property
    def missing(self) -> pd.Series:
        """Whether each field has no value."""
        return self.texts.str.lower().isin(text.MISSING_VALUES)

    @cached_property
    def numbers(self) -> pd.Series:
        """The fields that are numbers."""
        texts = self.texts[~self.missing]
        if self.decimal == ",":
            texts = texts.str.translate(str.maketrans(".,", ",."))
        return pd.to_numeric(texts, errors="coerce").dropna()

    @cached_property
    def words(self) -> pd.Series:
        """The fields that are neither missing nor numbers."""
        return self.texts[~self.missing].drop(self.numbers.index)

    @cached_property
    def values(self) -> set[str]:
        """The different texts."""
        return set(self.texts)

    @property
    def is_text(self) -> bool:
        """Whether it is read as text; `?` and `none` are then values."""
        return len(self.words) > MAX_MISTAKE_SHARE * len(self.numbers)

    @cached_property
    def date_format(self) -> str:
        """The format of its dates; empty if it has others."""
        texts = self.texts[~self.missing]
        if len(self.numbers) or texts.empty or not texts.str.contains(r"\d").all():
            return ""
        for form in _DATES:
            if pd.to_datetime(texts, format=form, errors="coerce", utc=True).notna().all():
                return form
        return ""

    @property
    def kind(self) -> str:
        """What becomes of it: a number, a date, a category, or a share of rows."""
        if not self.is_text:
            return "number"
        few = len(self.values) <= MAX_CATEGORIES
        return "date" if self.date_format else "category" if few else "share"

    @property
    def n_gaps(self) -> int:
        """Number of missing values."""
        return int(((self.texts == "") | (self.missing & (self.kind in ("number", "date")))).sum())

    @property
    def has_few_classes(self) -> bool:
        """Whether it has few enough values for labels, and no gaps."""
        return 2 <= len(self.values) <= _MOST_CLASSES and not self.missing.any()

    def why_ignored(self) -> str:
        """Return why the column cannot generalise to other rows; empty if it may."""
        if self.missing.all():
            return "no values"
        if (
            self.kind == "share"
            and not len(self.numbers)
            and 2 * len(self.values) > len(self.texts)
        ):
            return f"text with over {MAX_CATEGORIES} values"
        if self.kind != "number" or len(self.numbers) < len(self.texts):
            return ""
        ordered = self.numbers.sort_values()
        if len(ordered) > 2 and (ordered.diff()[1:] == 1).all():
            return "row numbers"
        return "an id, by its name" if _ID.fullmatch(str(self.key)) else ""

    def problem(self) -> tuple[int, str] | None:
        """Return line and reason why it can be read neither as numbers nor as text, if so."""
        if not len(self.words) or self.kind in ("date", "category"):
            return None
        if self.is_text and len(self.numbers) == 0:
            return None
        among = f" {len(self.numbers):,}" if self.is_text else ""
        word = shown(self.words.iloc[0])
        return int(self.words.index[0]), f"{word} among{among} numbers; correct it"


@dataclass
class Survey:
    """Contents of a file: its columns by use, and its labels with their numbers of rows."""

    path: Path
    layout: Layout
    n_rows: int
    whole: bool
    fields: list[Field]
    features: list[Field] = field(default_factory=list)
    ignored: dict[Column, str] = field(default_factory=dict)
    label: Column | None = None
    labels: pd.Series = field(default_factory=lambda: pd.Series(dtype=int))
    unlabeled: Any = None
    n_unlabeled: int = 0
    n_repeated: int = 0

    @property
    def n_labeled(self) -> int:
        """Number of rows with a label."""
        return self.n_rows - self.n_unlabeled

    @property
    def has_numbers(self) -> bool:
        """Whether all labels are numbers."""
        return not any(isinstance(label, str) for label in self.labels.index)

    @property
    def counted(self) -> str:
        """The labels with their numbers of rows, the most frequent first."""
        pairs = [*self.labels.items()][:MAX_SHOWN]
        listed = ", ".join(f"{in_a_line(label_text(label), 30)}: {n:,}" for label, n in pairs)
        more = len(self.labels) - len(pairs)
        return listed + (f" and {more:,} more" if more else "")


def survey_file(
    path: Path, label: str | None, ignored: Sequence[str], unlabeled: str | None
) -> Survey:
    """Read the first rows of a file, and sort its columns by use."""
    if not path.is_file():
        raise DataError(no_such_file(path))
    with open_content(path) as file:
        lines = text.filled_lines(path, file)
        layout, start = _layout(path, [*itertools.islice(lines, text.LINES_COMPARED)], label)
        rows, numbers = [], []
        for number, line in itertools.chain(start, lines):
            try:
                fields = text.split(line, layout.delimiter)
                if len(fields) != layout.n_columns:
                    raise LineError(text.why_columns(fields, layout.n_columns))
            except LineError as error:
                raise DataError(f"{path}:{number}: {error}") from error
            rows.append(fields)
            numbers.append(number)
            if len(rows) > MAX_ROWS:
                break
    frame = pd.DataFrame(rows[:MAX_ROWS], index=numbers[:MAX_ROWS], dtype=str)
    columns = [Field(layout.key(i), frame[i], layout.decimal) for i in frame]
    survey = Survey(path, layout, len(frame), len(rows) == len(frame), columns)
    survey.n_repeated = int(frame.duplicated().sum())
    try:
        left_out = [_place(layout, "--ignore", column) for column in ignored]
        at = None if label is None else _place(layout, "--label", label)
    except LineError as error:
        raise DataError(f"{path}: {error}") from error
    _check_signs(survey, [c for i, c in enumerate(columns) if i not in left_out])
    for i, column in enumerate(columns):
        if i == at or i in left_out:
            continue
        unnamed = layout.names and not layout.names[i]
        if why := "no name" if unnamed else column.why_ignored():
            survey.ignored[column.key] = why
        else:
            survey.features.append(column)
    survey.ignored |= {columns[i].key: "as asked" for i in sorted(left_out)}
    problems = [(*found, c.key) for c in survey.features if (found := c.problem())]
    if problems:
        told = "; ".join(f"{column_name(key)}: {why}" for _, why, key in problems)
        options = " ".join(f"--ignore {shlex.quote(str(key))}" for *_, key in problems)
        what = "the column" if len(problems) == 1 else "the columns"
        raise DataError(f"{path}:{problems[0][0]}: {told}, or leave {what} out: {options}")
    if at is not None:
        survey.label = columns[at].key
        survey.labels, survey.unlabeled = _labels(path, columns[at], unlabeled)
        survey.n_unlabeled = survey.n_rows - int(survey.labels.sum())
    if not survey.features:
        raise DataError(f"{path}: no column is left to learn from")
    return survey


def _check_signs(survey: Survey, columns: Sequence[Field]) -> None:
    """Raise `DataError` for separators of thousands, or decimal commas that cannot be read."""
    path, decimal = survey.path, survey.layout.decimal
    commas = [(c, c.texts[c.texts.str.contains(",")]) for c in columns]
    commas = [(c, found) for c, found in commas if found.map(text.is_comma_number).any()]
    if not commas:
        return
    grouped = [text.thousands([*c.texts[~c.missing]], ",") for c, _ in commas]
    column, found = commas[0]
    place = f"{path}:{found.index[0]}: {column_name(column.key)}"
    if all(grouped):
        raise DataError(
            f"{place}: {shown(grouped[0])} looks like thousands with a separator, not like a "
            f"decimal comma: write {grouped[0].replace(',', '')}"
        )
    if survey.layout.delimiter == ",":
        raise DataError(
            f"{place}: {shown(found.iloc[0])}: decimal commas in a file that commas separate: "
            'write it with semicolons (in pandas: to_csv(sep=";", decimal=","))'
        )
    if decimal == ".":
        raise DataError(f"{place}: {shown(found.iloc[0])}: write decimal points, not commas")


def _layout(
    path: Path, lines: list[tuple[int, str]], label: str | None
) -> tuple[Layout, list[tuple[int, str]]]:
    """Return the layout of a file by its first lines, and those of them that are rows."""
    texts = [line for _, line in lines]
    if not lines:
        raise DataError(f"{path}: the file is empty")
    if all(map(_LIBSVM.fullmatch, texts)):
        raise DataError(f"{path}: looks like LIBSVM text; write a config with `loader: libsvm`")
    delimiter, n_columns = text.likely_delimiter(texts)
    if n_columns == 1:  # tolerate lines with other numbers of columns: the reader reports them
        delimiter, n_columns = text.likely_delimiter(texts, text.MIN_LINE_SHARE)
    if delimiter == ",":
        delimiter = text.decimal_comma_delimiter(texts) or ","
    try:
        text.check_start(lines, delimiter)
        names, *rows = [text.split(line, delimiter) for line in texts]
    except LineError as error:
        raise DataError(f"{path}:{error.line or lines[0][0]}: {error}") from error
    if n_columns == 1:
        raise DataError(
            f"{path}: no delimiter splits the first {len(lines)} lines into equally many columns, "
            "two or more"
        )
    fields = [*itertools.chain(*rows)] or names
    points = any("." in one and text.is_number(one, ".") for one in fields)
    commas = any(map(text.has_decimal_comma, fields)) and not points and delimiter != ","
    decimal = "," if commas else "."
    header = text.is_header(names, rows, decimal)
    named = label in names and not re.fullmatch(r"[+-]?\d+", str(label))
    if not (named or header):
        return Layout(delimiter, decimal, 0, (), len(names)), lines
    if not rows:
        raise DataError(f"{path}: the file holds no rows")
    return Layout(delimiter, decimal, 0, tuple(names), len(names)), lines[1:]


def _place(layout: Layout, option: str, column: str) -> int:
    """Return the position of a column, given by name or number."""
    if column not in layout.names and re.fullmatch(r"[+-]?\d{1,9}", column):
        return layout.place(option, int(column))
    if not layout.names:
        raise LineError(
            f"{option} {shown(column)}: the file has no header; name the column by its number, 0 "
            f"to {layout.n_columns - 1}, or -1 for the last"
        )
    return layout.place(option, column)


def _labels(path: Path, column: Field, unlabeled: str | None) -> tuple[pd.Series, Any]:
    """Return the number of rows of each label, and the label of rows without one.

    Labels are numbers if all of them are.
    """
    texts = column.texts[column.texts != ""]
    if unlabeled is not None and unlabeled not in column.values:
        hint = nearest_or_all(unlabeled, sorted(column.values))
        raise DataError(f"{path}: --unlabeled {shown(unlabeled)}: no row has this label{hint}")
    texts = texts[texts != unlabeled]
    numbers = column.numbers.reindex(texts.index).dropna()
    if any(is_large(label) for label in column.values):
        numbers = numbers[:0]  # float64 would not tell them apart
    if len(numbers) + column.missing[texts.index].sum() == len(texts):
        texts = numbers  # those that say `nan` have no label either
    is_number = unlabeled is not None and not text.why_no_number(unlabeled)
    return texts.value_counts(), float(str(unlabeled)) if is_number else unlabeled
