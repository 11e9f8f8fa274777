"""Figures as they stand in a page: inline, with the command that redraws each."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dsgkit.experiment.results import Results
from dsgkit.report.figures import wanted_figures
from dsgkit.report.panels import svg
from dsgkit.report.titles import all_labels, all_outputs, titles

CSS_INCH = 96


@dataclass(frozen=True)
class Picture:
    """A figure in a page.

    Attributes
    ----------
    name : str
        As ``dsg plot --only`` calls it.
    caption : str
    alternative : str
        What it is, for those who cannot see it.
    source : str
        The figure as a data URI.
    width, height : int
        CSS pixels at the size for print.
    command : str
        Redraws it.
    """

    name: str
    caption: str
    alternative: str
    source: str
    width: int
    height: int
    command: str


def pictures(results: Sequence[Results], folder: Path | None = None) -> list[Picture]:
    """Draw the figures that the experiments ask for, as far as there is something to show.

    Parameters
    ----------
    results : sequence of Results
    folder : Path, optional
        Where the commands redraw them; the results folder itself by default.
    """
    shown = f"Datasets: {', '.join(titles(results))}. Solvers: "
    shown += f"{', '.join(all_labels(results).values())}. The tables have the numbers."
    pictures = []
    for drawing in wanted_figures(results, all_outputs(results)):
        figure = drawing.draw(results)
        width, height = (round(CSS_INCH * inches) for inches in figure.get_size_inches())
        command = ["dsg", "plot", *(str(one.folder) for one in results)]
        command += [] if folder is None else ["--out", str(folder)]
        pictures.append(
            Picture(
                name=drawing.name,
                caption=drawing.caption,
                alternative=f"{drawing.caption} {shown}",
                source=f"data:image/svg+xml;base64,{base64.b64encode(svg(figure).encode()).decode()}",
                width=width,
                height=height,
                command=shlex.join([*command, "--only", drawing.name]),
            )
        )
    return pictures
