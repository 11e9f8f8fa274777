"""The environments of results, and the time by phase."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dsgkit.experiment.folder import other_source
from dsgkit.report.formats import Cell, Layout
from dsgkit.report.numbers import NO_VALUE, leaves
from dsgkit.report.summary import Summary

UNKNOWN_MACHINE = "not recorded"
MIN_SECONDS = 60
"""Least total seconds for which phases are shown."""

PHASES = ("load", "compile", "search", "fit", "predict", "evaluate")


class Row(NamedTuple):
    """A property of environments: its value in each, and whether these differ."""

    name: str
    texts: list[str]
    differs: bool


class Environments(NamedTuple):
    """A table of environments, with their names in records."""

    names: list[str]
    rows: list[Row]


def describe_environments(shown: Sequence[Summary]) -> Environments:
    """Return the environments named in the results' records."""
    used: dict[tuple[str, str], tuple[dict[str, str], Counter[str]]] = {}
    for one in shown:
        for record in one.results.records:
            name = record.get("environment")
            # records without an environment most likely come from the last run
            described = one.results.environments[name] if name else one.results.environment
            key = (name or UNKNOWN_MACHINE, json.dumps(described, sort_keys=True))
            _, cells = used.setdefault(key, (_in_words(described), Counter()))
            cells[one.heading] += 1
    rows = []
    for name in dict.fromkeys(name for properties, _ in used.values() for name in properties):
        texts = [properties.get(name, NO_VALUE) for properties, _ in used.values()]
        rows.append(Row(name, texts, len(set(texts)) > 1))
    if used:
        counts = (cells.items() for _, cells in used.values())
        texts = [", ".join(f"{title}: {n:,}" for title, n in one) for one in counts]
        rows.append(Row("cells", texts, differs=False))
    return Environments([name for name, _ in used], rows)


def describe_code(shown: Sequence[Summary]) -> list[str]:
    """Return a sentence for each results folder with results of other code than this."""
    return [
        f"{one.heading}: {text}."
        for one in shown
        for text in other_source(one.results.records, one.results.folder)
    ]


def _in_words(described: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties as text, those of nested mappings under their last key."""
    return {
        keys[-1].replace("_", " "): "unknown" if value is None else str(value)
        for keys, value in leaves(described)
    }


class Bar(NamedTuple):
    """A solver's bar; a part is a phase, its seconds as text, and percent of the longest bar."""

    label: str
    parts: list[tuple[str, str, float]]


class Clocks(NamedTuple):
    """Seconds per solver and phase: a table, its column sums, and bars."""

    table: Layout
    total: list[Cell]
    bars: list[Bar]


def clocks(summary: Summary) -> Clocks | None:
    """Sum the seconds of all cells by solver and phase; None below `MIN_SECONDS` in total."""
    seconds = _sums(summary)
    if sum(spent.total() for spent in seconds.values()) < MIN_SECONDS:
        return None
    known = dict.fromkeys(phase for spent in seconds.values() for phase in spent)
    phases = [phase for phase in dict.fromkeys([*PHASES, *known]) if phase in known]
    longest = max(spent.total() for spent in seconds.values())
    table = Layout(
        "Seconds spent in cells, summed over hyper-parameter searches and fits, cells without "
        "a value included. Cells that ran at the same time count in full.",
        ["Solver", *(phase.capitalize() for phase in phases), "Total"],
        [[Cell(label), *_cells(spent, phases)] for label, spent in seconds.items()],
    )
    total = [Cell("Total"), *_cells(sum(seconds.values(), Counter()), phases)]
    bars = [
        Bar(label, [(name, _text(spent[name]), 100 * spent[name] / longest) for name in phases])
        for label, spent in seconds.items()
    ]
    return Clocks(table, total, bars)


def _sums(summary: Summary) -> dict[str, Counter[str]]:
    """Return the seconds per phase of each solver; a cell recorded twice counts once."""
    seconds: dict[str, Counter[str]] = {name: Counter() for name in summary.solvers}
    cells = {
        record["key"]: (summary.name_of(record), record.get("times") or {})
        for record in summary.results.records
    }
    for name, times in cells.values():
        seconds.setdefault(name, Counter()).update(times)
    return {name: spent for name, spent in seconds.items() if spent}


def _cells(spent: Counter[str], phases: Sequence[str]) -> list[Cell]:
    """Return the seconds of each phase and their sum."""
    values = [*(spent[phase] for phase in phases), spent.total()]
    return [Cell(_text(value), value=value) for value in values]


def _text(seconds: float) -> str:
    """Return seconds with one decimal."""
    return "<0.1" if 0 < seconds < 0.05 else f"{seconds:,.1f}"
