"""Choosing hyper-parameters from the scores of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dsgkit.config.schema import Experiment
from dsgkit.errors import FitError
from dsgkit.experiment.limits import LIMIT_ENTRIES
from dsgkit.experiment.plan import Cell, Point
from dsgkit.experiment.records import Record
from dsgkit.tasks.measures import Measure

SEARCHING_PREFIX = "while searching: "


class SearchError(FitError):
    """A cell that cannot be run because a share of its search has no result."""

    def __init__(self, record: Record) -> None:
        # if the search itself failed due to an earlier one, the prefix is already there
        super().__init__(
            SEARCHING_PREFIX + record.get("message", "").removeprefix(SEARCHING_PREFIX)
        )
        self.status = record["status"]
        for name in LIMIT_ENTRIES:
            setattr(self, name, record.get(name))


def choose(
    cell: Cell, searches: Sequence[Record], *, better: str | None, smoother: Mapping[str, str]
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
        return {} if cell.kind == "search" else cell.points[0]
    for record in searches:
        if record["status"] != "ok":
            raise SearchError(record)
    points = [point for record in searches for point in record.get("points", ())]
    scores = [score for record in searches for score in record.get("fold_scores", ())]
    if len(points) != len(scores) or len(set(map(len, scores))) > 1:
        raise FitError("its search lacks a score of some point on some fold; use --fresh")
    best = best_point(points, scores, better=better, smoother=smoother)
    if best is None:
        warned = next((text for record in searches for text in record.get("warnings", ())), "")
        why = f"; the search warned: {warned}" if warned else ""
        raise FitError(f"no point of the grid has a solution on every fold{why}")
    # all shares have the same parameters from earlier stages
    return {**(searches[0].get("params") or {}), **best[0]}


def choosing_measure(experiment: Experiment) -> Measure:
    """Return the measure by which hyper-parameters are chosen."""
    measures = experiment.task.measures
    return next(measure for measure in measures if measure.name == experiment.chooses)


def best_point(
    points: Sequence[Point],
    scores: Sequence[Sequence[float | None]],
    *,
    better: str | None,
    smoother: Mapping[str, str],
) -> tuple[Point, float] | None:
    """Return the point with the best mean score over the folds, and that score.

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

    Returns
    -------
    (point, score) or None
        None if no point has a score on every fold that counts.
    """
    counting = [k for k, fold in enumerate(zip(*scores, strict=True)) if _any_scored(fold)]
    best = None
    for point, folds in zip(points, scores, strict=True):
        counted = [folds[k] for k in counting]
        if not counted or None in counted:
            continue
        score = float(np.mean([value for value in counted if value is not None]))
        # smaller differences are rounding errors
        rank = round(score if better == "higher" else -score, 9), *_smoothness(point, smoother)
        if best is None or rank > best[0]:
            best = rank, point, score
    return best and best[1:]


def _smoothness(point: Point, smoother: Mapping[str, str]) -> tuple[float, ...]:
    values = ((point.get(name), side) for name, side in smoother.items())
    return tuple(_signed(value, side) for value, side in values)


def _signed(value: Any, side: str) -> float:
    """Return a number that grows with smoothness; 0 for a word."""
    if not isinstance(value, int | float):
        return 0.0
    return value if side == "larger" else -value


def _any_scored(fold: Sequence[float | None]) -> bool:
    return any(score is not None for score in fold)
