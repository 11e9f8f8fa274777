"""Differences between two sides for each solver and size, with significance tests.

The sides are two results folders, or two solvers of one folder. The p-values of a family of effects
are adjusted by Holm's method.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import pandas as pd

from dsgkit.linalg import Array
from dsgkit.report.contrasts import (
    LEVEL,
    Contrast,
    holm,
    paired_contrast,
    unpaired_contrast,
)
from dsgkit.report.formats import Cell
from dsgkit.report.numbers import (
    SHORTEST_TIME,
    difference_parts,
    difference_text,
    p_text,
    percents,
    ratio_text,
)
from dsgkit.report.summary import Size, Summary
from dsgkit.tasks.measures import Measure


@dataclass(frozen=True)
class Effect:
    """Difference between B and A for one solver at one size.

    Attributes
    ----------
    solver : str
        Its name.
    values_a, values_b : ndarray
        One value per finished trial; paired trials finished on both sides and share an order.
    a, b : float
        Their means; medians for times.
    contrast : Contrast
        Of the values; of their logarithms for times.
    holm_t, holm_rank : float or None
        The p-values of the contrast, adjusted for all effects of the family.
    family : int
        Number of effects in the family with a t-test.
    """

    solver: str
    size: Size
    values_a: Array
    values_b: Array
    a: float
    b: float
    contrast: Contrast
    holm_t: float | None = None
    holm_rank: float | None = None
    family: int = 0

    @property
    def ratio(self) -> float:
        """The median time of B divided by that of A."""
        return self.b / self.a

    @property
    def ratios(self) -> Array:
        """The ratio of every pair of trials."""
        return np.asarray(self.values_b / self.values_a)

    @property
    def significant(self) -> bool:
        """Whether the t-test rejects that there is no difference, after Holm's correction."""
        return self.holm_t is not None and self.holm_t < LEVEL

    @property
    def p_cells(self) -> list[Cell]:
        """The p-values of the t-test and the test by ranks, each with its adjusted value."""
        p_values = (self.contrast.p_t, self.holm_t, self.contrast.p_rank, self.holm_rank)
        return [Cell(p_text(p), value=p) for p in p_values]

    def change_text(self, measure: Measure) -> str:
        """Return the difference with its interval, or the ratio of times."""
        if self.contrast.identical:
            return "identical"
        if is_ratio(measure):
            return ratio_text(self.ratio)
        return difference_text(*self._shown(measure))

    def change_words(self, measure: Measure) -> tuple[str, str]:
        """Return the absolute difference and its interval as texts; the latter may be empty."""
        difference, interval, digits = self._shown(measure)
        if difference < 0:
            difference, interval = -difference, interval and (-interval[1], -interval[0])
        first, *limits = difference_parts(difference, interval, digits)
        points = " points" if measure.percent else ""
        words = f"{1 - LEVEL:.0%} interval {' to '.join(limits)}" if limits else ""
        return f"{first[1:]}{points}", words

    def _shown(self, measure: Measure) -> tuple[float, tuple[float, float] | None, int]:
        """Return the difference, its interval and their number of digits, in display units."""
        interval = self.contrast.interval
        limits = interval and (percents(measure, interval[0]), percents(measure, interval[1]))
        # one digit more than the scores: differences are smaller
        return percents(measure, self.contrast.difference), limits, measure.digits + 1

    @property
    def tidy_interval(self) -> dict[str, float]:
        """The ends of the interval as columns; NaN without an interval."""
        low, high = self.contrast.interval or (math.nan, math.nan)
        return {"interval_low": low, "interval_high": high}


AnyEffect = TypeVar("AnyEffect", bound=Effect)


def is_ratio(measure: Measure) -> bool:
    """Return whether sides are compared by their ratio (times), not their difference."""
    return measure.unit == "seconds"


def match(
    sides: Sequence[pd.DataFrame], cell: Sequence[str], how: Literal["inner", "outer"]
) -> pd.DataFrame:
    """Return one row per fit, with columns suffixed by ``_a`` and ``_b``.

    Parameters
    ----------
    sides : sequence of two DataFrames
        Fits of A and of B; of several fits of one cell, the last counts.
    cell : sequence of str
        Columns that identify a fit on both sides, among them ``size`` and ``trial``.
    how : {"inner", "outer"}
        "inner" returns only the fits on both sides.
    """
    a, b = (one.drop_duplicates(cell, keep="last") for one in sides)
    matched = a.merge(b, on=list(cell), how=how, suffixes=("_a", "_b"))
    matched = matched.sort_values("size", kind="stable")
    # fits that do not depend on the size make one pair, recorded at every size
    level = matched["level_a"].eq(True) & matched["level_b"].eq(True)
    without_size = [name for name in cell if name != "size"]
    return matched[~(level & matched.duplicated(without_size, keep="last"))]


def pairs(summary: Summary, measure: Measure, a: str, b: str) -> pd.DataFrame:
    """Return the trials of one results folder in which solvers ``a`` and ``b`` have a value."""
    cells = summary.results.cells
    finished = cells[(cells["status"] == "ok") & cells[measure.name].notna()]
    sides = [finished[finished["solver"] == key] for key in (a, b)]
    matched = match(sides, ["size", "trial"], "inner")
    full = {size.n: size.full for size in summary.sizes}
    return matched.assign(name=summary.names[b], full=matched["size"].map(full).astype(bool))


def effects(matched: pd.DataFrame, measure: Measure, *, paired: bool = True) -> list[Effect]:
    """Return the effect at every solver and size that has values on both sides.

    ``matched`` comes from `pairs`, or from `match` with a column ``name`` of solvers. ``paired``
    says that trials of the same number are the same splits.
    """
    groups = matched.groupby(["name", "size"], sort=False)
    every = (_effect(fits, measure, paired) for _, fits in groups)
    return [effect for effect in every if effect is not None]


def adjusted(members: Iterable[AnyEffect]) -> list[AnyEffect]:
    """Return the effects of a family with Holm-adjusted p-values."""
    members = list(members)
    by_t = holm([effect.contrast.p_t for effect in members])
    by_rank = holm([effect.contrast.p_rank for effect in members])
    family = sum(p is not None for p in by_t)
    return [
        replace(effect, holm_t=p_t, holm_rank=p_rank, family=family)
        for effect, p_t, p_rank in zip(members, by_t, by_rank, strict=True)
    ]


def _effect(fits: pd.DataFrame, measure: Measure, paired: bool) -> Effect | None:
    """Return the effect of one solver at one size; None if a side has no value."""
    a, b = _values(fits, measure, paired)
    if not (len(a) and len(b)):
        return None
    contrast = paired_contrast if paired else unpaired_contrast
    ratio = is_ratio(measure)
    average = np.median if ratio else np.mean
    return Effect(
        solver=str(fits["name"].iloc[0]),
        size=Size(int(fits["size"].iloc[0]), bool(fits["full"].any())),
        values_a=a,
        values_b=b,
        a=float(average(a)),
        b=float(average(b)),
        contrast=contrast(np.log(a), np.log(b)) if ratio else contrast(a, b),
    )


def _values(fits: pd.DataFrame, measure: Measure, paired: bool) -> tuple[Array, Array]:
    """Return each side's values of finished trials; if paired, of those finished on both."""
    columns = [f"{measure.name}_{side}" for side in "ab"]
    finished = [
        (fits[f"status_{side}"] == "ok") & fits[column].notna()
        for side, column in zip("ab", columns, strict=True)
    ]
    if paired:
        finished = [finished[0] & finished[1]] * 2
    a, b = (
        fits.loc[rows, column].to_numpy(np.float64)
        for column, rows in zip(columns, finished, strict=True)
    )
    if is_ratio(measure):
        return np.maximum(a, SHORTEST_TIME), np.maximum(b, SHORTEST_TIME)
    return a, b
