"""Pictures of clusterings, a panel per solver, for fits that stored the arrays of one.

These are ``rows`` in the plane and their ``labels``, -1 for rows in no cluster. Optional are the
true ``classes`` of the rows; ``equilibria`` with ``equilibrium_labels``; and ``domain``, the values
of a function f at the points of ``grid_x`` and ``grid_y``, one line per y.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import ResultsError, in_a_line
from dsgkit.experiment.folder import load_artefact
from dsgkit.experiment.runs import Run
from dsgkit.report.axes import wrapped
from dsgkit.report.drawing import figure
from dsgkit.report.numbers import counted, value_text
from dsgkit.report.style import INCHES, LOOKS, SMALL_FONT, Width

# isort: split
# after the style, which imports matplotlib without the user's settings
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

COLUMNS = 5
COLORS = tuple(look.color for look in LOOKS[:8])
SHAPES = {"o": 1.0, "^": 1.2, "s": 0.8, "v": 1.2}  # with areas at which they look equally large
INSIDE, BOUNDARY, NOWHERE = "#FBE7C6", "0.25", "0.55"
MANY_EQUILIBRIA, MANY_ROWS = 30, 10_000
MAX_ASPECT = 3.0  # of data that are drawn true to scale
MAX_SIDE, TITLE_AND_TEXT = 2.3, 0.5  # inches: of a panel, and above and below it
TEXT_LETTERS_PER_INCH = 17

Arrays = Mapping[str, NDArray[Any]]


class Picture(NamedTuple):
    """The clusters of a solver in one trial, or the true classes, and a text on them."""

    arrays: Arrays
    text: str
    trial: int = 0


def pictures_of(run: Run) -> dict[str, Picture]:
    """Return each solver's picture: that of the first trial at the largest size with one.

    The true classes come first, if they are known.
    """
    fits = run.fits[(run.fits["ending"] == "ok") & (run.fits["artefact"] != "")]
    found: dict[str, Picture] = {}
    for fit in fits.sort_values(["size", "trial"], ascending=[False, True]).to_dict("records"):
        if fit["name"] not in found and (arrays := load_artefact(run.folder, dict(fit))):
            try:
                text = _text(arrays, fit["params"] or {})
            except (KeyError, ValueError) as error:
                path = f"{run.folder}: {fit['artefact']}"
                raise ResultsError(f"{path} is no picture ({in_a_line(str(error))})") from error
            found[fit["name"]] = Picture(arrays, text, fit["trial"] + 1)
    ordered = {name: found[name] for name in run.names.values() if name in found}
    known = next((one.arrays for one in ordered.values() if "classes" in one.arrays), None)
    if known is None:
        return ordered
    text = counted(len(np.unique(known["classes"])), "class", "classes")
    truth = Picture({"rows": known["rows"], "labels": known["classes"]}, text)
    return {"True classes": truth, **ordered}


def _text(arrays: Arrays, params: Mapping[str, Any]) -> str:
    """Return the number of clusters, an empty domain, and the chosen parameters."""
    rows, labels = arrays["rows"], arrays["labels"]
    if rows.shape != (len(labels), 2):
        raise ValueError(f"the shape of its rows is {rows.shape}, of its labels {labels.shape}")
    parts = [counted(int((np.unique(labels) >= 0).sum()), "cluster")]
    if outside := int((labels < 0).sum()):
        parts.append(f"{counted(outside, 'row')} in none")
    if "domain" in arrays and not (arrays["domain"] >= 0).any():
        parts.append("empty domain")
    space = "\N{NO-BREAK SPACE}"
    chosen = (f"{in_a_line(k)}{space}{in_a_line(value_text(v))}" for k, v in params.items())
    return f"{', '.join(parts)}\n{', '.join(chosen)}".strip()


def caption(found: Iterable[Picture]) -> str:
    """Return what pictures show; the legend explains their marks."""
    drawn = [*found]
    trials = {one.trial for one in drawn} - {0}
    which = f"in trial {min(trials)}" if len(trials) == 1 else "in each solver's first trial"
    return f"Clusters of rows {which}, by two columns or the first two principal components."


def draw_pictures(
    panels: Sequence[tuple[str, Picture | str, Mapping[str, Picture]]],
    width: Width | None,
    columns: int = COLUMNS,
) -> Figure:
    """Draw pictures with their titles, or a text in place of one.

    A panel comes with all pictures of its run, which show the same part of the plane.
    """
    drawn = [one for _, one, _ in panels if isinstance(one, Picture)]
    places = [Place.of([one.arrays for one in every.values()]) for _, _, every in panels]
    contents = zip(panels, places, strict=True)
    side = min(MAX_SIDE, INCHES[width or "page"] / min(columns, len(panels)))
    letters = int(side * TEXT_LETTERS_PER_INCH)
    many = sum(len(one.arrays["rows"]) for one in drawn) > MANY_ROWS
    return figure(
        [(title, one if isinstance(one, str) else (one, at)) for (title, one, _), at in contents],
        lambda axes, of: _draw(axes, of[0], of[1], letters, rasterized=many),
        width or "page",
        legend=lambda: _legend(drawn),
        columns=columns,
        height=side * max(place.aspect for place in places) + TITLE_AND_TEXT,
    )


class Place(NamedTuple):
    """The part of the plane in a run's panels: limits, and a panel's height by its width."""

    x: tuple[float, float]
    y: tuple[float, float]
    aspect: float

    @classmethod
    def of(cls, every: Sequence[Arrays]) -> Place:
        """Return the place of all rows and domains, true to scale up to `MAX_ASPECT`."""
        points = [arrays["rows"] for arrays in every]
        for arrays in every:
            if "domain" in arrays and (arrays["domain"] >= 0).any():
                y, x = np.nonzero(arrays["domain"] >= 0)
                points.append(np.column_stack([arrays["grid_x"][x], arrays["grid_y"][y]]))
        rows = np.concatenate(points or [np.zeros((1, 2))]).astype(float)
        low, high = rows.min(axis=0), rows.max(axis=0)
        sides = np.where(high > low, high - low, 1.0)
        aspect = 1.0
        if sides.max() <= MAX_ASPECT * sides.min():
            sides[0] = sides.max()
            aspect = float(sides[1] / sides[0])
        begin, end = (low + high) / 2 - 0.53 * sides, (low + high) / 2 + 0.53 * sides
        return cls((begin[0], end[0]), (begin[1], end[1]), aspect)


def _draw(axes: Axes, picture: Picture, place: Place, letters: int, *, rasterized: bool) -> None:
    """Draw the domain, then rows, then equilibria, without ticks: the axes have no common unit."""
    arrays = picture.arrays
    rows, labels = arrays["rows"], arrays["labels"]
    axes.set(xlim=place.x, ylim=place.y, box_aspect=place.aspect, xticks=[], yticks=[])
    text = wrapped(picture.text, letters)
    axes.set_xlabel(text, fontsize=SMALL_FONT, linespacing=1.1, labelpad=2)
    axes.spines[:].set(visible=True, color="0.6", linewidth=0.5)
    if "domain" in arrays and (highest := float(arrays["domain"].max())) > 0:
        grid = arrays["grid_x"], arrays["grid_y"], arrays["domain"]
        axes.contourf(*grid, levels=[0, 2 * highest], colors=[INSIDE], zorder=0.5)
        if arrays["domain"].min() < 0:
            axes.contour(*grid, levels=[0], colors=[BOUNDARY], linewidths=0.6, zorder=0.6)
    size = float(np.clip(1800 / len(rows), 2.0, 8))
    points: dict[str, Any] = {"linewidths": 0, "rasterized": rasterized}
    if (labels < 0).any():
        cross = points | {"s": 2 * size, "c": NOWHERE, "marker": "x", "linewidths": 0.5}
        axes.scatter(*rows[labels < 0].T, **cross)
    looks = cluster_looks(rows, labels)
    for label, (color, shape) in looks.items():
        look = points | {"s": size * SHAPES[shape], "c": color, "marker": shape}
        axes.scatter(*rows[labels == label].T, **look)
    if "equilibria" in arrays:
        x, y = arrays["equilibria"].T
        colors = [looks.get(int(one), ("white", ""))[0] for one in arrays["equilibrium_labels"]]
        size, edge = (11, 0.7) if len(x) <= MANY_EQUILIBRIA else (5, 0.4)
        # a rim distinguishes them from rows of their colour
        axes.scatter(x, y, s=2 * size, c="white", marker="D", linewidths=0, zorder=3)
        axes.scatter(x, y, s=size, c=colors, marker="D", edgecolors="k", linewidths=edge, zorder=3)


def cluster_looks(rows: NDArray[Any], labels: NDArray[Any]) -> dict[int, tuple[str, str]]:
    """Return a colour and marker for each cluster, from left to right by their centres.

    Equal clusterings get equal looks, whatever their labels. Looks repeat only if all are used.
    """
    centres = {int(k): rows[labels == k].mean(axis=0, dtype=float) for k in np.unique(labels)}
    order = sorted((k for k in centres if k >= 0), key=lambda k: (*centres[k], k))
    looks = [(color, shape) for shape in SHAPES for color in COLORS]
    return {k: looks[place % len(looks)] for place, k in enumerate(order)}


def _legend(drawn: Sequence[Picture]) -> list[Artist]:
    arrays = [one.arrays for one in drawn]
    edges: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": "k"}
    inside: dict[str, Any] = {"facecolor": INSIDE, "edgecolor": BOUNDARY, "linewidth": 0.6}
    handles: list[Artist] = []
    if any("domain" in one and (one["domain"] > 0).any() for one in arrays):
        handles.append(Patch(**inside, label="inside, f \u2265 0"))
    if any("equilibria" in one for one in arrays):
        handles.append(Line2D([], [], marker="D", linestyle="none", label="equilibrium", **edges))
    if any((one["labels"] < 0).any() for one in arrays):
        mark: dict[str, Any] = {"marker": "x", "linestyle": "none", "color": NOWHERE}
        handles.append(Line2D([], [], label="row in no cluster", **mark))
    return handles
