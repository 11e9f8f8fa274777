"""The class prior of unlabelled rows from pairs of the same class."""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal

from dsgkit.errors import DataError, DsgWarning
from dsgkit.priors.kernel_means import km1_share, km2_share
from dsgkit.priors.labeled import penalised_l1_share

_SHARES = {"km1": km1_share, "km2": km2_share, "penalised_l1": penalised_l1_share}


def similar_prior(
    X_similar: Any,
    X_unlabeled: Any,
    *,
    method: Literal["km1", "km2", "penalised_l1"] = "km2",
    random_state: int = 0,
) -> float:
    """Return the larger of the two class priors from similar pairs and unlabelled rows [1]_.

    Two random unlabelled rows are of the same class with probability
    ``pi_S = pi^2 + (1 - pi)^2``, which is the share of the distribution of similar points in that
    of unlabelled rows; ``pi = (1 + sqrt(2 pi_S - 1))/2``. An error of pi_S comes back times
    ``1/(2 (2 pi - 1))``. Which class is the larger one, the rows do not say: where it is the
    negative one, take ``1 - pi``.

    Parameters
    ----------
    X_similar : rows of shape (n_points, n_inputs)
        The points of all pairs.
    X_unlabeled : rows of shape (n_unlabeled, n_inputs)
    method : {"km1", "km2", "penalised_l1"}
        Estimator of pi_S.
    random_state : int
        Seed of the choice of rows.

    Returns
    -------
    float
        In 1/2..1; 1/2 with a `DsgWarning` if the estimate of pi_S is below 1/2, which it cannot be.

    Raises
    ------
    DataError
        If the rows do not allow an estimate.

    References
    ----------
    .. [1] Bao, Niu & Sugiyama, "Classification from pairwise similarity and unlabeled data",
       ICML 2018.
    """
    if method not in _SHARES:
        raise DataError(f"method must be one of {', '.join(_SHARES)}, got {method!r}")
    share = _SHARES[method](X_similar, X_unlabeled, random_state=random_state)
    if share < 0.5:
        text = f"the estimated share of similar points is {share:.3f}, below 1/2: taken for 1/2"
        warnings.warn(text, DsgWarning, stacklevel=2)
    return (1 + math.sqrt(max(0.0, 2 * share - 1))) / 2
