"""Differences of means: intervals, tests, and Holm's correction for multiple tests.

scipy.stats is imported on first use: that takes a second and 60 MiB.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dsgkit.linalg import Array

LEVEL = 0.05
"""Level of the tests; intervals have the confidence 1 - LEVEL."""

SPLITS_CAVEAT = (
    "Trials are random splits of the same rows: intervals and p-values say what other splits of "
    "these rows would give, not what other data would."
)
"""Caveat about intervals and p-values for readers."""

_ROUNDING = 64 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Contrast:
    """The mean of B minus that of A, with a t interval and tests; None if trials are too few.

    ``p_t`` is from the paired t-test, or Welch's; ``p_rank`` from Wilcoxon's signed-rank test, or
    Mann and Whitney's. ``identical`` says whether every pair is equal to the bit.
    """

    difference: float
    interval: tuple[float, float] | None = None
    p_t: float | None = None
    p_rank: float | None = None
    identical: bool = False


def paired_contrast(a: Array, b: Array) -> Contrast:
    """Return the contrast of pairs ``a[i], b[i]``.

    Equal pairs count in the t-test, and are left out of Wilcoxon's.
    """
    from scipy import stats

    differences = b - a
    mean = float(differences.mean())
    if not differences.any():
        return Contrast(mean, identical=True)
    if len(differences) < 2:
        return Contrast(mean)
    p_rank = float(stats.wilcoxon(differences[differences != 0]).pvalue)
    if np.ptp(differences) <= _ROUNDING * max(np.abs(a).max(), np.abs(b).max()):
        return Contrast(mean, (mean, mean), p_rank=p_rank)  # nothing varies: no t-test
    return _with_t(mean, _squared_error(differences), len(differences) - 1, p_rank)


def unpaired_contrast(a: Array, b: Array) -> Contrast:
    """Return the contrast of independent groups; sizes and variances may differ."""
    from scipy import stats

    difference = float(b.mean() - a.mean())
    if min(len(a), len(b)) < 2:
        return Contrast(difference)
    both = np.concatenate([a, b])
    p_rank = float(stats.mannwhitneyu(b, a).pvalue) if np.ptp(both) else None
    if max(np.ptp(a), np.ptp(b)) <= _ROUNDING * np.abs(both).max():
        return Contrast(difference, (difference, difference), p_rank=p_rank)
    in_a, in_b = _squared_error(a), _squared_error(b)
    share = in_a / (in_a + in_b)
    freedom = 1 / (share**2 / (len(a) - 1) + (1 - share) ** 2 / (len(b) - 1))  # Welch's
    return _with_t(difference, in_a + in_b, freedom, p_rank)


def _squared_error(values: Array) -> float:
    """Return the squared standard error of a mean."""
    return float(values.var(ddof=1)) / len(values)


def _with_t(
    difference: float, squared_error: float, freedom: float, p_rank: float | None
) -> Contrast:
    """Return a contrast with its t-test.

    Computed here because scipy's t-tests warn if the values of a group are nearly equal. Callers
    make no test if nothing varies.
    """
    from scipy import stats

    error = math.sqrt(squared_error)
    reach = float(stats.t.ppf(1 - LEVEL / 2, freedom)) * error
    p_t = 2 * float(stats.t.sf(abs(difference) / error, freedom))
    return Contrast(difference, (difference - reach, difference + reach), p_t, p_rank)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's adjusted p-values.

    Rejecting those below a level bounds the probability of any false rejection by that level.

    Parameters
    ----------
    p_values : sequence of float or None
        None for no test; it does not count.

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
