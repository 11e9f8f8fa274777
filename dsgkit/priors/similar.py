"""The class prior of unlabelled rows from pairs of the same class."""

from __future__ import annotations

import warnings
from typing import Any, Literal

from dsgkit.errors import DataError, DsgWarning
from dsgkit.priors.kernel_means import km1_share, km2_share
from dsgkit.priors.labeled import penalised_l1_share
from dsgkit.priors.pair_moments import similar_prior_interval

_SHARES = {"km1": km1_share, "km2": km2_share, "penalised_l1": penalised_l1_share}


def similar_prior(
    X_similar: Any,
    X_unlabeled: Any,
    *,
    method: Literal["km1", "km2", "penalised_l1"] = "km2",
    random_state: int = 0,
) -> float:
    """Return the larger of the two class priors from similar pairs and unlabelled rows.

    With pi > 1/2, points of pairs are positive with probability ``q = pi^2/pi_S``, unlabelled rows
    with pi, where ``pi_S = pi^2 + (1 - pi)^2``. If neither class contains a share of the other, the
    largest share of the similar points' distribution in that of the unlabelled rows is
    ``a = pi/q = pi_S/pi``, and vice versa it is ``b = (1 - q)/(1 - pi) = (1 - pi)/pi_S``: so
    ``a b = (1 - pi)/pi``, and ``pi = 1/(1 + a b)``. Both shares are estimated.

    Section 3.3 of [1]_ uses pi_S for the first share, because unlabelled rows are a mixture of
    similar and dissimilar points; but the distribution of dissimilar points contains a share of
    similar ones, so that the largest share is ``pi_S/pi``. Two priors have the same value of it, so
    it does not determine the prior by itself.

    The rows do not determine which class is the larger one; if it is the negative class, use
    ``1 - pi``.

    Near 1/2 the estimate is far too large: similar points and unlabelled rows hardly differ, and
    errors reduce both shares. With 500 pairs and 2,000 unlabelled rows of two normal distributions
    3 standard deviations apart, KM2 gave .78, .89 and .89 for a prior of .52; for .7 it gave .73,
    .78 and .84. Estimators use `checked_similar_prior`, which is more accurate, and takes
    milliseconds instead of seconds.

    Parameters
    ----------
    X_similar : rows of shape (n_points, n_inputs)
        Points of all pairs.
    X_unlabeled : rows of shape (n_unlabeled, n_inputs)
    method : {"km1", "km2", "penalised_l1"}
        Estimator of the shares. Of the three, KM2 was nearest to the truth on real rows; penalised
        L1 takes a tenth of its time, and is too low at priors far from 1/2.
    random_state : int
        Seed of the samples of rows.

    Returns
    -------
    float
        In 1/2..1.

    Raises
    ------
    DataError
        If the rows do not allow an estimate.

    References
    ----------
    .. [1] Shi, Gu, Li, Deng & Huang, "Triply stochastic gradient method for large-scale nonlinear
       similar unlabeled classification", Machine Learning 110, 2021; as Bao, Niu & Sugiyama, ICML
       2018.
    """
    if method not in _SHARES:
        raise DataError(f"method must be one of {', '.join(_SHARES)}, got {method!r}")
    share = _SHARES[method]
    a = share(X_similar, X_unlabeled, random_state=random_state)
    b = share(X_unlabeled, X_similar, random_state=random_state)
    return 1 / (1 + a * b)


def checked_similar_prior(pairs: Any, X_unlabeled: Any) -> tuple[float, tuple[float, float]]:
    """Return an estimate of the prior, the midpoint of `similar_prior_interval`, and the interval.

    With 500 pairs and 2,000 unlabelled rows of two normal distributions, of skin and of cod-rna,
    and priors of .6, .7 and .9, its mean error was .065, that of `similar_prior` .13
    (``scripts/study_priors.py``). With 60 pairs and 180 rows of breast cancer its error is .05.

    Parameters
    ----------
    pairs : array of shape (n_similar, 2, n_inputs)
    X_unlabeled : rows of shape (n_unlabeled, n_inputs)

    Warns
    -----
    DsgWarning
        If the interval includes 1/2.
    """
    low, high = similar_prior_interval(pairs, X_unlabeled)
    prior = (low + high) / 2
    if low == 0.5:
        warnings.warn(
            f"{len(pairs)} pairs and {len(X_unlabeled)} unlabelled rows do not determine the prior "
            f"of the larger class: its 95% confidence interval, {low:.3g} to {high:.3g}, includes "
            f"1/2, and the fit uses {prior:.3g}; set prior to the share of the class 1 among the "
            "unlabelled rows, or get more pairs",
            DsgWarning,
            stacklevel=2,
        )
    return prior, (low, high)
