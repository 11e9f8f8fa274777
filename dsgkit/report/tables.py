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
from dsgkit.text.terminal import DEFAULT_WIDTH


def write_tables(results: Sequence[Results], folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Write the tables as CSV, Markdown and LaTeX (booktabs) and return their paths.

    For one results folder these are those that its config's ``outputs`` ask for, each with one on
    official test rows where there are any, ``gain_table`` where a solver is compared with another
    one, always ``params_table``, and ``published_table`` where a paper's figures are known. For
    several, what any of them asks for: these names then compare the datasets, each solver at its
    largest finished size, and a folder per dataset holds its own.

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
    return write_summaries(summarise(results), folder, only)


def write_summaries(shown: Sequence[Summary], folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Write tables of what is summed up already, see `write_tables`."""
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
    """Return the tables of these names, as far as they have something to show."""
    known = {table.name: table for table in all_tables(shown)}
    return [known[name] for name in names if name in known and known[name].has_values]


def text_table(
    results: Sequence[Results], only: Sequence[str] = (), width: int = DEFAULT_WIDTH
) -> str:
    """Return tables that the configs' ``outputs`` ask for as text for a terminal.

    These are those of what fits came to, each with its measures that have a better side, or all
    where none has, and gains at the largest sizes; what explains published figures is left to
    files.

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
        If there is nothing recorded, or no such table.
    """
    check_recorded(results)
    shown = summarise(results)
    names = [table.name for table in wanted_tables(shown, only)] if only else _printed(shown)
    tables, said = _named(shown, names), ["all"] if only else ["all", "brief"]
    for one in shown if len(shown) > 1 else ():
        own = _named([one], names)
        tables += [table for table in own if table.in_overview not in said]
    made = (table.make() if only else table.brief and table.brief() for table in tables)
    layouts = [layout for table in made if table for layout in table.layouts]
    return plain_tables(layouts, width)


def _printed(shown: Sequence[Summary]) -> list[str]:
    """Return the names of the tables that a terminal gets unasked."""
    known = [table for table in all_tables(shown) if table.brief]
    asked = asked_for(known, shown)
    # Whoever asks for figures alone sees all numbers here.
    found = asked if any(table.output != GAINS for table in asked) else known
    return [table.name for table in found]
