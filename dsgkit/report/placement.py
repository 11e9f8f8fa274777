"""Placement of texts next to points of a plot, such as names at the ends of lines."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox
from scipy.optimize import isotonic_regression

from dsgkit.linalg import Array

POINT_GAP = 5.0
MARKER = 6.0
PAD = 1.0
OUTSIDE_PENALTY = 1000.0
TEXT_PENALTY = 100.0

NAMES_LEFT = 1.04
"""Left edge of names at the right of axes, in axes coordinates."""

NAME_GAP = 1.5
"""Gap between two names, in pixels."""

Candidate = tuple[float, float, Any, Any]

# Offsets in units of POINT_GAP, and alignments, by preference.
CANDIDATES: tuple[Candidate, ...] = tuple(
    (dx * reach, dy * reach, ha, va)
    for reach in (1.0, 2.0, 3.5)
    for dx, dy, ha, va in (
        (0, 1, "center", "bottom"),
        (1, 0, "left", "center"),
        (0.7, 0.7, "left", "bottom"),
        (-0.7, 0.7, "right", "bottom"),
        (0, -1, "center", "top"),
        (0.7, -0.7, "left", "top"),
        (-0.7, -0.7, "right", "top"),
        (-1, 0, "right", "center"),
    )
)


@dataclass(frozen=True)
class Label:
    """A text at a point in data coordinates."""

    x: float
    y: float
    text: str
    color: str | tuple[float, ...]


def place(axes: Axes, labels: Sequence[Label], fontsize: float) -> None:
    """Add texts to axes with a final layout, avoiding lines and each other if possible."""
    ink = _drawn_points(axes)
    taken = [text.get_window_extent() for text in axes.texts if text.get_text()]
    for label in labels:
        text = axes.annotate(
            label.text,
            (label.x, label.y),
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=fontsize,
            color=label.color,
            linespacing=0.95,
            path_effects=[withStroke(linewidth=1.5, foreground="white")],
            annotation_clip=False,
            in_layout=False,
        )
        costs = [_cost(axes, _box(text, candidate), ink, taken) for candidate in CANDIDATES]
        taken.append(_box(text, CANDIDATES[int(np.argmin(costs))]))


def name_beside(axes: Axes, labels: Sequence[Label], fontsize: float) -> list[Annotation]:
    """Add texts at the right of axes, each with a leader line to its point."""
    leader = {"arrowstyle": "-", "linewidth": 0.5, "shrinkA": 1.0, "shrinkB": MARKER / 2}
    return [
        axes.annotate(
            label.text,
            (label.x, label.y),
            xytext=(NAMES_LEFT, 0.5),
            textcoords="axes fraction",
            fontsize=fontsize,
            color=label.color,
            va="center",
            linespacing=0.95,
            annotation_clip=False,
            arrowprops={**leader, "color": label.color, "relpos": (0.0, 0.5)},
        )
        for label in labels
    ]


def spread(axes: Axes, texts: Sequence[Annotation]) -> None:
    """Move names next to axes with a final layout to the heights of their points."""
    if not texts:
        return
    frame = axes.get_window_extent()
    wanted = np.array([axes.transData.transform(text.xy)[1] for text in texts])
    heights = np.array([Text.get_window_extent(text).height + NAME_GAP for text in texts])
    placed = spread_out(wanted, heights, frame.y0, frame.y1)
    for text, y in zip(texts, placed, strict=True):
        text.set_position((NAMES_LEFT, (y - frame.y0) / frame.height))


def spread_out(wanted: Array, heights: Array, low: float, high: float) -> Array:
    """Return centres of non-overlapping intervals that are nearest to the wanted ones.

    The order is kept and the sum of squared shifts minimised; then all intervals are shifted
    together into [low, high].
    """
    order = np.argsort(wanted, kind="stable")
    sorted_heights = heights[order]
    steps = (sorted_heights[1:] + sorted_heights[:-1]) / 2
    offsets = np.concatenate([[0.0], np.cumsum(steps)])
    bases = isotonic_regression(wanted[order] - offsets).x
    lowest = low + sorted_heights[0] / 2
    highest = high - sorted_heights[-1] / 2 - offsets[-1]
    placed = np.empty_like(wanted)
    placed[order] = np.clip(bases, lowest, highest) + offsets
    return placed


def _box(text: Annotation, candidate: Candidate) -> Bbox:
    """Move a text to a candidate position and return its bounding box in pixels."""
    dx, dy, ha, va = candidate
    text.set_position((dx * POINT_GAP, dy * POINT_GAP))
    text.set_horizontalalignment(ha)
    text.set_verticalalignment(va)
    canvas = text.figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    return text.get_window_extent(canvas.get_renderer()).padded(PAD)


def _cost(axes: Axes, box: Bbox, ink: Array, taken: Sequence[Bbox]) -> float:
    """Return the cost of a box: covered points, texts, and space outside the axes."""
    frame = axes.get_window_extent()
    inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
    covered = np.all((ink >= box.min) & (ink <= box.max), axis=1).sum()
    return float(
        covered
        + TEXT_PENALTY * sum(box.overlaps(other) for other in taken)
        + OUTSIDE_PENALTY * (not inside)
    )


def _drawn_points(axes: Axes) -> Array:
    """Return points every few pixels along all lines and markers, in pixel coordinates."""
    half = MARKER * axes.figure.dpi / 72 / 2
    square = half * np.array([[x, y] for x in (-1, 0, 1) for y in (-1, 0, 1)])
    pieces = [np.empty((0, 2))]
    for line in axes.get_lines():
        corners = line.get_transform().transform(line.get_xydata())
        pieces += [corner + square for corner in corners]
        for start, end in itertools.pairwise(corners):
            steps = max(2, int(np.hypot(*(end - start)) / 2))
            pieces.append(np.linspace(start, end, steps))
    return np.concatenate(pieces)
