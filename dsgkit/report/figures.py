"""The figures of a report, drawn without any display or global state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from dsgkit.errors import ResultsError
from dsgkit.files import folder_name
from dsgkit.report import pictures
from dsgkit.report.boxplots import boxplot, far_off
from dsgkit.report.curves import curve, explained
from dsgkit.report.entries import time_words
from dsgkit.report.pairs import pairs_of
from dsgkit.report.panels import save
from dsgkit.report.rank_figure import caption, rank_figure
from dsgkit.report.rankings import measured_rankings, published_rankings
from dsgkit.report.ranks import Ranking
from dsgkit.report.summary import (
    Summary,
    all_axes,
    all_outputs,
    all_solvers,
    different,
    lowered,
    settings,
)
from dsgkit.report.tables import check_names, nothing_to_show
from dsgkit.report.trace_figure import trace
from dsgkit.report.traces import is_traced
from dsgkit.tasks.measures import PICTURES, RANKS, Measure, outputs_of


@dataclass(frozen=True)
class Drawing:
    """A figure that can be drawn.

    Attributes
    ----------
    name : str
        Name of its files.
    output : str
        What asks for it.
    shown : list of Summary
        The results that have a panel.
    """

    name: str
    output: str
    shown: list[Summary]
    _draw: Callable[[Sequence[Summary]], Figure]
    _caption: Callable[[Sequence[Summary]], str]
    _has: Callable[[Summary], bool]

    @property
    def has_values(self) -> bool:
        """Whether there is anything to show."""
        return any(self._has(one) for one in self.shown)

    @property
    def caption(self) -> str:
        """What it shows and what holds in every fit, for readers of a page."""
        setting = settings(self.shown)
        unfinished = "; ".join(f"{one.title}: {one.to_come}" for one in self.shown if one.to_come)
        return (
            self._caption(self.shown)
            + (f" Measured with: {setting}." if setting else "")
            + (f" Unfinished: {unfinished}." if unfinished else "")
        )

    def draw(self) -> Figure:
        """Draw it."""
        return self._draw(self.shown)


def draw(shown: Sequence[Summary], folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Draw the figures of what is summed up, see `dsgkit.report.draw_figures`."""
    if not any(one.finished for one in shown):
        folders = ", ".join(str(one.results.folder) for one in shown)
        raise ResultsError(f"{folders}: no fit has finished, so there is nothing to draw")
    return [
        path
        for drawing in wanted_figures(shown, only)
        for path in save(drawing.draw(), Path(folder) / "figures" / drawing.name)
    ]


def wanted_figures(shown: Sequence[Summary], only: Sequence[str] = ()) -> list[Drawing]:
    """Return the figures that are named, else those that configs ask for and that have values.

    The name of an output that several figures belong to names all of them.

    Raises
    ------
    ResultsError
        If there is no figure of a name, or no value to show in it.
    """
    known = drawings(shown)
    if not only:
        asked = [one for name in all_outputs(shown) for one in known if one.output == name]
        return [drawing for drawing in asked if drawing.has_values]
    if len(shown) == 1 and any(name.partition("_")[0] == RANKS for name in only):
        raise ResultsError(f"{RANKS} need at least two results folders; name more")
    names = {drawing.name for drawing in known}
    groups = {drawing.output for drawing in known} - names
    check_names(only, sorted(names | groups), "figure")
    wanted = [d for d in known if d.name in only or d.output in groups.intersection(only)]
    for drawing in wanted:
        if not drawing.has_values:
            raise nothing_to_show(shown, drawing.name)
    return wanted


def _box_caption(shown: Sequence[Summary], measure: Measure) -> str:
    axes = lowered(all_axes(shown))
    at = f", at each solver's largest finished number of {axes}" if axes else ""
    largest = [list(one.largest(measure).values()) for one in shown]
    arrows = any(far_off(measure, entries) for entries in largest)
    beyond = " An arrow with its median stands for a box far below or above." if arrows else ""
    level = any(entry.level and entry.values for entries in largest for entry in entries)
    once = f" A box without a number is of one fit per trial, which does not use {axes}."
    return f"{measure.caption}{at}; a dot is a trial.{beyond}{once if level else ''}"


def _curve_caption(shown: Sequence[Summary], measure: Measure) -> str:
    ends = "fastest to the slowest" if measure.unit == "seconds" else "lowest to the highest"
    entries = [entry for one in shown for entry in one.entries(measure).values()]
    rings = " A ring: disturbed by other processes." if any(e.disturbed for e in entries) else ""
    return (
        f"{measure.caption} against the number of {lowered(all_axes(shown))}: "
        f"{time_words(measure, shown)}medians over trials, and the range from the {ends}. "
        f"{explained(shown, measure)}{rings}"
    )


def _trace_caption(shown: Sequence[Summary], measure: Measure) -> str:
    axes = lowered(all_axes(shown))
    if not axes:
        at = ""
    elif len(shown) == 1:
        at = f", a panel for each number of {axes} at which a method in iterations finished"
    else:
        at = f", at the largest number of {axes} at which a method in iterations finished"
    return (
        f"{measure.caption} against training time{at}: lines join the means over trials at equal "
        f"iterations, within a band of one standard deviation to each side. A method without "
        f"iterations is a point, with bars of one standard deviation in both directions; "
        f"an arrow to the left says how much earlier than drawn it belongs."
    )


class Way(NamedTuple):
    """How a measure can be drawn, what is said of it, and which results have something to show."""

    draw: Callable[[Sequence[Summary], Measure], Figure]
    caption: Callable[[Sequence[Summary], Measure], str]
    has: Callable[[Summary, Measure], bool] = Summary.has
    swept: bool = False

    def of(self, measure: Measure, name: str, output: str, shown: list[Summary]) -> Drawing:
        """Return the drawing of a measure in this way."""
        return Drawing(
            name,
            output,
            shown,
            lambda of: self.draw(of, measure),
            lambda of: self.caption(of, measure),
            lambda one: self.has(one, measure),
        )


WAYS = {
    "boxplot": Way(boxplot, _box_caption),
    "curve": Way(curve, _curve_caption, swept=True),
    "trace": Way(trace, _trace_caption, has=is_traced),
}
"""The ways by the last part of names; of one that is ``swept``, only where there is an axis."""


def drawings(shown: Sequence[Summary]) -> list[Drawing]:
    """Return every figure that there can be."""
    swept = any(one.axis for one in shown)
    measures = dict.fromkeys(measure for one in shown for measure in one.results.task.measures)
    found = []
    for name_of_way, way in WAYS.items():
        members = [
            m for m in measures if f"{m.output}_{name_of_way}" in outputs_of([m], swept=swept)
        ]
        names = different(f"{measure.file}_{name_of_way}" for measure in members)
        for name, measure in zip(names, members, strict=True):
            panels = [one for one in shown if one.shows(measure) and (one.axis or not way.swept)]
            found.append(way.of(measure, name, f"{measure.output}_{name_of_way}", panels))
    return [*found, *_pictures(shown), *_ranks(shown)]


def _pictures(shown: Sequence[Summary]) -> list[Drawing]:
    """Return one figure, or one for each of the results if all together are higher than a page."""
    kept = [one for one in shown if pictures.has_artefacts(one)]
    own = pictures.pictures, pictures.caption, pictures.has_pictures
    if pictures.fit_on_a_page(kept):
        return [Drawing(PICTURES, PICTURES, kept, *own)] if kept else []
    names = different(f"{PICTURES}_{folder_name(one.title)}" for one in kept)
    return [Drawing(n, PICTURES, [one], *own) for n, one in zip(names, kept, strict=True)]


def _ranks(shown: Sequence[Summary]) -> list[Drawing]:
    """Return the figures of ranks over several results, as far as these have any."""
    pairs = [pair for one in shown for pair in pairs_of(one)]
    found = []
    if beside := published_rankings(pairs):
        sources = dict.fromkeys(
            one.results.task.published.source for one in shown if one.results.task.published
        )
        told = f"Solvers as published by {'; '.join(sources)} (left) and as measured (right)."
        if any(pair.figure.flag for pair in pairs if pair.measure in beside):
            told += " Published figures count also where their table has a remark."
        rankings = [one for both in beside.values() for one in both]
        found.append(_rank_drawing(f"{RANKS}_published", shown, rankings, told))
    if measured := measured_rankings(shown):
        axes = lowered(all_axes(shown))
        at = f", each at its largest finished number of {axes}" if axes else ""
        told = f"Solvers that all results have, as measured{at}; equal as printed share a rank."
        found.append(_rank_drawing(f"{RANKS}_measured", shown, measured, told))
    return found


def _rank_drawing(
    name: str, shown: Sequence[Summary], rankings: Sequence[Ranking], told: str
) -> Drawing:
    kinds = all_solvers(shown)
    return Drawing(
        name,
        RANKS,
        list(shown),
        lambda _: rank_figure(rankings, columns=min(2, len(rankings)), kinds=kinds),
        lambda _: f"{told} {caption(rankings, kinds)}",
        lambda _: True,
    )
