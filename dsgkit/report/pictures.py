"""Drawing of clusterings, a panel per solver and dataset."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from dsgkit.experiment.status import ending, status_words
from dsgkit.linalg import Array
from dsgkit.report.clusterings import (
    CLASSES_TITLE,
    COLUMNS,
    NO_BREAK_SPACE,
    Picture,
    pictures_of,
    truth_of,
)
from dsgkit.report.style import DPI, INCHES, LOOKS, MAX_COLUMN_PANELS, RC, Width
from dsgkit.report.summary import Summary, all_axes, all_solvers, lowered

COLORS = tuple(look.color for look in LOOKS[:8])
SHAPES = {"o": 1.0, "^": 1.2, "s": 0.8, "v": 1.2}
"""Markers, and the relative areas at which they look equally large."""

INSIDE, BOUNDARY, NOWHERE = "#FBE7C6", "0.25", "0.55"
MAX_PANEL_INCHES, MAX_SIDE_INCHES = 1.75, 2.3
TEXT_LINE = 0.11
LINE_GAP = 0.04
"""Half the gap between lines of panels, in inches."""

SMALL_TITLE_FONT, TITLE_FONT = 6.5, 9.0
NARROW_PANEL = 1.3
"""Panels up to this width in inches have small titles."""

LABEL_WIDTH, LEGEND_HEIGHT = 0.25, 0.42
LETTER_WIDTH = 0.042
MANY_ROWS = 10_000
"""Figures with more rows rasterize them in vector formats."""

MANY_EQUILIBRIA = 30

MAX_ASPECT = 3.0
"""Largest aspect ratio of a dataset that is drawn true to scale."""


def caption(shown: Sequence[Summary]) -> str:
    """Return the figure's caption."""
    drawn = [picture for one in shown for picture in pictures_of(one).values()]
    trials, axes = {one.record["trial"] + 1 for one in drawn}, lowered(all_axes(shown))
    which = f"trial {min(trials)}" if len(trials) == 1 else "each solver's first finished trial"
    at = f", at the largest finished number of {axes}" if axes else ""
    parts = [f"Clusters of rows in {which}{at}."]
    parts.append(
        "Rows are in their two columns or, of more columns, in the first two principal components."
    )
    if any(len(picture.clusters) > len(COLORS) for picture in drawn):
        parts.append("A colour in another shape is another cluster.")
    if any("classes" in picture.arrays for picture in drawn):
        parts.append(
            f'The panel "{CLASSES_TITLE}" has the rows by the classes that they belong to.'
        )
    if any("domain" in picture.arrays for picture in drawn):
        parts.append("The shaded region is the domain, where f is at least 0; a line bounds it.")
    if any("equilibria" in picture.arrays for picture in drawn):
        parts.append("A diamond is an equilibrium, in the colour of its cluster.")
    if any((picture.arrays["labels"] < 0).any() for picture in drawn):
        parts.append("A grey cross is a row in no cluster.")
    return " ".join(parts)


def pictures(shown: Sequence[Summary], wanted: Width | None = None) -> Figure:
    """Draw the clusters of each solver (columns) in each dataset (rows of panels).

    The first column has the true classes, if known. Many solvers take several rows of panels per
    dataset.
    """
    drawn = [{**truth_of(row), **row} for row in map(pictures_of, shown)]
    solvers = [
        name for name in (CLASSES_TITLE, *all_solvers(shown)) if any(name in row for row in drawn)
    ]
    lines = -(-len(solvers) // (MAX_COLUMN_PANELS if wanted == "column" else COLUMNS))
    columns = -(-len(solvers) // lines)
    width = min(MAX_PANEL_INCHES, (INCHES[wanted or "page"] - LABEL_WIDTH) / columns)
    places = [Place.of([one.arrays for one in row.values()]) for row in drawn]
    texts = [{name: _folded(one.text, width) for name, one in row.items()} for row in drawn]
    folds = [solvers[first : first + columns] for first in range(0, len(solvers), columns)]
    below = [_most_lines([row.get(name, "") for name in names]) for row in texts for names in folds]
    with mpl.rc_context({**RC, "axes.grid": False, "axes.spines.top": True}):
        heights = [width * place.aspect for place in places for _ in folds]
        figure, axes = _new_figure(heights, columns, width, below)
        for number, (one, row, place) in enumerate(zip(shown, drawn, places, strict=True)):
            panels = axes[number * lines : (number + 1) * lines].ravel()
            for unused in panels[len(solvers) :]:
                figure.delaxes(unused)
            if len(shown) > 1:
                panels[0].set_ylabel(one.heading, fontsize=TITLE_FONT)
            for panel, solver in zip(panels, solvers, strict=False):
                _frame(panel, place)
                if lines > 1 or number == 0:
                    panel.set_title(_folded(solver, width, TITLE_FONT), fontsize=TITLE_FONT, pad=3)
                panel.set_xlabel(
                    texts[number].get(solver, ""),
                    fontsize=SMALL_TITLE_FONT,
                    linespacing=1.1,
                    labelpad=2,
                )
                if solver in row:
                    _draw_panel(panel, row[solver].arrays, place)
                else:
                    _write_reason(panel, one, solver)
        _rasterize_many(axes.ravel())
        handles = _legend([picture for row in drawn for picture in row.values()])
        if handles:
            figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def pictures_in_rows(
    panels: Sequence[tuple[Summary, str, str]], columns: int, width: float
) -> Figure:
    """Draw the clusters of single fits, row by row.

    Parameters
    ----------
    panels : sequence of (Summary, str, str)
        Results, the name of a solver in them, and the panel's title.
    columns : int
        Panels in a row.
    width : float
        Width of the figure in inches.
    """
    columns = min(columns, len(panels))
    side = min(MAX_SIDE_INCHES, (width - LABEL_WIDTH) / columns)
    drawn = {id(one): pictures_of(one) for one, _, _ in panels}
    places = {
        id(one): Place.of([p.arrays for p in drawn[id(one)].values()]) for one, _, _ in panels
    }
    rows = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    texts = {
        (id(one), solver): _folded(drawn[id(one)][solver].text, side)
        for one, solver, _ in panels
        if solver in drawn[id(one)]
    }
    size = TITLE_FONT if side > NARROW_PANEL else SMALL_TITLE_FONT
    titles = [[_folded(title, side, size) for _, _, title in row] for row in rows]
    lines = [
        _most_lines([texts.get((id(o), s), "") for o, s, _ in row]) + _most_lines(names)
        for row, names in zip(rows, titles, strict=True)
    ]
    heights = [side * max(places[id(one)].aspect for one, _, _ in row) for row in rows]
    with mpl.rc_context({**RC, "axes.grid": False, "axes.spines.top": True}):
        figure, axes = _new_figure(heights, columns, side, lines)
        for unused in axes.flat[len(panels) :]:
            figure.delaxes(unused)
        named = zip(axes.flat, panels, itertools.chain.from_iterable(titles), strict=False)
        for panel, (one, solver, _), title in named:
            place, picture = places[id(one)], drawn[id(one)].get(solver)
            _frame(panel, place)
            panel.set_title(title, fontsize=size, pad=3, linespacing=1.0)
            text = texts.get((id(one), solver), "")
            panel.set_xlabel(text, fontsize=SMALL_TITLE_FONT, linespacing=1.1, labelpad=2)
            if picture:
                _draw_panel(panel, picture.arrays, place)
            else:
                _write_reason(panel, one, solver)
        _rasterize_many(axes.flat)
        handles = _legend([drawn[id(o)][s] for o, s, _ in panels if s in drawn[id(o)]])
        if handles:
            figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _most_lines(texts: Sequence[str]) -> int:
    return max(text.count("\n") + 1 for text in texts)


def _new_figure(
    heights: Sequence[float], columns: int, width: float, below: Sequence[int]
) -> tuple[Figure, Any]:
    """Return a figure and its panels; ``width`` and ``heights``, one per row, are in inches.

    Below row i there is room for ``below[i]`` lines of text.
    """
    text = TEXT_LINE * sum(below) + (0.1 + 2 * LINE_GAP) * len(heights)
    size = LABEL_WIDTH + columns * width, sum(heights) + text + LEGEND_HEIGHT
    layout = ConstrainedLayoutEngine(w_pad=0.02, h_pad=LINE_GAP, wspace=0.0, hspace=0.0)
    figure = Figure(figsize=size, dpi=DPI, layout=layout)
    FigureCanvasAgg(figure)
    ratios = {"height_ratios": heights}
    return figure, figure.subplots(len(heights), columns, squeeze=False, gridspec_kw=ratios)


def _folded(text: str, side: float, size: float = SMALL_TITLE_FONT) -> str:
    """Return a text wrapped to the width of a panel."""
    letters = max(8, int(side / (LETTER_WIDTH * size / SMALL_TITLE_FONT)))
    lines = (textwrap.wrap(line, letters, break_on_hyphens=False) for line in text.split("\n"))
    return "\n".join(part for line in lines for part in line).replace(NO_BREAK_SPACE, " ")


class Place(NamedTuple):
    """The part of the plane shown in a dataset's panels.

    Attributes
    ----------
    x, y : tuple of float
        Limits.
    aspect : float
        Height of a panel divided by its width.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    aspect: float

    @property
    def scale(self) -> Array:
        """Data units per unit length on paper, in x and y."""
        return np.array([self.x[1] - self.x[0], (self.y[1] - self.y[0]) / self.aspect])

    @classmethod
    def of(cls, drawn: Sequence[Mapping[str, NDArray[Any]]]) -> Place:
        """Return the place of all rows and domains, true to scale up to `MAX_ASPECT`."""
        rows = np.concatenate([arrays["rows"] for arrays in drawn] or [np.zeros((1, 2))])
        low, high = rows.min(axis=0).astype(float), rows.max(axis=0).astype(float)
        for arrays in drawn:
            if "domain" in arrays and (arrays["domain"] >= 0).any():
                inside = arrays["domain"] >= 0
                x = arrays["grid_x"][inside.any(axis=0)]
                y = arrays["grid_y"][inside.any(axis=1)]
                low = np.minimum(low, (x.min(), y.min()))
                high = np.maximum(high, (x.max(), y.max()))
        sides = np.where(high > low, high - low, 1.0)
        aspect = 1.0
        if sides.max() <= MAX_ASPECT * sides.min():
            sides[0] = sides.max()
            aspect = float(sides[1] / sides[0])
        begin, end = (low + high) / 2 - 0.53 * sides, (low + high) / 2 + 0.53 * sides
        return cls((float(begin[0]), float(end[0])), (float(begin[1]), float(end[1])), aspect)


def _frame(axes: Axes, place: Place) -> None:
    """Set the limits to a place, and remove ticks: the axes have no common unit."""
    axes.set_xlim(*place.x)
    axes.set_ylim(*place.y)
    axes.set_box_aspect(place.aspect)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(visible=True, color="0.6", linewidth=0.5)


def _draw_panel(axes: Axes, arrays: Mapping[str, NDArray[Any]], place: Place) -> None:
    """Draw the domain, then rows, then equilibria."""
    rows, labels = arrays["rows"], arrays["labels"]
    looks = cluster_looks(rows, labels, place)
    if "domain" in arrays:
        _draw_domain(axes, arrays)
    size = float(np.clip(1800 / len(rows), 2.0, 8))
    outside = rows[labels < 0]
    if len(outside):
        axes.scatter(
            outside[:, 0], outside[:, 1], s=2 * size, c=NOWHERE, marker="x", linewidths=0.5
        )
    for label, (color, shape) in looks.items():
        x, y = rows[labels == label].T
        axes.scatter(x, y, s=size * SHAPES[shape], c=color, marker=shape, linewidths=0)
    if "equilibria" in arrays:
        _draw_equilibria(axes, arrays, looks)


def _draw_domain(axes: Axes, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Shade the domain f >= 0 and draw its boundary, if any."""
    f = arrays["domain"]
    grid = arrays["grid_x"], arrays["grid_y"], f
    highest = float(f.max())
    if highest > 0:
        axes.contourf(*grid, levels=[0, 2 * highest], colors=[INSIDE], zorder=0.5)
        if f.min() < 0:
            axes.contour(*grid, levels=[0], colors=[BOUNDARY], linewidths=0.6, zorder=0.6)


Look = tuple[str, str]
"""Colour and marker."""


def _draw_equilibria(
    axes: Axes, arrays: Mapping[str, NDArray[Any]], looks: Mapping[int, Look]
) -> None:
    """Draw equilibria in the colours of their clusters; those without rows are white."""
    points, labels = arrays["equilibria"], arrays["equilibrium_labels"]
    colors = [looks[int(label)][0] if int(label) in looks else "white" for label in labels]
    size, edge = (11, 0.7) if len(points) <= MANY_EQUILIBRIA else (5, 0.4)
    x, y = points.T
    # a rim distinguishes them from rows of their colour
    axes.scatter(x, y, s=2 * size, c="white", marker="D", linewidths=0, zorder=3)
    axes.scatter(x, y, s=size, c=colors, marker="D", edgecolors="k", linewidths=edge, zorder=3)


def cluster_looks(rows: NDArray[Any], labels: NDArray[Any], place: Place) -> dict[int, Look]:
    """Return a colour and marker for each cluster, as different from its neighbours as possible.

    Clusters are processed from left to right by their centres. Each takes an unused colour, else
    the colour whose nearest cluster is farthest; a repeated colour takes the next marker. Looks
    repeat only when all are used. Equal clusterings get equal looks, whatever their labels.

    Parameters
    ----------
    rows : ndarray of shape (r, 2)
    labels : ndarray of int, shape (r,)
        Negative labels are not clusters.
    place : Place
        Distances are measured on paper.
    """
    clusters = [int(label) for label in np.unique(labels) if label >= 0]
    centres = {k: rows[labels == k].mean(axis=0, dtype=np.float64) / place.scale for k in clusters}
    taken: dict[str, list[Array]] = {color: [] for color in COLORS}
    looks: dict[int, Look] = {}
    shapes = tuple(SHAPES)
    for cluster in sorted(clusters, key=lambda k: (*centres[k], k)):
        here = centres[cluster]
        most = len(shapes) * (1 + len(looks) // (len(COLORS) * len(shapes)))
        free = [color for color in COLORS if len(taken[color]) < most]
        color = max(free, key=lambda c: _distance(here, taken[c]))
        looks[cluster] = color, shapes[len(taken[color]) % len(shapes)]
        taken[color].append(here)
    return looks


def _distance(point: Array, others: Sequence[Array]) -> float:
    return min((float(np.linalg.norm(point - other)) for other in others), default=math.inf)


def _write_reason(axes: Axes, summary: Summary, solver: str) -> None:
    """Write the reason into an empty panel."""
    ends = [one for one in summary.results.records if one["kind"] == "fit"]
    statuses = [ending(one) for one in ends if summary.name_of(one) == solver]
    failed = next((status for status in statuses if status != "ok"), None)
    text = status_words(failed) if failed else "not run" if not statuses else "no picture"
    text = "not known" if solver == CLASSES_TITLE else text
    look: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "color": "0.4",
        "fontsize": SMALL_TITLE_FONT,
    }
    axes.text(0.5, 0.5, text, transform=axes.transAxes, **look)


def _rasterize_many(panels: Iterable[Axes]) -> None:
    """Rasterize rows if there are more than `MANY_ROWS`, to keep files small."""
    drawn = [c for axes in panels for c in axes.collections if isinstance(c, PathCollection)]
    if sum(len(np.asarray(one.get_offsets())) for one in drawn) > MANY_ROWS:
        for collection in drawn:
            collection.set_rasterized(True)


def _legend(drawn: Sequence[Picture]) -> list[Artist]:
    """Return the legend entries of the drawn elements."""
    handles: list[Artist] = []
    if any("domain" in one.arrays and (one.arrays["domain"] > 0).any() for one in drawn):
        handles.append(
            Patch(facecolor=INSIDE, edgecolor=BOUNDARY, linewidth=0.6, label="inside, $f \\geq 0$")
        )
    if any("equilibria" in one.arrays for one in drawn):
        mark: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": "k"}
        handles.append(Line2D([], [], marker="D", linestyle="none", label="equilibrium", **mark))
    if any((one.arrays["labels"] < 0).any() for one in drawn):
        handles.append(
            Line2D([], [], marker="x", linestyle="none", color=NOWHERE, label="row in no cluster")
        )
    return handles
