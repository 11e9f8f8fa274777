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

SEARCHING_PREFIX, NOT_BEGUN_PREFIX = "while searching: ", "not begun: "
"""How the messages of cells begin that were not begun: due to a search, or a smaller fit."""

LIMIT_ENTRIES = ("needed", "limit", "timeout")
"""Entries of records about a limit that was met: bytes, bytes and seconds."""


def choosing_measure(experiment: Experiment) -> Measure:
    """Return the measure by which hyper-parameters are chosen."""
    measures = experiment.task.measures
    return next(measure for measure in measures if measure.name == experiment.chooses)


def choose(
    cell: Cell, searches: Sequence[Record], better: str | None, smoother: Mapping[str, str]
) -> Point:
    """Return the parameters of a cell: the best point of the search that it needs.

    Parameters
    ----------
    cell : Cell
    searches : sequence of Record
        Shares of the search; empty for a first search, and for a fit if there is only one point.
    better, smoother
        As in `best_point`.

    Raises
    ------
    FitError
        If a share has no result (with its status), or if no point has a solution.
    """
    if not searches:
        return {} if cell.kind == "search" else dict(cell.points[0])
    for record in searches:
        if record["status"] != "ok":
            # a search that failed due to an earlier one has the prefix already
            cause = str(record.get("message", "")).removeprefix(SEARCHING_PREFIX)
            error = FitError(SEARCHING_PREFIX + cause)
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
    """Return the point with the best mean score over the folds, and that; None without a solution.

    Folds without a score for any point are ignored. A point that lacks a score on another fold has
    no solution there, and cannot be chosen. Among equal scores the smoothest function wins, then
    the first point.

    Parameters
    ----------
    points : sequence of dict
    scores : sequence of sequence of float or None
        Per point and fold.
    better : {"higher", "lower"}
        Which scores are better.
    smoother : mapping
        Parameters whose ``larger`` or ``smaller`` values make the function smoother, the most
        important one first.
    """
    counting = [
        number
        for number, fold in enumerate(zip(*scores, strict=True))
        if any(score is not None for score in fold)
    ]
    best: tuple[Any, Point, float] | None = None
    for point, folds in zip(points, scores, strict=True):
        counted = [folds[number] for number in counting]
        if not counted or None in counted:
            continue
        mean = float(np.mean([score for score in counted if score is not None]))
        # smaller differences are rounding errors
        rank = round(mean if better == "higher" else -mean, 9), *_smoothness(point, smoother)
        if best is None or rank > best[0]:
            best = rank, point, mean
    return best and best[1:]


def _smoothness(point: Point, smoother: Mapping[str, str]) -> list[float]:
    """Return numbers that grow with smoothness; 0 for a word."""
    numbers = {name: value for name, value in point.items() if isinstance(value, int | float)}
    return [
        numbers.get(name, 0.0) if side == "larger" else -numbers.get(name, 0.0)
        for name, side in smoother.items()
    ]
