"""The tables of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from dsgkit.report.compare.choices import Choice
from dsgkit.report.compare.comparison import Comparison
from dsgkit.report.compare.coverage import Mismatch
from dsgkit.report.compare.differences import Difference
from dsgkit.report.compare.effect_tables import effects_table
from dsgkit.report.compare.wording import counted, trials_text
from dsgkit.report.layout import Cell, Layout, Table
from dsgkit.report.numbers import size_text


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
    members = comparison.choices
    if comparison.paired:
        header = ["Solver", "Parameter", "Trials", "A → B (trials)"]
        rows = [_change_cells(comparison, one) for one in members if one.differing]
        same = counted(sum(not one.differing for one in members), "parameter")
        footnotes = [f"{same} more chosen alike in every trial."]
    else:
        header = ["Solver", "Parameter", "A (trials)", "B (trials)"]
        rows = [_count_cells(comparison, one) for one in members]
        footnotes = []
    layout = Layout(
        "Chosen hyper-parameters" + (" that differ." if comparison.paired else "."),
        header,
        rows,
        footnotes,
    )
    columns = ["solver", "parameter", "trial", "a", "b"]
    frame = pd.DataFrame(
        [
            (comparison.labels[one.solver], one.parameter, trial, *pair)
            for one in members
            for trial, pair in (one.differing if comparison.paired else one.values).items()
        ],
        columns=columns,
    )
    return Table("compare_params", [layout], frame)


def _change_cells(comparison: Comparison, choice: Choice) -> list[Cell]:
    changes = ", ".join(f"{a} → {b} ({count})" for (a, b), count in choice.changes)
    trials = f"{len(choice.differing)}/{len(choice.values)}"
    return [*map(Cell, (comparison.labels[choice.solver], choice.parameter, trials, changes))]


def _count_cells(comparison: Comparison, choice: Choice) -> list[Cell]:
    counts = [
        ", ".join(f"{value} ({count})" for value, count in choice.counts(side)) for side in (0, 1)
    ]
    return [*map(Cell, (comparison.labels[choice.solver], choice.parameter, *counts))]


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
