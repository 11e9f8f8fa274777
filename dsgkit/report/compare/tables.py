"""The tables of a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from dsgkit.report.compare.choices import Choice
from dsgkit.report.compare.comparison import Comparison
from dsgkit.report.compare.coverage import Mismatch
from dsgkit.report.compare.differences import Difference
from dsgkit.report.compare.effect_tables import effects_table
from dsgkit.report.compare.wording import trials_text
from dsgkit.report.layout import Cell, Layout, Table
from dsgkit.report.numbers import size_text

SHOWN_CHANGES = 4


def all_tables(comparison: Comparison) -> list[Table]:
    """Return every table that has a row."""
    tables = [effects_table(comparison, *found) for found in comparison.effects]
    if any(choice.differing for choice in comparison.choices):
        tables.append(choices_table(comparison))
    if comparison.mismatches:
        tables.append(status_table(comparison))
    for name, members in (("config", comparison.config), ("environment", comparison.environment)):
        if members:
            tables.append(_differences_table(name, members))
    return tables


def choices_table(comparison: Comparison) -> Table:
    """Return the table of chosen hyper-parameters that differ.

    Trials that are different splits are not compared one by one: their choices are counted.
    """
    arrange = _changes_layout if comparison.paired else _counts_layout
    frame = pd.DataFrame(
        [
            {
                "solver": comparison.labels[one.solver],
                "parameter": one.parameter,
                "trial": trial,
                "a": one.a.get(trial),
                "b": one.b.get(trial),
            }
            for one in comparison.choices
            for trial in sorted(one.a.keys() | one.b.keys())
        ]
    )
    return Table("compare_params", [arrange(comparison)], frame)


def _changes_layout(comparison: Comparison) -> Layout:
    """Return how many trials changed from which value to which."""
    members = [choice for choice in comparison.choices if choice.differing]
    rows = [
        (
            comparison.labels[one.solver],
            one.parameter,
            f"{len(one.differing)}/{len(one.common)}",
            _changes_text(one),
        )
        for one in members
    ]
    same = [
        f"{comparison.labels[one.solver]} {one.parameter}"
        for one in comparison.choices
        if not one.differing
    ]
    return Layout(
        "Chosen hyper-parameters that differ, with numbers of trials.",
        ["Solver", "Parameter", "Differ", "A → B (trials)"],
        [[*map(Cell, row)] for row in rows],
        [f"The same in every trial: {', '.join(same)}."] if same else [],
    )


def _changes_text(choice: Choice) -> str:
    """Return the most frequent changes."""
    texts = [f"{a} → {b} ({count})" for (a, b), count in choice.changes]
    rest = len(texts) - SHOWN_CHANGES
    return ", ".join([*texts[:SHOWN_CHANGES], *([f"{rest} more"] if rest > 0 else [])])


def _counts_layout(comparison: Comparison) -> Layout:
    """Return how many trials of each side chose which value."""
    rows = [
        (comparison.labels[one.solver], one.parameter, _count_text(one.a), _count_text(one.b))
        for one in comparison.choices
    ]
    return Layout(
        "Chosen hyper-parameters and how many trials chose each.",
        ["Solver", "Parameter", "A (trials)", "B (trials)"],
        [[*map(Cell, row)] for row in rows],
    )


def _count_text(values: Mapping[int, str]) -> str:
    counts = Counter(values.values()).most_common()
    return ", ".join(f"{value} ({count})" for value, count in counts)


def status_table(comparison: Comparison) -> Table:
    """Return the table of fits whose statuses differ, or which one side has not."""
    members = comparison.mismatches
    layout = Layout(
        "Fits that ended differently, or that only one of A and B has.",
        ["Solver", "Unlabelled rows", "Trials", "A", "B"],
        [_status_cells(comparison, one) for one in members],
    )
    frame = pd.DataFrame(
        [
            {
                "solver": comparison.labels[one.solver],
                "n_unlabeled": size.n,
                "trial": trial,
                "status_a": one.a,
                "status_b": one.b,
            }
            for one in members
            for size in one.sizes
            for trial in one.trials
        ]
    )
    return Table("compare_status", [layout], frame)


def _status_cells(comparison: Comparison, mismatch: Mismatch) -> list[Cell]:
    sizes = ", ".join(size_text(*size) for size in mismatch.sizes)
    trials = trials_text(mismatch.trials)
    return [*map(Cell, (comparison.labels[mismatch.solver], sizes, trials, mismatch.a, mismatch.b))]


def _differences_table(name: str, members: Sequence[Difference]) -> Table:
    """Return the table of settings that differ."""
    layout = Layout(
        f"What differs in the {name}.",
        ["Key", "A", "B"],
        [[Cell(one.key), Cell(one.a), Cell(one.b)] for one in members],
    )
    frame = pd.DataFrame([vars(one) for one in members])
    return Table(f"compare_{name}", [layout], frame)
