"""How long rows may be for features of heavy-tailed frequencies to be accurate in float32.

A projection p rounded to float32 is within ``2^-24 |p|`` of itself, and so is its cosine, if not
within 2. Where p has no bound, the mean of that is what a feature is off by: of a t law it is
finite, and small while the law's scale is. The rare large projections stay what they are; beyond
2^24 half turns a cosine is 1 (`dsgkit.features.tiles`).
"""

from __future__ import annotations

import functools

import numpy as np
from scipy import special

FEATURE_TOLERANCE = 2.0**-12
"""Largest mean error of a feature, and largest error of one of the Gaussian kernel."""

MAX_LENGTH_RATIO = 32.0
"""How many times as long as the longest labelled row any other row may be.

Rounding the projection of such a row to float32 moves a feature by up to 2^-7, and rounding the sum
of products that it is by several times as much: measured with 784 columns, by up to .08, and .007
in the root mean square. A kernel value is off by the square of the latter, which is less than the
noise of thousands of random features. Ten times further, features are noise themselves.

It is not refused at `FEATURE_TOLERANCE`, as labelled rows are: standardised columns of n rows can
hold one of sqrt(n) deviations, and one such row among millions does no harm. Its kernel with others
is 0.
"""


@functools.cache
def largest_scale(degrees: float) -> float:
    """Return the scale s where rounding ``s T`` moves its cosine by `FEATURE_TOLERANCE` on average.

    Parameters
    ----------
    degrees : float
        Degrees of freedom of the t law of T; 1 is Cauchy's.
    """
    scales = 2.0 ** np.arange(-60, 25, 0.25)
    errors = np.array([_mean_error(scale, degrees) for scale in scales])
    return float(scales[np.searchsorted(errors, FEATURE_TOLERANCE) - 1])


def _mean_error(scale: float, degrees: float) -> float:
    """Return ``E min(2, 2^-24 scale |T|)``, the integral of its tail probabilities."""
    errors = np.geomspace(1e-14, 2, 2000)
    beyond = 2 * special.stdtr(degrees, -errors / (scale * 2.0**-24))
    return float(np.trapezoid(beyond, errors))
