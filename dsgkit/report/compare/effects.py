"""What B differs from A by, solver by solver and size by size: intervals and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from dsgkit.report.numbers import SHORTEST_TIME
from dsgkit.report.summary import Size
from dsgkit.tasks.measures import Measure

LEVEL = 0.05
"""Of the tests; intervals have the confidence 1 - LEVEL."""

_ROUNDING = 64 * np.finfo(np.float64).eps

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Contrast:
    """A difference of means with its interval and tests; None for what the trials cannot tell.

    Attributes
    ----------
    difference : float
        Mean of B minus mean of A.
    interval : tuple of float or None
        By the t distribution.
    p_t : float or None
        Paired t-test, or Welch's.
    p_rank : float or None
        Wilcoxon's signed-rank test, or that of Mann and Whitney.
    identical : bool
        Whether every pair is equal to the bit.
    """

    difference: float
    interval: tuple[float, float] | None = None
    p_t: float | None = None
    p_rank: float | None = None
    identical: bool = False


def paired_contrast(a: Values, b: Values) -> Contrast:
    """Return the contrast of pairs ``a[i], b[i]``.

    Pairs that are equal count for the t-test, and are left out by Wilcoxon's.
    """
    differences = b - a
    mean = float(differences.mean())
    if not differences.any():
        return Contrast(mean, identical=True)
    if len(differences) < 2:
        return Contrast(mean)
    p_rank = float(stats.wilcoxon(differences[differences != 0]).pvalue)
    if np.ptp(differences) <= _ROUNDING * max(np.abs(a).max(), np.abs(b).max()):
        return Contrast(mean, (mean, mean), p_rank=p_rank)  # nothing varies: no t-test
    return _with_t(mean, stats.ttest_rel(b, a), p_rank)


def unpaired_contrast(a: Values, b: Values) -> Contrast:
    """Return the contrast of independent groups, which may differ in size and variance."""
    difference = float(b.mean() - a.mean())
    if min(len(a), len(b)) < 2:
        return Contrast(difference)
    both = np.concatenate([a, b])
    p_rank = float(stats.mannwhitneyu(b, a).pvalue) if np.ptp(both) else None
    if max(np.ptp(a), np.ptp(b)) <= _ROUNDING * np.abs(both).max():
        return Contrast(difference, (difference, difference), p_rank=p_rank)
    return _with_t(difference, stats.ttest_ind(b, a, equal_var=False), p_rank)


def _with_t(difference: float, test: Any, p_rank: float | None) -> Contrast:
    """Return a contrast with a t-test of it."""
    interval = test.confidence_interval(1 - LEVEL)
    limits = float(interval.low), float(interval.high)
    return Contrast(difference, limits, float(test.pvalue), p_rank)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's adjusted p-values.

    Below a level they are rejected with at most that probability of any false rejection.

    Parameters
    ----------
    p_values : sequence of float or None
        None where there was no test; such count for nothing.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, 1979.
    """
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for done, (p, place) in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - done) * p))
        adjusted[place] = largest
    return adjusted


@dataclass(frozen=True)
class Effect:
    """One solver at one size, in A and in B.

    Attributes
    ----------
    solver : str
        Its name.
    size : Size
    values_a, values_b : ndarray
        One per trial that finished; for paired trials, in both, in the same order.
    a, b : float
        Their means; of times, their medians.
    contrast : Contrast
        Of the values; of times, of their logarithms.
    holm_t, holm_rank : float or None
        The p-values of the contrast, adjusted for all effects of the measure.
    """

    solver: str
    size: Size
    values_a: Values
    values_b: Values
    a: float
    b: float
    contrast: Contrast
    holm_t: float | None = None
    holm_rank: float | None = None

    @property
    def ratio(self) -> float:
        """The average time of B in relation to that of A."""
        return self.b / self.a

    @property
    def ratios(self) -> Values:
        """The same of every pair of trials."""
        return np.asarray(self.values_b / self.values_a)

    @property
    def significant(self) -> bool:
        """Whether the t-test rejects that there is no difference, after Holm's correction."""
        return self.holm_t is not None and self.holm_t < LEVEL


def is_ratio(measure: Measure) -> bool:
    """Whether B is put in relation to A by a ratio, as times are, not by a difference."""
    return measure.unit == "seconds"


def effects(matched: pd.DataFrame, measure: Measure, *, paired: bool) -> list[Effect]:
    """Return the effect at every solver and size that has values in both folders.

    Parameters
    ----------
    matched : DataFrame
        The fits of both folders side by side.
    measure : Measure
    paired : bool
        Whether equal trials are the same splits.
    """
    groups = matched.groupby(["name", "size"], sort=False)
    found = [_effect(fits, measure, paired) for _, fits in groups]
    members = [effect for effect in found if effect is not None]
    adjusted = zip(
        holm([effect.contrast.p_t for effect in members]),
        holm([effect.contrast.p_rank for effect in members]),
        strict=True,
    )
    return [
        replace(effect, holm_t=p_t, holm_rank=p_rank)
        for effect, (p_t, p_rank) in zip(members, adjusted, strict=True)
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


def _values(fits: pd.DataFrame, measure: Measure, paired: bool) -> tuple[Values, Values]:
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
