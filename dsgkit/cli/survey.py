"""Survey of a file of delimited text: its layout, and the use of its columns."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from dsgkit.data.catalogue import Column
from dsgkit.data.files import no_such_file
from dsgkit.data.layout import (
    COMMA_NUMBER,
    MISSING_VALUES,
    Layout,
    LineError,
    column_name,
    find_layout,
    why_no_number,
)
from dsgkit.data.tables import Table
from dsgkit.data.targets import is_large, label_text
from dsgkit.errors import DataError, in_a_line, nearest_or_all, shown

MAX_ROWS = 20_000  # that are surveyed, from the start of the file
MAX_CATEGORIES = 50  # a column of more different texts becomes their shares
MAX_MISTAKE_SHARE = 0.1  # ratio of texts to numbers up to which the texts are mistakes
MAX_SHOWN = 6  # labels that are listed

_DATES = ("ISO8601", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%d %b %Y")
_ID = re.compile(r"(?:.*[_ ])?(?:id|uuid|guid|index|row)", re.IGNORECASE)


@dataclass(frozen=True)
class Field:
    """A column of a file: its fields by line number, and the kind of `Feature` that it becomes."""

    key: Column
    texts: pd.Series
    numbers: pd.Series
    words: pd.Series  # those that are neither numbers nor missing
    kind: str
    format: str
    n_missing: int

    @classmethod
    def of(cls, key: Column, texts: pd.Series, decimal: str) -> Field:
        """Return a column by its texts."""
        missing = texts.str.lower().isin(MISSING_VALUES)
        values = texts[~missing]
        pointed = values if decimal == "." else values.str.translate(str.maketrans(".,", ",."))
        numbers = pd.to_numeric(pointed, errors="coerce").dropna()
        words = values.drop(numbers.index)
        forms = _DATES if numbers.empty and words.str.contains(r"\d").all() else ()
        found = (
            form
            for form in forms
            if pd.to_datetime(words, format=form, errors="coerce", utc=True).notna().all()
        )
        form, kind = "", "category" if texts.nunique() <= MAX_CATEGORIES else "share"
        if len(words) <= MAX_MISTAKE_SHARE * len(numbers):
            kind = "number"
        elif form := next(found, ""):
            kind = "date"
        gaps = missing if kind in ("number", "date") else texts == ""
        return cls(key, texts, numbers, words, kind, form, int(gaps.sum()))

    def why_ignored(self) -> str:
        """Return why the column cannot generalise to other rows; empty if it may."""
        if self.numbers.empty and self.words.empty:
            return "no values"
        if self.kind == "share" and 2 * self.texts.nunique() > len(self.texts):
            return f"text with over {MAX_CATEGORIES} values" if self.numbers.empty else ""
        if self.kind != "number" or len(self.numbers) < len(self.texts):
            return ""
        if len(self.numbers) > 2 and (self.numbers.sort_values().diff()[1:] == 1).all():
            return "row numbers"
        return "an id, by its name" if _ID.fullmatch(str(self.key)) else ""

    def is_mixed(self) -> bool:
        """Return whether it can be read neither as numbers nor as text."""
        if self.kind == "share":
            return not self.numbers.empty
        return self.kind == "number" and not self.words.empty

    def thousands(self, sign: str) -> str:
        """Return a number with separators of thousands; empty if these may be decimal signs.

        All numbers have groups of three digits then, or are below 1,000 and without a sign.
        """
        texts = self.texts[~self.texts.str.lower().isin(MISSING_VALUES)]
        grouped = texts[texts.str.fullmatch(rf"[+-]?[1-9]\d{{0,2}}(?:\{sign}\d{{3}})+")]
        n_plain = int(texts.str.fullmatch(r"[+-]?\d{1,3}").sum())
        has_more = n_plain or (grouped.str.count(rf"\{sign}") > 1).any()
        return grouped.iloc[0] if has_more and 0 < len(grouped) == len(texts) - n_plain else ""


@dataclass
class Survey:
    """Contents of a file: its columns by use, and its labels with their numbers of rows."""

    path: Path
    layout: Layout
    n_rows: int
    whole: bool
    fields: list[Field]
    n_repeated: int
    features: list[Field] = field(default_factory=list)
    ignored: dict[Column, str] = field(default_factory=dict)
    label: Column | None = None
    labels: pd.Series = field(default_factory=lambda: pd.Series(dtype=int))
    unlabeled: Any = None

    @property
    def n_labeled(self) -> int:
        return int(self.labels.sum())

    @property
    def has_numbers(self) -> bool:
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
    layout = find_layout(path, label)
    frame = _first_rows(path, layout)
    whole, frame = len(frame) <= MAX_ROWS, frame[:MAX_ROWS]
    fields = [Field.of(layout.key(i), frame[i], layout.decimal) for i in frame]
    survey = Survey(path, layout, len(frame), whole, fields, int(frame.duplicated().sum()))
    try:
        left_out = [_place(layout, "--ignore", column) for column in ignored]
        at = None if label is None else _place(layout, "--label", label)
    except LineError as error:
        raise DataError(f"{path}: {error}") from error
    for i, column in enumerate(fields):
        unnamed = layout.names and not layout.names[i]
        why = "as asked" if i in left_out else "no name" if unnamed else column.why_ignored()
        if i == at:
            continue
        if why:
            survey.ignored[column.key] = why
        else:
            survey.features.append(column)
    _check(survey)
    if at is not None:
        survey.label = fields[at].key
        survey.labels, survey.unlabeled = _labels(path, fields[at], unlabeled)
    if not survey.features:
        raise DataError(f"{path}: no column is left to learn from")
    return survey


def _first_rows(path: Path, layout: Layout) -> pd.DataFrame:
    """Return the texts of somewhat more than `MAX_ROWS` rows, by line number."""
    frames, n_rows = [], 0
    blank = f" \t\v\f\r\n{layout.delimiter or ''}".encode()
    for first, lines, frame in Table(path, layout, {}).frames():
        frame.index = [k for k, line in enumerate(lines, first) if line.strip(blank)]
        frames.append(frame[: MAX_ROWS + 1])
        n_rows += len(frame)
        if n_rows > MAX_ROWS:
            break
    return pd.concat(frames).apply(lambda column: column.str.strip())


def _check(survey: Survey) -> None:
    """Raise `DataError` for columns that can be read neither as numbers nor as text."""
    path, decimal = survey.path, survey.layout.decimal
    kept = [column for column in survey.fields if survey.ignored.get(column.key) != "as asked"]
    commas = [column.texts[column.texts.str.fullmatch(COMMA_NUMBER.pattern)] for column in kept]
    found = [(column, texts) for column, texts in zip(kept, commas, strict=True) if len(texts)]
    if found and (decimal == "." or all(column.thousands(",") for column, _ in found)):
        column, texts = found[0]
        raise DataError(
            f"{path}:{texts.index[0]}: {column_name(column.key)}: {shown(texts.iloc[0])}: write "
            "decimal points instead of commas, and no separators of thousands"
        )
    mixed = [column for column in survey.features if column.is_mixed()]
    if mixed:
        told = "; ".join(
            f"{column_name(c.key)}: {shown(c.words.iloc[0])} among numbers" for c in mixed
        )
        options = " ".join(f"--ignore {shlex.quote(str(c.key))}" for c in mixed)
        line = mixed[0].words.index[0]
        raise DataError(f"{path}:{line}: {told}; correct this, or leave columns out: {options}")


def _place(layout: Layout, option: str, column: str) -> int:
    """Return the position of a column, given by name or number."""
    is_name = column in layout.names or not re.fullmatch(r"[+-]?\d{1,9}", column)
    return layout.place(option, column if is_name else int(column))


def _labels(path: Path, column: Field, unlabeled: str | None) -> tuple[pd.Series, Any]:
    """Return the number of rows of each label, and the label of rows without one.

    Labels are numbers if all of them are.
    """
    texts = column.texts[column.texts != ""]
    if unlabeled is not None and not (texts == unlabeled).any():
        hint = nearest_or_all(unlabeled, sorted(set(texts)))
        raise DataError(f"{path}: --unlabeled {shown(unlabeled)}: no row has this label{hint}")
    texts = texts[texts != unlabeled]
    if not any(map(is_large, texts.unique())):  # float64 would not tell these apart
        numbers = column.numbers.reindex(texts.index).dropna()
        if column.words.reindex(texts.index).dropna().empty:
            texts = numbers  # those that say `nan` have no label either
    is_number = unlabeled is not None and not why_no_number(unlabeled)
    return texts.value_counts(), float(str(unlabeled)) if is_number else unlabeled
