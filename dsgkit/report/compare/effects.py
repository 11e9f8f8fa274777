"""What B differs from A by, solver by solver and size by size: intervals and tests."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from dsgkit.report.contrasts import (
    LEVEL,
    Contrast,
    Values,
    holm,
    paired_contrast,
    unpaired_contrast,
)
from dsgkit.report.numbers import SHORTEST_TIME
from dsgkit.report.summary import Size
from dsgkit.tasks.measures import Measure


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
