"""What B differs from A by, solver by solver and size by size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dsgkit.report import measures
from dsgkit.report.compare.contrasts import (
    LEVEL,
    Contrast,
    holm,
    paired_contrast,
    unpaired_contrast,
)
from dsgkit.report.compare.matching import size_of
from dsgkit.report.summary import Size

Values = NDArray[np.float64]

SHORTEST_TIME = 1e-6
"""Records round to it, so a time may be 0 there, which has no logarithm and is no divisor."""


def _log_times(seconds: Values) -> Values:
    return np.log(np.maximum(seconds, SHORTEST_TIME))


@dataclass(frozen=True)
class Quantity:
    """What is compared.

    Attributes
    ----------
    name : str
        In sentences.
    measure : Measure
        The column of the results, and what its numbers are.
    average : callable
        What is shown of the trials of one side.
    transformed : callable
        The scale on which trials are tested.
    is_ratio : bool
        Whether B is put in relation to A by a ratio, not by a difference.
    """

    name: str
    measure: measures.Measure
    average: Callable[[Values], np.floating]
    transformed: Callable[[Values], Values] = np.asarray
    is_ratio: bool = False


AUC = Quantity("AUC", measures.AUC, np.mean)
TEST_AUC = Quantity("test AUC", measures.TEST_AUC, np.mean)
ERROR = Quantity("error", measures.ERROR, np.mean)
TEST_ERROR = Quantity("test error", measures.TEST_ERROR, np.mean)
TIME = Quantity("training time", measures.TIME, np.median, _log_times, is_ratio=True)
QUANTITIES = (AUC, TEST_AUC, ERROR, TEST_ERROR, TIME)


@dataclass(frozen=True)
class Effect:
    """One solver at one size, in A and in B.

    Attributes
    ----------
    solver : str
        Its key.
    size : Size
    values_a, values_b : ndarray
        One per trial that finished; for paired trials, in both, in the same order.
    a, b : float
        Their means, or medians.
    contrast : Contrast
        Of the transformed values.
    holm_t, holm_rank : float or None
        The p-values of the contrast, adjusted for all effects of the quantity.
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
        return max(self.b, SHORTEST_TIME) / max(self.a, SHORTEST_TIME)

    @property
    def ratios(self) -> Values:
        """The same of every pair of trials."""
        ratios = np.maximum(self.values_b, SHORTEST_TIME) / np.maximum(self.values_a, SHORTEST_TIME)
        return np.asarray(ratios)

    @property
    def significant(self) -> bool:
        """Whether the t-test rejects that there is no difference, after Holm's correction."""
        return self.holm_t is not None and self.holm_t < LEVEL


def effects(matched: pd.DataFrame, quantity: Quantity, *, paired: bool) -> list[Effect]:
    """Return the effect at every solver and size that has values in both folders.

    Parameters
    ----------
    matched : DataFrame
        As from `dsgkit.report.compare.matching.match`.
    quantity : Quantity
    paired : bool
        Whether equal trials are the same splits.
    """
    groups = matched.groupby(["solver", "n_unlabeled"], sort=False)
    found = [_effect(fits, quantity, paired) for _, fits in groups]
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


def _effect(fits: pd.DataFrame, quantity: Quantity, paired: bool) -> Effect | None:
    """Return the effect in the fits of one solver at one size; None if a side has no value."""
    a, b = _values(fits, quantity, paired)
    if not (len(a) and len(b)):
        return None
    contrast = paired_contrast if paired else unpaired_contrast
    return Effect(
        solver=str(fits["solver"].iloc[0]),
        size=size_of(fits),
        values_a=a,
        values_b=b,
        a=float(quantity.average(a)),
        b=float(quantity.average(b)),
        contrast=contrast(quantity.transformed(a), quantity.transformed(b)),
    )


def _values(fits: pd.DataFrame, quantity: Quantity, paired: bool) -> tuple[Values, Values]:
    """Return the values of the finished trials of each side; of pairs if they are paired."""
    column = quantity.measure.column
    finished = [
        (fits[f"status_{side}"] == "ok") & fits[f"{column}_{side}"].notna() for side in "ab"
    ]
    if paired:
        finished = [finished[0] & finished[1]] * 2
    a, b = (
        fits.loc[rows, f"{column}_{side}"].to_numpy(np.float64)
        for side, rows in zip("ab", finished, strict=True)
    )
    return a, b
