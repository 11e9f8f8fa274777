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
from dsgkit.system.files import folder_name
from dsgkit.text.errors import ConfigError, DataError, in_a_line, shown
from dsgkit.text.hints import nearest_or_all

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


def draft(found: Survey, task: str | None = None, positive: str | None = None) -> Draft:
    """Return a config for a file.

    Parameters
    ----------
    found : Survey
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
    chosen = task or _task(found, positive)
    notes = _notes(found, chosen, is_default=task is None)
    task = chosen
    if task == "cluster" and len(found.labels) > _MAX_JUDGING_CLASSES:
        why = f"{len(found.labels):,} different labels are too many to judge clusters by"
        found = found.without_label(why)
    _check_rows(found, task)
    target = _target(found, task, positive)
    n_labeled = _n_labeled(found, target)
    data: dict[str, Any] = {"extends": f"base/try_{task}.yaml", "dataset": _dataset(found) | target}
    if task == "cluster":
        data["sweep"] = {"rows": [_CLUSTERED if found.n_rows > _CLUSTERED else "all"]}
    else:
        data["protocol"] = {"labeled": n_labeled}
        data["sweep"] = {"unlabeled": _sizes(found.n_rows - n_labeled)}
    words = _target_words(found, target) if task != "cluster" else _judged_words(found)
    if task != "cluster":
        words += f"; {n_labeled} labelled rows, all other labels are hidden and used to judge"
    lines = [*_described(found), *notes, f"task      {TASKS[task]} (--task {task}){words}"]
    lines = [in_a_line(line, _LONGEST_LINE) for line in lines]
    head = in_a_line(f"# A first look at {found.path.name}: {TASKS[task]}", _LONGEST_LINE)
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


def _task(found: Survey, positive: str | None) -> str:
    if found.label is None:
        _check_no_labels(found)
        return "cluster"
    if len(found.labels) == 2 or positive is not None:
        return "auc"
    whole = found.has_numbers and all(value == int(value) for value in found.labels)
    if whole and len(found.labels) in _ORDERED_CLASSES:
        return "ordinal"
    if len(found.labels) < 2:
        return "auc"  # `_check_rows` then says why it is impossible
    ways = ["--positive LABEL (that class against all others)", "--task cluster"]
    if found.has_numbers:
        ways.append(f"--task ordinal ({_BINS} classes of equal frequency)")
    raise DataError(
        f"{found.path}: column {shown(found.label)} has {len(found.labels):,} different labels "
        f"({_counted(found)}): give {', '.join(ways[:-1])} or {ways[-1]}"
    )


def _check_no_labels(found: Survey) -> None:
    """Raise `DataError` if no label column is given, but a column looks like one."""
    if found.likely_label is not None:
        option = f"--label {shlex.quote(str(found.likely_label))}"
        raise DataError(
            f"{found.path}: no --label given, but {column_name(found.likely_label)} looks like "
            f"labels: did you mean {option}? To cluster all columns: --task cluster"
        )


def _notes(found: Survey, task: str, *, is_default: bool) -> Iterator[str]:
    """Yield notes on assumptions about the labels."""
    if found.label is None:
        n, n_columns = found.n_features, found.n_columns
        which = f"all {n}" if n == n_columns else f"{n} of {n_columns}"
        yield f"note      no --label given: {which} columns are features"
    elif is_default and task == "ordinal":
        labels = sorted(found.labels)
        listed = ", ".join(map(label_text, labels))
        middle = label_text(labels[len(labels) // 2])
        yield (
            f"note      {_name(found.label)} has the numbers {listed}: taken as ordered classes; "
            f"for one class against the rest: --positive {middle}; for clusters: --task cluster"
        )


def _check_rows(found: Survey, task: str) -> None:
    if found.n_rows < FEWEST_ROWS:
        raise DataError(f"{found.path}: {found.n_rows} rows are too few, at least {FEWEST_ROWS}")
    if task == "cluster":
        return
    if found.label is None:
        raise DataError(f"{found.path}: --task {task} needs labels: add --label COLUMN")
    if len(found.labels) < 2:
        raise DataError(
            f"{found.path}: all rows have the same label ({_counted(found)}); --task {task} needs "
            "two classes"
        )


def _target(found: Survey, task: str, positive: str | None) -> dict[str, Any]:
    """Return the keys of a config that describe the labels."""
    if found.label is None:
        return {}
    if task == "cluster":
        return {"target": {"classes": True if found.has_numbers else sorted(found.labels)}}
    if task == "ordinal":
        return {"target": _ordered(found)}
    label = _positive(found, positive)
    n = found.labels[label]
    fewer = min(n, found.n_rows - n)
    if fewer < FEWEST_OF_CLASS:
        raise DataError(
            f"{found.path}: {n:,} rows have the label {label_text(label)}, {found.n_rows - n:,} "
            f"another; each class needs {FEWEST_OF_CLASS} rows"
        )
    return {"positive": [_value(label)]}


def _ordered(found: Survey) -> dict[str, Any]:
    if not found.has_numbers:
        raise DataError(
            f"{found.path}: the labels {_counted(found)} are text, whose order is not known; write "
            "numbers, or a config with `target: {ordered: [lowest, ..., highest]}`"
        )
    return {"ordered": True} if len(found.labels) <= _ORDERED_CLASSES[-1] else {"bins": _BINS}


def _positive(found: Survey, asked: str | None) -> Any:
    """Return the label for +1: the given one, one that means yes, or the rarer one."""
    by_text = {label_text(label): label for label in found.labels}
    if asked is not None:
        if asked not in by_text:
            hint = nearest_or_all(asked, by_text)
            raise DataError(f"{found.path}: --positive {shown(asked)}: no row has this label{hint}")
        return by_text[asked]
    if len(found.labels) > 2:
        raise DataError(
            f"{found.path}: {len(found.labels):,} different labels ({_counted(found)}): give "
            "--positive LABEL (that class against all others)"
        )
    says_yes = [label for text, label in by_text.items() if text.lower() in _POSITIVE_NAMES]
    rarest = min(found.labels.values())
    rare = [label for label, n in found.labels.items() if n == rarest]
    return says_yes[0] if len(says_yes) == 1 else max(rare)


def _n_labeled(found: Survey, target: dict[str, Any]) -> int:
    """Return the number of labelled rows: more if a class is rare."""
    counts = list(found.labels.values())
    if "positive" in target:
        n = next(n for label, n in found.labels.items() if _value(label) == target["positive"][0])
        counts = [n, found.n_rows - n]
    if not counts or "bins" in target.get("target", {}):
        counts = [found.n_rows]
    wanted = _LABELED_OF_RAREST * found.n_rows // min(counts)
    return min(max(_LABELED, wanted), _MAX_LABELED, found.n_rows // 3)


def _sizes(n_unlabeled: int) -> list[Any]:
    sizes: list[Any] = [size for size in _UNLABELED if size < n_unlabeled]
    return sizes if len(sizes) == len(_UNLABELED) else [*sizes, "all"]


def _dataset(found: Survey) -> dict[str, Any]:
    """Return the keys of a config that describe the file and its columns."""
    data: dict[str, Any] = {"path": str(found.path), "loader": "delimited"}
    layout = found.layout
    data |= {"delimiter": layout.delimiter} if layout.delimiter else {}
    data |= {"decimal": layout.decimal} if layout.decimal != "." else {}
    data |= {"header": True} if layout.header else {}
    data["label_column"] = found.label
    data |= {"categorical": list(found.categorical)} if found.categorical else {}
    data |= {"ignored": list(found.ignored)} if found.ignored else {}
    return data if found.whole else data | {"rows": found.n_rows}


def _described(found: Survey) -> Iterator[str]:
    """Yield lines that describe how the file is read."""
    sign = _SEPARATORS.get(found.layout.delimiter, f"'{found.layout.delimiter}'")
    header = "header" if found.layout.header else "no header"
    rows = f"{found.n_rows:,} rows" if found.whole else f"the first {found.n_rows:,} rows"
    commas = ", with decimal commas" if found.layout.decimal == "," else ""
    columns = f"{found.n_columns} columns, separated by {sign}{commas}"
    yield f"file      {found.path}: {header}, {rows}, {columns}"
    yield f"features  {found.n_numbers} columns of numbers"
    if found.categorical:
        listed = ", ".join(f"{_name(key)} ({n})" for key, n in found.categorical.items())
        yield f"features  one for each value of a text column: {listed}"
    for key, why in list(found.ignored.items())[:_MAX_IGNORED_SHOWN]:
        yield f"left out  {_name(key)}: {why}"
    if (more := len(found.ignored) - _MAX_IGNORED_SHOWN) > 0:
        yield f"left out  {more} more"
    if found.label is not None:
        yield f"label     {_name(found.label)}: {_counted(found)}"


def _name(key: ColumnKey) -> str:
    return f"column {key}" if isinstance(key, int) else key


def _counted(found: Survey) -> str:
    """Return the labels with their numbers of rows, the most frequent first."""
    most = found.labels.most_common(_MAX_SHOWN)
    more = len(found.labels) - len(most)
    listed = ", ".join(f"{in_a_line(label_text(label), 30)}: {n:,}" for label, n in most)
    return listed + (f" and {more:,} more" if more else "")


def _judged_words(found: Survey) -> str:
    """Return how clusters are chosen and evaluated."""
    chosen = ": parameters are chosen without labels, by the Davies-Bouldin index"
    if found.label is None:
        return f"{chosen}, a weak criterion that nothing verifies here"
    return (
        f"{chosen}; NMI, purity and the unadjusted Rand index then judge the clusters by the labels"
    )


def _target_words(found: Survey, target: dict[str, Any]) -> str:
    if "positive" in target:
        positive = label_text(target["positive"][0])
        others = sorted(text for text in map(label_text, found.labels) if text != positive)
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
