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
from dsgkit.report.drawing import COLUMNS, figure, wrapped
from dsgkit.report.numbers import counted, value_text
from dsgkit.report.style import INCHES, LOOKS, SMALL_FONT

# isort: split
# after the style, which imports matplotlib without the user's settings
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLORS = tuple(look.color for look in LOOKS[:8])
SHAPES = "o^sv"
INSIDE, BOUNDARY, NOWHERE = "#FBE7C6", "0.25", "0.55"
MANY_ROWS = 1000  # are drawn as pixels
MAX_ASPECT = 3.0  # of data that are drawn true to scale
MAX_SIDE, TITLE_AND_TEXT = 2.3, 0.55  # inches: of a panel, and above and below it
TEXT_LETTERS_PER_INCH = 17

Arrays = Mapping[str, NDArray[Any]]


class Picture(NamedTuple):
    """The clusters of a solver in one trial, or the true classes, and a text on them."""

    arrays: Arrays
    text: str
    trial: int = 0


def pictures_of(run: Run) -> dict[str, Picture]:
    """Return each solver's picture: of its first trial at the largest size; true classes first."""
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
    return f"Clusters {which}, drawn by two columns or the first two principal components."


def draw_pictures(panels: Sequence[tuple[str, Picture]], width: float | None) -> Figure:
    """Draw pictures with their titles, all of the same part of the plane, if possible to scale."""
    width = width or INCHES["page"]
    rows = np.concatenate([one.arrays["rows"] for _, one in panels])
    wide, high = (max(float(side), 1e-12) for side in np.ptp(rows, axis=0))
    to_scale = 1 / MAX_ASPECT <= high / wide <= MAX_ASPECT
    side = min(MAX_SIDE, width / min(COLUMNS, len(panels)))
    letters = int(side * TEXT_LETTERS_PER_INCH)

    def draw(axes: Axes, picture: Picture) -> None:
        _draw(axes, picture.arrays)
        axes.set_xlabel(wrapped(picture.text, letters), fontsize=SMALL_FONT, labelpad=2)
        axes.set_aspect("equal" if to_scale else "auto")

    height = side * (high / wide if to_scale else 1.0) + TITLE_AND_TEXT
    return figure(panels, draw, width, height=height, shared="xy")


def _draw(axes: Axes, arrays: Arrays) -> None:
    """Draw the domain, then rows, then equilibria, without ticks: the axes have no common unit."""
    rows, labels = arrays["rows"], arrays["labels"]
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(visible=True, color="0.6", linewidth=0.5)
    if "domain" in arrays and (highest := float(arrays["domain"].max())) > 0:
        grid = arrays["grid_x"], arrays["grid_y"], arrays["domain"]
        axes.contourf(*grid, levels=[0, 2 * highest], colors=[INSIDE], zorder=0.5)
        if arrays["domain"].min() < 0:
            axes.contour(*grid, levels=[0], colors=[BOUNDARY], linewidths=0.6, zorder=0.6)
        mark: dict[str, Any] = {"marker": "s", "markeredgecolor": BOUNDARY, "linestyle": "none"}
        axes.plot([], [], color=INSIDE, label="inside, f \u2265 0", **mark)
    size = float(np.clip(1800 / len(rows), 2.0, 8))
    points: dict[str, Any] = {"s": size, "linewidths": 0, "rasterized": len(rows) > MANY_ROWS}
    if (labels < 0).any():
        x, y = rows[labels < 0].T
        cross = points | {"c": NOWHERE, "marker": "x", "linewidths": 0.5}
        axes.scatter(x, y, label="row in no cluster", **cross)
    looks = cluster_looks(rows, labels)
    for label, (color, shape) in looks.items():
        x, y = rows[labels == label].T
        axes.scatter(x, y, **points | {"c": color, "marker": shape})
    if "equilibria" in arrays:
        x, y = arrays["equilibria"].T
        colors = [looks.get(int(one), ("white", ""))[0] for one in arrays["equilibrium_labels"]]
        edge: dict[str, Any] = {"edgecolors": "k", "linewidths": 0.5, "label": "equilibrium"}
        axes.scatter(x, y, s=8, c=colors, marker="D", zorder=3, **edge)


def cluster_looks(rows: NDArray[Any], labels: NDArray[Any]) -> dict[int, tuple[str, str]]:
    """Return a colour and marker for each cluster, by centres, so that labels do not matter."""
    centres = {int(k): rows[labels == k].mean(axis=0, dtype=float) for k in np.unique(labels)}
    order = sorted((k for k in centres if k >= 0), key=lambda k: (*centres[k], k))
    looks = [(color, shape) for shape in SHAPES for color in COLORS]
    return {k: looks[place % len(looks)] for place, k in enumerate(order)}
