"""Estimators of class priors, and of the share of one component in a mixture.

From labelled and unlabelled rows: `PenL1Prior`, `penalised_l1_share` and `energy_distance_prior`.
From rows of a mixture and of one component: `km1_share`, `km2_share` and `penalised_l1_share`.
From similar pairs and unlabelled rows: `similar_prior_interval`; `checked_similar_prior`, its
midpoint, with a warning if that is unreliable; and `similar_prior`, from shares.
"""

from dsgkit.priors.kernel_means import km1_share, km2_share
from dsgkit.priors.labeled import (
    CANDIDATES,
    PenL1Prior,
    energy_distance_prior,
    penalised_l1_share,
)
from dsgkit.priors.pair_moments import similar_prior_interval
from dsgkit.priors.similar import checked_similar_prior, similar_prior

__all__ = [
    "CANDIDATES",
    "PenL1Prior",
    "checked_similar_prior",
    "energy_distance_prior",
    "km1_share",
    "km2_share",
    "penalised_l1_share",
    "similar_prior",
    "similar_prior_interval",
]
