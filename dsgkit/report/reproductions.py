"""Published figures with their measured counterparts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dsgkit.report.summary import Entry, Summary, all_measures
from dsgkit.tasks.measures import Measure, PublishedFigure


@dataclass(frozen=True)
class Reproduction:
    """A published figure and the measured entry at the largest finished size."""

    summary: Summary
    measure: Measure
    figure: PublishedFigure
    entry: Entry

    @property
    def difference(self) -> float | None:
        """Measured minus published value; None for seconds, which depend on the machine."""
        if not self.entry.values or self.measure.unit:
            return None
        return self.entry.mean - self.figure.value

    @property
    def agrees(self) -> bool | None:
        """Whether both agree within the tolerance, up to rounding; None if not comparable."""
        difference, tolerance = self.difference, self.figure.tolerance
        if self.figure.flag or difference is None or tolerance is None:
            return None
        return abs(difference) <= tolerance + 10.0**-self.figure.decimals / 2


def reproductions(summary: Summary) -> Iterator[Reproduction]:
    """Yield the published figures that these results have measured."""
    published = summary.results.task.published
    measures = {measure.name: measure for measure in all_measures([summary])}
    for figure in published.figures if published else ():
        measure, name = measures.get(figure.measure), summary.names.get(figure.solver)
        if measure is not None and name is not None:
            yield Reproduction(summary, measure, figure, summary.largest(measure)[name])
