"""Data of a picture of clusters: rows in a plane, equilibria, and the domain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_PICTURE_ROWS = 2000
MAX_PICTURE_EQUILIBRIA = 2000
GRID = 120
"""Points per side of the grid on which f is evaluated."""

_GRID_MARGIN = 0.08
"""Margin of the grid around the rows, as a share of their range."""

Array = NDArray[np.floating]


def picture(
    model: Any, X: Array, labels: NDArray[np.int64], classes: NDArray[Any] | None = None
) -> dict[str, Any]:
    """Return the arrays of a picture, in two principal components if rows have more columns.

    Of rows in a random order, shape (n, d), the first are shown: ``rows`` (r, 2) float32 and
    ``labels`` (r,). If available, ``classes`` (r,) int32, numbered from 0; ``equilibria`` (e, 2)
    and ``equilibrium_labels`` (e,); for two columns, ``grid_x``, ``grid_y`` and ``domain``, f on
    their grid; and ``inside``, the share of all rows with f >= 0.
    """
    shown = X[:MAX_PICTURE_ROWS]
    if X.shape[1] < 2:
        return {}
    center, axes = _plane(shown)
    rows = (shown - center) @ axes
    arrays = {"rows": rows.astype(np.float32), "labels": labels[: len(rows)]}
    if classes is not None:
        numbers = np.unique(classes, return_inverse=True)[1]
        arrays["classes"] = numbers[: len(rows)].astype(np.int32)
    if hasattr(model, "equilibria_") and hasattr(model, "equilibrium_labels_"):
        first = slice(MAX_PICTURE_EQUILIBRIA)
        shown_equilibria = (model.equilibria_[first] - center) @ axes
        arrays["equilibria"] = shown_equilibria.astype(np.float32)
        arrays["equilibrium_labels"] = np.asarray(model.equilibrium_labels_)[first]
    if X.shape[1] == 2 and hasattr(model, "decision_function"):
        arrays |= _domain(model, shown)
    if hasattr(model, "inside_"):
        arrays["inside"] = np.float64(model.inside_)
    return arrays


def _plane(rows: Array) -> tuple[Array, Array]:
    """Return the origin and the axes, in columns, of the plane in which rows are shown."""
    d = rows.shape[1]
    if d == 2:
        return np.zeros(2), np.eye(2)
    center = rows.mean(axis=0, dtype=np.float64)
    axes = np.linalg.svd(rows - center, full_matrices=False)[2][:2].T
    # rounding decides the sign of an axis, so its largest entry is made positive
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.where(axes[largest, range(axes.shape[1])] < 0, -1, 1)
    return center, np.pad(axes, ((0, 0), (0, 2 - axes.shape[1])))


def _domain(model: Any, rows: Array) -> dict[str, Any]:
    """Return f on a grid around rows in a plane."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    margin = _GRID_MARGIN * np.maximum(high - low, np.finfo(np.float32).tiny)
    x, y = (np.linspace(a, b, GRID) for a, b in zip(low - margin, high + margin, strict=True))
    points = np.column_stack([values.ravel() for values in np.meshgrid(x, y)])
    values = np.asarray(model.decision_function(points)).reshape(GRID, GRID)
    return {"grid_x": x, "grid_y": y, "domain": values.astype(np.float32)}
