"""The figures of a report, drawn without any display or global state."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from dsgkit.errors import ResultsError
from dsgkit.experiment.results import Results
from dsgkit.report.boxplots import score_boxplot
from dsgkit.report.curves import time_curve
from dsgkit.report.measures import AUC, ERROR, TEST_AUC, TEST_ERROR, Measure
from dsgkit.report.names import check_names
from dsgkit.report.panels import save
from dsgkit.report.summary import check_recorded, has_values

__all__ = [
    "FIGURES",
    "Drawing",
    "draw_figures",
    "score_boxplot",
    "time_curve",
    "wanted_figures",
]


@dataclass(frozen=True)
class Drawing:
    """A figure that can be drawn.

    Attributes
    ----------
    name : str
        Name of its files.
    column : str
        Column of `Results.cells` that it shows.
    draw : callable
        Draws it.
    caption : str
        What it shows, for readers of a page.
    """

    name: str
    column: str
    draw: Callable[[Sequence[Results]], Figure]
    caption: str


_BOXES = "at each solver's largest finished number of unlabelled rows; a dot is a trial."


def _boxplots(name: str, measure: Measure, of_test: Measure, words: str) -> list[Drawing]:
    """Return the boxplots of a score on the unlabelled rows and on the official test rows."""
    return [
        Drawing(
            f"{name}{part}_boxplot",
            one.column,
            functools.partial(_draw_boxplot, one),
            f"{words} on the {rows} rows, {_BOXES}",
        )
        for part, one, rows in (("", measure, "unlabelled"), ("_test", of_test, "official test"))
    ]


def _draw_boxplot(measure: Measure, results: Sequence[Results]) -> Figure:
    """Draw the boxplot of the results that a measure is for."""
    return score_boxplot([one for one in results if measure.shown_for(one)], measure.column)


# By the output that asks for them.
FIGURES: dict[str, list[Drawing]] = {
    "time_curve": [
        Drawing(
            "time_curve",
            "fit_seconds",
            time_curve,
            "Training time against the number of unlabelled rows: medians over trials, and the "
            "range from the fastest to the slowest. A cross ends the line of a solver that could "
            "not go on.",
        )
    ],
    "auc_boxplot": _boxplots("auc", AUC, TEST_AUC, "AUC"),
    "error_boxplot": _boxplots("error", ERROR, TEST_ERROR, "Error"),
}


def draw_figures(
    results: Sequence[Results], folder: Path, outputs: Sequence[str], only: Sequence[str] = ()
) -> list[Path]:
    """Draw figures of one or several results folders as PDF and PNG and return their paths.

    Parameters
    ----------
    results : sequence of Results
        Several make one panel each, four in a row.
    folder : Path
        The files go to ``figures/`` in it.
    outputs : sequence of str
        Names of `FIGURES`; others (those of tables) are passed over. A boxplot brings one of the
        official test rows where a dataset has them.
    only : sequence of str
        Names of the figures to draw, whatever ``outputs`` asks for; all of those if empty.

    Raises
    ------
    ResultsError
        If no fit has finished or there is no such figure, or the folder cannot be written.
    """
    check_recorded(results)
    if not any(has_values(one, "fit_seconds") for one in results):
        raise ResultsError(f"{_folders(results)}: no fit has finished, so there is nothing to draw")
    return [
        path
        for drawing in wanted_figures(results, outputs, only)
        for path in save(drawing.draw(results), Path(folder) / "figures" / drawing.name)
    ]


def wanted_figures(
    results: Sequence[Results], outputs: Sequence[str], only: Sequence[str] = ()
) -> list[Drawing]:
    """Return the figures that are named, else those of the outputs, that have values to show.

    Raises
    ------
    ResultsError
        If there is no figure of a name, or no value to show in it.
    """
    if not only:
        drawings = [drawing for output in outputs for drawing in FIGURES.get(output, [])]
        return [drawing for drawing in drawings if _has(results, drawing)]
    named = {drawing.name: drawing for drawings in FIGURES.values() for drawing in drawings}
    check_names(only, list(named), "figure")
    for name in only:
        if not _has(results, named[name]):
            raise ResultsError(f"{_folders(results)}: no finished fit has a value for {name}")
    return [drawing for name, drawing in named.items() if name in only]


def _has(results: Sequence[Results], drawing: Drawing) -> bool:
    """Tell whether there is anything to show in a figure."""
    return any(has_values(one, drawing.column) for one in results)


def _folders(results: Sequence[Results]) -> str:
    return ", ".join(str(one.folder) for one in results)
