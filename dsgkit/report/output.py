"""Outputs of a report: tables and figures with the conditions under which they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dsgkit.report.formats import Table
from dsgkit.report.style import Width
from dsgkit.report.summary import Summary, different, settings
from dsgkit.tasks.measures import Measure, outputs_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class Output:
    """A table or figure of some results.

    Attributes
    ----------
    name : str
        Name of its files.
    output : str
        Its name in a config's ``outputs``.
    shown : list of Summary
        The results to show.
    has : callable
        Whether one of the results has values for it.
    """

    name: str
    output: str
    shown: Sequence[Summary]
    has: Callable[[Summary], bool]

    @property
    def has_values(self) -> bool:
        """Whether any of the results has values."""
        return any(map(self.has, self.shown))


@dataclass(frozen=True, kw_only=True)
class TableOutput(Output):
    """A table of a paper; ``make`` returns it."""

    make: Callable[[], Table]


def _measures(shown: Sequence[Summary]) -> list[Measure]:
    """Return the measures of all tasks, with or without values."""
    return list(dict.fromkeys(m for one in shown for m in one.results.task.measures))


@dataclass(frozen=True, kw_only=True)
class FigureOutput(Output):
    """A figure.

    Attributes
    ----------
    draw : callable
        Draws it.
    own_caption : callable
        Returns the caption without the setting and progress.
    single : bool
        Whether it shows only one of several results, like a figure of that folder's report.
    """

    draw: Callable[[], Figure]
    own_caption: Callable[[], str]
    single: bool = False

    @property
    def caption(self) -> str:
        """The caption on a page: contents, setting of all fits, progress."""
        setting = settings(self.shown)
        unfinished = "; ".join(f"{one.heading}: {one.to_come}" for one in self.shown if one.to_come)
        return (
            self.own_caption()
            + (f" Setting: {setting}." if setting else "")
            + (f" Unfinished: {unfinished}." if unfinished else "")
        )


@dataclass(frozen=True)
class MeasureFigure:
    """A kind of figure of a measure.

    Attributes
    ----------
    way : str
        Suffix of the figures' names, after the measure's.
    draw, own_caption : callable
        Draw a measure of some results at a width; return the caption without setting and progress.
    has : callable
        Whether one of the results has values of a measure.
    swept : bool
        Whether it shows only results with a swept axis.
    """

    way: str
    draw: Callable[[Sequence[Summary], Measure, Width | None], Figure]
    own_caption: Callable[[Sequence[Summary], Measure], str]
    has: Callable[[Summary, Measure], bool] = Summary.has
    swept: bool = False

    def __call__(
        self, shown: Sequence[Summary], width: Width | None = None
    ) -> Iterator[FigureOutput]:
        """Yield the figure of each measure that has this kind of figure."""
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
    """Return a function of `dsgkit.report` whose module is imported at the first call.

    Modules that draw import matplotlib, which takes longer than most tables.
    """

    def call(*args: Any) -> Any:
        return getattr(import_module(f"dsgkit.report.{module}"), function)(*args)

    return call
