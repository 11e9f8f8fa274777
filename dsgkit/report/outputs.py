"""The catalogue of figures, and the selection of wanted ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dsgkit.errors import ResultsError, nearest_or_all
from dsgkit.report.clusterings import picture_figures
from dsgkit.report.output import FigureOutput, MeasureFigure, late
from dsgkit.report.rankings import rank_figures
from dsgkit.report.style import Width
from dsgkit.report.summary import Summary, all_outputs
from dsgkit.report.traces import is_traced
from dsgkit.tasks.measures import RANKS

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
"""Generators of figures; new kinds are added here."""


def all_figures(shown: Sequence[Summary], width: Width | None = None) -> list[FigureOutput]:
    """Return every possible figure of one or several results folders."""
    return [one for kind in FIGURES for one in kind(shown, width)]


def wanted_figures(
    shown: Sequence[Summary], only: Sequence[str] = (), width: Width | None = None
) -> list[FigureOutput]:
    """Return the named figures; by default those that configs ask for and that have values.

    The name of an output stands for all its figures.

    Raises
    ------
    ResultsError
        If a named figure is unknown or has no value.
    """
    if len(shown) == 1 and any(name.partition("_")[0] == RANKS for name in only):
        raise ResultsError(f"{RANKS} need at least two results folders; name more")
    known = all_figures(shown, width)
    if not only:
        asked = [one for name in all_outputs(shown) for one in known if one.output == name]
        return [one for one in asked if one.has_values]
    names = [one.name for one in known]
    groups = {one.output for one in known} - {*names}
    for name in only:
        if name not in (every := [*names, *sorted(groups)]):
            raise ResultsError(f"there is no figure {name!r}{nearest_or_all(name, every)}")
    wanted = [one for one in known if one.name in only or one.output in groups.intersection(only)]
    if lacking := next((one.name for one in wanted if not one.has_values), ""):
        folders = ", ".join(str(one.results.folder) for one in shown)
        raise ResultsError(f"{folders}: no finished fit has a value for {lacking}")
    return wanted
