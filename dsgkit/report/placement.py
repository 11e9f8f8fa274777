"""Short texts beside points of a plot, placed where they cover least."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

GAP = 5.0
MARKER = 6.0
PAD = 1.0
OUTSIDE = 1000.0
ON_TEXT = 100.0

Candidate = tuple[float, float, Any, Any]

# Offsets in units of GAP with alignments, the preferred ones first.
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
    """A text that belongs to a point in data coordinates."""

    x: float
    y: float
    text: str
    color: str


def place(axes: Axes, labels: Sequence[Label], fontsize: float) -> None:
    """Add texts to axes whose layout is final, clear of lines and of each other if possible."""
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


def _box(text: Annotation, candidate: Candidate) -> Bbox:
    """Move a text to a candidate's place and return the pixels it covers there."""
    dx, dy, ha, va = candidate
    text.set_position((dx * GAP, dy * GAP))
    text.set_horizontalalignment(ha)
    text.set_verticalalignment(va)
    canvas = text.figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    return text.get_window_extent(canvas.get_renderer()).padded(PAD)


def _cost(axes: Axes, box: Bbox, ink: NDArray[np.float64], taken: Sequence[Bbox]) -> float:
    """Return how much a place covers."""
    frame = axes.get_window_extent()
    inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
    covered = np.all((ink >= box.min) & (ink <= box.max), axis=1).sum()
    return float(
        covered + ON_TEXT * sum(box.overlaps(other) for other in taken) + OUTSIDE * (not inside)
    )


def _drawn_points(axes: Axes) -> NDArray[np.float64]:
    """Return points every few pixels along all lines and markers, in pixels."""
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
