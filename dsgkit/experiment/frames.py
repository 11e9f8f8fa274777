"""The cells of a run as tidy frames, and the records back from them.

A record's nested entries are columns with a dot, such as ``scores.auc`` and ``times.fit``. Kept
results are stored as these frames, other runs as records.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from dsgkit.errors import ResultsError
from dsgkit.experiment.plan import Cell, LeftOut
from dsgkit.experiment.store import KEPT_FITS, Record


class Frames(NamedTuple):
    """A row per fit, per checkpoint of a training, and per share of a search.

    A cell without a record has no status. A size that a config leaves out is a fit without a key,
    of trial -1.
    """

    fits: pd.DataFrame
    traces: pd.DataFrame
    searches: pd.DataFrame


FILES = Frames(KEPT_FITS, "traces.csv.xz", "searches.csv.xz")

_NESTED = ("at", "scores", "times", "timing", "diagnostics")
_TEXTS = (
    *("key", "solver", "label", "status", "message", "remark", "environment", "artefact"),
    *("code", "source", "started", "dsgkit", "traceback"),
)
_COUNTS = ("trial", "iteration", "peak_memory", "needed", "limit", "timing.threads")
_FLAGS = ("full", "timing.disturbed")
_DROPPED = ("kind", "trace", "measurements")  # every repeat's times, of which `times` are medians

_CELL = ("solver", "label", "trial", "also_at", "status", "message", "needed", "params", "key")
_OF_STEPS = ("key", "solver", "trial")
_COLUMNS = Frames(
    (*_CELL, "remark", "full", "artefact", "environment", "timing.threads", "timing.disturbed"),
    (*_OF_STEPS, "iteration", "seconds"),
    (*_CELL, "points", "fold_scores", "times.search", "environment"),
)  # that a frame has, with or without values

Cells = Sequence[tuple[Cell, Record | None]]
"""Planned cells with their records, None for cells that have not ended.

The cell says of which solver, trial and sizes a record is: two cells may share one.
"""


def fits_of(cells: Cells, left_out: Iterable[LeftOut]) -> pd.DataFrame:
    left = ({"solver": one.solver, "trial": -1, **dict(_flat({"at": one.at}))} for one in left_out)
    return _frame([*_rows(cells, "fit"), *left], _COLUMNS.fits)


def traces_of(cells: Cells) -> pd.DataFrame:
    rows = [
        {"key": cell.key, "solver": cell.solver, "trial": cell.trial, **step}
        for cell, record in cells
        for step in (record or {}).get("trace") or ()
    ]
    return _frame(rows, _COLUMNS.traces)


def searches_of(cells: Cells) -> pd.DataFrame:
    return _frame([*_rows(cells, "search")], _COLUMNS.searches)


def _rows(cells: Cells, kind: str) -> Iterator[Record]:
    """Yield the cells of a kind as rows."""
    for cell, record in cells:
        if cell.kind == kind:
            planned = {"key": cell.key, "solver": cell.solver, "trial": cell.trial, "at": cell.at}
            row = {**(record or {}), **planned, "also_at": [*cell.also_at]}
            yield {n: v for n, v in _flat(row) if n not in _DROPPED and v is not None}


def records_of(frames: Frames) -> Iterator[Record]:
    """Yield the records in frames, searches first; one that several cells share, once."""
    steps = dict(iter(frames.traces.groupby([*_OF_STEPS])))
    known = set()
    for kind, table in (("search", frames.searches), ("fit", frames.fits)):
        for row in table.to_dict("records"):
            if row["status"] and (key := row["key"]) not in known:
                record: Record = {"key": key, "kind": kind}
                for name, value in _known(row):
                    _put(record, name, value)
                if (own := tuple(row[name] for name in _OF_STEPS)) in steps:
                    trace = steps[own].drop(columns=[*_OF_STEPS]).to_dict("records")
                    record["trace"] = [dict(_known(step)) for step in trace]
                known |= {key} - {""}  # kept searches have none
                yield record


def _flat(record: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield names and values, those of nested entries with a dot."""
    for name, value in record.items():
        if isinstance(value, Mapping) and (above or name in _NESTED):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _put(record: Record, name: str, value: Any) -> None:
    """Set the entry of a record that a column has."""
    *above, last = name.split(".", 2 if name.startswith("timing.range.") else 1)
    for part in above:
        record = record.setdefault(part, {})
    whole = name in _COUNTS or name.startswith("at.")
    record[last] = int(value) if whole else value


def _known(row: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a row that have a value."""
    for name, value in row.items():
        if not (value is None or value is False or value == "" or value != value):  # NaN
            yield name, value


def _is_number(name: str) -> bool:
    known = (*_COUNTS, "seconds", "timeout", "timing.slowdown")
    return name.startswith(("scores.", "times.", "at.")) or name in known


def _frame(rows: Sequence[Record], columns: Iterable[str]) -> pd.DataFrame:
    names = dict.fromkeys([*columns, *(name for row in rows for name in row)])
    return _typed({name: [row.get(name) for row in rows] for name in names})


def _typed(columns: Mapping[str, list[Any]]) -> pd.DataFrame:
    """Return ordered columns; a missing text is empty, a number NaN, a flag False, others None."""
    typed: dict[str, Any] = {}
    for name in sorted(columns, key=_place):
        values = pd.Series(columns[name], dtype=object)
        if name in _TEXTS:
            typed[name] = values.where(values.notna(), "")
        elif name in _FLAGS:
            typed[name] = values.eq(True)
        elif name == "trial":
            typed[name] = values.astype(int)
        else:
            typed[name] = values.astype(float) if _is_number(name) else values
    return pd.DataFrame(typed)


def _place(name: str) -> tuple[int, str]:
    """Return the place of a column: the cell, its sizes, how it ended, and what came of it."""
    groups = (*_CELL[:3], "at.", "also_at", "status", "params", "scores.", "times.", "key")
    return next((i for i, part in enumerate(groups) if name.startswith(part)), len(groups)), name


def packed(table: pd.DataFrame) -> bytes:
    """Return a frame as compressed CSV: numbers exactly, other values as JSON, no empty column."""
    text = io.StringIO()
    columns = {name: _texts(str(name), column.tolist()) for name, column in table.items()}
    columns = {name: texts for name, texts in columns.items() if any(texts)}
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(zip(*columns.values(), strict=True))
    return lzma.compress(text.getvalue().encode(), preset=9 | lzma.PRESET_EXTREME)


def _texts(name: str, values: Iterable[Any]) -> list[str]:
    if name in _TEXTS:
        return [*values]
    if name in _FLAGS:
        return ["1" if value else "" for value in values]
    if _is_number(name):
        return [
            "" if math.isnan(value) else f"{value:.0f}" if value == int(value) else repr(value)
            for value in map(float, values)
        ]
    return ["" if value is None else json.dumps(value, separators=(",", ":")) for value in values]


def read_frame(path: Path) -> pd.DataFrame:
    """Return a frame of kept results from its file, without rows if there is none."""
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS[FILES.index(path.name)]}
    try:
        with lzma.open(path) as file:
            table = pd.read_csv(file, dtype=str, keep_default_na=False)
        columns = {name: [None] * len(table) for name in columns}
        columns |= {str(name): _values(str(name), column) for name, column in table.items()}
    except FileNotFoundError:
        pass
    except (OSError, lzma.LZMAError, EOFError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read ({error}); restore the file") from None
    return _typed(columns)


def _values(name: str, column: pd.Series) -> list[Any]:
    """Return the values of a column from their texts."""
    if name in _TEXTS:
        return column.tolist()
    if name in _FLAGS:
        return column.eq("1").tolist()
    if _is_number(name):
        return [float(text or "nan") for text in column]
    known = {text: json.loads(text) if text else None for text in column.unique()}
    return [known[text] for text in column]
