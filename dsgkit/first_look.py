"""The config of a first look at a file: what to learn, from how many rows, by which base config."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsgkit.config.yaml_loader import dump
from dsgkit.data.survey import ColumnKey, Survey
from dsgkit.data.targets import label_text
from dsgkit.errors import ConfigError, DataError, in_a_line, shown
from dsgkit.files import folder_name
from dsgkit.hints import nearest_or_all

TASKS = {
    "auc": "ranking of two classes",
    "svm": "classifier of two classes",
    "ordinal": "ordered classes",
    "cluster": "clusters",
}
"""What can be learnt from a file, in words."""

FEWEST_ROWS = 60
FEWEST_OF_CLASS = 10
"""Rows of a class: five folds of the labelled rows, and some to judge by."""

_LABELED = 100
_MOST_LABELED = 500
_LABELED_OF_RAREST = 5
_UNLABELED = (200, 1000, 5000)
_CLUSTERED = 2000
_MOST_JUDGING = 50
_ORDERED = range(3, 11)
"""Numbers of classes that are taken for ordered, if they are whole numbers."""

_BINS = 5
_SAYS_YES = ("1", "yes", "true", "positive")
_MOST_SHOWN = 6
_LONGEST_LINE = 160
_MOST_IGNORED_TOLD = 4
_MOST_CONFIGS = 100


@dataclass(frozen=True)
class Draft:
    """A config for a file.

    Attributes
    ----------
    task : str
        One of `TASKS`.
    told : list of str
        What was taken of the file, line by line.
    text : str
        The config.
    """

    task: str
    told: list[str]
    text: str


def draft(found: Survey, task: str | None = None, positive: str | None = None) -> Draft:
    """Return a config for a file.

    Parameters
    ----------
    found : Survey
        What the file holds.
    task : str, optional
        One of `TASKS`; by default the one that suits the labels.
    positive : str, optional
        The label that is +1, the others being -1.

    Raises
    ------
    DataError
        One line on labels that suit no task, or not the one that is asked for.
    """
    task = task or _task(found, positive)
    if task == "cluster" and len(found.labels) > _MOST_JUDGING:
        found = found.without_label(f"{len(found.labels):,} different labels judge no clusters")
    _check_rows(found, task)
    target = _target(found, task, positive)
    n_labeled = _n_labeled(found, target)
    data: dict[str, Any] = {"extends": f"base/try_{task}.yaml", "dataset": _dataset(found) | target}
    if task == "cluster":
        data["sweep"] = {"rows": [_CLUSTERED if found.n_rows > _CLUSTERED else "all"]}
    else:
        data["protocol"] = {"labeled": n_labeled}
        data["sweep"] = {"unlabeled": _sizes(found.n_rows - n_labeled)}
    words = f"{TASKS[task]}{_target_words(target)}"
    if task != "cluster":
        words += f"; {n_labeled} labelled rows, labels of the others hidden and used to judge"
    told = [*_told(found), f"task      {task}: {words}"]
    told = [in_a_line(line, _LONGEST_LINE) for line in told]
    head = in_a_line(f"# A first look at {found.path.name}: {TASKS[task]}", _LONGEST_LINE)
    base = f"# Solvers and their grids: `dsg init base/try_{task}` copies the file with them"
    return Draft(task, told, f"{head}\n#\n{base}\n{dump(data)}")


def write(text: str, path: Path) -> Path:
    """Write a config beside others: never over one, but a file with this text is taken as it is.

    Parameters
    ----------
    text : str
        The config.
    path : Path
        The surveyed file; the config is in the current folder.
    """
    stem = folder_name(path.name.partition(".")[0]) or "rows"
    for k in range(1, _MOST_CONFIGS):
        config = Path(f"{stem}_try{k if k > 1 else ''}.yaml")
        try:
            with config.open("x", encoding="utf-8") as file:
                file.write(text)
            return config
        except FileExistsError:
            if config.is_file() and config.read_text(encoding="utf-8", errors="replace") == text:
                return config
    raise ConfigError(f"{stem}_try.yaml and {_MOST_CONFIGS - 2} more are there; remove some")


def _task(found: Survey, positive: str | None) -> str:
    if found.label is None:
        return "cluster"
    if len(found.labels) == 2 or positive is not None:
        return "auc"
    whole = found.has_numbers and all(value == int(value) for value in found.labels)
    if whole and len(found.labels) in _ORDERED:
        return "ordinal"
    if len(found.labels) < 2:
        return "auc"  # which is refused, saying why
    ways = ["--positive LABEL (that class against all others)", "--task cluster"]
    if found.has_numbers:
        ways.append(f"--task ordinal ({_BINS} classes of equal frequency)")
    raise DataError(
        f"{found.path}: column {shown(found.label)} has {len(found.labels):,} different labels "
        f"({_counted(found)}): say {', '.join(ways[:-1])} or {ways[-1]}"
    )


def _check_rows(found: Survey, task: str) -> None:
    if found.n_rows < FEWEST_ROWS:
        raise DataError(f"{found.path}: {found.n_rows} rows are too few, at least {FEWEST_ROWS}")
    if task == "cluster":
        return
    if found.label is None:
        raise DataError(f"{found.path}: --task {task} needs labels: say --label COLUMN")
    if len(found.labels) < 2:
        raise DataError(
            f"{found.path}: all rows have the same label ({_counted(found)}); --task {task} needs "
            "two classes"
        )


def _target(found: Survey, task: str, positive: str | None) -> dict[str, Any]:
    """Return what a config says of the labels."""
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
    return {"ordered": True} if len(found.labels) <= _ORDERED[-1] else {"bins": _BINS}


def _positive(found: Survey, asked: str | None) -> Any:
    """Return the label that is +1: the one asked for, one that says yes, or the rarer one."""
    by_text = {label_text(label): label for label in found.labels}
    if asked is not None:
        if asked not in by_text:
            hint = nearest_or_all(asked, by_text)
            raise DataError(f"{found.path}: --positive {shown(asked)}: no row has this label{hint}")
        return by_text[asked]
    if len(found.labels) > 2:
        raise DataError(
            f"{found.path}: {len(found.labels):,} different labels ({_counted(found)}): say "
            "--positive LABEL (that class against all others)"
        )
    says_yes = [label for text, label in by_text.items() if text.lower() in _SAYS_YES]
    rarest = min(found.labels.values())
    rare = [label for label, n in found.labels.items() if n == rarest]
    return says_yes[0] if len(says_yes) == 1 else max(rare)


def _n_labeled(found: Survey, target: dict[str, Any]) -> int:
    """Return how many rows get labels: more where a class is rare."""
    counts = list(found.labels.values())
    if "positive" in target:
        n = next(n for label, n in found.labels.items() if _value(label) == target["positive"][0])
        counts = [n, found.n_rows - n]
    if not counts or "bins" in target.get("target", {}):
        counts = [found.n_rows]
    wanted = _LABELED_OF_RAREST * found.n_rows // min(counts)
    return min(max(_LABELED, wanted), _MOST_LABELED, found.n_rows // 3)


def _sizes(n_unlabeled: int) -> list[Any]:
    sizes: list[Any] = [size for size in _UNLABELED if size < n_unlabeled]
    return sizes if len(sizes) == len(_UNLABELED) else [*sizes, "all"]


def _dataset(found: Survey) -> dict[str, Any]:
    """Return what a config says of the file and its columns."""
    data: dict[str, Any] = {"path": str(found.path), "loader": "delimited"}
    data |= {"delimiter": found.delimiter} if found.delimiter else {}
    data |= {"header": True} if found.header else {}
    data["label_column"] = found.label
    data |= {"categorical": list(found.categorical)} if found.categorical else {}
    data |= {"ignored": list(found.ignored)} if found.ignored else {}
    return data if found.whole else data | {"rows": found.n_rows}


def _told(found: Survey) -> Iterator[str]:
    """Yield what was taken of the file."""
    sign = {None: "white space", "\t": "tabs"}.get(found.delimiter, f"'{found.delimiter}'")
    names = "line 1 holds names" if found.header else "no line of names"
    rows = f"{found.n_rows:,} rows" if found.whole else f"the first {found.n_rows:,} rows"
    yield f"file      {found.path}: {rows}, columns between {sign}, {names}"
    yield f"numbers   {found.n_numbers} columns"
    if found.categorical:
        listed = ", ".join(f"{_name(key)} ({n})" for key, n in found.categorical.items())
        yield f"text      a feature for each value: {listed}"
    for key, why in list(found.ignored.items())[:_MOST_IGNORED_TOLD]:
        yield f"left out  {_name(key)}: {why}"
    if (more := len(found.ignored) - _MOST_IGNORED_TOLD) > 0:
        yield f"left out  {more} more"
    if found.label is not None:
        yield f"label     {_name(found.label)}: {_counted(found)}"


def _name(key: ColumnKey) -> str:
    return f"column {key}" if isinstance(key, int) else key


def _counted(found: Survey) -> str:
    """Return the labels with their numbers of rows, the most frequent first."""
    most = found.labels.most_common(_MOST_SHOWN)
    more = len(found.labels) - len(most)
    listed = ", ".join(f"{in_a_line(label_text(label), 30)}: {n:,}" for label, n in most)
    return listed + (f" and {more:,} more" if more else "")


def _target_words(target: dict[str, Any]) -> str:
    if "positive" in target:
        return f", {label_text(target['positive'][0])} is +1"
    if "bins" in target.get("target", {}):
        return f", {target['target']['bins']} of equal frequency"
    return ""


def _value(label: Any) -> Any:
    """Return a label as a config holds it."""
    return int(label) if isinstance(label, float) and label == int(label) else label
