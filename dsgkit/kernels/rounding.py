"""Largest norms of rows for which features of heavy-tailed frequencies are accurate in float32.

Rounding a projection p to float32 changes it by up to ``2^-24 |p|``, and its cosine by at most that
or 2. If p is unbounded, the error of a feature is the mean of this: finite for a t distribution,
and small if its scale is small. Rare large projections are accepted; beyond 2^24 half turns a
cosine is 1 (`dsgkit.features.tiles`).
"""

from __future__ import annotations

import functools

import numpy as np
from scipy import special

FEATURE_TOLERANCE = 2.0**-12
"""Largest mean error of a feature, and largest error of one of the Gaussian kernel."""

MAX_LENGTH_RATIO = 32.0
"""Largest norm of other rows, relative to that of labelled rows.

Rounding the projection of such a row to float32 changes a feature by up to 2^-7, and rounding its
sum of products by several times as much: measured with 784 columns, up to .08, and .007 in the root
mean square. The error of a kernel value is the square of the latter, less than the noise of
thousands of random features. With ten times that norm, features would be noise themselves.

These rows need not meet `FEATURE_TOLERANCE`, as labelled rows must: a standardised column of n rows
can hold a value of sqrt(n) deviations, and one such row among millions does no harm. Its kernel
with others is 0.
"""


@functools.cache
def largest_scale(degrees: float) -> float:
    """Return the scale s at which the mean error of ``cos(s T)`` is `FEATURE_TOLERANCE`.

    Parameters
    ----------
    degrees : float
        Degrees of freedom of the t distribution of T; 1 is Cauchy.
    """
    scales = 2.0 ** np.arange(-60, 25, 0.25)
    errors = np.array([_mean_error(scale, degrees) for scale in scales])
    return float(scales[np.searchsorted(errors, FEATURE_TOLERANCE) - 1])


def _mean_error(scale: float, degrees: float) -> float:
    """Return ``E min(2, 2^-24 scale |T|)``, the integral of its tail probabilities."""
    errors = np.geomspace(1e-14, 2, 2000)
    beyond = 2 * special.stdtr(degrees, -errors / (scale * 2.0**-24))
    return float(np.trapezoid(beyond, errors))
