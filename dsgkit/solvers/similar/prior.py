"""Class prior of similar-unlabelled risks, given or estimated, and a warning for noisy risks."""

from __future__ import annotations

import math
import warnings
from typing import Any

from dsgkit.errors import DataError, DsgWarning, FitError
from dsgkit.linalg import Array
from dsgkit.priors import checked_similar_prior
from dsgkit.risks.similar import MIN_PRIOR_GAP, similar_share

NOISY_RISK_STD = 0.1
"""A fit warns if the sampling of labels gives the risk a larger standard deviation than this."""


def check_prior(prior: float) -> None:
    """Raise `DataError` for a prior of 1/2."""
    if abs(prior - 0.5) <= MIN_PRIOR_GAP:
        raise DataError(
            f"prior must differ from 1/2 by more than {MIN_PRIOR_GAP:g}, got {prior!r}: with "
            "two classes of the same size, similar pairs and unlabelled rows have the same "
            "distribution, and every term of the risk is divided by 2 prior - 1 = 0"
        )


def known_prior(
    prior: float | str, pairs: Array, X_unlabeled: Any
) -> tuple[float, tuple[float, float] | None]:
    """Return the prior and, for an estimate, its interval; warns if noise dominates the risk.

    Raises
    ------
    FitError
        If the estimate is 1/2.
    """
    interval = None
    if prior == "estimate":
        known, interval = checked_similar_prior(pairs, X_unlabeled)
        if abs(known - 0.5) <= MIN_PRIOR_GAP:
            raise FitError(
                "the estimated prior is 1/2, with which the risk cannot be estimated: set prior"
            )
    else:
        known = float(prior)
    noise = label_noise(known, len(pairs), len(X_unlabeled))
    if noise > NOISY_RISK_STD:
        text = (
            f"prior {known:g} is so close to 1/2 that, with {len(pairs)} pairs and "
            f"{len(X_unlabeled)} unlabelled rows, the labels that were drawn move the risk by "
            f"{noise:.2g} (standard deviation): the result may be noise"
        )
        warnings.warn(text, DsgWarning, stacklevel=2)
    return known, interval


def label_noise(prior: float, n_similar: int, n_unlabeled: int) -> float:
    """Return the standard deviation of the risk due to the sampling of the hidden labels.

    ``sqrt(4 pi_S^2 q (1 - q)/n_similar + pi (1 - pi)/n_unlabeled)/|2 pi - 1|``, where
    ``q = pi^2/pi_S`` is the share of positive pairs.
    """
    share = similar_share(prior)
    q = prior**2 / share
    pair_variance = 4 * share**2 * q * (1 - q) / n_similar
    return math.sqrt(pair_variance + prior * (1 - prior) / n_unlabeled) / abs(2 * prior - 1)
