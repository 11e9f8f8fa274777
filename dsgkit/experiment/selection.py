"""Choosing hyper-parameters by the scores of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dsgkit.config.schema import Experiment
from dsgkit.errors import FitError
from dsgkit.experiment.plan import Cell, Point
from dsgkit.experiment.store import Record
from dsgkit.tasks.measures import Measure

SEARCHING_PREFIX = "while searching: "
"""How the messages of cells begin that have no result because a search has none."""

LIMIT_ENTRIES = ("needed", "limit", "timeout")
"""Entries of records about a limit that was met: bytes, bytes and seconds."""


def choosing_measure(experiment: Experiment) -> Measure:
    """Return the measure by which hyper-parameters are chosen."""
    return next(m for m in experiment.task.measures if m.name == experiment.chooses)


def choose(
    cell: Cell, searches: Sequence[Record], better: str | None, smoother: Mapping[str, str]
) -> Point:
    """Return the parameters of a cell: the best point of the shares of the search that it needs.

    If a share has no result, or no point has a solution, `FitError` has the share's status.
    """
    if not searches:
        return {} if cell.kind == "search" else dict(cell.points[0])
    for record in searches:
        if record["status"] != "ok":
            # a search that failed due to an earlier one has the prefix already
            error = FitError(SEARCHING_PREFIX + record["message"].removeprefix(SEARCHING_PREFIX))
            error.status = record["status"]
            vars(error).update({name: record.get(name) for name in LIMIT_ENTRIES})
            raise error
    points = [point for record in searches for point in record["points"]]
    scores = [score for record in searches for score in record["fold_scores"]]
    best = best_point(points, scores, better, smoother)
    if best is None:
        warned = next((text for record in searches for text in record.get("warnings", ())), "")
        why = f"; the search warned: {warned}" if warned else ""
        raise FitError(f"no point of the grid has a solution on every fold{why}")
    # all shares have the same parameters from earlier stages
    return {**(searches[0].get("params") or {}), **best[0]}


def best_point(
    points: Sequence[Point],
    scores: Sequence[Sequence[float | None]],
    better: str | None,
    smoother: Mapping[str, str],
) -> tuple[Point, float] | None:
    """Return the point with the best mean of its scores on all folds, and that mean, if any.

    Folds without a score for any point are ignored; a point that lacks another has no solution
    there, and cannot be chosen. Among equal scores the smoothest function wins (``smoother`` names
    parameters whose ``larger`` or ``smaller`` values are, the most important first), then the first
    point.
    """
    counting = [k for k, fold in enumerate(zip(*scores, strict=True)) if {*fold} != {None}]
    best: tuple[Any, Point, float] | None = None
    for point, folds in zip(points, scores, strict=True):
        counted = [score for k in counting if (score := folds[k]) is not None]
        if not counted or len(counted) < len(counting):
            continue
        mean = float(np.mean(counted))
        numbers = {k: v for k, v in point.items() if isinstance(v, int | float)}  # no words
        smoothness = [
            numbers.get(name, 0.0) * (1 if side == "larger" else -1)
            for name, side in smoother.items()
        ]
        # smaller differences are rounding errors
        rank = round(mean if better == "higher" else -mean, 9), *smoothness
        if best is None or rank > best[0]:
            best = rank, point, mean
    return best and best[1:]
