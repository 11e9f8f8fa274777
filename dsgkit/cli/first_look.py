"""Config for a first experiment on a file of delimited text: its task and sizes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsgkit.cli.survey import MAX_SHOWN, Survey, survey_file
from dsgkit.config.yaml import dump
from dsgkit.data import layout as text
from dsgkit.data.catalogue import Column
from dsgkit.data.layout import column_name
from dsgkit.data.targets import label_text, unlabeled_mark
from dsgkit.errors import ConfigError, DataError, in_a_line, nearest_or_all, shown
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

_MOST_JUDGING, _MOST_ORDERED, _BINS = 50, 10, 5
_LABELED, _MAX_LABELED, _UNLABELED, _CLUSTERED = 100, 500, (200, 1000, 5000), 2000
_MAX_IGNORED_SHOWN, _LONGEST_LINE, _MAX_CONFIGS = 4, 300, 100
_LABEL_NAMES = ["label", "labels", "class", "classes", "target", "y"]
_LABEL_NAMES += ["diagnosis", "outcome", "species"]
_POSITIVE_NAMES = ("1", "yes", "true", "positive")
_KINDS = {
    "number": "",
    "category": "one for each value of a text column",
    "share": "the share of rows with the text of a column",
    "date": "days since 1970 in",
}
_SEPARATORS = {None: "white space", ",": "commas", ";": "semicolons", "\t": "tabs"}
_SEPARATORS |= {"|": "vertical bars", ":": "colons"}


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
    survey = survey_file(path, label, ignored, unlabeled)
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


def _task(survey: Survey, positive: str | None) -> str:
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


def _likely_label(survey: Survey) -> Column | None:
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


def _notes(survey: Survey, task: str, *, is_default: bool) -> Iterator[str]:
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


def _target(survey: Survey, task: str, positive: str | None) -> tuple[dict[str, Any], str]:
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
    rest = "all others are" if len(others) > MAX_SHOWN else rest
    return {"positive": [_as_config(label)]}, f", {label_text(label)} is +1; {rest} -1"


def _as_config(label: Any) -> Any:
    """Return a label as a config spells it."""
    return int(label) if isinstance(label, float) and label == int(label) else label


def _positive(survey: Survey, asked: str | None) -> Any:
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


def _n_labeled(survey: Survey, target: dict[str, Any]) -> int:
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


def _dataset(survey: Survey) -> dict[str, Any]:
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


def _described(survey: Survey) -> Iterator[str]:
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
