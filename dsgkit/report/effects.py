"""Paired differences between two sides, solver by solver and size by size, tested for chance.

The sides are two results folders, or two solvers of one. A family of effects is tested together:
its p-values are corrected by Holm's method.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import pandas as pd

from dsgkit.numerics.arrays import Array
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
        One per trial that finished; for paired trials, in both, in the same order.
    a, b : float
        Their means; of times, their medians.
    contrast : Contrast
        Of the values; of times, of their logarithms.
    holm_t, holm_rank : float or None
        The p-values of the contrast, adjusted for all effects of the family.
    family : int
        How many of these have a t-test.
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
        """The average time of B in relation to that of A."""
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
        """The p-values of the t-test and of the test by ranks, each with its adjusted one."""
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
        """Return the size of the difference, and in words its interval; empty without one."""
        difference, interval, digits = self._shown(measure)
        if difference < 0:
            difference, interval = -difference, interval and (-interval[1], -interval[0])
        first, *limits = difference_parts(difference, interval, digits)
        points = " points" if measure.percent else ""
        words = f"{1 - LEVEL:.0%} interval {' to '.join(limits)}" if limits else ""
        return f"{first[1:]}{points}", words

    def _shown(self, measure: Measure) -> tuple[float, tuple[float, float] | None, int]:
        """Return the difference and its interval as they are shown, and with how many digits."""
        interval = self.contrast.interval
        limits = interval and (percents(measure, interval[0]), percents(measure, interval[1]))
        # differences are smaller than what they are of
        return percents(measure, self.contrast.difference), limits, measure.digits + 1

    @property
    def tidy_interval(self) -> dict[str, float]:
        """The ends of the interval as columns, NaN without one."""
        low, high = self.contrast.interval or (math.nan, math.nan)
        return {"interval_low": low, "interval_high": high}


AnyEffect = TypeVar("AnyEffect", bound=Effect)


def is_ratio(measure: Measure) -> bool:
    """Return whether B is compared with A by a ratio, as times are, not by a difference."""
    return measure.unit == "seconds"


def match(
    sides: Sequence[pd.DataFrame], cell: Sequence[str], how: Literal["inner", "outer"]
) -> pd.DataFrame:
    """Return one row per fit, the columns of the sides with ``_a`` and ``_b`` at their end.

    Parameters
    ----------
    sides : sequence of two DataFrames
        Fits of A and of B; of several of one cell, the last counts.
    cell : sequence of str
        Columns that identify a fit on both sides, among them ``size`` and ``trial``.
    how : {"inner", "outer"}
        Whether only the fits of both are returned.
    """
    a, b = (one.drop_duplicates(cell, keep="last") for one in sides)
    found = a.merge(b, on=list(cell), how=how, suffixes=("_a", "_b"))
    found = found.sort_values("size", kind="stable")
    # two fits that do not depend on the size are one pair, whatever the size
    level = found["level_a"].eq(True) & found["level_b"].eq(True)
    without_size = [name for name in cell if name != "size"]
    return found[~(level & found.duplicated(without_size, keep="last"))]


def pairs(summary: Summary, measure: Measure, a: str, b: str) -> pd.DataFrame:
    """Return the trials in which two solvers of one of the results, by their keys, have a value."""
    cells = summary.results.cells
    finished = cells[(cells["status"] == "ok") & cells[measure.name].notna()]
    sides = [finished[finished["solver"] == key] for key in (a, b)]
    found = match(sides, ["size", "trial"], "inner")
    full = {size.n: size.full for size in summary.sizes}
    return found.assign(name=summary.names[b], full=found["size"].map(full).astype(bool))


def effects(matched: pd.DataFrame, measure: Measure, *, paired: bool = True) -> list[Effect]:
    """Return the effect at every solver and size that has values on both sides.

    The fits are `pairs`, or those of `match` with the ``name`` of the solver; they are paired where
    equal trials are the same splits.
    """
    groups = matched.groupby(["name", "size"], sort=False)
    found = (_effect(fits, measure, paired) for _, fits in groups)
    return [effect for effect in found if effect is not None]


def adjusted(members: Iterable[AnyEffect]) -> list[AnyEffect]:
    """Return the effects of a family with p-values that are adjusted for all of them."""
    members = list(members)
    by_t = holm([effect.contrast.p_t for effect in members])
    by_rank = holm([effect.contrast.p_rank for effect in members])
    family = sum(p is not None for p in by_t)
    return [
        replace(effect, holm_t=p_t, holm_rank=p_rank, family=family)
        for effect, p_t, p_rank in zip(members, by_t, by_rank, strict=True)
    ]


def _effect(fits: pd.DataFrame, measure: Measure, paired: bool) -> Effect | None:
    """Return the effect in the fits of one solver at one size; None if a side has no value."""
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
    """Return the values of the finished trials of each side; of pairs if they are paired."""
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
