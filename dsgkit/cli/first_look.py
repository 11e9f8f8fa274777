"""Config for a first experiment on a file of delimited text: its task and sizes."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsgkit.cli.survey import Survey, survey_file
from dsgkit.config.yaml import dump
from dsgkit.data.catalogue import Column
from dsgkit.data.layout import column_name
from dsgkit.data.targets import label_text, unlabeled_mark
from dsgkit.errors import DataError, in_a_line, nearest_or_all, shown
from dsgkit.system.files import folder_name

TASKS = {
    "auc": "ranking two classes",
    "svm": "classifying two classes",
    "ordinal": "ranking ordered classes",
    "cluster": "clustering",
}
"""Descriptions of the tasks."""

FEWEST_ROWS, FEWEST_OF_CLASS = 60, 10
"""Rows in all, and of a class: for five folds of the labelled rows, and for evaluation."""

_MOST_CLASSES, _MOST_JUDGING, _MOST_ORDERED, _BINS = 20, 50, 10, 5
_LABELED, _MAX_LABELED, _UNLABELED, _CLUSTERED = 100, 500, (200, 1000, 5000), 2000
_MAX_IGNORED_SHOWN, _LONGEST_LINE = 4, 300
_LABEL_NAMES = ["label", "labels", "class", "classes", "target", "y"]
_LABEL_NAMES += ["diagnosis", "outcome", "species"]
_POSITIVE_NAMES = ("1", "yes", "true", "positive")
_KINDS = {
    "category": "one for each value of a text column",
    "share": "the share of rows with the text of a column",
    "date": "days since 1970 in",
}
_SEPARATORS = {None: "white space", ",": "commas", ";": "semicolons", "\t": "tabs"}


@dataclass(frozen=True)
class Draft:
    """A config for a file, with lines that describe the file.

    ``config`` is its path in the current folder: of the same config, or unused.
    """

    lines: list[str]
    text: str
    config: Path


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
    """Return a config for a file of delimited text, by the options of `dsg try`."""
    survey = survey_file(path, label, ignored, unlabeled)
    chosen = task or _task(survey, positive)
    if survey.n_rows < FEWEST_ROWS:
        raise DataError(f"{path}: {survey.n_rows} rows are too few, at least {FEWEST_ROWS}")
    if chosen == "cluster" and len(survey.labels) > _MOST_JUDGING and survey.label is not None:
        why = f"{len(survey.labels):,} different labels are too many to judge clusters by"
        survey.ignored[survey.label], survey.label = why, None
        survey.labels = survey.labels[:0]
    lines = [*_described(survey, is_ordered=task is None and chosen == "ordinal")]
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
        if n_none := survey.n_rows - survey.n_labeled:
            others = (
                f"the labels of the other {survey.n_labeled - n} are hidden and used to judge, and "
                f"{n_none:,} rows without a label are training rows"
            )
        words += f"; {n} labelled rows, {others}"
    if trials is not None:
        data["protocol"] = data.get("protocol", {}) | {"trials": trials}
    lines.append(f"task      {TASKS[chosen]} (--task {chosen}){words}")
    text = (
        in_a_line(f"# A first look at {path.name}: {TASKS[chosen]}", _LONGEST_LINE)
        + f"\n#\n# `dsg init base/try_{chosen}` copies the base config, with the solvers and their "
        + f"grids\n{dump(data)}"
    )
    lines = [in_a_line(line, _LONGEST_LINE) for line in lines]
    stem = f"{folder_name(path.name.partition('.')[0]) or 'rows'}_{chosen}_try"
    for k in itertools.count(1):
        config = Path(f"{stem}{k if k > 1 else ''}.yaml")
        is_same = config.is_file() and config.read_text("utf-8", "replace") == text
        if is_same or not config.exists():
            break
    return Draft(lines, text, config)


def _task(survey: Survey, positive: str | None) -> str:
    """Return the task that suits the labels."""
    n, path = len(survey.labels), survey.path
    if survey.label is None:
        if (likely := _likely_label(survey)) is None:
            return "cluster"
        raise DataError(
            f"{path}: no --label given, but {column_name(likely)} looks like labels: did you mean "
            f"--label {shlex.quote(str(likely))}? To cluster all columns: --task cluster"
        )
    counts = {label: int(rows) for label, rows in survey.labels.items()}
    if positive is None and (mark := unlabeled_mark(counts)) is not None:
        label = label_text(mark)
        raise DataError(
            f"{path}: labels {survey.counted}: {label} looks like the mark of rows without a "
            f"label: add --unlabeled {shlex.quote(label)}; if it is a class: --positive LABEL, "
            "--task ordinal or --task cluster"
        )
    if n <= 2 or positive is not None:
        return "auc"
    whole = survey.has_numbers and (survey.labels.index == survey.labels.index.astype(int)).all()
    if whole and n <= _MOST_ORDERED:
        return "ordinal"
    more = f", --task ordinal ({_BINS} classes of equal frequency)" if survey.has_numbers else ""
    raise DataError(
        f"{path}: {column_name(survey.label)} has {n:,} different labels ({survey.counted}): give "
        f"--positive LABEL (that class against all others){more} or --task cluster"
    )


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


def _target(survey: Survey, task: str, positive: str | None) -> tuple[dict[str, Any], str]:
    """Return the keys of a config that describe the labels, and words on them."""
    path, labels = survey.path, survey.labels
    if task == "cluster":
        chosen = ": parameters are chosen without labels, by the Davies-Bouldin index"
        if survey.label is None:
            return {}, f"{chosen}, a weak criterion that nothing verifies here"
        judged = "NMI, purity and the unadjusted Rand index then judge the clusters by the labels"
        known = True if survey.has_numbers else sorted(labels.index)
        return {"target": {"classes": known}}, f"{chosen}; {judged}"
    if survey.label is None:
        raise DataError(f"{path}: --task {task} needs labels: add --label COLUMN")
    if len(labels) < 2:
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
        if len(labels) <= _MOST_ORDERED:
            return {"target": {"ordered": True}}, ""
        return {"target": {"bins": _BINS}}, f", {_BINS} of equal frequency"
    by_text = {label_text(label): label for label in labels.index.tolist()}
    if positive is not None and positive not in by_text:
        hint = nearest_or_all(positive, by_text)
        raise DataError(f"{path}: --positive {shown(positive)}: no row has this label{hint}")
    if positive is None and len(by_text) > 2:
        raise DataError(
            f"{path}: {len(by_text):,} different labels ({survey.counted}): give --positive LABEL "
            "(that class against all others)"
        )
    if positive is None:  # one that means yes, or the rarer one
        says_yes = [text for text in by_text if text.lower() in _POSITIVE_NAMES]
        rarest = max(labels.index[labels == labels.min()])
        positive = says_yes[0] if len(says_yes) == 1 else label_text(rarest)
    n = int(labels[by_text[positive]])
    if min(n, survey.n_labeled - n) < FEWEST_OF_CLASS:
        raise DataError(
            f"{path}: {n:,} rows have the label {positive}, {survey.n_labeled - n:,} another; each "
            f"class needs {FEWEST_OF_CLASS} rows"
        )
    return {"positive": [_as_config(by_text[positive])]}, f", {positive} is +1, all others are -1"


def _as_config(label: Any) -> Any:
    """Return a label as a config spells it."""
    return int(label) if isinstance(label, float) and label == int(label) else label


def _n_labeled(survey: Survey, target: dict[str, Any]) -> int:
    """Return the number of labelled rows: more if a class is rare."""
    n, rarest = survey.n_labeled, int(survey.labels.min())
    if "positive" in target:
        n_positive = int(survey.labels[target["positive"][0]])
        rarest = min(n_positive, n - n_positive)
    if "bins" in target.get("target", {}):
        rarest = n
    # without rows of unknown label, most of the known labels are hidden
    most = n // 3 if n == survey.n_rows else n * 2 // 3
    return min(max(_LABELED, 5 * n // rarest), _MAX_LABELED, most)


def _dataset(survey: Survey) -> dict[str, Any]:
    """Return the keys of a config that describe the file and its columns."""
    layout, features = survey.layout, survey.features
    data: dict[str, Any] = {"path": str(survey.path), "loader": "delimited"}
    data |= {"delimiter": layout.delimiter, "header": bool(layout.names)}
    data |= {"decimal": layout.decimal if layout.decimal != "." else None}
    if survey.unlabeled is None:
        data["label_column"] = survey.label
    else:
        data["label"] = {"column": survey.label, "unlabeled": _as_config(survey.unlabeled)}
    data |= {
        "categorical": [column.key for column in features if column.kind == "category"],
        "by_share": [column.key for column in features if column.kind == "share"],
        "dates": {column.key: column.format for column in features if column.kind == "date"},
        "fill": "median" if any(column.n_missing for column in features) else None,
        "ignored": [*survey.ignored],
        "rows": None if survey.whole else survey.n_rows,
    }
    return {key: x for key, x in data.items() if x or key == "label_column"}


def _described(survey: Survey, *, is_ordered: bool) -> Iterator[str]:
    """Yield lines that describe how the file is read."""
    layout, features, n = survey.layout, survey.features, f"{survey.n_rows:,} rows"
    rows = n if survey.whole else f"the first {n}"
    sign = _SEPARATORS.get(layout.delimiter, f"'{layout.delimiter}'")
    commas = ", with decimal commas" if layout.decimal == "," else ""
    yield (
        f"file      {survey.path}: {'header' if layout.names else 'no header'}, {rows}, "
        f"{len(survey.fields)} columns, separated by {sign}{commas}"
    )
    yield f"features  {sum(c.kind == 'number' for c in features)} columns of numbers"
    for kind, what in _KINDS.items():
        chosen = [c for c in features if c.kind == kind]
        if chosen:
            listed = (f"{_name(c.key)} ({c.format or c.texts.nunique()})" for c in chosen)
            yield f"features  {what}: {', '.join(listed)}"
    if gaps := ", ".join(f"{_name(c.key)} ({c.n_missing:,})" for c in features if c.n_missing):
        yield f"features  missing numbers are the median, and over 5% of them marked: {gaps}"
    for key, why in [*survey.ignored.items()][:_MAX_IGNORED_SHOWN]:
        yield f"left out  {_name(key)}: {why}"
    if (more := len(survey.ignored) - _MAX_IGNORED_SHOWN) > 0:
        yield f"left out  {more} more"
    if survey.label is None:
        yield f"note      no labels: {len(features)} of {len(survey.fields)} columns are features"
    else:
        n_none = survey.n_rows - survey.n_labeled
        none = f"; {n_none:,} rows without a label" if n_none else ""
        yield f"label     {_name(survey.label)}: {survey.counted}{none}"
    if is_ordered:
        labels = [*map(label_text, sorted(survey.labels.index))]
        yield (
            f"note      {', '.join(labels)} are taken as ordered classes; for one class against "
            f"the rest: --positive {labels[len(labels) // 2]}; for clusters: --task cluster"
        )
    if survey.n_repeated:
        yield f"note      {survey.n_repeated:,} rows repeat others, which may judge them"
    for column in features if layout.decimal == "." else ():
        if number := column.thousands("."):
            yield (
                f"note      {_name(column.key)}: {number} is read as a decimal; write thousands as "
                f"{number.replace('.', '')}"
            )


def _name(key: Column) -> str:
    return f"column {key}" if isinstance(key, int) else key
