"""Config for a first experiment on a file of delimited text: its columns, task and sizes."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from dsgkit.config.yaml import dump
from dsgkit.data.catalogue import Column
from dsgkit.data.files import no_such_file
from dsgkit.data.layout import (
    COMMA_NUMBER,
    MISSING_VALUES,
    Layout,
    column_name,
    find_layout,
)
from dsgkit.data.tables import Table
from dsgkit.data.targets import are_numbers, label_text, unlabeled_mark
from dsgkit.errors import DataError, in_a_line, nearest_or_all, shown
from dsgkit.system.files import folder_name

TASKS = {
    "auc": "ranking two classes",
    "svm": "classifying two classes",
    "ordinal": "ranking ordered classes",
    "cluster": "clustering",
}

MAX_ROWS = 20_000  # that are looked at, from the start of the file
FEWEST_ROWS, FEWEST_OF_CLASS = 60, 10  # for five folds of the labelled rows, and to judge by
_MAX_CATEGORIES = 50  # a column of more different texts becomes their shares
_MAX_MISTAKE_SHARE = 0.1  # ratio of texts to numbers up to which the texts are mistakes
_MOST_CLASSES, _MOST_ORDERED, _BINS = 20, 10, 5
_LABELED, _MAX_LABELED, _UNLABELED, _CLUSTERED = 100, 500, (200, 1000, 5000), 2000
_MAX_LABELS_SHOWN, _LONGEST_LINE = 6, 300
_LABEL_NAMES = ["label", "labels", "class", "classes", "target", "y"]
_LABEL_NAMES += ["diagnosis", "outcome", "species"]
_POSITIVE_NAMES = ("1", "yes", "true", "positive")
_DATES = ("ISO8601", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%d %b %Y")
_ID = re.compile(r"(?:.*[_ ])?(?:id|uuid|guid|index|row)", re.IGNORECASE)
_KINDS = {
    "category": "one for each value of a text column",
    "share": "the share of rows with the text of a column",
    "date": "days since 1970 in",
}


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
        missing = texts.str.lower().isin(MISSING_VALUES)
        values = texts[~missing]
        pointed = values if decimal == "." else values.str.translate(str.maketrans(".,", ",."))
        numbers = pd.to_numeric(pointed, errors="coerce").dropna()
        words = values.drop(numbers.index)
        may_be_dates = numbers.empty and words.str.contains(r"\d").all()
        forms = (
            form
            for form in (_DATES if may_be_dates else ())
            if pd.to_datetime(words, format=form, errors="coerce", utc=True).notna().all()
        )
        form, kind = "", "category" if texts.nunique() <= _MAX_CATEGORIES else "share"
        if len(words) <= _MAX_MISTAKE_SHARE * len(numbers):
            kind = "number"
        elif form := next(forms, ""):
            kind = "date"
        gaps = missing if kind in ("number", "date") else texts == ""
        return cls(key, texts, numbers, words, kind, form, int(gaps.sum()))

    def why_ignored(self) -> str:
        """Return why the column cannot generalise to other rows; empty if it may."""
        if self.numbers.empty and self.words.empty:
            return "no values"
        if self.kind == "share" and 2 * self.texts.nunique() > len(self.texts):
            return f"text with over {_MAX_CATEGORIES} values" if self.numbers.empty else ""
        if self.kind != "number" or len(self.numbers) < len(self.texts):
            return ""
        if len(self.numbers) > 2 and (self.numbers.sort_values().diff()[1:] == 1).all():
            return "row numbers"
        return "an id, by its name" if _ID.fullmatch(str(self.key)) else ""

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

    layout: Layout
    n_rows: int
    fields: list[Field]
    n_repeated: int
    is_whole: bool
    features: list[Field] = field(default_factory=list)
    ignored: dict[Column, str] = field(default_factory=dict)
    label: Column | None = None
    labels: pd.Series = field(default_factory=lambda: pd.Series(dtype=int))

    @property
    def n_labeled(self) -> int:
        return int(self.labels.sum())

    @property
    def has_numbers(self) -> bool:
        return not any(isinstance(label, str) for label in self.labels.index)

    @property
    def counted(self) -> str:
        """The labels with their numbers of rows, the most frequent first."""
        counts = [f"{in_a_line(label_text(x), 30)}: {n:,}" for x, n in self.labels.items()]
        more = len(counts) - _MAX_LABELS_SHOWN
        return ", ".join(counts[:_MAX_LABELS_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def survey_file(
    path: Path, label: str | None, ignored: Sequence[str], unlabeled: str | None
) -> Survey:
    """Read the first rows of a file, and sort its columns by use."""
    if not path.is_file():
        raise DataError(no_such_file(path))
    layout = find_layout(path, label)
    frame, is_whole = _first_rows(layout)
    fields = [Field.of(layout.key(i), frame[i], layout.decimal) for i in frame]
    survey = Survey(layout, len(frame), fields, int(frame.duplicated().sum()), is_whole)
    left_out = [layout.place("--ignore", column) for column in ignored]
    at = None if label is None else layout.place("--label", label)
    for i, column in enumerate(fields):
        unnamed = layout.names and not layout.names[i]
        why = "as asked" if i in left_out else "no name" if unnamed else column.why_ignored()
        if why and i != at:
            survey.ignored[column.key] = why
        elif i != at:
            survey.features.append(column)
    _check(survey)
    if at is not None:
        survey.label = fields[at].key
        survey.labels = _labels(path, fields[at], unlabeled)
    if not survey.features:
        raise DataError(f"{path}: no column is left to learn from")
    return survey


def _first_rows(layout: Layout) -> tuple[pd.DataFrame, bool]:
    """Return the texts of the first rows by line number, and whether these are all."""
    frames, n_rows = [], 0
    blank = f" \t\v\f\r\n{layout.delimiter or ''}".encode()
    for first, lines, frame in Table(layout, {}).frames():
        frame.index = [k for k, line in enumerate(lines, first) if line.strip(blank)]
        frames.append(frame)
        n_rows += len(frame)
        if n_rows > MAX_ROWS:
            break
    return pd.concat(frames)[:MAX_ROWS], n_rows <= MAX_ROWS


def _check(survey: Survey) -> None:
    """Raise `DataError` for columns that can be read neither as numbers nor as text."""
    path, decimal = survey.layout.path, survey.layout.decimal
    kept = [column for column in survey.fields if survey.ignored.get(column.key) != "as asked"]
    commas = [column.texts[column.texts.str.fullmatch(COMMA_NUMBER.pattern)] for column in kept]
    found = [(column, texts) for column, texts in zip(kept, commas, strict=True) if len(texts)]
    if found and (decimal == "." or all(column.thousands(",") for column, _ in found)):
        column, texts = found[0]
        raise DataError(
            f"{path}:{texts.index[0]}: {column_name(column.key)}: {shown(texts.iloc[0])}: write "
            "decimal points instead of commas, and no separators of thousands"
        )
    kinds = ("number", "share")
    mixed = [c for c in survey.features if c.kind in kinds and len(c.words) and len(c.numbers)]
    if mixed:
        told = [f"{column_name(c.key)}: {shown(c.words.iloc[0])} among numbers" for c in mixed]
        options = " ".join(f"--ignore {shlex.quote(str(c.key))}" for c in mixed)
        raise DataError(
            f"{path}:{mixed[0].words.index[0]}: {'; '.join(told)}; correct this, or leave columns "
            f"out: {options}"
        )


def _labels(path: Path, column: Field, unlabeled: str | None) -> pd.Series:
    """Return the number of rows of each label, which are numbers if all of them are."""
    texts = column.texts[column.texts != ""]
    if unlabeled is not None and not (texts == unlabeled).any():
        hint = nearest_or_all(unlabeled, sorted(set(texts)))
        raise DataError(f"{path}: --unlabeled {shown(unlabeled)}: no row has this label{hint}")
    texts = texts[texts != unlabeled]
    whole = [text for text in texts.unique() if text.lstrip("+-").isdecimal()]
    if are_numbers(whole):  # else float64 would not tell these apart
        numbers = column.numbers.reindex(texts.index).dropna()
        if column.words.reindex(texts.index).dropna().empty:
            # those that say `nan` have no label either
            texts = numbers.astype(int) if (numbers % 1 == 0).all() else numbers
    return texts.value_counts()


def draft(
    path: Path,
    label: str | None,
    task: str | None = None,
    positive: str | None = None,
    ignored: Sequence[str] = (),
    unlabeled: str | None = None,
    trials: int | None = None,
    labeled_rows: int | None = None,
) -> tuple[list[str], str, Path]:
    """Return lines that describe a file, the text of a config, and its path.

    The path is in the current folder: that of the same config, or an unused one.
    """
    survey = survey_file(path, label, ignored, unlabeled)
    if survey.n_rows < FEWEST_ROWS:
        raise DataError(f"{path}: {survey.n_rows} rows are too few, at least {FEWEST_ROWS}")
    chosen, target, words, rarest = _target(survey, task, positive)
    data: dict[str, Any] = {"extends": f"base/try_{chosen}.yaml"}
    data["dataset"] = _dataset(survey, unlabeled) | target
    if chosen == "cluster":
        data["sweep"] = {"rows": [_CLUSTERED if survey.n_rows > _CLUSTERED else "all"]}
    else:
        known, n_none = survey.n_labeled, survey.n_rows - survey.n_labeled
        # without rows of unknown label, most of the known labels are hidden
        most = known * 2 // 3 if n_none else known // 3
        n = labeled_rows or min(max(_LABELED, 5 * known // rarest), _MAX_LABELED, most)
        if n >= known:
            raise DataError(
                f"{path}: --labeled-rows {n:,}: only {known:,} rows have a label, and some must be "
                "hidden to judge by"
            )
        sizes: list[Any] = [size for size in _UNLABELED if size < survey.n_rows - n]
        data["protocol"] = {"labeled": n}
        data["sweep"] = {"unlabeled": sizes if len(sizes) == 3 else [*sizes, "all"]}
        words += f"; {n} labelled rows, all other labels are hidden and used to judge"
        words += f", and {n_none:,} rows without a label are training rows" if n_none else ""
    if trials is not None:
        data["protocol"] = data.get("protocol", {}) | {"trials": trials}
    lines = [*_described(survey), f"task      {TASKS[chosen]} (--task {chosen}){words}"]
    head = in_a_line(f"# A first look at {path.name}: {TASKS[chosen]}", _LONGEST_LINE)
    base = f"`dsg init base/try_{chosen}` copies the base config, with the solvers and their grids"
    text = f"{head}\n#\n# {base}\n{dump(data)}"
    stem = f"{folder_name(path.name.partition('.')[0]) or 'rows'}_{chosen}_try"
    for k in itertools.count(1):
        config = Path(f"{stem}{k if k > 1 else ''}.yaml")
        is_same = config.is_file() and config.read_text("utf-8", "replace") == text
        if is_same or not config.exists():
            break
    return [in_a_line(line, _LONGEST_LINE) for line in lines], text, config


def _likely_label(survey: Survey) -> Column | None:
    """Return the column that looks like labels: by its name, or first or last with few classes."""
    kept = [c for c in survey.fields if survey.ignored.get(c.key) != "as asked"]
    are_points = "x" in (str(c.key).lower() for c in kept)  # whose y is no label
    names = [name for name in _LABEL_NAMES if name != "y" or not are_points]
    likely = [column for column in kept if str(column.key).lower() in names]
    for column in (kept[-1], kept[0]):
        is_whole = len(column.words) > 0 or (column.numbers % 1 == 0).all()
        is_full = len(column.words) + len(column.numbers) == survey.n_rows
        if is_whole and is_full and 2 <= column.texts.nunique() <= _MOST_CLASSES:
            likely.append(column)
    return likely[0].key if likely else None


def _target(
    survey: Survey, task: str | None, positive: str | None
) -> tuple[str, dict[str, Any], str, int]:
    """Return the task, a config's keys on the labels, words on them, and rows of the rarest class.

    Without a task, that which suits the labels is taken.
    """
    path, labels, counted = survey.layout.path, survey.labels, survey.counted
    if task is None and survey.label is None and (likely := _likely_label(survey)) is not None:
        raise DataError(
            f"{path}: no --label given, but {column_name(likely)} looks like labels: did you mean "
            f"--label {shlex.quote(str(likely))}? To cluster all columns: --task cluster"
        )
    if task is None and positive is None and (mark := unlabeled_mark(labels.to_dict())) is not None:
        text = label_text(mark)
        raise DataError(
            f"{path}: labels {counted}: {text} looks like the mark of rows without a label: add "
            f"--unlabeled {shlex.quote(text)}; if it is a class: --positive LABEL, --task ordinal "
            "or --task cluster"
        )
    if task is None:
        is_ordered = (
            positive is None and 2 < len(labels) <= _MOST_ORDERED and labels.index.dtype == int
        )
        task = "cluster" if survey.label is None else "ordinal" if is_ordered else "auc"
    if task == "cluster":
        chosen = ": parameters are chosen without labels, by the Davies-Bouldin index"
        if survey.label is None:
            return task, {}, f"{chosen}, a weak criterion that nothing verifies here", 0
        judged = "NMI, purity and the unadjusted Rand index then judge the clusters by the labels"
        known = True if survey.has_numbers else sorted(labels.index)
        return task, {"target": {"classes": known}}, f"{chosen}; {judged}", 0
    if labels.empty:
        raise DataError(f"{path}: --task {task} needs labels: add --label COLUMN")
    if task == "ordinal":
        if not survey.has_numbers:
            raise DataError(
                f"{path}: the labels {counted} are text, whose order is not known; write numbers, "
                "or a config with `target: {ordered: [lowest, ..., highest]}`"
            )
        if len(labels) <= _MOST_ORDERED:
            words = ": the labels in ascending order; --positive LABEL for one against all others"
            return task, {"target": {"ordered": True}}, words, int(labels.min())
        return task, {"target": {"bins": _BINS}}, f", {_BINS} of equal frequency", survey.n_labeled
    by_text = {label_text(label): label for label in labels.index.tolist()}
    if positive is not None and positive not in by_text:
        hint = nearest_or_all(positive, by_text)
        raise DataError(f"{path}: --positive {shown(positive)}: no row has this label{hint}")
    if positive is None and len(by_text) > 2:
        raise DataError(
            f"{path}: column {shown(survey.label)} has {len(labels):,} different labels "
            f"({counted}): give --positive LABEL (that class against all others), --task ordinal "
            f"(numbers, in {_BINS} classes of equal frequency) or --task cluster"
        )
    if positive is None:  # one that means yes, or the rarer one
        says_yes = [text for text in by_text if text.lower() in _POSITIVE_NAMES]
        rarer = max(labels.index[labels == labels.min()])
        positive = says_yes[0] if len(says_yes) == 1 else label_text(rarer)
    n = int(labels[by_text[positive]])
    rarest = min(n, survey.n_labeled - n)
    if rarest < FEWEST_OF_CLASS:
        raise DataError(
            f"{path}: {n:,} rows have the label {positive}, {survey.n_labeled - n:,} another; each "
            f"class needs {FEWEST_OF_CLASS} rows"
        )
    target = {"positive": [by_text[positive]]}
    return task, target, f", {positive} is +1, all others are -1", rarest


def _dataset(survey: Survey, mark: str | None) -> dict[str, Any]:
    layout, features = survey.layout, survey.features
    labels = {"column": survey.label, "unlabeled": mark}
    data: dict[str, Any] = {
        "path": str(survey.layout.path),
        "loader": "delimited",
        "delimiter": layout.delimiter,
        "header": bool(layout.names),
        "decimal": layout.decimal if layout.decimal == "," else "",
        **({"label_column": survey.label} if mark is None else {"label": labels}),
        "categorical": [column.key for column in features if column.kind == "category"],
        "by_share": [column.key for column in features if column.kind == "share"],
        "dates": {column.key: column.format for column in features if column.kind == "date"},
        "fill": "median" if any(column.n_missing for column in features) else "",
        "ignored": [*survey.ignored],
        "rows": 0 if survey.is_whole else survey.n_rows,
    }
    return {key: x for key, x in data.items() if x or key == "label_column"}


def _described(survey: Survey) -> Iterator[str]:
    layout, features = survey.layout, survey.features
    rows = f"{'' if survey.is_whole else 'the first '}{survey.n_rows:,} rows"
    sign = "white space" if layout.delimiter is None else shown(layout.delimiter)
    commas = ", with decimal commas" if layout.decimal == "," else ""
    yield (
        f"file      {survey.layout.path}: {'header' if layout.names else 'no header'}, {rows}, "
        f"{len(survey.fields)} columns, separated by {sign}{commas}"
    )
    yield f"features  {sum(c.kind == 'number' for c in features)} columns of numbers"
    for kind, what in _KINDS.items():
        named = [f"{c.key} ({c.format or c.texts.nunique()})" for c in features if c.kind == kind]
        if named:
            yield f"features  {what}: {', '.join(named)}"
    if gaps := ", ".join(f"{c.key} ({c.n_missing:,})" for c in features if c.n_missing):
        yield f"features  missing numbers are the median, and over 5% of them marked: {gaps}"
    if survey.ignored:
        yield f"left out  {', '.join(f'{key} ({why})' for key, why in survey.ignored.items())}"
    if survey.label is None:
        yield f"note      no labels: {len(features)} of {len(survey.fields)} columns are features"
    else:
        n_none = survey.n_rows - survey.n_labeled
        none = f"; {n_none:,} rows without a label" if n_none else ""
        yield f"label     {column_name(survey.label)}: {survey.counted}{none}"
    if survey.n_repeated:
        yield f"note      {survey.n_repeated:,} rows repeat others, which may judge them"
    for column in features if layout.decimal == "." else ():
        if number := column.thousands("."):
            plain = number.replace(".", "")
            yield f"note      {column.key}: {number} is a decimal; write thousands as {plain}"
