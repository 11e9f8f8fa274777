"""The tables of a report: AUC, training time and memory, chosen hyper-parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dsgkit.errors import ResultsError
from dsgkit.experiment.results import Results
from dsgkit.files import folder_name
from dsgkit.report.files import write_text
from dsgkit.report.layout import FORMATS, Cell, Layout, Table, plain
from dsgkit.report.measures import (
    AUC,
    BALANCE,
    ERROR,
    MEMORY,
    TEST_AUC,
    TEST_ERROR,
    TIME,
    Measure,
    partial_notes,
    table_cells,
)
from dsgkit.report.names import check_names
from dsgkit.report.numbers import size_text
from dsgkit.report.params import PARAMS_TABLE, params_table
from dsgkit.report.summary import (
    check_recorded,
    largest_finished,
    sizes,
    summarise,
)
from dsgkit.report.tidy import tidy_frame
from dsgkit.report.titles import all_labels, all_outputs, titles

# What each shows, by the output that asks for it.
TABLES: dict[str, dict[str, tuple[Measure, ...]]] = {
    "auc_table": {"auc_table": (AUC,), "auc_test_table": (TEST_AUC,)},
    "error_table": {"error_table": (ERROR,), "error_test_table": (TEST_ERROR,)},
    "balance_table": {"balance_table": (BALANCE,)},
    "time_table": {"time_table": (TIME, MEMORY)},
}
Measures = Sequence[tuple[str, tuple[Measure, ...]]]
MEASURED: Measures = [item for tables in TABLES.values() for item in tables.items()]
NAMES = (*(name for name, _ in MEASURED), PARAMS_TABLE)
"""The tables that can be asked for by name."""


def write_tables(results: Sequence[Results], folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Write the tables as CSV, Markdown and LaTeX (booktabs) and return their paths.

    For one results folder these are those that its config's ``outputs`` ask for, of which
    ``auc_table`` and ``error_table`` bring one on the official test rows where there are any, and
    always ``params_table``. For several, what any of them asks for: these names then compare the
    datasets, each solver at its largest finished size, and a folder per dataset holds its own.

    Parameters
    ----------
    results : sequence of Results
    folder : Path
        The files go to ``tables/`` in it.
    only : sequence of str
        Names of the tables to write, whatever the configs ask for; all of those if empty.

    Raises
    ------
    ResultsError
        If there is nothing recorded or no such table, or the folder cannot be written.
    """
    check_recorded(results)
    names = titles(results)
    wanted = wanted_tables(results, only)
    if len(results) == 1:
        tables = tables_of(results[0], names[0], wanted)
    else:
        tables = _all_tables(results, names, wanted)
    if only:
        tables = [table for table in tables if Path(table.name).name in only]
    return [path for table in tables for path in write_table(table, Path(folder) / "tables")]


def wanted_tables(results: Sequence[Results], only: Sequence[str] = ()) -> Measures:
    """Return the tables of measures to make: those named, else those that the configs ask for.

    Raises
    ------
    ResultsError
        If there is no table of a name, or no value to show in it.
    """
    if not only:
        asked = [TABLES.get(output, {}) for output in all_outputs(results)]
        return [item for tables in asked for item in tables.items()]
    check_names(only, NAMES, "table")
    wanted = [(name, measures) for name, measures in MEASURED if name in only]
    for name, measures in wanted:
        if not any(_has(one, measures) for one in results):
            folders = ", ".join(str(one.folder) for one in results)
            raise ResultsError(f"{folders}: no finished fit has a value for {name}")
    return wanted


def text_table(results: Sequence[Results], only: Sequence[str] = ()) -> str:
    """Return the scores and the training times as text for a terminal.

    Parameters
    ----------
    results : sequence of Results
    only : sequence of str
        Names of the tables to return instead.

    Raises
    ------
    ResultsError
        If there is nothing recorded, or no such table.
    """
    check_recorded(results)
    names = titles(results)
    wanted, shown = MEASURED, [AUC, TEST_AUC, ERROR, TEST_ERROR, TIME]
    if only:
        wanted = wanted_tables(results, only)
        shown = [measure for _, measures in wanted for measure in measures]
    blocks = []
    if len(results) > 1:
        overviews = overview_tables(results, names, wanted)
        blocks += [layout for table in overviews for layout in table.layouts]
    for one, title in zip(results, names, strict=True):
        # Solvers as columns: there are fewer of them than sizes, and terminals are narrow.
        blocks += [
            _by_size(one, title, measure).transposed("Unlabelled rows")
            for measure in shown
            if _has(one, [measure])
        ]
        if PARAMS_TABLE in only:
            blocks += params_table(one, title).layouts
    return "\n".join(plain(layout) for layout in blocks)


def write_table(table: Table, folder: Path) -> list[Path]:
    """Write a table as CSV, Markdown and LaTeX and return the paths."""
    texts = {"csv": table.frame.to_csv(index=False)}
    for suffix, form in FORMATS.items():
        texts[suffix] = "\n".join(form(layout) for layout in table.layouts)
    return [write_text(folder / f"{table.name}.{suffix}", text) for suffix, text in texts.items()]


def _all_tables(results: Sequence[Results], names: Sequence[str], wanted: Measures) -> list[Table]:
    """Return the tables that compare datasets, then those of each dataset."""
    tables = overview_tables(results, names, wanted)
    for one, title in zip(results, names, strict=True):
        folder = folder_name(title)
        tables += [replace(t, name=f"{folder}/{t.name}") for t in tables_of(one, title, wanted)]
    return tables


def tables_of(results: Results, title: str, wanted: Measures) -> list[Table]:
    """Return the tables of one results folder."""
    tables = [
        Table(
            name,
            [_by_size(results, title, measure) for measure in measures],
            tidy_frame([(results, title)], measures),
        )
        for name, measures in wanted
        if _has(results, measures)
    ]
    return [*tables, params_table(results, title)]


def _by_size(results: Results, title: str, measure: Measure) -> Layout:
    """Return the table of solvers by sizes."""
    summary = summarise(results, measure.column)
    columns = [
        table_cells(measure, [summary[solver, size] for solver in results.solvers])
        for size in sizes(results)
    ]
    names = [Cell(results.label(solver)) for solver in results.solvers]
    return Layout(
        f"{measure.caption}, {_statistic(measure, [results])}; {title}, "
        f"{results.experiment.protocol.labeled:,} labelled rows, by unlabelled rows.",
        ["Solver", *(size_text(*size) for size in sizes(results))],
        list(zip(names, *columns, strict=True)),
        partial_notes(summary.values(), results.label),
    )


def _statistic(measure: Measure, results: Sequence[Results]) -> str:
    """Return what is shown of how many trials, a range where their number differs."""
    counts = sorted({one.experiment.protocol.trials for one in results})
    if counts == [1]:
        return "one trial"
    ends = dict.fromkeys([counts[0], counts[-1]])
    return f"{measure.statistic} over {'-'.join(map(str, ends))} trials"


def overview_tables(
    results: Sequence[Results], names: Sequence[str], wanted: Measures
) -> list[Table]:
    """Return the tables of datasets by solvers."""
    tables = []
    for name, measures in wanted:
        pairs = zip(results, names, strict=True)
        shown = [(one, title) for one, title in pairs if _has(one, measures)]
        if shown:
            layouts = [_by_dataset(shown, measure) for measure in measures]
            tables.append(Table(name, layouts, tidy_frame(shown, measures, largest=True)))
    return tables


def _has(results: Results, measures: Sequence[Measure]) -> bool:
    """Tell whether a table is to be made."""
    return all(measure.shown_for(results) for measure in measures)


def _by_dataset(results: Sequence[tuple[Results, str]], measure: Measure) -> Layout:
    """Return the table of datasets by solvers, each at its largest finished size."""
    labels = all_labels([one for one, _ in results])
    rows, footnotes = [], []
    for one, title in results:
        found = largest_finished(summarise(one, measure.column))
        entries = [found.get(solver) for solver in labels]
        rows.append([Cell(title), *table_cells(measure, entries, note_size=True)])
        footnotes += [f"{title} {note}" for note in partial_notes(found.values(), one.label)]
    return Layout(
        f"{measure.caption}, {_statistic(measure, [one for one, _ in results])}, at the largest "
        "number of unlabelled rows that the solver finished (in parentheses).",
        ["Dataset", *labels.values()],
        rows,
        footnotes,
    )
