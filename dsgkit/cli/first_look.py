"""Config for a first experiment on a file: its task, sizes and base config."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsgkit.config.yaml_loader import dump
from dsgkit.data.names import column_name
from dsgkit.data.survey import ColumnKey, Survey
from dsgkit.data.targets import label_text
from dsgkit.errors import ConfigError, DataError, in_a_line, nearest_or_all, shown
from dsgkit.system.files import folder_name

TASKS = {
    "auc": "ranking two classes",
    "svm": "classifying two classes",
    "ordinal": "ranking ordered classes",
    "cluster": "clustering",
}
"""Descriptions of the tasks."""

FEWEST_ROWS = 60
FEWEST_OF_CLASS = 10
"""Rows of a class: for five folds of the labelled rows, and for evaluation."""

_LABELED = 100
_MAX_LABELED = 500
_LABELED_OF_RAREST = 5
_UNLABELED = (200, 1000, 5000)
_CLUSTERED = 2000
_MAX_JUDGING_CLASSES = 50
_ORDERED_CLASSES = range(3, 11)
"""Numbers of classes that are assumed to be ordered if the labels are whole numbers."""

_SEPARATORS = {
    None: "white space",
    ",": "commas",
    ";": "semicolons",
    "\t": "tabs",
    "|": "vertical bars",
    ":": "colons",
}
_BINS = 5
_POSITIVE_NAMES = ("1", "yes", "true", "positive")
_MAX_SHOWN = 6
_LONGEST_LINE = 300
_MAX_IGNORED_SHOWN = 4
_MAX_CONFIGS = 100


@dataclass(frozen=True)
class Draft:
    """A config for a file: its task (of `TASKS`), lines that describe the file, and its text."""

    task: str
    lines: list[str]
    text: str


def draft(survey: Survey, task: str | None = None, positive: str | None = None) -> Draft:
    """Return a config for a file.

    Parameters
    ----------
    survey : Survey
        Result of `survey` for the file.
    task : str, optional
        One of `TASKS`; by default the one that suits the labels.
    positive : str, optional
        The label that is +1, the others being -1.

    Raises
    ------
    DataError
        If the labels do not suit the task, or any task.
    """
    chosen = task or _task(survey, positive)
    notes = _notes(survey, chosen, is_default=task is None)
    task = chosen
    if task == "cluster" and len(survey.labels) > _MAX_JUDGING_CLASSES:
        why = f"{len(survey.labels):,} different labels are too many to judge clusters by"
        survey = survey.without_label(why)
    _check_rows(survey, task)
    target = _target(survey, task, positive)
    n_labeled = _n_labeled(survey, target)
    data: dict[str, Any] = {
        "extends": f"base/try_{task}.yaml",
        "dataset": _dataset(survey) | target,
    }
    if task == "cluster":
        data["sweep"] = {"rows": [_CLUSTERED if survey.n_rows > _CLUSTERED else "all"]}
    else:
        data["protocol"] = {"labeled": n_labeled}
        data["sweep"] = {"unlabeled": _sizes(survey.n_rows - n_labeled)}
    words = _target_words(survey, target) if task != "cluster" else _judged_words(survey)
    if task != "cluster":
        words += f"; {n_labeled} labelled rows, all other labels are hidden and used to judge"
    lines = [*_described(survey), *notes, f"task      {TASKS[task]} (--task {task}){words}"]
    lines = [in_a_line(line, _LONGEST_LINE) for line in lines]
    head = in_a_line(f"# A first look at {survey.path.name}: {TASKS[task]}", _LONGEST_LINE)
    base = f"# `dsg init base/try_{task}` copies the base config, with the solvers and their grids"
    return Draft(task, lines, f"{head}\n#\n{base}\n{dump(data)}")


def config_path(draft: Draft, path: Path) -> Path:
    """Return the path for a config: the file that already has its text, else an unused name.

    Parameters
    ----------
    draft : Draft
        The config.
    path : Path
        The surveyed file; the config goes to the current folder.

    Raises
    ------
    ConfigError
        If too many numbered names are in use.
    """
    stem = f"{folder_name(path.name.partition('.')[0]) or 'rows'}_{draft.task}_try"
    for k in range(1, _MAX_CONFIGS):
        config = Path(f"{stem}{k if k > 1 else ''}.yaml")
        if not config.exists() or _has_text(config, draft.text):
            return config
    raise ConfigError(f"{stem}.yaml and {_MAX_CONFIGS - 2} more exist; remove some")


def write(draft: Draft, config: Path) -> None:
    """Write a config to its `config_path`, unless it exists."""
    if not config.exists():
        with config.open("x", encoding="utf-8") as file:
            file.write(draft.text)


def _has_text(config: Path, text: str) -> bool:
    return config.is_file() and config.read_text(encoding="utf-8", errors="replace") == text


def _task(survey: Survey, positive: str | None) -> str:
    if survey.label is None:
        _check_no_labels(survey)
        return "cluster"
    if len(survey.labels) == 2 or positive is not None:
        return "auc"
    whole = survey.has_numbers and all(value == int(value) for value in survey.labels)
    if whole and len(survey.labels) in _ORDERED_CLASSES:
        return "ordinal"
    if len(survey.labels) < 2:
        return "auc"  # `_check_rows` then says why it is impossible
    ways = ["--positive LABEL (that class against all others)", "--task cluster"]
    if survey.has_numbers:
        ways.append(f"--task ordinal ({_BINS} classes of equal frequency)")
    raise DataError(
        f"{survey.path}: column {shown(survey.label)} has {len(survey.labels):,} different labels "
        f"({_counted(survey)}): give {', '.join(ways[:-1])} or {ways[-1]}"
    )


def _check_no_labels(survey: Survey) -> None:
    """Raise `DataError` if no label column is given, but a column looks like one."""
    if survey.likely_label is not None:
        option = f"--label {shlex.quote(str(survey.likely_label))}"
        raise DataError(
            f"{survey.path}: no --label given, but {column_name(survey.likely_label)} looks like "
            f"labels: did you mean {option}? To cluster all columns: --task cluster"
        )


def _notes(survey: Survey, task: str, *, is_default: bool) -> Iterator[str]:
    """Yield notes on assumptions about the labels."""
    if survey.label is None:
        n, n_columns = survey.n_features, survey.n_columns
        which = f"all {n}" if n == n_columns else f"{n} of {n_columns}"
        yield f"note      no --label given: {which} columns are features"
    elif is_default and task == "ordinal":
        labels = sorted(survey.labels)
        listed = ", ".join(map(label_text, labels))
        middle = label_text(labels[len(labels) // 2])
        yield (
            f"note      {_name(survey.label)} has the numbers {listed}: taken as ordered classes; "
            f"for one class against the rest: --positive {middle}; for clusters: --task cluster"
        )


def _check_rows(survey: Survey, task: str) -> None:
    if survey.n_rows < FEWEST_ROWS:
        raise DataError(f"{survey.path}: {survey.n_rows} rows are too few, at least {FEWEST_ROWS}")
    if task == "cluster":
        return
    if survey.label is None:
        raise DataError(f"{survey.path}: --task {task} needs labels: add --label COLUMN")
    if len(survey.labels) < 2:
        raise DataError(
            f"{survey.path}: all rows have the same label ({_counted(survey)}); --task {task} "
            "needs two classes"
        )


def _target(survey: Survey, task: str, positive: str | None) -> dict[str, Any]:
    """Return the keys of a config that describe the labels."""
    if survey.label is None:
        return {}
    if task == "cluster":
        return {"target": {"classes": True if survey.has_numbers else sorted(survey.labels)}}
    if task == "ordinal":
        return {"target": _ordered(survey)}
    label = _positive(survey, positive)
    n = survey.labels[label]
    fewer = min(n, survey.n_rows - n)
    if fewer < FEWEST_OF_CLASS:
        raise DataError(
            f"{survey.path}: {n:,} rows have the label {label_text(label)}, {survey.n_rows - n:,} "
            f"another; each class needs {FEWEST_OF_CLASS} rows"
        )
    return {"positive": [_value(label)]}


def _ordered(survey: Survey) -> dict[str, Any]:
    if not survey.has_numbers:
        raise DataError(
            f"{survey.path}: the labels {_counted(survey)} are text, whose order is not known; "
            "write numbers, or a config with `target: {ordered: [lowest, ..., highest]}`"
        )
    return {"ordered": True} if len(survey.labels) <= _ORDERED_CLASSES[-1] else {"bins": _BINS}


def _positive(survey: Survey, asked: str | None) -> Any:
    """Return the label for +1: the given one, one that means yes, or the rarer one."""
    by_text = {label_text(label): label for label in survey.labels}
    if asked is not None:
        if asked not in by_text:
            hint = nearest_or_all(asked, by_text)
            raise DataError(
                f"{survey.path}: --positive {shown(asked)}: no row has this label{hint}"
            )
        return by_text[asked]
    if len(survey.labels) > 2:
        raise DataError(
            f"{survey.path}: {len(survey.labels):,} different labels ({_counted(survey)}): give "
            "--positive LABEL (that class against all others)"
        )
    says_yes = [label for text, label in by_text.items() if text.lower() in _POSITIVE_NAMES]
    rarest = min(survey.labels.values())
    rare = [label for label, n in survey.labels.items() if n == rarest]
    return says_yes[0] if len(says_yes) == 1 else max(rare)


def _n_labeled(survey: Survey, target: dict[str, Any]) -> int:
    """Return the number of labelled rows: more if a class is rare."""
    counts = list(survey.labels.values())
    if "positive" in target:
        n = next(n for label, n in survey.labels.items() if _value(label) == target["positive"][0])
        counts = [n, survey.n_rows - n]
    if not counts or "bins" in target.get("target", {}):
        counts = [survey.n_rows]
    wanted = _LABELED_OF_RAREST * survey.n_rows // min(counts)
    return min(max(_LABELED, wanted), _MAX_LABELED, survey.n_rows // 3)


def _sizes(n_unlabeled: int) -> list[Any]:
    sizes: list[Any] = [size for size in _UNLABELED if size < n_unlabeled]
    return sizes if len(sizes) == len(_UNLABELED) else [*sizes, "all"]


def _dataset(survey: Survey) -> dict[str, Any]:
    """Return the keys of a config that describe the file and its columns."""
    data: dict[str, Any] = {"path": str(survey.path), "loader": "delimited"}
    layout = survey.layout
    data |= {"delimiter": layout.delimiter} if layout.delimiter else {}
    data |= {"decimal": layout.decimal} if layout.decimal != "." else {}
    data |= {"header": True} if layout.header else {}
    data["label_column"] = survey.label
    data |= {"categorical": list(survey.categorical)} if survey.categorical else {}
    data |= {"ignored": list(survey.ignored)} if survey.ignored else {}
    return data if survey.whole else data | {"rows": survey.n_rows}


def _described(survey: Survey) -> Iterator[str]:
    """Yield lines that describe how the file is read."""
    sign = _SEPARATORS.get(survey.layout.delimiter, f"'{survey.layout.delimiter}'")
    header = "header" if survey.layout.header else "no header"
    rows = f"{survey.n_rows:,} rows" if survey.whole else f"the first {survey.n_rows:,} rows"
    commas = ", with decimal commas" if survey.layout.decimal == "," else ""
    columns = f"{survey.n_columns} columns, separated by {sign}{commas}"
    yield f"file      {survey.path}: {header}, {rows}, {columns}"
    yield f"features  {survey.n_numbers} columns of numbers"
    if survey.categorical:
        listed = ", ".join(f"{_name(key)} ({n})" for key, n in survey.categorical.items())
        yield f"features  one for each value of a text column: {listed}"
    for key, why in list(survey.ignored.items())[:_MAX_IGNORED_SHOWN]:
        yield f"left out  {_name(key)}: {why}"
    if (more := len(survey.ignored) - _MAX_IGNORED_SHOWN) > 0:
        yield f"left out  {more} more"
    if survey.label is not None:
        yield f"label     {_name(survey.label)}: {_counted(survey)}"


def _name(key: ColumnKey) -> str:
    return f"column {key}" if isinstance(key, int) else key


def _counted(survey: Survey) -> str:
    """Return the labels with their numbers of rows, the most frequent first."""
    most = survey.labels.most_common(_MAX_SHOWN)
    more = len(survey.labels) - len(most)
    listed = ", ".join(f"{in_a_line(label_text(label), 30)}: {n:,}" for label, n in most)
    return listed + (f" and {more:,} more" if more else "")


def _judged_words(survey: Survey) -> str:
    """Return how clusters are chosen and evaluated."""
    chosen = ": parameters are chosen without labels, by the Davies-Bouldin index"
    if survey.label is None:
        return f"{chosen}, a weak criterion that nothing verifies here"
    return (
        f"{chosen}; NMI, purity and the unadjusted Rand index then judge the clusters by the labels"
    )


def _target_words(survey: Survey, target: dict[str, Any]) -> str:
    if "positive" in target:
        positive = label_text(target["positive"][0])
        others = sorted(text for text in map(label_text, survey.labels) if text != positive)
        if len(others) > _MAX_SHOWN:
            return f", {positive} is +1; all others are -1"
        *most, last = others
        negative = f"{', '.join(most)} and {last} are" if most else f"{last} is"
        return f", {positive} is +1; {negative} -1"
    if "bins" in target.get("target", {}):
        return f", {target['target']['bins']} of equal frequency"
    return ""


def _value(label: Any) -> Any:
    """Return a label as a config spells it."""
    return int(label) if isinstance(label, float) and label == int(label) else label
