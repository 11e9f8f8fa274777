"""Config for a first experiment on a file of delimited text: its columns, task and sizes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dsgkit.config.yaml import dump
from dsgkit.data.catalogue import Column
from dsgkit.data.files import no_such_file
from dsgkit.data.layout import COMMA_NUMBER, FLOAT32_OVERFLOW, column_name, find_layout
from dsgkit.data.tables import Table
from dsgkit.data.targets import MISSING_VALUES, are_numbers, label_text, unlabeled_mark
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
_LABEL = re.compile(r"(?i)labels?|class(?:es)?|target|y|diagnosis|outcome|species")
_GROUPED = r"[+-]?\d{1,3}(?:[ ,.'\u2019\xa0\u202f]\d{3})+(?:[.,]\d+)?"  # with thousands apart
_POSITIVE_NAMES = ("1", "yes", "true", "positive")
_DATES = ("ISO8601", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%d %b %Y")
_ID = re.compile(r"(?:.*[_ ])?(?:id|uuid|guid|index|row)", re.IGNORECASE)
_KINDS = {
    "category": "one for each value of a text column",
    "share": "the share of rows with the text of a column",
    "date": "days since 1970 in",
}


class Field:
    """A column of a file: its fields by line number, and the kind of `Feature` that it becomes."""

    def __init__(self, key: Column, texts: pd.Series, decimal: str) -> None:
        missing = texts.str.lower().isin(MISSING_VALUES)
        values = texts[~missing]
        pointed = values if decimal == "." else values.str.translate(str.maketrans(".,", ",."))
        self.key, self.texts = key, texts
        numbers = pd.to_numeric(pointed, errors="coerce")
        self.numbers = numbers[numbers.abs() < FLOAT32_OVERFLOW]
        self.words = values.drop(self.numbers.index)
        self.format = ""  # of dates
        self.kind = "category" if texts.nunique() <= _MAX_CATEGORIES else "share"
        if len(self.words) <= _MAX_MISTAKE_SHARE * len(self.numbers):
            self.kind = "number"
        elif self.numbers.empty and self.words.str.contains(r"\d").all():
            for form in _DATES:
                if pd.to_datetime(self.words, format=form, errors="coerce", utc=True).notna().all():
                    self.kind, self.format = "date", form
                    break
        gaps = missing if self.kind in ("number", "date") else texts == ""
        self.n_missing = int(gaps.sum())

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
        """Return a number with separators of thousands; empty if these may be decimal signs."""
        texts = self.texts[~self.texts.str.lower().isin(MISSING_VALUES)]
        grouped = texts[texts.str.fullmatch(rf"[+-]?[1-9]\d{{0,2}}(?:\{sign}\d{{3}})+")]
        n_plain = int(texts.str.fullmatch(r"[+-]?\d{1,3}").sum())
        has_more = n_plain or (grouped.str.count(rf"\{sign}") > 1).any()
        return grouped.iloc[0] if has_more and 0 < len(grouped) == len(texts) - n_plain else ""


class Survey:
    """The first rows of a file: its columns by use, and its labels with their numbers of rows."""

    def __init__(
        self, path: Path, label: str | None, ignored: Sequence[str], unlabeled: str | None
    ) -> None:
        if not path.is_file():
            raise DataError(no_such_file(path))
        self.layout = layout = find_layout(path, label)
        frames: list[pd.DataFrame] = []
        blank = f" \t\v\f\r\n{layout.delimiter or ''}".encode()
        for first, lines, part in Table(layout, {}).frames():
            part.index = [k for k, line in enumerate(lines, first) if line.strip(blank)]
            frames.append(part)
            if sum(map(len, frames)) > MAX_ROWS:
                break
        frame = pd.concat(frames)
        self.is_whole = len(frame) <= MAX_ROWS
        frame = frame[:MAX_ROWS]
        self.n_rows, self.n_repeated = len(frame), int(frame.duplicated().sum())
        fields = self.fields = [Field(layout.key(i), frame[i], layout.decimal) for i in frame]
        left_out = [layout.place("--ignore", column) for column in ignored]
        at = None if label is None else layout.place("--label", label)
        why = {i: column.why_ignored() for i, column in enumerate(fields) if i != at}
        why |= {i: "no name" for i in why if layout.names and not layout.names[i]}
        why |= {i: "as asked" for i in left_out if i != at}
        self.features = [fields[i] for i in why if not why[i]]
        self.ignored = {fields[i].key: text for i, text in why.items() if text}
        _check(self)
        self.label = None if at is None else fields[at].key
        labels = pd.Series(dtype=int) if at is None else _labels(path, fields[at], unlabeled)
        self.labels, self.n_labeled = labels, int(labels.sum())
        counts = [f"{in_a_line(label_text(x), 30)}: {n:,}" for x, n in labels.items()]
        more = len(counts) - _MAX_LABELS_SHOWN
        self.counted = ", ".join(counts[:_MAX_LABELS_SHOWN])  # the most frequent first
        self.counted += f" and {more:,} more" if more > 0 else ""


def _check(survey: Survey) -> None:
    """Raise `DataError` for columns that can be read neither as numbers nor as text."""
    path, decimal = survey.layout.path, survey.layout.decimal
    kept = [column for column in survey.fields if survey.ignored.get(column.key) != "as asked"]
    commas = [column.texts[column.texts.str.fullmatch(COMMA_NUMBER.pattern)] for column in kept]
    found = [(column, texts) for column, texts in zip(kept, commas, strict=True) if len(texts)]
    grouped = [(c, c.words) for c in kept if len(c.words) and c.words.str.fullmatch(_GROUPED).all()]
    are_decimals = decimal == "," and not all(column.thousands(",") for column, _ in found)
    if found := grouped + found * (not are_decimals):
        column, texts = found[0]
        raise DataError(
            f"{path}:{texts.index[0]}: {column_name(column.key)}: {shown(texts.iloc[0])}: write "
            "decimal points instead of commas, and no separators of thousands"
        )
    mixed = [c for c in survey.features if c.kind != "category" and len(c.words) and len(c.numbers)]
    if mixed:
        told = [f"{column_name(c.key)}: {shown(c.words.iloc[0])} among numbers" for c in mixed]
        options = " ".join(f"--ignore {shlex.quote(str(c.key))}" for c in mixed)
        raise DataError(
            f"{path}:{mixed[0].words.index[0]}: {'; '.join(told)}; correct this, or leave columns "
            f"out: {options}"
        )
    if not survey.features:
        raise DataError(f"{path}: no column is left to learn from")


def _labels(path: Path, column: Field, unlabeled: str | None) -> pd.Series:
    """Return the number of rows of each label, which are numbers if all of them are."""
    texts = column.texts[column.texts != ""]
    if unlabeled is not None and not (texts == unlabeled).any():
        hint = nearest_or_all(unlabeled, sorted(set(texts)))
        raise DataError(f"{path}: --unlabeled {shown(unlabeled)}: no row has this label{hint}")
    texts = texts[texts != unlabeled]
    has_words = column.words.index.isin(texts.index).any()
    whole = [text for text in texts.unique() if text.lstrip("+-").isdecimal()]
    if not has_words and are_numbers(whole):  # float64 would not tell others apart
        numbers = column.numbers.reindex(texts.index).dropna()  # `nan` is no label either
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
    """Return lines on a file, the text of a config, and its path: unused, or of the same text."""
    survey = Survey(path, label, ignored, unlabeled)
    if survey.n_rows < FEWEST_ROWS:
        raise DataError(f"{path}: {survey.n_rows} rows are too few, at least {FEWEST_ROWS}")
    task = task or _task(survey, positive)
    if label is None and unlabeled is not None:
        raise DataError(f"{path}: --unlabeled needs labels: add --label COLUMN")
    for option, value, used_by in (
        ("--positive", positive, ("auc", "svm")),
        ("--labeled-rows", labeled_rows, ("auc", "svm", "ordinal")),
    ):
        if value is not None and task not in used_by:
            raise DataError(f"{path}: {option} is not for {TASKS[task]} (--task {task})")
    target, words, rarest = _target(survey, task, positive)
    data: dict[str, Any] = {"extends": f"base/try_{task}.yaml"}
    data["dataset"] = _dataset(survey, unlabeled) | target
    if task == "cluster":
        data["sweep"] = {"rows": [_CLUSTERED if survey.n_rows > _CLUSTERED else "all"]}
    else:
        known, n_none = survey.n_labeled, survey.n_rows - survey.n_labeled
        # without rows of unknown label, most of the known labels are hidden
        most = known * 2 // 3 if n_none else known // 3
        n = labeled_rows or min(max(_LABELED, 5 * known // rarest), _MAX_LABELED, most)
        if n >= known:
            raise DataError(
                f"{path}: --labeled-rows {n:,}: only {known:,} rows have a label, and some must be "
                "hidden for evaluation"
            )
        sizes: list[Any] = [size for size in _UNLABELED if size < survey.n_rows - n]
        data["protocol"] = {"labeled": n}
        data["sweep"] = {"unlabeled": sizes if len(sizes) == 3 else [*sizes, "all"]}
        words += f"; {n} labelled rows, all other labels are hidden and used for evaluation"
        words += f", and {n_none:,} rows without a label are training rows" if n_none else ""
    if trials is not None:
        data["protocol"] = data.get("protocol", {}) | {"trials": trials}
    lines = [*_described(survey), f"task      {TASKS[task]} (--task {task}){words}"]
    head = in_a_line(f"# A first look at {path.name}: {TASKS[task]}", _LONGEST_LINE)
    base = f"`dsg init base/try_{task}` copies the base config, with the solvers and their grids"
    text = f"{head}\n#\n# {base}\n{dump(data)}"
    stem = f"{folder_name(path.name.partition('.')[0]) or 'rows'}_{task}_try"
    config, k = Path(f"{stem}.yaml"), 1
    while config.exists() and (config.is_dir() or config.read_text("utf-8", "replace") != text):
        config, k = Path(f"{stem}{k + 1}.yaml"), k + 1
    return [in_a_line(line, _LONGEST_LINE) for line in lines], text, config


def _likely_label(survey: Survey) -> Column | None:
    """Return the column that looks like labels: by its name, or first or last with few classes."""
    kept = [c for c in survey.fields if survey.ignored.get(c.key) != "as asked"]
    are_points = "x" in (str(c.key).lower() for c in kept)  # whose y is no label
    named = [c for c in kept if _LABEL.fullmatch(str(c.key))]
    likely = [c for c in named if str(c.key).lower() != "y" or not are_points]
    for column in (kept[-1], kept[0]):
        is_whole = len(column.words) > 0 or (column.numbers % 1 == 0).all()
        is_full = len(column.words) + len(column.numbers) == survey.n_rows
        if is_whole and is_full and 2 <= column.texts.nunique() <= _MOST_CLASSES:
            likely.append(column)
    return likely[0].key if likely else None


def _task(survey: Survey, positive: str | None) -> str:
    """Return the task that suits the labels; what may be labels, or no label, must be said."""
    path, labels = survey.layout.path, survey.labels
    if survey.label is None:
        if (likely := _likely_label(survey)) is None:
            return "cluster"
        raise DataError(
            f"{path}: no --label given, but {column_name(likely)} looks like labels: did you mean "
            f"--label {shlex.quote(str(likely))}? To cluster all columns: --task cluster"
        )
    if positive is not None:
        return "auc"
    if (mark := unlabeled_mark(labels.to_dict())) is not None:
        text = label_text(mark)
        raise DataError(
            f"{path}: labels {survey.counted}: {text} looks like the mark of rows without a label: "
            f"add --unlabeled {shlex.quote(text)}; if it is a class: --positive LABEL, --task "
            "ordinal or --task cluster"
        )
    return "ordinal" if 2 < len(labels) <= _MOST_ORDERED and labels.index.dtype == int else "auc"


def _target(survey: Survey, task: str, positive: str | None) -> tuple[dict[str, Any], str, int]:
    """Return a config's keys on the labels, words on them, and the rows of the rarest class."""
    path, labels, counted = survey.layout.path, survey.labels, survey.counted
    all_numbers = not any(isinstance(label, str) for label in labels.index)
    if task == "cluster":
        chosen = ": parameters are chosen without labels, by the Davies-Bouldin index"
        if survey.label is None:
            return {}, f"{chosen}, a weak criterion that nothing verifies here", 0
        judged = "the labels are used for evaluation, by NMI, purity and the unadjusted Rand index"
        known = True if all_numbers else sorted(labels.index)
        return {"target": {"classes": known}}, f"{chosen}; {judged}", 0
    if labels.empty:
        where = "" if survey.label is None else f", and {column_name(survey.label)} has none"
        raise DataError(f"{path}: --task {task} needs labels{where}: add --label COLUMN")
    if task == "ordinal" and not all_numbers:
        raise DataError(
            f"{path}: the labels {counted} are text, whose order is not known; write numbers, or a "
            "config with `target: {ordered: [lowest, ..., highest]}`"
        )
    if task == "ordinal" and len(labels) > _MOST_ORDERED:
        return {"target": {"bins": _BINS}}, f", {_BINS} of equal frequency", survey.n_labeled
    if task == "ordinal":
        words = ": the labels in ascending order; --positive LABEL for one against all others"
        return {"target": {"ordered": True}}, words, int(labels.min())
    by_text = {label_text(label): label for label in labels.index.tolist()}
    if positive is not None and positive not in by_text:
        hint = nearest_or_all(positive, by_text)
        raise DataError(f"{path}: --positive {shown(positive)}: no row has this label{hint}")
    if positive is None and len(by_text) > 2:
        raise DataError(
            f"{path}: column {shown(survey.label)} has {len(labels):,} "
            f"different labels ({counted}): give --positive LABEL (that class against all others), "
            f"--task ordinal (numbers, in {_BINS} classes of equal frequency) or --task cluster"
        )
    if positive is None:  # one that means yes, or the rarer one
        says_yes = [text for text in by_text if text.lower() in _POSITIVE_NAMES]
        rarer = max(labels.index[labels == labels.min()])
        positive = says_yes[0] if len(says_yes) == 1 else label_text(rarer)
    if isinstance(by_text[positive], str) and are_numbers([positive]):  # so would a config be read
        raise DataError(
            f"{path}: labels {counted}: {positive} is a number among words; write words"
        )
    n = int(labels[by_text[positive]])
    n_others = survey.n_labeled - n
    if min(n, n_others) < FEWEST_OF_CLASS:
        raise DataError(
            f"{path}: {n:,} rows have the label {positive}, {n_others:,} another; each class needs "
            f"{FEWEST_OF_CLASS} rows"
        )
    words = f", {positive} is +1, all others are -1"
    return {"positive": [by_text[positive]]}, words, min(n, n_others)


def _dataset(survey: Survey, mark: str | None) -> dict[str, Any]:
    layout, features = survey.layout, survey.features
    marked = {"column": survey.label, "unlabeled": mark}
    data: dict[str, Any] = {
        "path": str(survey.layout.path),
        "loader": "delimited",
        "delimiter": layout.delimiter or " " * (layout.decimal == ","),
        "header": bool(layout.names),
        "decimal": layout.decimal if layout.decimal == "," else "",
        **({"label_column": survey.label} if mark is None else {"label": marked}),
        "categorical": [column.key for column in features if column.kind == "category"],
        "by_share": [column.key for column in features if column.kind == "share"],
        "dates": {str(column.key): column.format for column in features if column.kind == "date"},
        "fill": "median" if any(column.n_missing for column in features) else "",
        "ignored": [*survey.ignored],
        "rows": 0 if survey.is_whole else survey.n_rows,
    }
    return {key: x for key, x in data.items() if x or key == "label_column"}


def _described(survey: Survey) -> Iterator[str]:
    layout, features = survey.layout, survey.features
    file = f"{layout.path}: {'header' if layout.names else 'no header'}"
    rows = f"{'' if survey.is_whole else 'the first '}{survey.n_rows:,} rows"
    sign = "white space" if layout.delimiter is None else shown(layout.delimiter)
    commas = ", with decimal commas" if layout.decimal == "," else ""
    yield f"file      {file}, {rows}, {len(survey.fields)} columns, separated by {sign}{commas}"
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
        n = survey.n_rows - survey.n_labeled
        none = f"; {n:,} rows without a label" if n else ""
        yield f"label     {column_name(survey.label)}: {survey.counted}{none}"
    if (mark := unlabeled_mark(survey.labels.to_dict())) is not None:
        text = label_text(mark)
        yield f"note      {text} is a label here; if it means none: --unlabeled {shlex.quote(text)}"
    if survey.n_repeated:
        copies = "copies may be in training and evaluation"
        yield f"note      {survey.n_repeated:,} rows repeat others: {copies}"
    for column in features if layout.decimal == "." else ():
        if number := column.thousands("."):
            plain = number.replace(".", "")
            yield f"note      {column.key}: {number} is a decimal; write thousands as {plain}"
