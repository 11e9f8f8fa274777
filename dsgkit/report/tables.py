"""The tables of a report: written to files, and as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dsgkit.experiment.results import Results
from dsgkit.report.formats import write_table
from dsgkit.report.output import TableOutput
from dsgkit.report.outputs import all_tables, asked_for, wanted_tables
from dsgkit.report.summary import Summary, check_recorded, summarise
from dsgkit.report.terminal import plain_tables
from dsgkit.system.files import folder_name
from dsgkit.tasks.measures import GAINS
from dsgkit.text import DEFAULT_WIDTH


def write_tables(results: Sequence[Results], folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Write the tables as CSV, Markdown and LaTeX (booktabs) and return their paths.

    For one results folder these are the tables in its config's ``outputs``, also by official test
    rows if there are any; ``gain_table`` if a solver is compared with another; ``params_table``;
    and ``published_table`` if a paper's figures are known. For several folders, they are the tables
    that any of them asks for: these compare the datasets, each solver at its largest finished size,
    and a subfolder per dataset has its own tables.

    Parameters
    ----------
    results : sequence of Results
    folder : Path
        The files go to ``tables/`` in it.
    only : sequence of str
        Names of the tables to write instead.

    Raises
    ------
    ResultsError
        If nothing is recorded, a table is unknown, or the folder cannot be written.
    """
    check_recorded(results)
    return write_summaries(summarise(results), folder, only)


def write_summaries(shown: Sequence[Summary], folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Write the tables of summaries, see `write_tables`."""
    several = len(shown) > 1
    names = [table.name for table in wanted_tables(shown, only)]
    tables = [table.make() for table in _named(shown, names)]
    for one in shown if several else ():
        own = (table.make() for table in _named([one], names))
        inside = folder_name(one.title)
        tables += [replace(table, name=f"{inside}/{table.name}") for table in own if table]
    to = Path(folder) / "tables"
    return [path for table in tables if table for path in write_table(table, to)]


def _named(shown: Sequence[Summary], names: Sequence[str]) -> list[TableOutput]:
    """Return the tables of these names that have values."""
    known = {table.name: table for table in all_tables(shown)}
    return [known[name] for name in names if name in known and known[name].has_values]


def text_table(
    results: Sequence[Results], only: Sequence[str] = (), width: int = DEFAULT_WIDTH
) -> str:
    """Return tables that the configs' ``outputs`` ask for as text for a terminal.

    Tables of scores show only measures with a better side, if there are any; gains are at the
    largest sizes. Measures that only explain published figures are left to files.

    Parameters
    ----------
    results : sequence of Results
    only : sequence of str
        Names of the tables to return instead.
    width : int
        Columns of the terminal.

    Raises
    ------
    ResultsError
        If nothing is recorded, or a table is unknown.
    """
    check_recorded(results)
    shown = summarise(results)
    names = [table.name for table in wanted_tables(shown, only)] if only else _printed(shown)
    tables, included = _named(shown, names), ["all"] if only else ["all", "brief"]
    for one in shown if len(shown) > 1 else ():
        own = _named([one], names)
        tables += [table for table in own if table.in_overview not in included]
    made = (table.make() if only else table.brief and table.brief() for table in tables)
    layouts = [layout for table in made if table for layout in table.layouts]
    return plain_tables(layouts, width)


def _printed(shown: Sequence[Summary]) -> list[str]:
    """Return the names of the tables that a terminal shows by default."""
    known = [table for table in all_tables(shown) if table.brief]
    asked = asked_for(known, shown)
    # if the config asks for figures only, show all tables
    tables = asked if any(table.output != GAINS for table in asked) else known
    return [table.name for table in tables]
