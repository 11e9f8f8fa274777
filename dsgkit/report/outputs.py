"""The catalogue of tables and figures, and the selection of wanted ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from dsgkit.errors import ResultsError, nearest_or_all
from dsgkit.report.choices import params_tables
from dsgkit.report.clusterings import picture_figures
from dsgkit.report.gains import gain_tables
from dsgkit.report.output import (
    EVERY_REPORT,
    FigureOutput,
    MeasureFigure,
    MeasureTable,
    Output,
    TableOutput,
    late,
)
from dsgkit.report.published import published_tables
from dsgkit.report.rankings import rank_figures
from dsgkit.report.size_tables import size_table
from dsgkit.report.style import Width
from dsgkit.report.summary import Summary, all_outputs
from dsgkit.report.trace_tables import trace_table
from dsgkit.report.traces import is_traced
from dsgkit.tasks.measures import GAINS, RANKS

Made = TypeVar("Made", bound=Output)

TABLES: tuple[Callable[[Sequence[Summary]], Iterator[TableOutput]], ...] = (
    MeasureTable("table", size_table, printed=True),
    MeasureTable("trace_table", trace_table, has=is_traced),
    gain_tables,
    published_tables,
    params_tables,
)
FIGURES: tuple[Callable[[Sequence[Summary], Width | None], Iterator[FigureOutput]], ...] = (
    MeasureFigure("boxplot", late("boxplots", "boxplot"), late("boxplots", "caption")),
    MeasureFigure(
        "curve",
        late("curves", "curve"),
        late("curves", "caption"),
        has=Summary.has_curve,
        swept=True,
    ),
    MeasureFigure(
        "trace", late("trace_figure", "trace"), late("trace_figure", "caption"), has=is_traced
    ),
    picture_figures,
    rank_figures,
)
"""Generators of tables and figures; new kinds are added here."""


def all_tables(shown: Sequence[Summary]) -> list[TableOutput]:
    """Return every possible table of one or several results folders."""
    return [one for kind in TABLES for one in kind(shown)]


def all_figures(shown: Sequence[Summary], width: Width | None = None) -> list[FigureOutput]:
    """Return every possible figure of one or several results folders."""
    return [one for kind in FIGURES for one in kind(shown, width)]


def wanted_tables(shown: Sequence[Summary], only: Sequence[str] = ()) -> list[TableOutput]:
    """Return the named tables; by default those that configs ask for and that have values.

    Raises
    ------
    ResultsError
        If a named table is unknown or has no value.
    """
    return _wanted(all_tables(shown), "table", shown, only)


def wanted_figures(
    shown: Sequence[Summary], only: Sequence[str] = (), width: Width | None = None
) -> list[FigureOutput]:
    """Return the named figures, as `wanted_tables` does.

    The name of an output stands for all its figures.
    """
    if len(shown) == 1 and any(name.partition("_")[0] == RANKS for name in only):
        raise ResultsError(f"{RANKS} need at least two results folders; name more")
    return _wanted(all_figures(shown, width), "figure", shown, only)


def asked_for(known: Sequence[Made], shown: Sequence[Summary]) -> list[Made]:
    """Return the outputs that any of the experiments asks for, in their order."""
    # gains come after the tables of all measures
    names = [*sorted(all_outputs(shown), key=GAINS.__eq__), EVERY_REPORT]
    return [one for name in names for one in known if one.output == name]


def _wanted(
    known: Sequence[Made], what: str, shown: Sequence[Summary], only: Sequence[str]
) -> list[Made]:
    if not only:
        return [one for one in asked_for(known, shown) if one.has_values]
    names = [one.name for one in known]
    groups = {one.output for one in known if one.output != EVERY_REPORT} - {*names}
    for name in only:
        if name not in (every := [*names, *sorted(groups)]):
            raise ResultsError(f"there is no {what} {name!r}{nearest_or_all(name, every)}")
    wanted = [one for one in known if one.name in only or one.output in groups.intersection(only)]
    if lacking := next((one.name for one in wanted if not one.has_values), ""):
        folders = ", ".join(str(one.results.folder) for one in shown)
        raise ResultsError(f"{folders}: no finished fit has a value for {lacking}")
    return wanted
