"""Outputs as values: a table or figure that can be made of some results, and when to make it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from dsgkit.report.formats import Table
from dsgkit.report.style import Width
from dsgkit.report.summary import Summary, different, settings
from dsgkit.tasks.measures import Measure, outputs_of
from dsgkit.text.groups import grouped

if TYPE_CHECKING:
    from matplotlib.figure import Figure


EVERY_REPORT = ""
"""Asks for what no config has to ask for."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """A table or figure of some results.

    Attributes
    ----------
    name : str
        Name of its files.
    output : str
        The name in a config's ``outputs`` that asks for it; `EVERY_REPORT` if none has to.
    shown : list of Summary
        The results that have a place in it.
    has : callable
        Whether one of these has something to show.
    """

    name: str
    output: str
    shown: Sequence[Summary]
    has: Callable[[Summary], bool]

    @property
    def has_values(self) -> bool:
        """Whether there is anything to show."""
        return any(map(self.has, self.shown))


@dataclass(frozen=True, kw_only=True)
class TableOutput(Output):
    """A table.

    Attributes
    ----------
    make : callable
        Returns it; None if it is only of each of several results.
    brief : callable or None
        Returns what of it a terminal shows unasked; None for a table that is shown by name only.
    in_overview : {"", "brief", "all"}
        Whether the table of several results has what is brief, or all, of the tables of each.
    """

    make: Callable[[], Table | None]
    brief: Callable[[], Table | None] | None = None
    in_overview: Literal["", "brief", "all"] = ""


@dataclass(frozen=True)
class MeasureTable:
    """A way to show measures in a table; those of one file are one below the other.

    Attributes
    ----------
    way : str
        The last part of names, after the measures' file.
    make : callable
        Takes the results, a name and the measures.
    has : callable
        Whether one of the results has something to show of a measure.
    printed : bool
        Whether a terminal shows it unasked.
    """

    way: str
    make: Callable[[Sequence[Summary], str, Sequence[Measure]], Table]
    has: Callable[[Summary, Measure], bool] = Summary.shows
    printed: bool = False

    def __call__(self, shown: Sequence[Summary]) -> Iterator[TableOutput]:
        """Yield the table of each file of measures, of one of the results or of several."""
        tabled = (
            measure
            for measure in _measures(shown)
            if f"{measure.output}_{self.way}" in outputs_of([measure], swept=False)
        )
        for file, measures in grouped(tabled, lambda measure: measure.file).items():
            yield self._of(measures, f"{file}_{self.way}", shown)

    def _of(self, members: Sequence[Measure], name: str, shown: Sequence[Summary]) -> TableOutput:
        measures = [m for m in members if any(self.has(one, m) for one in shown)]
        main = measures if len(shown) > 1 else _with_better_side(measures)
        printed = self.printed and not any(measure.for_published for measure in measures)
        return TableOutput(
            name=name,
            output=f"{members[0].output}_{self.way}",
            shown=shown,
            has=lambda one: any(self.has(one, measure) for measure in measures),
            make=lambda: self.make(shown, name, measures),
            brief=(lambda: self.make(shown, name, main)) if printed else None,
        )


def _measures(shown: Sequence[Summary]) -> list[Measure]:
    """Return the measures of all tasks, also those that nothing is known of."""
    return list(dict.fromkeys(m for one in shown for m in one.results.task.measures))


def _with_better_side(measures: Sequence[Measure]) -> Sequence[Measure]:
    """Return the measures that solvers compete in; where they do in none, the tallies, or all."""
    competing = [measure for measure in measures if measure.better]
    return competing or [measure for measure in measures if measure.tally] or measures


@dataclass(frozen=True, kw_only=True)
class FigureOutput(Output):
    """A figure.

    Attributes
    ----------
    draw : callable
        Draws it.
    own_caption : callable
        Returns its own part of the caption.
    apart : bool
        Whether it shows one of several results, like a figure of that one's own report.
    """

    draw: Callable[[], Figure]
    own_caption: Callable[[], str]
    apart: bool = False

    @property
    def caption(self) -> str:
        """Its contents and the setting of all fits, in words for readers of a page."""
        setting = settings(self.shown)
        unfinished = "; ".join(f"{one.heading}: {one.to_come}" for one in self.shown if one.to_come)
        return (
            self.own_caption()
            + (f" Setting: {setting}." if setting else "")
            + (f" Unfinished: {unfinished}." if unfinished else "")
        )


@dataclass(frozen=True)
class MeasureFigure:
    """A way to draw a measure.

    Attributes
    ----------
    way : str
        The last part of names, after the measure's.
    draw, own_caption : callable
        Draw a measure of some results at a width, and return the figure's own part of the caption.
    has : callable
        Whether one of the results has something to show of a measure.
    swept : bool
        Whether only results of which a size is varied have a place in it.
    """

    way: str
    draw: Callable[[Sequence[Summary], Measure, Width | None], Figure]
    own_caption: Callable[[Sequence[Summary], Measure], str]
    has: Callable[[Summary, Measure], bool] = Summary.has
    swept: bool = False

    def __call__(
        self, shown: Sequence[Summary], width: Width | None = None
    ) -> Iterator[FigureOutput]:
        """Yield the figure of each measure that can be drawn so."""
        swept = any(one.axis for one in shown)
        drawn = [
            measure
            for measure in _measures(shown)
            if f"{measure.output}_{self.way}" in outputs_of([measure], swept=swept)
        ]
        names = different(f"{measure.file}_{self.way}" for measure in drawn)
        for name, measure in zip(names, drawn, strict=True):
            yield self._of(measure, name, shown, width)

    def _of(
        self, measure: Measure, name: str, shown: Sequence[Summary], width: Width | None
    ) -> FigureOutput:
        places = [one for one in shown if one.shows(measure) and (one.axis or not self.swept)]
        return FigureOutput(
            name=name,
            output=f"{measure.output}_{self.way}",
            shown=places,
            has=lambda one: self.has(one, measure),
            draw=lambda: self.draw(places, measure, width),
            own_caption=lambda: self.own_caption(places, measure),
        )


def late(module: str, function: str) -> Callable[..., Any]:
    """Return a function of a module of this package that is imported at the first call.

    Modules that draw import matplotlib, which takes longer than most tables.
    """

    def call(*args: Any) -> Any:
        return getattr(import_module(f"dsgkit.report.{module}"), function)(*args)

    return call
