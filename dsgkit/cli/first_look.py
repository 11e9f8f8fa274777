"""Config for a first experiment on a file of delimited text: its columns, task and sizes."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from dsgkit.config.yaml import dump
from dsgkit.data import layout as text
from dsgkit.data.catalogue import Column
from dsgkit.data.files import no_such_file, open_content
from dsgkit.data.layout import Layout, LineError, column_name
from dsgkit.data.targets import is_large, label_text, unlabeled_mark
from dsgkit.errors import ConfigError, DataError, in_a_line, nearest_or_all, shown
from dsgkit.system.files import folder_name

TASKS = {
    "auc": "ranking two classes",
    "svm": "classifying two classes",
    "ordinal": "ranking ordered classes",
    "cluster": "clustering",
}
"""Descriptions of the tasks."""

MAX_ROWS = 20_000
"""Rows that are read, from the start of the file."""

MAX_CATEGORIES = 50
"""Different texts of a categorical column; a column with more is left out."""

MAX_MISTAKE_SHARE = 0.1
"""Ratio of texts to numbers in a column up to which the texts are considered mistakes."""

FEWEST_ROWS, FEWEST_OF_CLASS = 60, 10
"""Rows in all, and of a class: for five folds of the labelled rows, and for evaluation."""

_MOST_CLASSES, _MOST_JUDGING, _MOST_ORDERED, _BINS = 20, 50, 10, 5
_LABELED, _MAX_LABELED, _UNLABELED, _CLUSTERED = 100, 500, (200, 1000, 5000), 2000
_MAX_SHOWN, _MAX_IGNORED_SHOWN, _LONGEST_LINE, _MAX_CONFIGS = 6, 4, 300, 100
_LABEL_NAMES = ["label", "labels", "class", "classes", "target", "y"]
_LABEL_NAMES += ["diagnosis", "outcome", "species"]
_POSITIVE_NAMES = ("1", "yes", "true", "positive")
_DATES = ("ISO8601", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%d %b %Y")
_ID = re.compile(r"(?:.*[_ ])?(?:id|uuid|guid|index|row)", re.IGNORECASE)
_LIBSVM = re.compile(r"\s*\S+(?:\s+\d+:\S+)+\s*")
_KINDS = {
    "number": "",
    "category": "one for each value of a text column",
    "share": "the share of rows with the text of a column",
    "date": "days since 1970 in",
}
_SEPARATORS = {None: "white space", ",": "commas", ";": "semicolons", "\t": "tabs"}
_SEPARATORS |= {"|": "vertical bars", ":": "colons"}


@dataclass
class _Field:
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
class _Survey:
    """Contents of a file: its columns by use, and its labels with their numbers of rows."""

    path: Path
    layout: Layout
    n_rows: int
    whole: bool
    fields: list[_Field]
    features: list[_Field] = field(default_factory=list)
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
        pairs = [*self.labels.items()][:_MAX_SHOWN]
        listed = ", ".join(f"{in_a_line(label_text(label), 30)}: {n:,}" for label, n in pairs)
        more = len(self.labels) - len(pairs)
        return listed + (f" and {more:,} more" if more else "")


@dataclass(frozen=True)
class Draft:
    """A config for a file: its task (of `TASKS`), lines that describe the file, and its text."""

    task: str
    lines: list[str]
    text: str


def draft(
    path: Path,
    label: str | None,
    task: str | None = None,
    positive: str | None = None,
    ignored: Sequence[str] = (),
    unlabeled: str | None = None,
    trials: int | None = None,
    labeled_rows: int | None = None,
) -> Draft:
    """Return a config for a file.

    Parameters
    ----------
    path : Path
        Delimited text, plain or compressed.
    label : str or None
        Name or number of the column of the labels.
    task : str, optional
        One of `TASKS`; by default the one that suits the labels.
    positive : str, optional
        The label that is +1, the others being -1.
    ignored : sequence of str
        Names or numbers of columns to leave out.
    unlabeled : str, optional
        The label of rows without one; so are rows whose label is empty.
    trials, labeled_rows : int, optional
        Numbers of random splits and of labelled rows; by default as the base config and the file
        suggest.

    Raises
    ------
    DataError
        If the file cannot be used, with the place and advice, or its labels suit no task.
    """
    survey = _survey(path, label, ignored, unlabeled)
    chosen = task or _task(survey, positive)
    if survey.n_rows < FEWEST_ROWS:
        raise DataError(f"{path}: {survey.n_rows} rows are too few, at least {FEWEST_ROWS}")
    notes = [*_notes(survey, chosen, is_default=task is None)]
    if chosen == "cluster" and len(survey.labels) > _MOST_JUDGING and survey.label is not None:
        why = f"{len(survey.labels):,} different labels are too many to judge clusters by"
        survey.ignored[survey.label], survey.label = why, None
        survey.labels = survey.labels[:0]
    target, words = _target(survey, chosen, positive)
    data: dict[str, Any] = {"extends": f"base/try_{chosen}.yaml"}
    data["dataset"] = _dataset(survey) | target
    if chosen == "cluster":
        data["sweep"] = {"rows": [_CLUSTERED if survey.n_rows > _CLUSTERED else "all"]}
    else:
        n = labeled_rows or _n_labeled(survey, target)
        if n >= survey.n_labeled:
            raise DataError(
                f"{path}: --labeled-rows {n:,}: only {survey.n_labeled:,} rows have a label, and "
                "some must be hidden to judge by"
            )
        sizes: list[Any] = [size for size in _UNLABELED if size < survey.n_rows - n]
        data["protocol"] = {"labeled": n}
        data["sweep"] = {"unlabeled": sizes if len(sizes) == 3 else [*sizes, "all"]}
        others = "all other labels are hidden and used to judge"
        if survey.n_unlabeled:
            others = (
                f"the labels of the other {survey.n_labeled - n} are hidden and used to judge, and "
                f"{survey.n_unlabeled:,} rows without a label are training rows"
            )
        words += f"; {n} labelled rows, {others}"
    if trials is not None:
        data["protocol"] = data.get("protocol", {}) | {"trials": trials}
    lines = [*_described(survey), *notes, f"task      {TASKS[chosen]} (--task {chosen}){words}"]
    head = in_a_line(f"# A first look at {path.name}: {TASKS[chosen]}", _LONGEST_LINE)
    base = (
        f"# `dsg init base/try_{chosen}` copies the base config, with the solvers and their grids"
    )
    lines = [in_a_line(line, _LONGEST_LINE) for line in lines]
    return Draft(chosen, lines, f"{head}\n#\n{base}\n{dump(data)}")


def config_path(draft: Draft, path: Path) -> Path:
    """Return the path for a config in the current folder: its own, or an unused name.

    Raises
    ------
    ConfigError
        If too many numbered names are in use.
    """
    stem = f"{folder_name(path.name.partition('.')[0]) or 'rows'}_{draft.task}_try"
    for k in range(1, _MAX_CONFIGS):
        config = Path(f"{stem}{k if k > 1 else ''}.yaml")
        if not config.exists():
            return config
        if config.is_file() and config.read_text("utf-8", "replace") == draft.text:
            return config
    raise ConfigError(f"{stem}.yaml and {_MAX_CONFIGS - 2} more exist; remove some")


def write(draft: Draft, config: Path) -> None:
    """Write a config to its `config_path`, unless it exists."""
    if not config.exists():
        with config.open("x", encoding="utf-8") as file:
            file.write(draft.text)


def _survey(
    path: Path, label: str | None, ignored: Sequence[str], unlabeled: str | None
) -> _Survey:
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
    columns = [_Field(layout.key(i), frame[i], layout.decimal) for i in frame]
    survey = _Survey(path, layout, len(frame), len(rows) == len(frame), columns)
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


def _check_signs(survey: _Survey, columns: Sequence[_Field]) -> None:
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


def _labels(path: Path, column: _Field, unlabeled: str | None) -> tuple[pd.Series, Any]:
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


def _task(survey: _Survey, positive: str | None) -> str:
    n = len(survey.labels)
    if survey.label is None:
        if (likely := _likely_label(survey)) is not None:
            raise DataError(
                f"{survey.path}: no --label given, but {column_name(likely)} looks like labels: "
                f"did you mean --label {shlex.quote(str(likely))}? To cluster all columns: --task "
                "cluster"
            )
        return "cluster"
    counts = {label: int(rows) for label, rows in survey.labels.items()}
    if positive is None and (mark := unlabeled_mark(counts)) is not None:
        label = label_text(mark)
        raise DataError(
            f"{survey.path}: labels {survey.counted}: {label} looks like the mark of rows without "
            f"a label: add --unlabeled {shlex.quote(label)}; if it is a class: --positive LABEL, "
            "--task ordinal or --task cluster"
        )
    if n <= 2 or positive is not None:
        return "auc"
    whole = survey.has_numbers and (survey.labels.index == survey.labels.index.astype(int)).all()
    if whole and n <= _MOST_ORDERED:
        return "ordinal"
    ways = ["--positive LABEL (that class against all others)", "--task cluster"]
    if survey.has_numbers:
        ways.append(f"--task ordinal ({_BINS} classes of equal frequency)")
    raise DataError(
        f"{survey.path}: column {shown(survey.label)} has {n:,} different labels "
        f"({survey.counted}): give {', '.join(ways[:-1])} or {ways[-1]}"
    )


def _likely_label(survey: _Survey) -> Column | None:
    """Return the column that looks like labels by its name, its texts or its position."""
    kept = [c for c in survey.fields if survey.ignored.get(c.key) != "as asked"]
    ends = [*kept[-1:], *kept[:1]]
    are_points = "x" in (str(c.key).lower() for c in kept)  # whose y is no label
    names = [name for name in _LABEL_NAMES if name != "y" or not are_points]
    likely = [
        *(c for c in kept if str(c.key).lower() in names),
        *(c for c in (*ends, *kept) if len(c.words) and c.has_few_classes),
        *(c for c in ends if c.words.empty and c.has_few_classes and (c.numbers % 1 == 0).all()),
    ]
    return likely[0].key if likely else None


def _notes(survey: _Survey, task: str, *, is_default: bool) -> Iterator[str]:
    """Yield notes on assumptions about the labels."""
    if survey.label is None:
        n, n_columns = len(survey.features), len(survey.fields)
        which = f"all {n}" if n == n_columns else f"{n} of {n_columns}"
        yield f"note      no --label given: {which} columns are features"
    elif is_default and task == "ordinal":
        labels = [*map(label_text, sorted(survey.labels.index))]
        yield (
            f"note      {_name(survey.label)} has the numbers {', '.join(labels)}: taken as "
            f"ordered classes; for one class against the rest: --positive "
            f"{labels[len(labels) // 2]}; for clusters: --task cluster"
        )


def _target(survey: _Survey, task: str, positive: str | None) -> tuple[dict[str, Any], str]:
    """Return the keys of a config that describe the labels, and words on them."""
    path = survey.path
    if task == "cluster":
        chosen = ": parameters are chosen without labels, by the Davies-Bouldin index"
        if survey.label is None:
            return {}, f"{chosen}, a weak criterion that nothing verifies here"
        judged = "NMI, purity and the unadjusted Rand index then judge the clusters by the labels"
        known = True if survey.has_numbers else sorted(survey.labels.index)
        return {"target": {"classes": known}}, f"{chosen}; {judged}"
    if survey.label is None:
        raise DataError(f"{path}: --task {task} needs labels: add --label COLUMN")
    if len(survey.labels) < 2:
        raise DataError(
            f"{path}: all rows have the same label ({survey.counted}); --task {task} needs two "
            "classes"
        )
    if task == "ordinal":
        if not survey.has_numbers:
            raise DataError(
                f"{path}: the labels {survey.counted} are text, whose order is not known; write "
                "numbers, or a config with `target: {ordered: [lowest, ..., highest]}`"
            )
        if len(survey.labels) <= _MOST_ORDERED:
            return {"target": {"ordered": True}}, ""
        return {"target": {"bins": _BINS}}, f", {_BINS} of equal frequency"
    label = _positive(survey, positive)
    n = int(survey.labels[label])
    if min(n, survey.n_labeled - n) < FEWEST_OF_CLASS:
        raise DataError(
            f"{path}: {n:,} rows have the label {label_text(label)}, {survey.n_labeled - n:,} "
            f"another; each class needs {FEWEST_OF_CLASS} rows"
        )
    others = sorted(label_text(other) for other in survey.labels.index if other != label)
    *most, last = others
    rest = f"{', '.join(most)} and {last} are" if most else f"{last} is"
    rest = "all others are" if len(others) > _MAX_SHOWN else rest
    return {"positive": [_as_config(label)]}, f", {label_text(label)} is +1; {rest} -1"


def _as_config(label: Any) -> Any:
    """Return a label as a config spells it."""
    return int(label) if isinstance(label, float) and label == int(label) else label


def _positive(survey: _Survey, asked: str | None) -> Any:
    """Return the label for +1: the given one, one that means yes, or the rarer one."""
    by_text = {label_text(label): label for label in survey.labels.index.tolist()}
    if asked is not None and asked not in by_text:
        hint = nearest_or_all(asked, by_text)
        raise DataError(f"{survey.path}: --positive {shown(asked)}: no row has this label{hint}")
    if asked is not None:
        return by_text[asked]
    if len(by_text) > 2:
        raise DataError(
            f"{survey.path}: {len(by_text):,} different labels ({survey.counted}): give "
            "--positive LABEL (that class against all others)"
        )
    says_yes = [label for text, label in by_text.items() if text.lower() in _POSITIVE_NAMES]
    rare = survey.labels.index[survey.labels == survey.labels.min()].tolist()
    return says_yes[0] if len(says_yes) == 1 else max(rare)


def _n_labeled(survey: _Survey, target: dict[str, Any]) -> int:
    """Return the number of labelled rows: more if a class is rare."""
    rarest = int(survey.labels.min())
    if "positive" in target:
        n = int(survey.labels[target["positive"][0]])
        rarest = min(n, survey.n_labeled - n)
    if "bins" in target.get("target", {}):
        rarest = survey.n_labeled
    # without rows of unknown label, most of the known labels are hidden
    most = survey.n_labeled * 2 // 3 if survey.n_unlabeled else survey.n_labeled // 3
    return min(max(_LABELED, 5 * survey.n_labeled // rarest), _MAX_LABELED, most)


def _dataset(survey: _Survey) -> dict[str, Any]:
    """Return the keys of a config that describe the file and its columns."""
    layout, data = survey.layout, {"path": str(survey.path), "loader": "delimited"}
    keys = {
        kind: [column.key for column in survey.features if column.kind == kind]
        for kind in ("category", "share")
    }
    more: dict[str, Any] = {
        "delimiter": layout.delimiter,
        "decimal": layout.decimal if layout.decimal != "." else None,
        "header": bool(layout.names),
        "label_column": survey.label,
        "label": {"column": survey.label, "unlabeled": _as_config(survey.unlabeled)},
        "categorical": keys["category"],
        "by_share": keys["share"],
        "dates": {c.key: c.date_format for c in survey.features if c.kind == "date"},
        "fill": "median" if any(c.n_gaps for c in survey.features) else None,
        "ignored": [*survey.ignored],
        "rows": None if survey.whole else survey.n_rows,
    }
    del more["label_column" if survey.unlabeled is not None else "label"]
    return data | {key: x for key, x in more.items() if x or key == "label_column"}


def _described(survey: _Survey) -> Iterator[str]:
    """Yield lines that describe how the file is read."""
    layout, n = survey.layout, f"{survey.n_rows:,} rows"
    rows = n if survey.whole else f"the first {n}"
    sign = _SEPARATORS.get(layout.delimiter, f"'{layout.delimiter}'")
    commas = ", with decimal commas" if layout.decimal == "," else ""
    yield (
        f"file      {survey.path}: {'header' if layout.names else 'no header'}, {rows}, "
        f"{len(survey.fields)} columns, separated by {sign}{commas}"
    )
    of = {kind: [c for c in survey.features if c.kind == kind] for kind in _KINDS}
    yield f"features  {len(of['number'])} columns of numbers"
    for kind, what in _KINDS.items():
        listed = ", ".join(
            f"{_name(c.key)} ({c.date_format or len(c.values)})" for c in of[kind] if what
        )
        if listed:
            yield f"features  {what}: {listed}"
    if gaps := ", ".join(f"{_name(c.key)} ({c.n_gaps:,})" for c in survey.features if c.n_gaps):
        yield f"features  missing numbers are the median, and over 5% of them marked: {gaps}"
    for key, why in [*survey.ignored.items()][:_MAX_IGNORED_SHOWN]:
        yield f"left out  {_name(key)}: {why}"
    if (more := len(survey.ignored) - _MAX_IGNORED_SHOWN) > 0:
        yield f"left out  {more} more"
    if survey.label is not None:
        none = f"; {survey.n_unlabeled:,} rows without a label" if survey.n_unlabeled else ""
        yield f"label     {_name(survey.label)}: {survey.counted}{none}"
    if survey.n_repeated:
        yield (f"note      {survey.n_repeated:,} rows repeat others, which may judge them")
    for column in survey.features if layout.decimal == "." else ():
        if number := text.thousands([*column.texts[~column.missing]], r"\."):
            yield (
                f"note      {_name(column.key)}: {number} is read as a decimal; write thousands as "
                f"{number.replace('.', '')}"
            )


def _name(key: Column) -> str:
    return f"column {key}" if isinstance(key, int) else key
