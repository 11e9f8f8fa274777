"""Rules that place the thresholds between ordered classes on the values of a function.

A row is of class ``1 + #{j: f(x) > b_j}``. A ranking fixes neither the scale nor the origin of f:
all rules but the paper's hinge give the same classes for ``a f + c``, a > 0.

Each rule takes the values of one function, shape (n,), and the masks of the rows above one or more
cuts, shape (n, n_cuts), and returns their thresholds. For cuts in ascending order these ascend too,
weakly. If no row is below a cut, its threshold is minus infinity; if none is above, infinity.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from dsgkit.exact.ordinal_losses import all_threshold_loss
from dsgkit.linalg import Array

Above = NDArray[np.bool_]

_SLOPE_PENALTY = 1e-3
"""Weight of the squared slope in the logistic rule: without it, separable rows have no optimum."""


def hinge(values: Array, above: Above) -> Array:
    """Return the thresholds with the least hinge loss (Shi et al., AAAI 2020, Eq. of Lemma 1).

    The sum over cuts j of ``max(0, 1 - (f - b_j))`` of the rows above and ``max(0, 1 - (b_j - f))``
    of those below. Each cut's sum is convex and piecewise linear in b_j with a slope that rises by
    one at ``f - 1`` of every row above and at ``f + 1`` of every row below, from minus the number
    of rows below: it is least between two breakpoints, of which this is the middle.
    """
    breakpoints = np.sort(values[:, None] + np.where(above, -1.0, 1.0), axis=0)
    ends = np.full((1, above.shape[1]), np.inf)
    breakpoints = np.concatenate([-ends, breakpoints, ends])
    n_below = (~above).sum(axis=0)
    cuts = np.arange(above.shape[1])
    return (breakpoints[n_below, cuts] + breakpoints[n_below + 1, cuts]) / 2


def absolute(values: Array, above: Above) -> Array:
    """Return the thresholds with the fewest rows on the wrong side of each cut.

    The sum over the cuts is the absolute error of the classes. A threshold is the middle between
    two neighbouring values; of equally good ones, the lowest.
    """
    levels, level = np.unique(values, return_inverse=True)
    # moving a threshold past a value puts its rows below
    change = np.zeros((len(levels), above.shape[1]))
    np.add.at(change, level, np.where(above, 1.0, -1.0))
    wrong = np.concatenate([np.zeros((1, above.shape[1])), change.cumsum(axis=0)])
    between = np.concatenate([[-np.inf], (levels[:-1] + levels[1:]) / 2, [np.inf]])
    return between[wrong.argmin(axis=0)]


def logistic(values: Array, above: Above) -> Array:
    """Return the thresholds of the all-threshold logistic model with a free slope.

    Minimises the mean of ``sum_j log(1 + exp(-z_j (s f - c_j)))``, ``z_j`` = +1 above cut j and -1
    below, over ``s >= 0`` and all c (Rennie & Srebro 2005); the thresholds are ``c / s``. f is
    standardised first, so that the rule does not depend on its scale.
    """
    share = above.mean(axis=0)
    thresholds = np.where(share > 0.5, -np.inf, np.inf)  # every row on the larger side
    open_cuts = (share > 0) & (share < 1)
    mean, spread = values.mean(), values.std()
    if spread <= 1e-12 * np.abs(values).max() or not open_cuts.any():
        return thresholds
    f = (values - mean) / spread
    sign = np.where(above[:, open_cuts], 1.0, -1.0)

    def objective(x: Array) -> tuple[float, Array]:
        loss, pull = all_threshold_loss(x[0] * f, x[1:], sign)
        slope = _SLOPE_PENALTY * x[0] - (pull.sum(axis=1) @ f)
        return loss + _SLOPE_PENALTY / 2 * x[0] ** 2, np.append(slope, pull.sum(axis=0))

    start = np.append(1.0, -special.logit(share[open_cuts]))
    bounds = [(0.0, None)] + [(None, None)] * (len(start) - 1)
    slope, *cuts = optimize.minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"gtol": 1e-8}
    ).x
    if slope <= 1e-6:  # the values do not rank the classes, or rank them in reverse
        return thresholds
    thresholds[open_cuts] = mean + spread * np.maximum.accumulate(np.array(cuts)) / slope
    return thresholds


def share(values: Array, shares: Array) -> Array:
    """Return the thresholds that put given shares of the rows below each cut.

    The values are those of unlabelled rows; shares ascend, and are rounded to the nearest number
    of rows. A threshold is the middle between the highest value below it and the next one.
    """
    ordered = np.concatenate([[-np.inf], np.sort(values), [np.inf]])
    n_below = np.rint(shares * len(values)).astype(int)
    return (ordered[n_below] + ordered[n_below + 1]) / 2


SUPERVISED: dict[str, Callable[[Array, Above], Array]] = {
    "logistic": logistic,
    "absolute": absolute,
    "hinge": hinge,
}
"""The rules that need labels, by name."""
