"""Outputs as values: a table or figure that can be made of some results, and when to make it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

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
        The name in a config's ``outputs`` that asks for it.
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
class FigureOutput(Output):
    """A figure.

    Attributes
    ----------
    draw : callable
        Draws it.
    says : callable
        Returns its own part of the caption.
    apart : bool
        Whether it shows one of several results, like a figure of that one's own report.
    """

    draw: Callable[[], Figure]
    says: Callable[[], str]
    apart: bool = False

    @property
    def caption(self) -> str:
        """What it shows and what holds in every fit, for readers of a page."""
        setting = settings(self.shown)
        unfinished = "; ".join(f"{one.title}: {one.to_come}" for one in self.shown if one.to_come)
        return (
            self.says()
            + (f" Measured with: {setting}." if setting else "")
            + (f" Unfinished: {unfinished}." if unfinished else "")
        )


@dataclass(frozen=True)
class MeasureFigure:
    """A way to draw a measure.

    Attributes
    ----------
    way : str
        The last part of names, after the measure's.
    draw, says : callable
        Draw a measure of some results, and return the figure's own part of the caption.
    has : callable
        Whether one of the results has something to show of a measure.
    swept : bool
        Whether only results of which a size is varied have a place in it.
    """

    way: str
    draw: Callable[[Sequence[Summary], Measure], Figure]
    says: Callable[[Sequence[Summary], Measure], str]
    has: Callable[[Summary, Measure], bool] = Summary.has
    swept: bool = False

    def __call__(self, shown: Sequence[Summary]) -> Iterator[FigureOutput]:
        """Yield the figure of each measure that can be drawn so."""
        swept = any(one.axis for one in shown)
        measures = dict.fromkeys(m for one in shown for m in one.results.task.measures)
        drawn = [m for m in measures if f"{m.output}_{self.way}" in outputs_of([m], swept=swept)]
        names = different(f"{measure.file}_{self.way}" for measure in drawn)
        for name, measure in zip(names, drawn, strict=True):
            yield self._of(measure, name, shown)

    def _of(self, measure: Measure, name: str, shown: Sequence[Summary]) -> FigureOutput:
        places = [one for one in shown if one.shows(measure) and (one.axis or not self.swept)]
        return FigureOutput(
            name=name,
            output=f"{measure.output}_{self.way}",
            shown=places,
            has=lambda one: self.has(one, measure),
            draw=lambda: self.draw(places, measure),
            says=lambda: self.says(places, measure),
        )


def late(module: str, function: str) -> Callable[..., Any]:
    """Return a function of a module of this package that is imported at the first call.

    Modules that draw import matplotlib, which takes longer than most tables.
    """

    def call(*args: Any) -> Any:
        return getattr(import_module(f"dsgkit.report.{module}"), function)(*args)

    return call
