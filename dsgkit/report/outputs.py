"""Which tables and figures there are, and which of them are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dsgkit.errors import ResultsError
from dsgkit.hints import nearest_or_all
from dsgkit.report.clusterings import picture_figures
from dsgkit.report.output import FigureOutput, MeasureFigure, late
from dsgkit.report.rankings import rank_figures
from dsgkit.report.summary import Summary, all_outputs
from dsgkit.report.traces import is_traced
from dsgkit.tasks.measures import RANKS

FIGURES = (
    MeasureFigure("boxplot", late("boxplots", "boxplot"), late("boxplots", "caption")),
    MeasureFigure("curve", late("curves", "curve"), late("curves", "caption"), swept=True),
    MeasureFigure(
        "trace", late("trace_figure", "trace"), late("trace_figure", "caption"), has=is_traced
    ),
    picture_figures,
    rank_figures,
)
"""What yields the figures of some results; a further kind of figure is a further value here."""


def all_figures(shown: Sequence[Summary]) -> list[FigureOutput]:
    """Return every figure that there can be of some results."""
    return [one for kind in FIGURES for one in kind(shown)]


def wanted_figures(shown: Sequence[Summary], only: Sequence[str] = ()) -> list[FigureOutput]:
    """Return the figures that are named, else those that configs ask for and that have values.

    The name of an output that several figures belong to names all of them.

    Raises
    ------
    ResultsError
        If there is no figure of a name, or no value to show in it.
    """
    known = all_figures(shown)
    if not only:
        asked = [one for name in all_outputs(shown) for one in known if one.output == name]
        return [one for one in asked if one.has_values]
    if len(shown) == 1 and any(name.partition("_")[0] == RANKS for name in only):
        raise ResultsError(f"{RANKS} need at least two results folders; name more")
    names = {one.name for one in known}
    groups = {one.output for one in known} - names
    check_names(only, sorted(names | groups), "figure")
    wanted = [one for one in known if one.name in only or one.output in groups.intersection(only)]
    for one in wanted:
        if not one.has_values:
            raise nothing_to_show(shown, one.name)
    return wanted


def check_names(names: Iterable[str], known: Sequence[str], what: str) -> None:
    """Raise `ResultsError` for the first name that is not a known one of a figure or table."""
    for name in names:
        if name not in known:
            raise ResultsError(f"there is no {what} {name!r}{nearest_or_all(name, known)}")


def nothing_to_show(shown: Iterable[Summary], name: str) -> ResultsError:
    """Return the error of a table or figure without a value."""
    folders = ", ".join(str(one.results.folder) for one in shown)
    return ResultsError(f"{folders}: no finished fit has a value for {name}")
